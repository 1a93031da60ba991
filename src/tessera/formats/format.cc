#include "tessera/formats/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/quant/profile_text.h"
#include "tessera/types/closure.h"
#include "tessera/types/function_check.h"

namespace tessera {
namespace {

constexpr int64_t kExampleShape[] = {4096, 4096};
// What the library binds itself.
constexpr std::string_view kOwnParameters[] = {"shape", "elements", "rows", "cols", "block"};

std::string Where(const Format& format) {
  return format.file_name.empty() ? "format " + format.name : format.file_name;
}

tl::unexpected<Error> Wrong(const Format& format, std::string what, std::string fix) {
  return Fail(ErrorCode::kFormatValue, Where(format), std::move(what), std::move(fix));
}

// An error without a place gets the format's.
Error At(const Format& format, Error error) {
  const std::string where = Where(format);
  if (error.where.rfind(where, 0) != 0) error.where = error.where.empty() ? where : where + ": " + error.where;
  return error;
}

template <typename T>
Result<T> In(const Format& format, Result<T> result) {
  if (!result) return tl::unexpected<Error>(At(format, std::move(result).error()));
  return result;
}

// The body with the lines and columns that it has in its file.
std::string Placed(const Format& format) {
  return std::string(format.line - 1, '\n') + std::string(format.column - 1, ' ') + format.body;
}

Result<NotationOptions> Bind(const Format& format, std::optional<std::vector<int64_t>> shape,
                             const DeclareOptions& options) {
  NotationOptions notation;
  for (const std::string_view name : kOwnParameters) {
    if (options.parameters.find(name) == options.parameters.end()) continue;
    return Fail(ErrorCode::kArgument, Where(format),
                fmt::format("{} follows from the shape and the format, and cannot be set", Quoted(name)),
                "other parameters");
  }
  notation.parameters = options.parameters;
  notation.parameters["block"] = format.BlockValues();
  notation.shape = std::move(shape);
  notation.limits = options.limits;
  notation.file_name = Where(format);
  return notation;
}

// A block has to divide the last axis.
Result<void> CheckShape(const Format& format, std::span<const int64_t> shape) {
  if (format.IsFamily()) {
    return Fail(ErrorCode::kFormatName, Where(format), "is a family, and its block size is open",
                fmt::format("a size in the name: {}", WithBlock(format, format.blocks.front()).name));
  }
  for (int64_t dim : shape) {
    if (dim < 0) {
      return Fail(ErrorCode::kFormatShape, format.name, fmt::format("dimension {} is negative", dim), "0 or more");
    }
  }
  if (format.partial_blocks) return {};
  const int64_t block = format.BlockValues();
  const int64_t last = shape.empty() ? 1 : shape.back();
  if (last % block == 0) return {};
  const int64_t below = last / block * block;
  int64_t above = 0;
  const bool fits = !__builtin_add_overflow(below, block, &above);
  std::string nearest = below > 0 ? std::to_string(below) : "";
  if (fits) nearest += fmt::format("{}{}", nearest.empty() ? "" : " or ", above);
  return Fail(
      ErrorCode::kFormatShape, format.name,
      fmt::format("{} of shape {} has {} values, which are not a multiple of the block of {}",
                  shape.empty() ? "a scalar" : "the last axis", shape.empty() ? "[]" : ShapeText(shape), last, block),
      "nearest: " + nearest);
}

// For a declaration that has no name of its own: SKETCH_Q4_K.
std::string TypeName(const Format& format) {
  std::string name = format.name;
  for (char& c : name) {
    if (c >= 'a' && c <= 'z')
      c = static_cast<char>(c - 'a' + 'A');
    else if (!(c >= '0' && c <= '9'))
      c = '_';
  }
  return name;
}

Result<FormatTypes> FromProfile(const Format& format, std::span<const int64_t> shape, const DeclareOptions& options) {
  TESSERA_ASSIGN(const Profile profile,
                 FormatProfile(format, std::vector<int64_t>(shape.begin(), shape.end()), options));
  TranslateOptions translate;
  translate.spelling = format.spelling;
  if (translate.spelling.name.empty()) translate.spelling.name = TypeName(format);
  if (!options.name.empty()) translate.spelling.name = options.name;
  translate.outliers = options.outliers;
  translate.limits = options.limits;
  FormatTypes result;
  TESSERA_ASSIGN(result.types, In(format, TranslateProfile(profile, shape, translate)));
  result.profile = Resolved(profile);
  return result;
}

// The decoder of a tensor without elements. A Reshape of opset 13 takes a 0 in a shape for "as it was".
void DecodeNothing(std::span<const int64_t> shape, Function* decoder) {
  Node dims;
  dims.op_type = "Constant";
  dims.outputs = {"no_elements"};
  dims.attributes = {{"value_ints", std::vector<int64_t>(shape.begin(), shape.end()), {}}};
  Node result;
  result.op_type = "ConstantOfShape";
  result.inputs = dims.outputs;
  result.outputs = decoder->outputs;
  std::erase_if(decoder->value_infos, [&](const ValueInfo& info) { return info.name != decoder->outputs.front(); });
  decoder->nodes = {std::move(dims), std::move(result)};
}

Result<FormatTypes> FromTypes(const Format& format, std::span<const int64_t> shape, const DeclareOptions& options) {
  if (options.outliers) {
    return Fail(ErrorCode::kArgument, Where(format), "has struct types, and a number of outliers is for profiles",
                "no number of outliers");
  }
  TESSERA_ASSIGN(const NotationOptions notation,
                 Bind(format, std::vector<int64_t>(shape.begin(), shape.end()), options));
  TESSERA_ASSIGN(NotationResult parsed, In(format, ParseNotation(Placed(format), notation)));
  TESSERA_ASSIGN(std::vector<StructType> declared, In(format, std::move(parsed).Concrete()));
  if (declared.empty()) return Wrong(format, "declares no type", "struct types, the root last");
  for (StructType& type : declared) {
    if (type.name) type.name = WithBlock(*type.name, format.BlockValues());
  }
  FormatTypes result;
  result.types = Closure(declared.back(), declared);
  if (result.types.size() != declared.size()) {
    return Wrong(format,
                 fmt::format("declares {} types, of which the last, {}, needs {}", declared.size(),
                             Quoted(declared.back().Name()), result.types.size()),
                 "the root last, and nothing that it does not need");
  }
  StructType& root = result.types.back();
  if (!options.name.empty()) root.name = options.name;
  if (!root.decoder) {
    return Wrong(format, fmt::format("the root {} has no decoder", Quoted(root.Name())),
                 "decoder: FunctionProto { ... }");
  }
  const std::optional<OutputSignature> output = DeclaredOutput(*root.decoder);
  if (output && !std::equal(output->dims.begin(), output->dims.end(), shape.begin(), shape.end())) {
    return Wrong(format,
                 fmt::format("the decoder of {} gives [{}] for the shape [{}]", Quoted(root.Name()),
                             fmt::join(output->dims, ", "), fmt::join(shape, ", ")),
                 "float[shape] as the type of its output");
  }
  if (std::count(shape.begin(), shape.end(), 0) > 0) DecodeNothing(shape, &*root.decoder);
  return result;
}

}  // namespace

std::span<const int64_t> Format::ExampleShape() const {
  return shape.empty() ? std::span<const int64_t>(kExampleShape) : std::span<const int64_t>(shape);
}

std::optional<double> FormatTypes::BitsPerWeight() const {
  const std::optional<uint64_t> elements = CheckedProduct(shape);
  if (!elements || *elements == 0) return std::nullopt;
  return static_cast<double>(root->size_bits) / static_cast<double>(*elements);
}

Result<Format> ParseFormat(std::string_view text, const Limits& limits, const std::string& file_name) {
  TESSERA_ASSIGN(Format format, ParseFormatHeader(text, limits, file_name));
  const Format example = format.IsFamily() ? WithBlock(format, format.blocks.front()) : format;
  DeclareOptions options;
  options.limits = limits;
  options = WithPlaceholders(format, std::move(options));
  const Result<FormatTypes> declared = DeclareFormat(example, example.ExampleShape(), options);
  if (declared) return format;
  // How many outliers there are may be left to whoever uses the format.
  options.outliers = 0;
  if (!format.by_profile || !DeclareFormat(example, example.ExampleShape(), options)) {
    return tl::unexpected<Error>(declared.error());
  }
  return format;
}

Result<Profile> FormatProfile(const Format& format, std::optional<std::vector<int64_t>> shape,
                              const DeclareOptions& options) {
  if (!format.by_profile) return Wrong(format, "is described by struct types, not by a profile", "its struct types");
  TESSERA_ASSIGN(const NotationOptions notation, Bind(format, std::move(shape), options));
  TESSERA_ASSIGN(ProfileText parsed, In(format, ParseProfiles(Placed(format), notation)));
  TESSERA_ASSIGN(std::vector<Profile> profiles, In(format, std::move(parsed).Concrete()));
  if (profiles.size() != 1) {
    return Wrong(format, fmt::format("has {} profiles", profiles.size()), "one profile");
  }
  return std::move(profiles.front());
}

Result<FormatTypes> DeclareFormat(const Format& format, std::span<const int64_t> shape, const DeclareOptions& options) {
  TESSERA_TRY(CheckShape(format, shape));
  TESSERA_ASSIGN(FormatTypes result,
                 format.by_profile ? FromProfile(format, shape, options) : FromTypes(format, shape, options));
  Problems problems;
  const TypeTable table = TypeTable::Build(result.types, options.limits, &problems);
  if (!problems.empty()) return tl::unexpected<Error>(At(format, problems.list().front()));
  result.root = table.Get(static_cast<int64_t>(table.size()) - 1);
  result.shape.assign(shape.begin(), shape.end());
  return result;
}

DeclareOptions WithPlaceholders(const Format& format, DeclareOptions options) {
  for (const FormatData& data : format.data) {
    Constant zeros;
    zeros.type = ElementType::kFloat;
    zeros.dims = {data.values};
    zeros.bytes.resize(static_cast<size_t>(data.values) * sizeof(float));
    options.parameters.try_emplace(data.parameter, std::move(zeros));
  }
  return options;
}

}  // namespace tessera
