#include "tessera/jobs/type_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <variant>

#include "tessera/base/file.h"
#include "tessera/jobs/npy.h"
#include "tessera/onnx/check_model.h"
#include "tessera/types/notation.h"

namespace tessera {
namespace {

std::optional<int64_t> ParseInteger(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

Result<void> Bind(const std::string& assignment, NotationOptions* options) {
  size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Fail(ErrorCode::kArgument, "--set " + assignment, "is not an assignment", "NAME=LITERAL or NAME=@file.npy");
  }
  std::string name = assignment.substr(0, equals);
  std::string value = assignment.substr(equals + 1);
  if (value.starts_with('@')) {
    TESSERA_ASSIGN(options->parameters[name], LoadNpy(value.substr(1)));
    return {};
  }
  if (value.empty()) {
    return Fail(ErrorCode::kArgument, "--set " + assignment, "has no value", "NAME=LITERAL or NAME=@file.npy");
  }
  // What is no integer is a literal of the constant's type, which is checked where it is used: 0.5, true, INT4.
  if (std::optional<int64_t> number = ParseInteger(value))
    options->parameters[name] = *number;
  else
    options->parameters[name] = value;
  return {};
}

Result<std::vector<int64_t>> ParseShape(const std::string& text) {
  std::vector<int64_t> shape;
  size_t start = 0;
  while (start <= text.size()) {
    size_t end = std::min(text.find_first_of("x,", start), text.size());
    std::optional<int64_t> dim = ParseInteger(std::string_view(text).substr(start, end - start));
    if (!dim || *dim < 0) {
      return Fail(ErrorCode::kArgument, "--shape " + text, "is not a shape",
                  "sizes with x or commas between them: 4096x4096");
    }
    shape.push_back(*dim);
    start = end + 1;
  }
  return shape;
}

bool LooksLikeText(std::span<const uint8_t> bytes) {
  std::span<const uint8_t> head = bytes.first(std::min<size_t>(bytes.size(), 512));
  return std::all_of(head.begin(), head.end(),
                     [](uint8_t c) { return c >= 0x20 || c == '\n' || c == '\r' || c == '\t'; });
}

void MarkReferences(const PhysicalType& type, std::vector<bool>* referenced) {
  if (const auto* reference = std::get_if<TypeReference>(&type.kind)) {
    if (reference->index >= 0 && static_cast<size_t>(reference->index) < referenced->size())
      (*referenced)[reference->index] = true;
  } else if (const auto* array = std::get_if<ArrayType>(&type.kind)) {
    MarkReferences(*array->element, referenced);
  } else if (const auto* structure = std::get_if<StructureType>(&type.kind)) {
    for (const Field& field : structure->fields) {
      if (const auto* part = std::get_if<PhysicalType>(&field.content)) MarkReferences(*part, referenced);
    }
  }
}

}  // namespace

Result<TypeSource> LoadTypes(const std::filesystem::path& path, const TypeSourceOptions& options) {
  TESSERA_ASSIGN(std::shared_ptr<const MappedFile> file, MappedFile::Open(path));
  Problems problems;
  std::optional<TypeTable> table;
  if (LooksLikeText(file->bytes())) {
    NotationOptions notation;
    notation.limits = options.limits;
    notation.file_name = path.string();
    for (const std::string& assignment : options.assignments) TESSERA_TRY(Bind(assignment, &notation));
    if (!options.shape.empty()) {
      TESSERA_ASSIGN(notation.shape, ParseShape(options.shape));
    }
    std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    TESSERA_ASSIGN(NotationResult parsed, ParseNotation(text, notation));
    Result<std::vector<StructType>> types = std::move(parsed).Concrete();
    if (!types) {
      Error error = std::move(types).error();
      error.where = path.string();
      return tl::unexpected<Error>(std::move(error));
    }
    table = TypeTable::Build(*std::move(types), options.limits, &problems);
  } else {
    LoadOptions load;
    load.limits = options.limits;
    TESSERA_ASSIGN(Model model, Model::Load(path, load));
    table = BuildTypeTable(model.proto(), options.limits, &problems);
  }
  if (!problems.empty()) {
    Error error = problems.list().front();
    error.where = path.string() + ": " + error.where;
    return tl::unexpected<Error>(std::move(error));
  }
  if (table->size() == 0)
    return Fail(ErrorCode::kArgument, path.string(), "declares no struct types", "a file with at least one");
  std::vector<bool> referenced(table->size());
  for (size_t i = 0; i < table->size(); ++i) MarkReferences(table->declaration(i).root, &referenced);
  TypeSource source{*std::move(table), {}};
  for (size_t i = 0; i < referenced.size(); ++i) {
    if (!referenced[i]) source.roots.push_back(i);
  }
  return source;
}

}  // namespace tessera
