#include "tessera/quant/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "tessera/base/checked.h"
#include "tessera/quant/families/family.h"
#include "tessera/quant/profile_walk.h"
#include "tessera/quant/validate.h"
#include "tessera/types/closure.h"
#include "tessera/types/type_table.h"

namespace tessera {
namespace quant {

Result<Part> Translator::Translate(Level level) {
  TESSERA_TRY(CheckSpelling(level));
  TESSERA_ASSIGN(Body body, AllFamilies()[level.profile->kind.index() - 1]->translate(this, &level));
  Part part;
  part.outward = std::move(body.outward);
  TESSERA_ASSIGN(part.index, Finish(level, std::move(body)));
  return part;
}

Result<int32_t> Translator::Finish(const Level& level, Body body) {
  const Profile& profile = *level.profile;
  StructType type;
  type.name = level.name;
  type.doc_string = profile.doc_string;
  type.metadata = std::move(body.metadata);
  if (profile.pre_rotation) {
    TESSERA_TRY(RotationConstants(level, *profile.pre_rotation, "pre_rotation", &body.constants));
  }
  if (profile.post_rotation) {
    TESSERA_TRY(RotationConstants(level, *profile.post_rotation, "post_rotation", &body.constants));
  }
  std::vector<Field> fields = std::move(body.before);
  for (std::vector<Field>* part : {&body.codes, &body.after}) {
    for (Field& field : *part) fields.push_back(std::move(field));
  }
  TESSERA_ASSIGN(uint64_t bits, SizeBits(fields));
  TESSERA_TRY(Pad((8 - bits % 8) % 8, &fields));
  // The document's Cast is a bare array; what does not fit into one makes it a structure.
  const bool bare = std::holds_alternative<CastProfile>(profile.kind) && fields.size() == 1 && body.constants.empty() &&
                    fields[0].name == "values";
  if (bare) {
    type.root = std::get<PhysicalType>(std::move(fields[0].content));
    if (profile.data_type) type.metadata.push_back({std::string(kDataTypeKey), std::string(Name(*profile.data_type))});
  } else {
    for (Field& field : body.constants) fields.push_back(std::move(field));
    if (profile.data_type) fields.push_back(IntConstant("data_type", static_cast<int64_t>(*profile.data_type)));
    type.root = {StructureType{std::move(fields)}};
  }
  type.metadata.insert(type.metadata.end(), profile.metadata.begin(), profile.metadata.end());
  return Declare(std::move(type));
}

std::string RootName(const Profile& profile, std::span<const int64_t> shape) {
  std::string name = Upper(NamesOf(profile).field);
  for (size_t i = 0; i < shape.size(); ++i) name += fmt::format("{}{}", i == 0 ? "_" : "X", shape[i]);
  return name;
}

// The first data without a value, with its place.
std::optional<Error> FindOpen(const Profile& profile) {
  std::optional<Error> open;
  ProfileWalk walk([&](const FloatData& data, const Path& path) {
    if (open || data.parameter.empty()) return;
    open = Error{ErrorCode::kUnbound, path.Str(), fmt::format("the data {} has no value", Quoted(data.parameter)),
                 fmt::format("--set {}=@file.npy", data.parameter)};
  });
  walk(profile, Path());
  return open;
}

}  // namespace quant

std::string ShapeText(std::span<const int64_t> shape) { return fmt::format("{}", fmt::join(shape, "x")); }

Result<std::vector<int64_t>> ParseShapeText(std::string_view text) {
  std::vector<int64_t> shape;
  if (text.empty()) return shape;
  size_t start = 0;
  while (start <= text.size()) {
    const size_t end = std::min(text.find_first_of("x,", start), text.size());
    int64_t dim = 0;
    const auto [stop, error] = std::from_chars(text.data() + start, text.data() + end, dim);
    if (error != std::errc() || stop != text.data() + end || dim < 0) {
      return Fail(ErrorCode::kArgument, std::string(text), "is not a shape",
                  "sizes with x or commas between them: 4096x4096");
    }
    shape.push_back(dim);
    start = end + 1;
  }
  return shape;
}

Result<std::vector<StructType>> TranslateProfile(const Profile& profile, std::span<const int64_t> shape,
                                                 const TranslateOptions& options) {
  Problems problems;
  const Path root;
  ValidateProfile(profile, root, options.limits, &problems);
  if (!problems.empty()) return tl::unexpected<Error>(problems.list().front());
  if (std::optional<Error> open = quant::FindOpen(profile)) return tl::unexpected<Error>(*std::move(open));

  if (const uint64_t bytes = ProfileBytes(profile); bytes > options.limits.profile_bytes) {
    return Fail(ErrorCode::kLimitProfile, "", fmt::format("the profile takes {} bytes", bytes),
                fmt::format("at most {}", options.limits.profile_bytes));
  }
  const Profile resolved = Resolved(profile);
  quant::Level level;
  level.profile = &resolved;
  level.spelling = &options.spelling;
  level.name = quant::NameOr(options.spelling.name, quant::RootName(resolved, shape));
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0) {
      return Fail(ErrorCode::kProfileShape, ShapeText(shape), fmt::format("dimension {} is negative", i), "0 or more");
    }
    level.shape.push_back(static_cast<uint64_t>(shape[i]));
    level.order.push_back(i);
  }
  const std::optional<uint64_t> values = CheckedProduct(level.shape);
  if (!values || *values > static_cast<uint64_t>(INT64_MAX)) {
    return Fail(ErrorCode::kProfileShape, ShapeText(shape), "the tensor has more than 2^63 - 1 values",
                "a smaller shape");
  }
  level.values = *values;
  level.dims = {level.values};

  quant::Translator translator(options);
  Result<quant::Part> part = translator.Translate(level);
  if (!part) {
    Error error = std::move(part).error();
    if (error.where.empty()) error.where = fmt::format("{} of {}", level.name, ShapeText(shape));
    return tl::unexpected<Error>(std::move(error));
  }
  if (options.outliers && !translator.used_outliers()) {
    return Fail(ErrorCode::kArgument, level.name, "a number of outliers is given, and the profile has no sparse part",
                "no number of outliers");
  }
  std::vector<StructType> types = translator.TakeTypes();
  StructType& top = types[static_cast<size_t>(part->index)];
  top.metadata.push_back({std::string(kShapeKey), ShapeText(shape)});
  types = Closure(StructType(top), types);
  // What the limits say of fields, leaves and constants, and names that a spelling made equal.
  TypeTable::Build(types, options.limits, &problems);
  if (!problems.empty()) return tl::unexpected<Error>(problems.list().front());
  return types;
}

}  // namespace tessera
