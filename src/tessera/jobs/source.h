// What says what bytes mean: a file with struct types, profiles or a format as text, or a model, or a format of the
// catalogue by its name. What the readers of all share: which kind it is, and the values of its template parameters.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/formats/format.h"
#include "tessera/types/limits.h"
#include "tessera/types/notation.h"

namespace tessera {

struct SourceOptions {
  std::vector<std::string> assignments;   // NAME=VALUE or NAME=@file.npy
  std::string shape;                      // "4096x4096" or "4096,4096"; "" for none
  std::optional<uint64_t> outliers;       // DeclareOptions::outliers
  std::vector<std::string> format_files;  // formats whose names come before those of the catalogue
  Limits limits;
};

// Keeps the file mapped.
struct Source {
  enum class Kind : uint8_t { kTypeText, kProfileText, kModel, kFormat };

  std::filesystem::path path;  // or the name of a format
  Kind kind = Kind::kTypeText;
  std::shared_ptr<const MappedFile> file;  // nullptr for the name of a format
  std::optional<Format> format;            // where kind is kFormat
  std::string note;                        // for the user: which of two things was taken; may be empty
  NotationOptions notation;                // with the options' shape, limits and bound parameters

  std::string_view text() const;  // REQUIRES: file
  // What becomes of the format's parameters.
  DeclareOptions declare() const;
  // `error` at its place in this file: `where` behind the path.
  Error At(Error error) const;
};

// The name of a format goes before a file of that name; `./NAME` is the file.
// Errors: those of reading; kArgument for a shape or an assignment that cannot be read, and for parameters of a model,
// which has none.
Result<Source> OpenSource(const std::filesystem::path& path, const SourceOptions& options);

// Binds NAME=VALUE and NAME=@file.npy. Errors: kArgument, and those of LoadNpy.
Result<void> BindAssignments(std::span<const std::string> assignments,
                             std::map<std::string, ParameterValue, std::less<>>* parameters);
// "4096x4096" or "4096,4096" of the option --shape. Errors: kArgument.
Result<std::vector<int64_t>> ParseShapeOption(const std::string& text);

// A declaration's name made from a file's: Q4_0_LAYER for `q4_0-layer.profile.txt`. Endings go, letters become capital,
// and what is none of A-Z, 0-9 and _ becomes _.
std::string DeclarationName(const std::filesystem::path& path);

}  // namespace tessera
