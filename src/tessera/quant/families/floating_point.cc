// FloatingPointUniformProto: codes of sign, exponent and mantissa.
#include <fmt/format.h>

#include <algorithm>

#include "tessera/base/checked.h"
#include "tessera/quant/families/family.h"

namespace tessera::quant {
namespace {

uint32_t CodeBits(const FloatingPointProfile& profile) {
  return static_cast<uint32_t>(profile.sign_bits + profile.exponent_bits + profile.mantissa_bits);
}

// True if the numbers that make a group's size are in range.
bool InRange(const FloatingPointProfile& profile) {
  return profile.sign_bits >= 0 && profile.sign_bits <= 1 && profile.exponent_bits >= 1 && profile.exponent_bits <= 8 &&
         profile.mantissa_bits >= 0 && profile.mantissa_bits <= 23 && profile.packed_count >= 0 &&
         profile.packed_bytes >= 0;
}

// True if a group has bits that belong to no code.
bool GroupsArePadded(const FloatingPointProfile& profile) {
  return static_cast<uint64_t>(profile.packed_count) * CodeBits(profile) !=
         static_cast<uint64_t>(profile.packed_bytes) * 8;
}

void Validate(const Profile& profile, const Place& place, Validator* validator) {
  const auto& floating_point = std::get<FloatingPointProfile>(profile.kind);
  const Path& path = place.path;
  validator->CheckScale(floating_point.scale, place, 0);
  validator->Range(path.Field("sign_bits"), floating_point.sign_bits, 0, 1);
  validator->Range(path.Field("exponent_bits"), floating_point.exponent_bits, 1, 8);
  validator->Range(path.Field("mantissa_bits"), floating_point.mantissa_bits, 0, 23);
  validator->Range(path.Field("packed_count"), floating_point.packed_count, 0, INT32_MAX);
  validator->Range(path.Field("packed_bytes"), floating_point.packed_bytes, 0, INT32_MAX);
  // What is finite stays a finite FLOAT: 2^-149 is the smallest, 2^127 the largest power.
  const int64_t top = (int64_t{1} << std::clamp(floating_point.exponent_bits, 1, 8)) - 1;
  // Without a mantissa a single special value takes the whole top exponent, too.
  const bool reserved = floating_point.mantissa_bits == 0 ? floating_point.has_inf || floating_point.has_nan
                                                          : floating_point.has_inf && floating_point.has_nan;
  validator->Range(path.Field("exponent_bias"), floating_point.exponent_bias, top - (reserved ? 1 : 0) - 127,
                   150 - std::clamp(floating_point.mantissa_bits, 0, 23));
  if (floating_point.has_inf && floating_point.has_nan && floating_point.mantissa_bits == 0) {
    validator->Add(ErrorCode::kProfileConflict, path.Field("has_nan"),
                   "without a mantissa the top exponent has one code, infinity or NaN", "one of has_inf and has_nan");
  }
  if (floating_point.split_storage && floating_point.mantissa_bits == 0) {
    validator->Add(ErrorCode::kProfileConflict, path.Field("split_storage"), "there is no mantissa to store apart",
                   "mantissa_bits over 0, or split_storage: false");
  }
  if ((floating_point.packed_count == 0) != (floating_point.packed_bytes == 0)) {
    validator->Add(ErrorCode::kProfileConflict, path.Field("packed_count"),
                   "packed_count and packed_bytes are given together or not at all", "both");
  } else if (InRange(floating_point) && static_cast<uint64_t>(floating_point.packed_count) * CodeBits(floating_point) >
                                            static_cast<uint64_t>(floating_point.packed_bytes) * 8) {
    validator->Add(
        ErrorCode::kProfileConflict, path.Field("packed_bytes"),
        fmt::format("{} values do not fit into {} bytes", floating_point.packed_count, floating_point.packed_bytes),
        "packed_count times the bits of a code, in bytes");
  }
}

std::vector<Field> LayoutConstants(const FloatingPointProfile& profile) {
  return {IntConstant("exponent_bias", profile.exponent_bias), BoolConstant("has_inf", profile.has_inf),
          BoolConstant("has_nan", profile.has_nan)};
}

// The constants of a form whose layout does not show them.
std::vector<Field> AllConstants(const FloatingPointProfile& profile) {
  return {IntConstant("sign_bits", profile.sign_bits),
          IntConstant("exponent_bits", profile.exponent_bits),
          IntConstant("mantissa_bits", profile.mantissa_bits),
          IntConstant("exponent_bias", profile.exponent_bias),
          BoolConstant("has_inf", profile.has_inf),
          BoolConstant("has_nan", profile.has_nan),
          BoolConstant("split_storage", profile.split_storage),
          IntConstant("packed_count", profile.packed_count),
          IntConstant("packed_bytes", profile.packed_bytes)};
}

// The codes of one group of `count` values.
void GroupFields(const FloatingPointProfile& profile, const std::string& packed_name, std::vector<uint64_t> dims,
                 std::vector<Field>* fields) {
  BitPackingType packing;
  packing.dims = dims;
  if (profile.sign_bits > 0) packing.components.push_back({"sign", static_cast<uint32_t>(profile.sign_bits)});
  packing.components.push_back({"exponent", static_cast<uint32_t>(profile.exponent_bits)});
  const auto mantissa_bits = static_cast<uint32_t>(profile.mantissa_bits);
  if (!profile.split_storage) {
    if (mantissa_bits > 0) packing.components.push_back({"mantissa", mantissa_bits});
    fields->push_back(PartField(packed_name, {std::move(packing)}));
    return;
  }
  fields->push_back(PartField("sign_exponent", {std::move(packing)}));
  if (ElementType type = UnsignedType(mantissa_bits); type != ElementType::kUndefined) {
    fields->push_back(PartField("mantissa", ArrayOf(type, std::move(dims))));
  } else {
    fields->push_back(PartField("mantissa", {BitPackingType{{{"mantissa", mantissa_bits}}, std::move(dims)}}));
  }
}

Result<Body> Translate(Translator* translator, Level* level) {
  const auto& profile = std::get<FloatingPointProfile>(level->profile->kind);
  const uint32_t code_bits = CodeBits(profile);
  const ElementType native = NativeFloat(profile);
  const auto count = static_cast<uint64_t>(profile.packed_count);
  const std::optional<ElementType> asked = level->spelling->code_type;
  const uint64_t groups = count == 0 ? 1 : CeilDiv(level->values, count);
  const bool can_be_native =
      native != ElementType::kUndefined && !profile.split_storage && !(count > 0 && GroupsArePadded(profile));
  if (asked && (profile.split_storage || (*asked != ElementType::kUint8 && !(can_be_native && *asked == native)))) {
    return Fail(ErrorCode::kProfileValue, level->name,
                fmt::format("these codes cannot be declared as {}", Name(*asked)),
                profile.split_storage ? "no code type" : "UINT8");
  }
  Body body;
  std::optional<uint64_t> code_region = CheckedMul(level->values, code_bits);
  std::optional<uint64_t> region = code_region;
  if (count > 0) {
    region = CheckedMul(groups, static_cast<uint64_t>(profile.packed_bytes));
    if (region) region = CheckedMul(*region, 8);
  }
  if (!region || !code_region || *region > UINT64_MAX - 7) {
    return ShapeError(*level, "the size of the codes passes 64 bits", "a smaller tensor");
  }

  if (asked == ElementType::kUint8 && native != ElementType::kUint8) {
    body.codes.push_back(
        PartField(NameOr(level->spelling->codes, "values"), ArrayOf(ElementType::kUint8, {CeilDiv(*region, 8)})));
    body.constants = AllConstants(profile);
  } else if (can_be_native) {
    body.codes.push_back(PartField(NameOr(level->spelling->codes, "values"), ArrayOf(native, level->dims)));
    TESSERA_TRY(translator->Pad(*region - *code_region, &body.codes));
    body.constants = AllConstants(profile);
  } else if (count == 0) {
    GroupFields(profile, NameOr(level->spelling->codes, "packed"), {level->values}, &body.codes);
    body.constants = LayoutConstants(profile);
    // A layout of one group shows how many codes there are, not that any number may be.
    body.constants.push_back(IntConstant("packed_count", 0));
    body.constants.push_back(IntConstant("packed_bytes", 0));
  } else if (!profile.split_storage && !GroupsArePadded(profile)) {
    std::vector<uint64_t> dims = {count};
    if (groups != 1) dims = {groups, count};
    GroupFields(profile, NameOr(level->spelling->codes, "packed"), std::move(dims), &body.codes);
    body.constants = LayoutConstants(profile);
  } else {
    std::vector<Field> group;
    const uint64_t padding = static_cast<uint64_t>(profile.packed_bytes) * 8 - count * code_bits;
    GroupFields(profile, NameOr(groups == 1 ? level->spelling->codes : "", "packed"), {count}, &group);
    TESSERA_TRY(translator->Pad(padding, &group));
    if (groups == 1) {
      body.codes = std::move(group);
      body.constants = LayoutConstants(profile);
    } else {
      StructType type;
      type.name = NameOr(level->NextPart().name, level->name + "_GROUP");
      for (Field& field : LayoutConstants(profile)) group.push_back(std::move(field));
      type.root = {StructureType{std::move(group)}};
      TESSERA_ASSIGN(int32_t index, translator->Declare(std::move(type)));
      body.codes.push_back(
          PartField(NameOr(level->spelling->codes, "values"), ArrayOf({TypeReference{index}}, {groups})));
    }
  }
  TESSERA_TRY(translator->PlaceScale(level, profile.scale, &body));
  return body;
}

int32_t GroupOf(const Reader& reader) {
  const Field* codes = reader.Codes();
  if (codes == nullptr) return -1;
  return Recoverer::Target(std::get<PhysicalType>(codes->content));
}

bool Recognizes(const Recoverer& recoverer, const Reader& reader) {
  if (reader.Has("exponent_bias")) return true;
  const int32_t group = GroupOf(reader);
  return group >= 0 && recoverer.Read(group).Has("exponent_bias");
}

// The widths and the packing from the fields of a group.
Result<void> ReadGroup(const Reader& reader, FloatingPointProfile* profile) {
  profile->split_storage = reader.FindPart("sign_exponent") != nullptr;
  const Field* codes = reader.Codes();
  if (codes == nullptr) return reader.NotAProfile("", "has no field with codes");
  const auto* packing = std::get_if<BitPackingType>(&std::get<PhysicalType>(codes->content).kind);
  if (packing == nullptr || packing->dims.empty()) return reader.NotAProfile(codes->name, "is no bit packing of codes");
  uint64_t bits = 0;
  for (const BitPackingType::Component& component : packing->components) {
    int32_t* width = component.name == "sign"       ? &profile->sign_bits
                     : component.name == "exponent" ? &profile->exponent_bits
                     : component.name == "mantissa" ? &profile->mantissa_bits
                                                    : nullptr;
    if (width == nullptr) return reader.NotAProfile(codes->name, "has a component " + Quoted(component.name));
    *width = static_cast<int32_t>(component.bits);
    bits += component.bits;
  }
  if (profile->split_storage) {
    const PhysicalType* mantissa = reader.FindPart("mantissa");
    if (mantissa == nullptr) return reader.NotAProfile("mantissa", "is missing");
    const auto* parts = std::get_if<BitPackingType>(&mantissa->kind);
    if (parts != nullptr && parts->components.size() == 1) {
      profile->mantissa_bits = static_cast<int32_t>(parts->components[0].bits);
    } else {
      profile->mantissa_bits = static_cast<int32_t>(BitWidth(ElementOf(*mantissa)));
    }
    bits += static_cast<uint64_t>(profile->mantissa_bits);
  }
  if (reader.Has("packed_count")) return {};  // 0: one group of all values
  const uint64_t count = packing->dims.back();
  uint64_t group_bits = count;
  if (count > INT32_MAX || bits > 64) return reader.NotAProfile(codes->name, "has too many codes");
  group_bits *= bits;
  if (const PhysicalType* padding = reader.FindPart("padding")) {
    uint64_t width = BitWidth(ElementOf(*padding));
    if (const auto* rest = std::get_if<BitPackingType>(&padding->kind)) {
      for (const auto& component : rest->components) width += component.bits;
    }
    std::optional<uint64_t> padding_bits = CheckedProduct(DimsOf(*padding));
    if (padding_bits) padding_bits = CheckedMul(*padding_bits, width);
    if (padding_bits) padding_bits = CheckedAdd(*padding_bits, group_bits);
    if (!padding_bits) return reader.NotAProfile("padding", "passes 64 bits");
    group_bits = *padding_bits;
  }
  if (group_bits / 8 > INT32_MAX) return reader.NotAProfile(codes->name, "has too many codes");
  profile->packed_count = static_cast<int32_t>(count);
  profile->packed_bytes = static_cast<int32_t>(group_bits / 8);
  return {};
}

Result<ReadBack> Recover(Recoverer* recoverer, const Reader& reader, const ReadLevel& level, const std::string& name) {
  ReadBack back;
  FloatingPointProfile profile;
  const Field* codes = reader.Codes();
  if (codes == nullptr) return reader.NotAProfile("", "has no field with codes");
  const int32_t group = GroupOf(reader);
  const Reader inner = group >= 0 ? recoverer->Read(group) : reader;
  TESSERA_ASSIGN(profile.exponent_bias, inner.Int("exponent_bias"));
  TESSERA_ASSIGN(profile.has_inf, inner.Bool("has_inf"));
  TESSERA_ASSIGN(profile.has_nan, inner.Bool("has_nan"));
  if (reader.Has("sign_bits")) {
    TESSERA_ASSIGN(profile.sign_bits, reader.Int("sign_bits"));
    TESSERA_ASSIGN(profile.exponent_bits, reader.Int("exponent_bits"));
    TESSERA_ASSIGN(profile.mantissa_bits, reader.Int("mantissa_bits"));
    TESSERA_ASSIGN(profile.split_storage, reader.Bool("split_storage"));
    TESSERA_ASSIGN(profile.packed_count, reader.Int("packed_count"));
    TESSERA_ASSIGN(profile.packed_bytes, reader.Int("packed_bytes"));
    back.spelling.codes = UnlessRule(codes->name, "values");
    const ElementType declared = ElementOf(std::get<PhysicalType>(codes->content));
    if (declared == ElementType::kUint8) back.spelling.code_type = declared;
  } else {
    TESSERA_TRY(ReadGroup(inner, &profile));
    if (group >= 0) {
      back.spelling.codes = UnlessRule(codes->name, "values");
      const std::string group_name = UnlessRule(inner.type().Name(), name + "_GROUP");
      if (!group_name.empty()) back.spelling.parts.push_back({.name = group_name});
    } else if (!profile.split_storage) {
      back.spelling.codes = UnlessRule(codes->name, "packed");
    }
  }
  if (group >= 0 && back.spelling.parts.empty()) back.spelling.parts.emplace_back();
  TESSERA_ASSIGN(profile.scale, recoverer->ReadScale(reader, level, &back.spelling));
  back.profile.kind = std::move(profile);
  return back;
}

}  // namespace

ElementType NativeFloat(const FloatingPointProfile& profile) {
  const FloatSpecials specials = profile.has_inf && profile.has_nan ? FloatSpecials::kIeee
                                 : profile.has_nan                  ? FloatSpecials::kNanOnly
                                                                    : FloatSpecials::kNone;
  if (profile.has_inf && !profile.has_nan) return ElementType::kUndefined;
  for (const ElementInfo& info : AllElementTypes()) {
    if (info.kind == ElementKind::kFloat && info.format.sign_bits == profile.sign_bits &&
        info.format.exponent_bits == profile.exponent_bits && info.format.mantissa_bits == profile.mantissa_bits &&
        info.format.exponent_bias == profile.exponent_bias && info.format.specials == specials) {
      return info.type;
    }
  }
  return ElementType::kUndefined;
}

const Family kFloatingPointFamily = {Validate, Translate, Recognizes, Recover};

}  // namespace tessera::quant
