// The pieces that translations are made of.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "tessera/base/checked.h"
#include "tessera/quant/families/family.h"
#include "tessera/quant/profile_fields.h"
#include "tessera/types/element_value.h"

namespace tessera::quant {

const Spelling& Level::NextPart() {
  static const Spelling none;
  const size_t at = next_part++;
  return at < spelling->parts.size() ? spelling->parts[at] : none;
}

Level Level::Nested(const Profile& part, std::string_view suffix, std::vector<uint64_t> nested_shape) {
  Level nested;
  nested.profile = &part;
  nested.spelling = &NextPart();
  nested.name = NameOr(nested.spelling->name, name + std::string(suffix));
  // A grid or a number of channels: validation of the tiles and of the shape keeps both within 63 bits.
  nested.values = *CheckedProduct(nested_shape);
  nested.dims = {nested.values};
  for (size_t i = 0; i < nested_shape.size(); ++i) nested.order.push_back(i);
  nested.shape = std::move(nested_shape);
  return nested;
}

// ---- fields

Field PartField(std::string name, PhysicalType type) { return {std::move(name), std::move(type), std::nullopt}; }

Field ConstantField(std::string name, ElementType type, std::vector<int64_t> dims, std::span<const int64_t> values) {
  Constant constant;
  constant.type = type;
  constant.dims = std::move(dims);
  constant.bytes.resize(values.size() * UnpackedBytes(type));
  for (size_t i = 0; i < values.size(); ++i) StoreCode(constant.bytes, type, i, EncodeInteger(type, values[i]));
  return {std::move(name), std::move(constant), std::nullopt};
}

Field IntConstant(std::string name, int64_t value) {
  return ConstantField(std::move(name), ElementType::kInt32, {}, {{value}});
}
Field LongConstant(std::string name, int64_t value) {
  return ConstantField(std::move(name), ElementType::kInt64, {}, {{value}});
}
Field BoolConstant(std::string name, bool value) {
  return ConstantField(std::move(name), ElementType::kBool, {}, {{value ? 1 : 0}});
}
Field IntsConstant(std::string name, std::span<const int32_t> values) {
  const std::vector<int64_t> wide(values.begin(), values.end());
  return ConstantField(std::move(name), ElementType::kInt32, {static_cast<int64_t>(wide.size())}, wide);
}
Field FloatsConstant(std::string name, std::vector<int64_t> dims, std::span<const float> values) {
  Constant constant;
  constant.type = ElementType::kFloat;
  constant.dims = std::move(dims);
  constant.bytes.resize(values.size() * sizeof(float));
  for (size_t i = 0; i < values.size(); ++i) {
    StoreCode(constant.bytes, ElementType::kFloat, i, std::bit_cast<uint32_t>(values[i]));
  }
  return {std::move(name), std::move(constant), std::nullopt};
}
Field FloatConstant(std::string name, float value) { return FloatsConstant(std::move(name), {}, {{value}}); }

PhysicalType ArrayOf(PhysicalType type, std::vector<uint64_t> dims) {
  return {ArrayType{std::move(type), std::move(dims)}};
}
PhysicalType ArrayOf(ElementType type, std::vector<uint64_t> dims) {
  return ArrayOf(PhysicalType{ScalarType{type}}, std::move(dims));
}

std::string NameOr(const std::string& name, std::string_view rule) { return name.empty() ? std::string(rule) : name; }
std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}
std::string SizesName(std::span<const uint64_t> sizes) { return fmt::format("{}", fmt::join(sizes, "X")); }

ElementType UnsignedType(uint32_t bits) {
  for (const ElementInfo& info : AllElementTypes()) {
    if (info.kind == ElementKind::kUnsigned && info.bits == bits) return info.type;
  }
  return ElementType::kUndefined;
}

