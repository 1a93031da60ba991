// SparseQuantizationProto: a base, and outliers in their place.
#include <cmath>

#include "tessera/base/checked.h"
#include "tessera/quant/families/family.h"
#include "tessera/types/expression.h"

namespace tessera::quant {
namespace {

void Validate(const Profile& profile, const Place& place, Validator* validator) {
  const auto& sparse = std::get<SparseProfile>(profile.kind);
  validator->Numeric(place.path.Field("outlier_data_type"), sparse.outlier_data_type);
  // The comparisons are false for NaN.
  if (!(sparse.outlier_threshold >= 0) || std::isinf(sparse.outlier_threshold)) {
    validator->Add(ErrorCode::kProfileValue, place.path.Field("outlier_threshold"), "is no magnitude",
                   "a finite number from 0 up");
  }
  if (!(sparse.outlier_ratio >= 0 && sparse.outlier_ratio <= 1)) {
    validator->Add(ErrorCode::kProfileValue, place.path.Field("outlier_ratio"), "is no fraction of the values",
                   "0 to 1");
  }
  const Path base_path = place.path.Field("base_quant");
  Place base = {base_path, place.in_tile, place.only_tile, place.only_tiles};
  validator->Check(*sparse.base_quant, base);
}

// How many outliers there are if nobody says, ceil(ratio * values), exactly and on every machine the same; nullopt
// where a threshold alone does not tell.
std::optional<uint64_t> OutliersByRule(const SparseProfile& sparse, uint64_t values) {
  if (values == 0) return 0;
  if (!(sparse.outlier_ratio > 0 && sparse.outlier_ratio <= 1)) return std::nullopt;
  // ratio = mantissa / 2^shift with a mantissa of 24 bits; the product has at most 87.
  int exponent = 0;
  const auto mantissa = static_cast<WideInteger>(std::ldexp(std::frexp(sparse.outlier_ratio, &exponent), 24));
  const int shift = 24 - exponent;
  const WideInteger product = mantissa * static_cast<WideInteger>(values);
  if (shift > 100) return 1;
  const WideInteger one = 1;
  return static_cast<uint64_t>((product + (one << shift) - 1) >> shift);
}

Result<Body> Translate(Translator* translator, Level* level) {
  const auto& sparse = std::get<SparseProfile>(level->profile->kind);
  TESSERA_TRY(RefuseCodeType(*level));
  const std::optional<uint64_t> by_rule = OutliersByRule(sparse, level->values);
  const std::optional<uint64_t> given = translator->Outliers();
  if (!given && !by_rule) {
    return ShapeError(*level, "a threshold alone does not say how many outliers there are",
                      "outlier_ratio, or the number of outliers");
  }
  const uint64_t outliers = given ? *given : *by_rule;
  if (outliers > level->values) {
    return ShapeError(*level, "there are more outliers than values", "at most one for each value");
  }
  Body body;
  Level base = *level;
  base.profile = &*sparse.base_quant;
  base.spelling = &level->NextPart();
  base.name = NameOr(base.spelling->name, level->name + "_BASE");
  base.next_part = 0;
  TESSERA_ASSIGN(Part part, translator->Translate(std::move(base)));
  body.outward = std::move(part.outward);
  body.codes = {PartField(NameOr(level->spelling->codes, "base"), {TypeReference{part.index}}),
                PartField("outlier_indices", ArrayOf(ElementType::kInt64, {outliers})),
                PartField("outlier_values", ArrayOf(sparse.outlier_data_type, {outliers}))};
  body.constants = {IntConstant("outlier_data_type", static_cast<int64_t>(sparse.outlier_data_type)),
                    FloatConstant("outlier_threshold", sparse.outlier_threshold),
                    FloatConstant("outlier_ratio", sparse.outlier_ratio)};
  return body;
}

bool Recognizes(const Recoverer&, const Reader& reader) {
  return reader.Has("outlier_threshold") && reader.Has("outlier_ratio");
}

Result<ReadBack> Recover(Recoverer* recoverer, const Reader& reader, const ReadLevel& level, const std::string& name) {
  ReadBack back;
  SparseProfile sparse;
  TESSERA_ASSIGN(sparse.outlier_data_type, reader.Type("outlier_data_type"));
  TESSERA_ASSIGN(sparse.outlier_threshold, reader.Float("outlier_threshold"));
  TESSERA_ASSIGN(sparse.outlier_ratio, reader.Float("outlier_ratio"));
  const PhysicalType* indices = reader.FindPart("outlier_indices");
  if (indices == nullptr || DimsOf(*indices).size() != 1) {
    return reader.NotAProfile("outlier_indices", "is missing, or no array of one dimension");
  }
  const uint64_t count = DimsOf(*indices)[0];
  const std::optional<uint64_t> values = CheckedProduct(level.shape);
  if (!values) return reader.NotAProfile("outlier_indices", "the tensor has too many values");
  recoverer->NoteOutliers(count, OutliersByRule(sparse, *values));
  const Field* codes = reader.Codes();
  const int32_t base = codes == nullptr ? -1 : Recoverer::Target(std::get<PhysicalType>(codes->content));
  if (base < 0) return reader.NotAProfile("base", "is missing, or no struct type");
  back.spelling.codes = UnlessRule(codes->name, "base");
  TESSERA_ASSIGN(ReadBack inner, recoverer->Recover(base, level, name + "_BASE"));
  sparse.base_quant = std::move(inner.profile);
  back.spelling.parts.push_back(std::move(inner.spelling));
  back.profile.kind = std::move(sparse);
  return back;
}

}  // namespace

const Family kSparseFamily = {Validate, Translate, Recognizes, Recover};

}  // namespace tessera::quant
