// LinearUniformProto: value = (code - zero_point) * scale.
#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/quant/families/family.h"

namespace tessera::quant {
namespace {

void Validate(const Profile& profile, const Place& place, Validator* validator) {
  const auto& linear = std::get<LinearProfile>(profile.kind);
  validator->Storage(place.path, linear.storage_type, linear.bits);
  validator->Range(place.path.Field("axis"), linear.axis, -1, INT32_MAX);
  validator->CheckScale(linear.scale, place, linear.axis);
  if (const auto* stored = std::get_if<Stored>(&linear.zero_point)) {
    validator->CheckStored(*stored, place.path.Field("zero_point"), place, linear.axis);
  }
  const auto* zero_point = std::get_if<int64_t>(&linear.zero_point);
  if (linear.symmetric && (zero_point == nullptr || *zero_point != 0)) {
    validator->Add(ErrorCode::kProfileConflict, place.path.Field("zero_point"),
                   "symmetric says that there is no zero point", "symmetric: false, or zero_point: 0");
  }
}

Result<Body> Translate(Translator* translator, Level* level) {
  const auto& linear = std::get<LinearProfile>(level->profile->kind);
  Body body;
  TESSERA_TRY(LinearBody(*level, {}, &body));
  body.constants = {IntConstant("storage_type", static_cast<int64_t>(linear.storage_type)),
                    IntConstant("bits", linear.bits), BoolConstant("symmetric", linear.symmetric)};
  TESSERA_TRY(translator->PlaceScale(level, linear.scale, &body));
  if (const auto* stored = std::get_if<Stored>(&linear.zero_point)) {
    TESSERA_TRY(translator->PlaceStored(level, *stored, "zero_point", &body));
  } else {
    body.constants.push_back(LongConstant("zero_point", std::get<int64_t>(linear.zero_point)));
  }
  body.constants.push_back(IntConstant("axis", linear.axis));
  return body;
}

bool Recognizes(const Recoverer&, const Reader& reader) {
  return reader.Has("symmetric") && reader.Has("storage_type");
}

Result<ReadBack> Recover(Recoverer* recoverer, const Reader& reader, const ReadLevel& level, const std::string&) {
  ReadBack back;
  TESSERA_ASSIGN(LinearProfile linear, ReadLinearConstants(reader));
  TESSERA_ASSIGN(linear.scale, recoverer->ReadScale(reader, level, &back.spelling));
  TESSERA_ASSIGN(linear.zero_point, recoverer->ReadZeroPoint(reader, level, &back.spelling));
  const Field* codes = reader.Codes();
  if (codes == nullptr) return reader.NotAProfile("", "has no field with codes");
  back.spelling.codes = UnlessRule(codes->name, "values");
  const bool native = static_cast<int64_t>(BitWidth(linear.storage_type)) == linear.bits;
  back.spelling.code_type =
      CodeTypeUnlessRule(std::get<PhysicalType>(codes->content), native ? linear.storage_type : ElementType::kUint8);
  back.profile.kind = std::move(linear);
  return back;
}

}  // namespace

Result<void> LinearBody(const Level& level, const std::vector<uint64_t>& grid, Body* body) {
  const auto& linear = std::get<LinearProfile>(level.profile->kind);
  TESSERA_ASSIGN(PhysicalType codes, CodesType(level, linear.storage_type, static_cast<uint32_t>(linear.bits), grid));
  body->codes.push_back(PartField(NameOr(level.spelling->codes, "values"), std::move(codes)));
  return {};
}

std::vector<Field> MergedConstants(const Level&, const LinearProfile& linear) {
  return {IntConstant("storage_type", static_cast<int64_t>(linear.storage_type)), IntConstant("bits", linear.bits),
          BoolConstant("symmetric", linear.symmetric), IntConstant("axis", linear.axis)};
}

Result<LinearProfile> ReadLinearConstants(const Reader& reader) {
  LinearProfile linear;
  TESSERA_ASSIGN(linear.storage_type, reader.Type("storage_type"));
  TESSERA_ASSIGN(linear.bits, reader.Int("bits"));
  TESSERA_ASSIGN(linear.symmetric, reader.Bool("symmetric"));
  TESSERA_ASSIGN(linear.axis, reader.Int("axis"));
  return linear;
}

const Family kLinearFamily = {Validate, Translate, Recognizes, Recover};

}  // namespace tessera::quant
