#include "tessera/jobs/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "tessera/formats/catalog.h"
#include "tessera/jobs/format_files.h"
#include "tessera/jobs/npy.h"
#include "tessera/quant/profile_text.h"
#include "tessera/quant/translate.h"

namespace tessera {
namespace {

Result<void> Bind(const std::string& assignment, std::map<std::string, ParameterValue, std::less<>>* parameters) {
  size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Fail(ErrorCode::kArgument, "--set " + assignment, "is not an assignment", "NAME=LITERAL or NAME=@file.npy");
  }
  std::string name = assignment.substr(0, equals);
  std::string value = assignment.substr(equals + 1);
  if (value.starts_with('@')) {
    TESSERA_ASSIGN((*parameters)[name], LoadNpy(value.substr(1)));
    return {};
  }
  if (value.empty()) {
    return Fail(ErrorCode::kArgument, "--set " + assignment, "has no value", "NAME=LITERAL or NAME=@file.npy");
  }
  // What is no integer is a literal of the type of its place, which is checked where it is used: 0.5, true, INT4.
  int64_t number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size())
    (*parameters)[name] = number;
  else
    (*parameters)[name] = value;
  return {};
}

bool LooksLikeText(std::span<const uint8_t> bytes) {
  std::span<const uint8_t> head = bytes.first(std::min<size_t>(bytes.size(), 512));
  return std::all_of(head.begin(), head.end(),
                     [](uint8_t c) { return c >= 0x20 || c == '\n' || c == '\r' || c == '\t'; });
}

}  // namespace

std::string_view Source::text() const {
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

Error Source::At(Error error) const {
  error.where = path.string() + (error.where.empty() ? "" : ": " + error.where);
  return error;
}

Result<Source> OpenSource(const std::filesystem::path& path, const SourceOptions& options) {
  Source source;
  source.path = path;
  TESSERA_ASSIGN(const std::vector<Format> own, LoadFormatFiles(options.format_files, options.limits));
  const bool may_be_name = path.string().find('/') == std::string::npos;
  Result<Format> named = may_be_name ? FindFormat(path.string(), own)
                                     : Result<Format>(Fail(ErrorCode::kFormatName, path.string(), "is a path"));
  if (named) {
    source.kind = Source::Kind::kFormat;
    source.format = *std::move(named);
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) {
      source.note = fmt::format("{} is the format of that name; ./{} is the file", path.string(), path.string());
    }
  } else {
    Result<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
    if (!file) {
      Error error = std::move(file).error();
      // A name without an ending is more likely that of a format.
      if (error.code == ErrorCode::kFileOpen && may_be_name) {
        error.what += ", and no format goes by that name";
        error.fix = named.error().fix;
      }
      return tl::unexpected<Error>(std::move(error));
    }
    source.file = *std::move(file);
    if (!LooksLikeText(source.file->bytes())) {
      source.kind = Source::Kind::kModel;
    } else if (IsProfileText(source.text())) {
      source.kind = Source::Kind::kProfileText;
    } else if (IsFormatText(source.text())) {
      source.kind = Source::Kind::kFormat;
      TESSERA_ASSIGN(source.format, ParseFormat(source.text(), options.limits, path.string()));
    }
  }
  source.notation.limits = options.limits;
  source.notation.file_name = path.string();
  if (!options.shape.empty()) {
    TESSERA_ASSIGN(source.notation.shape, ParseShapeOption(options.shape));
  }
  if (source.kind == Source::Kind::kModel && !options.assignments.empty()) {
    return Fail(ErrorCode::kArgument, "--set " + options.assignments.front(),
                path.string() + " is a model, whose types have no template parameters", "a text, or no --set");
  }
  TESSERA_TRY(BindAssignments(options.assignments, &source.notation.parameters));
  return source;
}

DeclareOptions Source::declare() const {
  DeclareOptions options;
  options.parameters = notation.parameters;
  options.limits = notation.limits;
  return options;
}

Result<void> BindAssignments(std::span<const std::string> assignments,
                             std::map<std::string, ParameterValue, std::less<>>* parameters) {
  for (const std::string& assignment : assignments) TESSERA_TRY(Bind(assignment, parameters));
  return {};
}

Result<std::vector<int64_t>> ParseShapeOption(const std::string& text) {
  Result<std::vector<int64_t>> shape = ParseShapeText(text);
  if (shape) return shape;
  Error error = std::move(shape).error();
  error.where = "--shape " + error.where;
  return tl::unexpected<Error>(std::move(error));
}

std::string DeclarationName(const std::filesystem::path& path) {
  std::filesystem::path stem = path.stem();
  if (stem.extension() == ".profile") stem = stem.stem();
  std::string name = stem.string();
  for (char& c : name) {
    if (c >= 'a' && c <= 'z')
      c = static_cast<char>(c - 'a' + 'A');
    else if (!((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')))
      c = '_';
  }
  return name;
}

}  // namespace tessera