Result<PhysicalType> CodesType(const Level& level, ElementType type, uint32_t bits,
                               const std::vector<uint64_t>& leading) {
  const ElementType declared = level.spelling->code_type.value_or(BitWidth(type) == bits ? type : ElementType::kUint8);
  std::vector<uint64_t> dims = leading;
  if (BitWidth(declared) == bits) {
    dims.insert(dims.end(), level.dims.begin(), level.dims.end());
    return ArrayOf(declared, std::move(dims));
  }
  if (declared != ElementType::kUint8) {
    return Fail(ErrorCode::kProfileValue, level.name,
                fmt::format("codes of {} bits cannot be declared as {}", bits, Name(declared)), "UINT8");
  }
  std::optional<uint64_t> size_bits = CheckedMul(level.values, bits);
  if (!size_bits) return ShapeError(level, "the size of the codes passes 64 bits", "a smaller tensor");
  dims.push_back(CeilDiv(*size_bits, 8));
  return ArrayOf(ElementType::kUint8, std::move(dims));
}

Result<void> CheckSpelling(const Level& level) {
  // Fields by which a family, or the place of its codes, is found again.
  constexpr std::string_view kTaken[] = {
      "scale",
      "scales",
      "zero_point",
      "zero_points",
      "tile_shape",
      "axes",
      "axis",
      "perm",
      "bits",
      "base",
      "has_sign",
      "symmetric",
      "storage_type",
      "storage_order",
      "field_roles",
      "block_size",
      "outlier_threshold",
      "outlier_ratio",
      "outlier_indices",
      "num_codebooks",
      "packed_count",
      "exponent_bias",
      "elem_quant_count",
      "codebook_vector_size",
      "data_type",
  };
  for (const std::string* name : {&level.spelling->codes, &level.spelling->codebook}) {
    const bool taken = std::find(std::begin(kTaken), std::end(kTaken), *name) != std::end(kTaken) ||
                       name->starts_with("padding") || name->ends_with("_rotation");
    if (!taken) continue;
    // The base of a Sparse is called so.
    if (*name == "base" && std::holds_alternative<SparseProfile>(level.profile->kind)) continue;
    return Fail(ErrorCode::kProfileValue, level.name, Quoted(*name) + " is the name of another field",
                "another name in the spelling");
  }
  return {};
}

Result<void> RefuseCodeType(const Level& level) {
  if (!level.spelling->code_type) return {};
  return Fail(ErrorCode::kProfileValue, level.name, "the spelling has a type for codes, and there are none of its own",
              "the type at the part that has the codes");
}

tl::unexpected<Error> ShapeError(const Level& level, std::string what, std::string fix) {
  std::vector<int64_t> shape(level.shape.begin(), level.shape.end());
  const std::string text = shape.empty() ? "of a scalar" : fmt::format("of {}", ShapeText(shape));
  return Fail(ErrorCode::kProfileShape, fmt::format("{} {}", level.name, text), std::move(what), std::move(fix));
}

Result<uint64_t> Channels(const Level& level, int32_t axis) {
  if (static_cast<size_t>(axis) >= level.shape.size()) {
    return ShapeError(level, fmt::format("there is no axis {} of channels", axis), "an axis of the tensor");
  }
  return level.shape[static_cast<size_t>(axis)];
}

// ---- sizes

Result<uint64_t> Translator::SizeBits(const PhysicalType& type) const {
  std::optional<uint64_t> size;
  if (const auto* scalar = std::get_if<ScalarType>(&type.kind)) {
    return BitWidth(scalar->type);
  } else if (const auto* reference = std::get_if<TypeReference>(&type.kind)) {
    return sizes_bits_[static_cast<size_t>(reference->index)];
  } else if (const auto* array = std::get_if<ArrayType>(&type.kind)) {
    TESSERA_ASSIGN(uint64_t element, SizeBits(*array->element));
    size = CheckedProduct(array->dims);
    if (size) size = CheckedMul(*size, element);
  } else if (const auto* packing = std::get_if<BitPackingType>(&type.kind)) {
    uint64_t element = 0;
    for (const BitPackingType::Component& component : packing->components) element += component.bits;
    size = CheckedProduct(packing->dims);
    if (size) size = CheckedMul(*size, element);
  }
  if (!size) {
    return Fail(ErrorCode::kProfileShape, "", "the size of a declaration passes 64 bits", "a smaller tensor");
  }
  return *size;
}

