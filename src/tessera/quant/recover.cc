// RecoverProfile: reads what it finds, translates it again, and compares. The reading may therefore be generous: what
// it misunderstands does not come back equal.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "tessera/base/checked.h"
#include "tessera/quant/families/family.h"
#include "tessera/quant/profile_fields.h"
#include "tessera/quant/translate.h"
#include "tessera/types/closure.h"
#include "tessera/types/element_value.h"
#include "tessera/types/type_table.h"

namespace tessera {
namespace quant {

// ---- Reader

Reader::Reader(std::span<const StructType> types, int32_t index)
    : type_(types[static_cast<size_t>(index)]), index_(index) {
  if (const auto* structure = std::get_if<StructureType>(&type_.root.kind)) {
    is_structure_ = true;
    fields_ = &structure->fields;
  } else {
    static const std::vector<Field> none;
    fields_ = &none;
  }
}

size_t Reader::Position(std::string_view name) const {
  return static_cast<size_t>(
      std::find_if(fields_->begin(), fields_->end(), [&](const Field& field) { return field.name == name; }) -
      fields_->begin());
}

const Constant* Reader::FindConstant(std::string_view name) const {
  const size_t at = Position(name);
  return at == fields_->size() ? nullptr : std::get_if<Constant>(&(*fields_)[at].content);
}

const PhysicalType* Reader::FindPart(std::string_view name) const {
  const size_t at = Position(name);
  return at == fields_->size() ? nullptr : std::get_if<PhysicalType>(&(*fields_)[at].content);
}

const Field* Reader::Codes() const {
  for (const Field& field : *fields_) {
    if (!std::holds_alternative<PhysicalType>(field.content)) continue;
    if (field.name != "scale" && field.name != "zero_point" && !field.name.starts_with("padding")) return &field;
  }
  return nullptr;
}

const std::string* Reader::FindMetadata(std::string_view key) const {
  for (const Metadata& entry : type_.metadata) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

tl::unexpected<Error> Reader::NotAProfile(std::string_view field, std::string what) const {
  std::string where = type_.Name().empty() ? fmt::format("struct type {}", index_) : type_.Name();
  if (!field.empty()) where += fmt::format(".{}", field);
  return Fail(ErrorCode::kNotAProfile, std::move(where), std::move(what), "a type that a profile translates to");
}

Result<int64_t> Reader::Integer(std::string_view name, ElementType type) const {
  const Constant* constant = FindConstant(name);
  if (constant == nullptr) return NotAProfile(name, "is missing");
  if (constant->type != type || !constant->dims.empty()) {
    return NotAProfile(name, fmt::format("is no scalar of {}", tessera::Name(type)));
  }
  return DecodeInteger(type, LoadCode(constant->bytes, type, 0));
}

Result<int32_t> Reader::Int(std::string_view name) const {
  TESSERA_ASSIGN(int64_t value, Integer(name, ElementType::kInt32));
  return static_cast<int32_t>(value);
}
Result<int32_t> Reader::IntOrZero(std::string_view name) const { return Has(name) ? Int(name) : 0; }
Result<bool> Reader::Bool(std::string_view name) const {
  TESSERA_ASSIGN(int64_t value, Integer(name, ElementType::kBool));
  return value != 0;
}

Result<float> Reader::Float(std::string_view name) const {
  const Constant* constant = FindConstant(name);
  if (constant == nullptr) return NotAProfile(name, "is missing");
  if (!constant->dims.empty()) return NotAProfile(name, "is no scalar");
  TESSERA_ASSIGN(std::vector<float> values, Floats(*constant, name));
  return values[0];
}

Result<ElementType> Reader::Type(std::string_view name) const {
  TESSERA_ASSIGN(int32_t number, Int(name));
  std::optional<ElementType> type = ElementTypeFromNumber(number);
  if (!type) return NotAProfile(name, fmt::format("{} is no element type", number));
  return *type;
}

Result<std::vector<int64_t>> Reader::Integers(std::string_view name, ElementType type) const {
  std::vector<int64_t> values;
  const Constant* constant = FindConstant(name);
  if (constant == nullptr) return values;
  if (constant->type != type || constant->dims.size() != 1) {
    return NotAProfile(name, fmt::format("is no list of {}", tessera::Name(type)));
  }
  for (int64_t i = 0; i < constant->dims[0]; ++i) {
    values.push_back(DecodeInteger(type, LoadCode(constant->bytes, type, static_cast<uint64_t>(i))));
  }
  return values;
}

Result<std::vector<int32_t>> Reader::Ints(std::string_view name) const {
  TESSERA_ASSIGN(std::vector<int64_t> values, Integers(name, ElementType::kInt32));
  return std::vector<int32_t>(values.begin(), values.end());
}

Result<std::vector<float>> Reader::Floats(const Constant& constant, std::string_view name) const {
  if (constant.type != ElementType::kFloat) return NotAProfile(name, "is not of FLOAT");
  std::vector<float> values(constant.bytes.size() / sizeof(float));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::bit_cast<float>(static_cast<uint32_t>(LoadCode(constant.bytes, ElementType::kFloat, i)));
  }
  return values;
}

Result<std::vector<float>> Reader::Floats(std::string_view name) const {
  const Constant* constant = FindConstant(name);
  if (constant == nullptr) return NotAProfile(name, "is missing");
  return Floats(*constant, name);
}

// ---- small questions

int32_t Recoverer::Target(const PhysicalType& type) {
  const PhysicalType* part = &type;
  if (const auto* array = std::get_if<ArrayType>(&type.kind)) part = &*array->element;
  const auto* reference = std::get_if<TypeReference>(&part->kind);
  return reference == nullptr ? -1 : reference->index;
}

std::string UnlessRule(const std::string& what, std::string_view rule) { return what == rule ? std::string() : what; }

ElementType ElementOf(const PhysicalType& type) {
  const PhysicalType* part = &type;
  if (const auto* array = std::get_if<ArrayType>(&type.kind)) part = &*array->element;
  const auto* scalar = std::get_if<ScalarType>(&part->kind);
  return scalar == nullptr ? ElementType::kUndefined : scalar->type;
}

std::vector<uint64_t> DimsOf(const PhysicalType& type) {
  if (const auto* array = std::get_if<ArrayType>(&type.kind)) return array->dims;
  if (const auto* packing = std::get_if<BitPackingType>(&type.kind)) return packing->dims;
  return {};
}

std::optional<ElementType> CodeTypeUnlessRule(const PhysicalType& codes, ElementType rule) {
  const ElementType declared = ElementOf(codes);
  if (declared == rule || declared == ElementType::kUndefined) return std::nullopt;
  return declared;
}

// ---- Parameters

Result<std::optional<Stored>> Recoverer::ReadStored(const Reader& reader, const ReadLevel& level, std::string_view name,
                                                    Spelling* spelling) {
  Stored stored;
  std::optional<Stored::Per> per;
  if (const std::string* text = reader.FindMetadata(fmt::format("{}{}", kReservedPrefix, name))) {
    const std::string_view whole = *text;
    const size_t comma = std::min(whole.find(','), whole.size());
    if (whole.starts_with("per=")) per = EnumFromName<Stored::Per>(whole.substr(4, comma - 4));
    if (!per) return reader.NotAProfile(name, "its metadata does not say per what it is stored");
  }
  // Where the field stands: here, beside the tiles, or in the outermost tiling.
  const Reader* where = &reader;
  const PhysicalType* part = reader.FindPart(name);
  if (part == nullptr) {
    if (!per) return std::nullopt;
    where = *per == Stored::Per::kTensor ? level.root : level.tiling;
    part = where == nullptr ? nullptr : where->FindPart(name);
    if (part == nullptr) return reader.NotAProfile(name, "is stored, and no declaration around has such a field");
  }
  const int32_t target = Target(*part);
  const std::vector<uint64_t> dims = DimsOf(*part);
  if (!per) {
    const bool one = target >= 0 || (dims.size() == 1 && dims[0] == 1);
    per = dims.empty() && target < 0 ? Stored::Per::kTensor
          : one && level.in_tile     ? Stored::Per::kTile
          : one                      ? Stored::Per::kTensor
                                     : Stored::Per::kChannel;
  }
  stored.per = *per;
  const Field* codes = where->Codes();
  stored.at = codes != nullptr && where->Position(name) < where->Position(codes->name) ? Stored::At::kBefore
                                                                                       : Stored::At::kAfter;
  if (target < 0) {
    stored.type = ElementOf(*part);
    if (ElementOf(*part) == ElementType::kUndefined) return reader.NotAProfile(name, "is no array of scalars");
    return stored;
  }
  ReadLevel nested;
  nested.shape = {1};
  if (stored.per == Stored::Per::kTile) {
    nested.shape = level.grid;
  } else if (stored.per == Stored::Per::kChannel) {
    int32_t axis = 0;
    if (reader.Has("axis")) {
      TESSERA_ASSIGN(axis, reader.Int("axis"));
    }
    if (axis < 0 || static_cast<size_t>(axis) >= level.shape.size()) {
      return reader.NotAProfile("axis", "is no axis of the tensor");
    }
    nested.shape = {level.shape[static_cast<size_t>(axis)]};
  }
  for (size_t i = 0; i < nested.shape.size(); ++i) nested.order.push_back(i);
  const std::string rule = fmt::format("{}_{}", reader.type().Name(), Upper(name));
  TESSERA_ASSIGN(ReadBack back, Recover(target, nested, rule));
  stored.type = std::move(back.profile);
  spelling->parts.push_back(std::move(back.spelling));
  return stored;
}

Result<Scale> Recoverer::ReadScale(const Reader& reader, const ReadLevel& level, Spelling* spelling) {
  if (const Constant* constant = reader.FindConstant("scale")) {
    if (constant->type == ElementType::kInt32) {
      TESSERA_ASSIGN(int32_t exponent, reader.Int("scale"));
      return ScaleExponent{exponent};
    }
    TESSERA_ASSIGN(float value, reader.Float("scale"));
    return value;
  }
  TESSERA_ASSIGN(std::optional<Stored> stored, ReadStored(reader, level, "scale", spelling));
  if (!stored) return Scale();
  return Scale(*std::move(stored));
}

Result<ZeroPoint> Recoverer::ReadZeroPoint(const Reader& reader, const ReadLevel& level, Spelling* spelling) {
  if (reader.Has("zero_point")) {
    TESSERA_ASSIGN(int64_t value, reader.Integer("zero_point", ElementType::kInt64));
    return value;
  }
  TESSERA_ASSIGN(std::optional<Stored> stored, ReadStored(reader, level, "zero_point", spelling));
  if (!stored) return reader.NotAProfile("zero_point", "is missing");
  return ZeroPoint(*std::move(stored));
}

// ---- A declaration

namespace {

// Families by what tells them apart, the most telling first. A structure of nothing but scalars comes last.
constexpr std::array kRecoveryOrder = {
    &kTilingFamily, &kSparseFamily,   &kStructuredBlockFamily, &kFloatingPointFamily, &kCodebookFamily,
    &kLogFamily,    &kFunctionFamily, &kLinearFamily,          &kCastFamily,
};
static_assert(kRecoveryOrder.size() == std::size(kFamilyNames));

bool IsOwnMetadata(const Profile& profile, const std::string& key) {
  if (key.starts_with(kReservedPrefix)) return false;
  return !std::holds_alternative<FunctionProfile>(profile.kind) || (key != kQuantizeOpKey && key != kDequantizeOpKey);
}

// ProfileBytes without the profiles in it.
uint64_t OwnBytes(const Profile& profile) {
  uint64_t floats = 0;
  if (const auto* codebook = std::get_if<CodebookProfile>(&profile.kind)) {
    floats += codebook->codebook_data.values.size();
  } else if (const auto* blocks = std::get_if<StructuredBlockProfile>(&profile.kind)) {
    floats += blocks->codebook_data.values.size();
  }
  for (const std::optional<Rotation>* rotation : {&profile.pre_rotation, &profile.post_rotation}) {
    if (*rotation) floats += (*rotation)->matrix.values.size();
  }
  return sizeof(Profile) + floats * sizeof(float);
}

}  // namespace

Result<void> Recoverer::Charge(uint64_t bytes, const Reader& reader) {
  const std::optional<uint64_t> sum = CheckedAdd(bytes_, bytes);
  if (!sum || *sum > limits_.profile_bytes) {
    return Fail(ErrorCode::kLimitProfile, reader.type().Name(), "the profile that this is takes too much memory",
                fmt::format("at most {} bytes", limits_.profile_bytes));
  }
  bytes_ = *sum;
  return {};
}

Result<ReadBack> Recoverer::Recover(int32_t index, const ReadLevel& level, const std::string& rule_name) {
  const Reader reader = Read(index);
  // The checker has refused cycles; a chain may still be as long as the list.
  if (depth_ >= kMaxDepth) return reader.NotAProfile("", fmt::format("is nested more than {} deep", kMaxDepth));
  auto family = std::find_if(kRecoveryOrder.begin(), kRecoveryOrder.end(),
                             [&](const Family* row) { return row->recognizes(*this, reader); });
  if (family == kRecoveryOrder.end()) return reader.NotAProfile("", "has the fields of no family");
  ++depth_;
  Result<ReadBack> back = (*family)->recover(this, reader, level, reader.type().Name());
  --depth_;
  if (!back) return back;
  Profile& profile = back->profile;
  TESSERA_ASSIGN(profile.pre_rotation, ReadRotation(reader, "pre_rotation"));
  TESSERA_ASSIGN(profile.post_rotation, ReadRotation(reader, "post_rotation"));
  if (reader.Has("data_type")) {
    TESSERA_ASSIGN(profile.data_type, reader.Type("data_type"));
  } else if (const std::string* name = reader.FindMetadata(kDataTypeKey)) {
    profile.data_type = ElementTypeFromName(*name);
  }
  profile.doc_string = reader.type().doc_string;
  for (const Metadata& entry : reader.type().metadata) {
    if (IsOwnMetadata(profile, entry.key)) profile.metadata.push_back(entry);
  }
  TESSERA_TRY(Charge(OwnBytes(profile), reader));
  back->spelling.name = UnlessRule(reader.type().Name(), rule_name);
  std::vector<Spelling>& parts = back->spelling.parts;
  while (!parts.empty() && parts.back() == Spelling()) parts.pop_back();
  return back;
}

namespace {

// ---- comparison

// Constants by value: which member of TensorProto holds the data, and names of tensors, are not the type's meaning.
bool SameField(const Field& a, const Field& b) {
  if (a.name != b.name || a.doc_string != b.doc_string || a.content.index() != b.content.index()) return false;
  const auto* constant = std::get_if<Constant>(&a.content);
  if (constant == nullptr) return a.content == b.content;
  const auto& other = std::get<Constant>(b.content);
  return constant->type == other.type && constant->dims == other.dims && constant->bytes == other.bytes;
}

// The metadata that says nothing the fields do not say.
bool IsHint(const Metadata& entry) {
  return entry.key == kShapeKey || entry.key == "tessera.scale" || entry.key == "tessera.zero_point";
}

std::vector<Metadata> WithoutHints(std::vector<Metadata> metadata) {
  std::erase_if(metadata, IsHint);
  return metadata;
}

// What differs first, or nothing. Decoders and encoders are not compared.
std::optional<std::string> Difference(const StructType& given, const StructType& made) {
  if (given.Name() != made.Name()) return fmt::format("its name would be {}", Quoted(made.Name()));
  const auto* fields = std::get_if<StructureType>(&given.root.kind);
  const auto* made_fields = std::get_if<StructureType>(&made.root.kind);
  if (fields == nullptr || made_fields == nullptr) {
    if (given.root == made.root) return std::nullopt;
    return std::string("it would be another array");
  }
  for (size_t i = 0; i < std::max(fields->fields.size(), made_fields->fields.size()); ++i) {
    if (i >= made_fields->fields.size()) {
      return fmt::format("the field {} is not part of it", Quoted(fields->fields[i].name));
    }
    const Field& made_field = made_fields->fields[i];
    if (i >= fields->fields.size()) return fmt::format("the field {} is missing", Quoted(made_field.name));
    if (!SameField(fields->fields[i], made_field)) {
      return fmt::format("the field {} would be {}{}", Quoted(fields->fields[i].name), Quoted(made_field.name),
                         fields->fields[i].name == made_field.name ? " with another content" : "");
    }
  }
  if (given.doc_string != made.doc_string || WithoutHints(given.metadata) != WithoutHints(made.metadata)) {
    return std::string("documentation or metadata would differ");
  }
  return std::nullopt;
}

// The number of values of a type that shows it: [elements of the first array] where its family is a flat list.
std::optional<std::vector<int64_t>> FlatShape(const Reader& reader) {
  // What a group or a block holds is not read here.
  if (reader.Has("storage_order")) return std::nullopt;
  const PhysicalType* type = &reader.type().root;
  uint64_t factor = 1;
  if (reader.is_structure()) {
    const Field* codes = reader.Codes();
    if (codes == nullptr) return std::nullopt;
    type = &std::get<PhysicalType>(codes->content);
    if (Recoverer::Target(*type) >= 0) {
      // Tiles of the flattened tensor: their number times their size.
      Result<std::vector<int64_t>> tile = reader.Integers("tile_shape", ElementType::kInt64);
      if (!tile || tile->size() != 1 || (*tile)[0] <= 0 || reader.Has("axes") || reader.Has("elem_quant_count")) {
        return std::nullopt;
      }
      factor = static_cast<uint64_t>((*tile)[0]);
    } else if (reader.Has("tile_shape") || reader.Has("num_codebooks") || reader.Has("packed_count")) {
      return std::nullopt;
    }
  }
  if (std::holds_alternative<BitPackingType>(type->kind)) return std::nullopt;
  std::optional<uint64_t> values = CheckedProduct(DimsOf(*type));
  if (values) values = CheckedMul(*values, factor);
  if (!values || *values > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  // Packed bytes do not show how many codes they hold.
  if (Recoverer::Target(*type) < 0) {
    Result<int32_t> bits = reader.IntOrZero("bits");
    const uint32_t width = BitWidth(ElementOf(*type));
    if (reader.Has("bits") && (!bits || static_cast<int64_t>(width) != *bits)) return std::nullopt;
    if (reader.Has("sign_bits") && ElementOf(*type) == ElementType::kUint8) return std::nullopt;
  }
  return std::vector<int64_t>{static_cast<int64_t>(*values)};
}

}  // namespace
}  // namespace quant

Result<RecoveredProfile> RecoverProfile(std::span<const StructType> types, std::optional<std::vector<int64_t>> shape,
                                        const Limits& limits) {
  if (types.empty()) {
    return Fail(ErrorCode::kNotAProfile, "", "there is no struct type", "a list of declarations with the root last");
  }
  Problems problems;
  TypeTable::Build({types.begin(), types.end()}, limits, &problems);
  if (!problems.empty()) return tl::unexpected<Error>(problems.list().front());

  // In the order of a translation.
  const std::vector<StructType> list = Closure(types.back(), types.first(types.size() - 1));
  quant::Recoverer recoverer(list, limits);
  const auto root = static_cast<int32_t>(list.size() - 1);
  const quant::Reader reader = recoverer.Read(root);
  if (const std::string* text = reader.FindMetadata(kShapeKey); text != nullptr && !shape) {
    TESSERA_ASSIGN(shape, ParseShapeText(*text));
  }
  if (!shape) shape = quant::FlatShape(reader);
  if (!shape) {
    return Fail(ErrorCode::kProfileShape, reader.type().Name(), "the declarations do not say which shape they are for",
                "a logical shape");
  }
  quant::ReadLevel level;
  for (size_t i = 0; i < shape->size(); ++i) {
    if ((*shape)[i] < 0) {
      return Fail(ErrorCode::kProfileShape, ShapeText(*shape), fmt::format("dimension {} is negative", i), "0 or more");
    }
    level.shape.push_back(static_cast<uint64_t>((*shape)[i]));
    level.order.push_back(i);
  }
  // The rule for the root's name needs the family.
  TESSERA_ASSIGN(quant::ReadBack back, recoverer.Recover(root, level, ""));
  RecoveredProfile recovered;
  recovered.shape = *shape;
  recovered.options.limits = limits;
  recovered.options.outliers = recoverer.Outliers();
  recovered.options.spelling = std::move(back.spelling);
  recovered.options.spelling.name = quant::UnlessRule(reader.type().Name(), quant::RootName(back.profile, *shape));
  recovered.profile = std::move(back.profile);

  Result<std::vector<StructType>> made = TranslateProfile(recovered.profile, *shape, recovered.options);
  if (!made) {
    return reader.NotAProfile("", fmt::format("what it says is no profile for its shape: {}", made.error().Format()));
  }
  if (made->size() != list.size()) return reader.NotAProfile("", "its profile has other declarations");
  for (size_t i = 0; i < list.size(); ++i) {
    if (std::optional<std::string> difference = quant::Difference(list[i], (*made)[i])) {
      return recoverer.Read(static_cast<int32_t>(i)).NotAProfile("", *std::move(difference));
    }
  }
  return recovered;
}

}  // namespace tessera
