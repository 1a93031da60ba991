// A file that says what bytes mean: struct types or profiles as text, or a model. What the readers of all three share:
// which kind a file is, and the values of its template parameters.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/types/limits.h"
#include "tessera/types/notation.h"

namespace tessera {

struct SourceOptions {
  std::vector<std::string> assignments;  // NAME=VALUE or NAME=@file.npy
  std::string shape;                     // "4096x4096" or "4096,4096"; "" for none
  Limits limits;
};

// Keeps the file mapped.
struct Source {
  enum class Kind : uint8_t { kTypeText, kProfileText, kModel };

  std::filesystem::path path;
  Kind kind = Kind::kTypeText;
  std::shared_ptr<const MappedFile> file;
  NotationOptions notation;  // with the options' shape, limits and bound parameters

  std::string_view text() const;
  // `error` at its place in this file: `where` behind the path.
  Error At(Error error) const;
};

// Errors: those of reading; kArgument for a shape or an assignment that cannot be read, and for parameters of a model,
// which has none.
Result<Source> OpenSource(const std::filesystem::path& path, const SourceOptions& options);

// A declaration's name made from a file's: Q4_0_LAYER for `q4_0-layer.profile.txt`. Endings go, letters become capital,
// and what is none of A-Z, 0-9 and _ becomes _.
std::string DeclarationName(const std::filesystem::path& path);

}  // namespace tessera
