// BlockLayoutProto: fields at bit offsets, as a declaration with explicit padding and back.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tessera/base/checked.h"
#include "tessera/quant/families/family.h"

namespace tessera::quant {

std::string FieldName(BlockFieldRole role) {
  std::string name(Name(role));
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

namespace {

// The name of the role's field: "zero_point".
std::optional<BlockFieldRole> RoleOf(std::string_view field) {
  std::optional<BlockFieldRole> role = BlockFieldRoleFromName(Upper(field));
  // Only the lower-case spelling is the name of a field.
  if (role && FieldName(*role) != field) return std::nullopt;
  return role;
}

uint64_t FieldBits(const BlockField& field) {
  return static_cast<uint64_t>(field.bit_width) * static_cast<uint64_t>(field.count);
}

// How a field's elements are declared: as an element type, as bytes of codes (two constants say which), or as a bit
// packing.
enum class Form : uint8_t { kElements, kBytes, kPacking };

Form FormOf(const BlockField& field, ElementType* element) {
  *element = field.data_type != ElementType::kUndefined ? field.data_type
                                                        : UnsignedType(static_cast<uint32_t>(field.bit_width));
  if (*element != ElementType::kUndefined) return Form::kElements;
  return FieldBits(field) % 8 == 0 ? Form::kBytes : Form::kPacking;
}

// `leading` dimensions stand in front of the field's own.
PhysicalType FieldType(const BlockField& field, std::vector<uint64_t> leading) {
  ElementType element = ElementType::kUndefined;
  const Form form = FormOf(field, &element);
  leading.push_back(form == Form::kBytes ? FieldBits(field) / 8 : static_cast<uint64_t>(field.count));
  if (form == Form::kElements) return ArrayOf(element, std::move(leading));
  if (form == Form::kBytes) return ArrayOf(ElementType::kUint8, std::move(leading));
  return {BitPackingType{{{FieldName(field.role), static_cast<uint32_t>(field.bit_width)}}, std::move(leading)}};
}

// field_roles, and for each field of packed bytes its width and count.
std::vector<Field> LayoutConstants(const BlockLayout& layout) {
  std::vector<int32_t> roles;
  for (const BlockField& field : layout.fields) roles.push_back(static_cast<int32_t>(field.role));
  std::vector<Field> fields = {IntsConstant("field_roles", roles)};
  for (const BlockField& field : layout.fields) {
    ElementType element = ElementType::kUndefined;
    if (FormOf(field, &element) != Form::kBytes) continue;
    fields.push_back(IntConstant(FieldName(field.role) + "_bit_width", field.bit_width));
    fields.push_back(IntConstant(FieldName(field.role) + "_count", field.count));
  }
  fields.push_back(IntConstant("block_size", layout.block_size));
  return fields;
}

}  // namespace

void ValidateBlockLayout(const BlockLayout& layout, BlockStorageOrder order, const Path& path, Validator* validator) {
  validator->Range(path.Field("block_size"), layout.block_size, 1, INT32_MAX);
  validator->Range(path.Field("bytes_per_block"), layout.bytes_per_block, 1, INT32_MAX);
  if (layout.fields.empty()) {
    validator->Add(ErrorCode::kProfileBlock, path.Field("fields"), "is empty", "the fields of a block");
    return;
  }
  const int64_t block_bits = int64_t{layout.bytes_per_block} * 8;
  int64_t record_bits = 0;
  bool in_range = true;
  uint32_t roles = 0;
  for (size_t i = 0; i < layout.fields.size(); ++i) {
    const BlockField& field = layout.fields[i];
    const Path field_path = path.Index("fields", i);
    const uint32_t role = uint32_t{1} << static_cast<uint32_t>(field.role);
    if ((roles & role) != 0) {
      validator->Add(ErrorCode::kProfileBlock, field_path.Field("role"),
                     fmt::format("a second field is {}", Name(field.role)), "each role once");
    }
    roles |= role;
    validator->Range(field_path.Field("bit_offset"), field.bit_offset, 0, INT32_MAX);
    validator->Range(field_path.Field("bit_width"), field.bit_width, 1, 64);
    validator->Range(field_path.Field("count"), field.count, 1, INT32_MAX);
    if (field.bit_offset < 0 || field.bit_width < 1 || field.bit_width > 64 || field.count < 1) {
      in_range = false;
      continue;
    }
    if (field.data_type != ElementType::kUndefined &&
        validator->Numeric(field_path.Field("data_type"), field.data_type) &&
        static_cast<int64_t>(BitWidth(field.data_type)) != field.bit_width) {
      validator->Add(
          ErrorCode::kProfileBlock, field_path.Field("bit_width"),
          fmt::format("is {}, {} has {} bits", field.bit_width, Name(field.data_type), BitWidth(field.data_type)),
          fmt::format("{}", BitWidth(field.data_type)));
    }
    // 31 bits + 6 + 31: no overflow.
    const int64_t end = int64_t{field.bit_offset} + int64_t{field.bit_width} * field.count;
    if (end > block_bits) {
      validator->Add(ErrorCode::kProfileBlock, field_path,
                     fmt::format("ends at bit {} of a block of {} bits", end, block_bits), "a field inside the block");
      in_range = false;
      continue;
    }
    // Each is at most 2^34, and there are at most eight roles; more fields are refused above but may still be added up.
    if (record_bits <= INT64_MAX / 2) record_bits += end;
  }
  if (!in_range) return;
  if (order == BlockStorageOrder::kSequential) {
    if (record_bits != block_bits) {
      validator->Add(ErrorCode::kProfileBlock, path.Field("bytes_per_block"),
                     fmt::format("the records of the fields take {} bits, {} bytes are {}", record_bits,
                                 layout.bytes_per_block, block_bits),
                     "offsets in each field's own record, and bytes_per_block the sum of the records");
    }
    return;
  }
  std::vector<size_t> by_offset(layout.fields.size());
  std::iota(by_offset.begin(), by_offset.end(), size_t{0});
  std::stable_sort(by_offset.begin(), by_offset.end(),
                   [&](size_t a, size_t b) { return layout.fields[a].bit_offset < layout.fields[b].bit_offset; });
  for (size_t i = 1; i < by_offset.size(); ++i) {
    const BlockField& before = layout.fields[by_offset[i - 1]];
    const BlockField& field = layout.fields[by_offset[i]];
    const int64_t end = int64_t{before.bit_offset} + int64_t{before.bit_width} * before.count;
    if (field.bit_offset < end) {
      validator->Add(ErrorCode::kProfileBlock, path.Index("fields", by_offset[i]),
                     fmt::format("{} begins at bit {}, before {} ends at bit {}", Name(field.role), field.bit_offset,
                                 Name(before.role), end),
                     "fields that do not overlap");
    }
  }
}

Result<int32_t> BlockDeclaration(Translator* translator, Level* level, const BlockLayout& layout) {
  std::vector<const BlockField*> sorted;
  for (const BlockField& field : layout.fields) sorted.push_back(&field);
  std::sort(sorted.begin(), sorted.end(),
            [](const BlockField* a, const BlockField* b) { return a->bit_offset < b->bit_offset; });
  std::vector<Field> fields;
  uint64_t at = 0;
  for (const BlockField* field : sorted) {
    TESSERA_TRY(translator->Pad(static_cast<uint64_t>(field->bit_offset) - at, &fields));
    fields.push_back(PartField(FieldName(field->role), FieldType(*field, {})));
    at = static_cast<uint64_t>(field->bit_offset) + FieldBits(*field);
  }
  TESSERA_TRY(translator->Pad(static_cast<uint64_t>(layout.bytes_per_block) * 8 - at, &fields));
  for (Field& field : LayoutConstants(layout)) fields.push_back(std::move(field));
  StructType type;
  type.name = NameOr(level->NextPart().name, level->name + "_BLOCK");
  type.root = {StructureType{std::move(fields)}};
  return translator->Declare(std::move(type));
}

Result<void> BlockRegions(Translator* translator, const Level& level, const BlockLayout& layout, uint64_t blocks,
                          Body* body) {
  for (const BlockField& field : layout.fields) {
    const std::string name = FieldName(field.role);
    if (field.bit_offset == 0) {
      body->codes.push_back(PartField(name, FieldType(field, {blocks})));
      continue;
    }
    StructType record;
    record.name = fmt::format("{}_{}", level.name, Name(field.role));
    std::vector<Field> fields;
    TESSERA_TRY(translator->Pad(static_cast<uint64_t>(field.bit_offset), &fields));
    fields.push_back(PartField(name, FieldType(field, {})));
    record.root = {StructureType{std::move(fields)}};
    TESSERA_ASSIGN(int32_t index, translator->Declare(std::move(record)));
    body->codes.push_back(PartField(name, ArrayOf({TypeReference{index}}, {blocks})));
  }
  for (Field& field : LayoutConstants(layout)) body->constants.push_back(std::move(field));
  return {};
}

namespace {

// Bits of a type without references; nullopt for others and for what passes 2^40.
std::optional<uint64_t> PlainBits(const PhysicalType& type) {
  uint64_t element = 0;
  if (const auto* packing = std::get_if<BitPackingType>(&type.kind)) {
    for (const BitPackingType::Component& component : packing->components) element += component.bits;
  } else {
    element = BitWidth(ElementOf(type));
  }
  std::optional<uint64_t> count = CheckedProduct(DimsOf(type));
  if (!count || element == 0 || *count > (uint64_t{1} << 40) / element) return std::nullopt;
  return *count * element;
}

// One field from its part; `leading` dimensions are not its own.
Result<BlockField> ReadField(const Reader& reader, const Field& part, const PhysicalType& type, size_t leading) {
  BlockField field;
  std::optional<BlockFieldRole> role = RoleOf(part.name);
  if (!role) return reader.NotAProfile(part.name, "is no role of a block's field");
  field.role = *role;
  std::vector<uint64_t> dims = DimsOf(type);
  if (dims.size() != leading + 1 || dims.back() > INT32_MAX) {
    return reader.NotAProfile(part.name, "is no array of one dimension in a block");
  }
  field.count = static_cast<int32_t>(dims.back());
  if (reader.Has(part.name + "_bit_width")) {
    TESSERA_ASSIGN(field.bit_width, reader.Int(part.name + "_bit_width"));
    TESSERA_ASSIGN(field.count, reader.Int(part.name + "_count"));
  } else if (const auto* packing = std::get_if<BitPackingType>(&type.kind)) {
    if (packing->components.size() != 1) return reader.NotAProfile(part.name, "has several components");
    field.bit_width = static_cast<int32_t>(packing->components[0].bits);
  } else {
    const ElementType element = ElementOf(type);
    if (element == ElementType::kUndefined) return reader.NotAProfile(part.name, "is no array of scalars");
    field.bit_width = static_cast<int32_t>(BitWidth(element));
    if (Info(element).kind != ElementKind::kUnsigned) field.data_type = element;
  }
  return field;
}

}  // namespace

Result<BlockLayout> ReadBlock(const Recoverer& recoverer, const Reader& reader, bool regions) {
  BlockLayout layout;
  TESSERA_ASSIGN(layout.block_size, reader.Int("block_size"));
  std::vector<BlockField> fields;
  uint64_t at = 0;
  for (const Field& part : reader.fields()) {
    const auto* type = std::get_if<PhysicalType>(&part.content);
    if (type == nullptr) continue;
    if (regions) {
      const int32_t record = Recoverer::Target(*type);
      if (record < 0) {
        if (part.name.starts_with("padding")) continue;
        TESSERA_ASSIGN(BlockField field, ReadField(reader, part, *type, 1));
        at += FieldBits(field);
        fields.push_back(field);
        continue;
      }
      const Reader inner = recoverer.Read(record);
      uint64_t offset = 0;
      for (const Field& inner_part : inner.fields()) {
        const auto* inner_type = std::get_if<PhysicalType>(&inner_part.content);
        if (inner_type == nullptr) continue;
        std::optional<uint64_t> bits = PlainBits(*inner_type);
        if (!bits || offset > INT32_MAX) return reader.NotAProfile(part.name, "has no plain field in its record");
        if (!inner_part.name.starts_with("padding")) {
          // Width and count of packed bytes stand beside the regions.
          Field named = inner_part;
          named.name = part.name;
          TESSERA_ASSIGN(BlockField field, ReadField(reader, named, *inner_type, 0));
          field.bit_offset = static_cast<int32_t>(offset);
          at += offset + FieldBits(field);
          fields.push_back(field);
        }
        offset += *bits;
      }
      continue;
    }
    std::optional<uint64_t> bits = PlainBits(*type);
    if (!bits || at > INT32_MAX) return reader.NotAProfile(part.name, "is no plain field of a block");
    if (!part.name.starts_with("padding")) {
      TESSERA_ASSIGN(BlockField field, ReadField(reader, part, *type, 0));
      field.bit_offset = static_cast<int32_t>(at);
      fields.push_back(field);
    }
    at += *bits;
  }
  if (at / 8 > INT32_MAX) return reader.NotAProfile("", "a block is too large");
  layout.bytes_per_block = static_cast<int32_t>(at / 8);
  // In the order that the profile has them.
  TESSERA_ASSIGN(std::vector<int32_t> roles, reader.Ints("field_roles"));
  for (int32_t role : roles) {
    auto found = std::find_if(fields.begin(), fields.end(),
                              [&](const BlockField& field) { return static_cast<int32_t>(field.role) == role; });
    if (found == fields.end()) return reader.NotAProfile("field_roles", fmt::format("has {}, no field has it", role));
    layout.fields.push_back(*found);
  }
  return layout;
}

}  // namespace tessera::quant
