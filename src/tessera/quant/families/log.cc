// LogUniformProto: value = sign * base^(code + offset).
#include <cmath>

#include "tessera/base/checked.h"
#include "tessera/quant/families/family.h"

namespace tessera::quant {
namespace {

void Validate(const Profile& profile, const Place& place, Validator* validator) {
  const auto& log = std::get<LogProfile>(profile.kind);
  validator->Range(place.path.Field("bits"), log.bits, 1, 32);
  if (!(log.base > 0) || log.base == 1 || std::isinf(log.base)) {
    validator->Add(ErrorCode::kProfileValue, place.path.Field("base"), "is no base of a logarithm",
                   "a finite number over 0 that is not 1");
  }
  if (!std::isfinite(log.offset)) {
    validator->Add(ErrorCode::kProfileValue, place.path.Field("offset"), "is not finite", "a finite number");
  }
}

// The type of codes by rule.
ElementType CodeType(const LogProfile& log) {
  const ElementType type = UnsignedType(static_cast<uint32_t>(log.bits));
  return type == ElementType::kUndefined ? ElementType::kUint8 : type;
}

Result<Body> Translate(Translator* translator, Level* level) {
  const auto& log = std::get<LogProfile>(level->profile->kind);
  Body body;
  TESSERA_ASSIGN(PhysicalType codes, CodesType(*level, CodeType(log), static_cast<uint32_t>(log.bits)));
  body.codes.push_back(PartField(NameOr(level->spelling->codes, "codes"), std::move(codes)));
  if (log.has_sign) {
    // The plane of signs begins at a byte.
    TESSERA_ASSIGN(uint64_t bits, translator->SizeBits(body.codes));
    TESSERA_TRY(translator->Pad((8 - bits % 8) % 8, &body.codes));
    body.codes.push_back(PartField("signs", ArrayOf(ElementType::kUint8, {CeilDiv(level->values, 8)})));
  }
  body.constants = {IntConstant("bits", log.bits), FloatConstant("base", log.base), FloatConstant("offset", log.offset),
                    BoolConstant("has_sign", log.has_sign)};
  return body;
}

bool Recognizes(const Recoverer&, const Reader& reader) { return reader.Has("base") && reader.Has("has_sign"); }

Result<ReadBack> Recover(Recoverer*, const Reader& reader, const ReadLevel&, const std::string&) {
  ReadBack back;
  LogProfile log;
  TESSERA_ASSIGN(log.bits, reader.Int("bits"));
  TESSERA_ASSIGN(log.base, reader.Float("base"));
  TESSERA_ASSIGN(log.offset, reader.Float("offset"));
  TESSERA_ASSIGN(log.has_sign, reader.Bool("has_sign"));
  const Field* codes = reader.Codes();
  if (codes == nullptr) return reader.NotAProfile("", "has no field with codes");
  if (log.bits < 1 || log.bits > 32) return reader.NotAProfile("bits", "is no number of bits");
  back.spelling.codes = UnlessRule(codes->name, "codes");
  back.spelling.code_type = CodeTypeUnlessRule(std::get<PhysicalType>(codes->content), CodeType(log));
  back.profile.kind = log;
  return back;
}

}  // namespace

const Family kLogFamily = {Validate, Translate, Recognizes, Recover};

}  // namespace tessera::quant