Result<uint64_t> Translator::SizeBits(const std::vector<Field>& fields) const {
  uint64_t size = 0;
  for (const Field& field : fields) {
    const auto* part = std::get_if<PhysicalType>(&field.content);
    if (part == nullptr) continue;
    TESSERA_ASSIGN(uint64_t bits, SizeBits(*part));
    std::optional<uint64_t> sum = CheckedAdd(size, bits);
    if (!sum) return Fail(ErrorCode::kProfileShape, "", "the size of a declaration passes 64 bits", "a smaller tensor");
    size = *sum;
  }
  return size;
}

Result<void> Translator::Pad(uint64_t bits, std::vector<Field>* fields) const {
  if (bits == 0) return {};
  const auto before = std::count_if(fields->begin(), fields->end(),
                                    [](const Field& field) { return field.name.starts_with("padding"); });
  const std::string name = before == 0 ? "padding" : fmt::format("padding_{}", before);
  if (bits % 8 == 0) {
    fields->push_back(PartField(name, ArrayOf(ElementType::kUint8, {bits / 8})));
  } else if (bits <= 64) {
    fields->push_back(PartField(name, {BitPackingType{{{"padding", static_cast<uint32_t>(bits)}}, {}}}));
  } else {
    fields->push_back(PartField(name, {BitPackingType{{{"padding", 1}}, {bits}}}));
  }
  return {};
}

Result<int32_t> Translator::Declare(StructType type) {
  uint64_t size = 0;
  if (const auto* structure = std::get_if<StructureType>(&type.root.kind)) {
    TESSERA_ASSIGN(size, SizeBits(structure->fields));
  } else {
    TESSERA_ASSIGN(size, SizeBits(type.root));
  }
  types_.push_back(std::move(type));
  sizes_bits_.push_back(size);
  return static_cast<int32_t>(types_.size() - 1);
}

// ---- parameters

Result<void> Translator::PlaceScale(Level* level, const Scale& scale, Body* body) {
  if (const auto* value = std::get_if<float>(&scale)) {
    body->constants.push_back(FloatConstant("scale", *value));
  } else if (const auto* exponent = std::get_if<ScaleExponent>(&scale)) {
    body->constants.push_back(IntConstant("scale", exponent->exponent));
  } else if (const auto* stored = std::get_if<Stored>(&scale)) {
    return PlaceStored(level, *stored, "scale", body);
  }
  return {};
}

Result<void> Translator::PlaceStored(Level* level, const Stored& stored, std::string_view name, Body* body) {
  body->metadata.push_back({fmt::format("{}{}", kReservedPrefix, name),
                            fmt::format("per={}, at={}", EnumName(stored.per), EnumName(stored.at))});
  const bool per_tile = stored.per == Stored::Per::kTile;
  std::vector<uint64_t> shape = {1};
  if (stored.per == Stored::Per::kChannel) {
    const auto* linear = std::get_if<LinearProfile>(&level->profile->kind);
    TESSERA_ASSIGN(shape[0], Channels(*level, linear == nullptr ? 0 : linear->axis));
  }
  Field field;
  field.name = name;
  bool outward = false;
  if (const auto* profile = std::get_if<Box<Profile>>(&stored.type)) {
    if (per_tile) shape = level->grid;
    TESSERA_ASSIGN(Part part, Translate(level->Nested(**profile, "_" + Upper(name), std::move(shape))));
    field.content = PhysicalType{TypeReference{part.index}};
    outward = per_tile;
  } else if (stored.per == Stored::Per::kTensor) {
    field.content = PhysicalType{ScalarType{std::get<ElementType>(stored.type)}};
  } else {
    field.content = ArrayOf(std::get<ElementType>(stored.type), std::move(shape));
  }
  const bool to_root = stored.per == Stored::Per::kTensor && level->in_tile;
  if (outward || to_root) {
    body->outward.push_back({std::move(field), stored.at, to_root});
  } else {
    (stored.at == Stored::At::kBefore ? body->before : body->after).push_back(std::move(field));
  }
  return {};
}

}  // namespace tessera::quant
