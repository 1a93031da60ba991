// Struct types from a file: a text in the notation, or a model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/types/type_table.h"

namespace tessera {

struct TypeSourceOptions {
  std::vector<std::string> assignments;  // NAME=VALUE or NAME=@file.npy
  std::string shape;                     // "4096x4096" or "4096,4096"; "" for none
  Limits limits;
};

struct TypeSource {
  TypeTable table;
  // Declarations that no other refers to: what the file is about.
  std::vector<size_t> roots;
};

// Reads, binds and checks. Errors: those of reading, kUnbound, kArgument for an assignment that cannot be read, and the
// first problem of the checker.
Result<TypeSource> LoadTypes(const std::filesystem::path& path, const TypeSourceOptions& options);

}  // namespace tessera
