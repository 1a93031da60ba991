// StructuredBlockUniformProto: blocks of named fields, whose codes are values or point into a codebook.
#include <fmt/format.h>

#include <algorithm>

#include "tessera/base/checked.h"
#include "tessera/quant/families/family.h"
#include "tessera/types/expression.h"

namespace tessera::quant {
namespace {

const BlockField* FindField(const BlockLayout& layout, BlockFieldRole role) {
  auto found = std::find_if(layout.fields.begin(), layout.fields.end(),
                            [&](const BlockField& field) { return field.role == role; });
  return found == layout.fields.end() ? nullptr : &*found;
}

bool IsInteger(const BlockField& field) {
  const ElementKind kind = Info(field.data_type).kind;
  return kind == ElementKind::kNone || kind == ElementKind::kUnsigned || kind == ElementKind::kSigned;
}

// The least and the greatest code of a field.
void CodeRange(const BlockField& field, WideInteger* low, WideInteger* high) {
  const WideInteger one = 1;
  if (Info(field.data_type).kind == ElementKind::kSigned) {
    *low = -(one << (field.bit_width - 1));
    *high = (one << (field.bit_width - 1)) - 1;
  } else {
    *low = 0;
    *high = (one << field.bit_width) - 1;
  }
}

// The codewords of a block: how many, from which fields, and whether every index is one of the codebook.
void ValidateFormula(const StructuredBlockProfile& blocks, const Path& path, Validator* validator) {
  const BlockLayout& layout = blocks.block_layout;
  int64_t codes = -1;
  WideInteger low = 0;
  WideInteger high = 0;
  for (size_t i = 0; i < blocks.index_formula.size(); ++i) {
    const FieldWeight& weight = blocks.index_formula[i];
    const Path weight_path = path.Index("index_formula", i);
    const BlockField* field = FindField(layout, weight.field);
    if (field == nullptr) {
      validator->Add(ErrorCode::kProfileBlock, weight_path, fmt::format("a block has no field {}", Name(weight.field)),
                     "a field of block_layout");
      return;
    }
    if (field->bit_width < 1 || field->bit_width > 64 || field->count < 1) return;  // reported with the field
    if (!IsInteger(*field)) {
      validator->Add(ErrorCode::kProfileBlock, weight_path,
                     fmt::format("{} holds {}, which is no index", Name(weight.field), Name(field->data_type)),
                     "unsigned bits or an integer type");
      return;
    }
    if (codes >= 0 && field->count != codes) {
      validator->Add(
          ErrorCode::kProfileBlock, weight_path,
          fmt::format("{} has {} elements, the fields before it {}", Name(weight.field), field->count, codes),
          "fields of one count");
      return;
    }
    codes = field->count;
    WideInteger field_low = 0;
    WideInteger field_high = 0;
    CodeRange(*field, &field_low, &field_high);
    // 65 + 32 bits a term; a list of terms in memory cannot bring the sum near 127.
    const WideInteger multiplier = weight.multiplier;
    low += std::min(field_low * multiplier, field_high * multiplier);
    high += std::max(field_low * multiplier, field_high * multiplier);
  }
  const bool open = !blocks.codebook_data.parameter.empty();
  const auto count = static_cast<int64_t>(blocks.codebook_data.values.size());
  const int64_t vector = blocks.codebook_vector_size;
  if (!open && count % vector != 0) {
    validator->Add(ErrorCode::kProfileData, path.Field("codebook_data"),
                   fmt::format("{} values are no vectors of {}", count, vector),
                   fmt::format("a multiple of {}", vector));
    return;
  }
  const WideInteger entries = count / vector;
  if (low < 0 || (!open && high >= entries)) {
    validator->Add(ErrorCode::kProfileBlock, path.Field("index_formula"),
                   low < 0 ? std::string("makes indices below 0")
                           : fmt::format("makes indices beyond the {} entries of the codebook", count / vector),
                   "fields and multipliers whose sums are all entries");
  }
  if (layout.block_size > 0 && codes * vector != layout.block_size) {
    validator->Add(ErrorCode::kProfileBlock, path.Field("codebook_vector_size"),
                   fmt::format("{} codes of {} values are not the {} of a block", codes, vector, layout.block_size),
                   "count times codebook_vector_size equal to block_size");
  }
}

void ValidateScatter(const StructuredBlockProfile& blocks, const Path& path, Validator* validator) {
  const Scatter& scatter = *blocks.scatter;
  validator->Range(path.Field("group_size"), scatter.group_size, 1, INT32_MAX);
  validator->Range(path.Field("vector_size"), scatter.vector_size, 1, INT32_MAX);
  if (scatter.group_size < 1 || scatter.vector_size < 1) return;
  if (scatter.group_size % scatter.vector_size != 0) {
    validator->Add(ErrorCode::kProfileBlock, path.Field("group_size"),
                   fmt::format("{} is not a multiple of vector_size {}", scatter.group_size, scatter.vector_size),
                   "a multiple");
    return;
  }
  if (scatter.stride != scatter.group_size / scatter.vector_size) {
    validator->Add(ErrorCode::kProfileBlock, path.Field("stride"),
                   fmt::format("{} does not reach each value of a group once", scatter.stride),
                   fmt::format("{}", scatter.group_size / scatter.vector_size));
  }
  if (blocks.block_layout.block_size > 0 && blocks.block_layout.block_size % scatter.group_size != 0) {
    validator->Add(ErrorCode::kProfileBlock, path.Field("group_size"),
                   fmt::format("{} does not divide block_size {}", scatter.group_size, blocks.block_layout.block_size),
                   "a divisor");
  }
  if (blocks.codebook_vector_size > 0 && scatter.vector_size != blocks.codebook_vector_size) {
    validator->Add(ErrorCode::kProfileBlock, path.Field("vector_size"),
                   fmt::format("is {}, a codeword has {} values", scatter.vector_size, blocks.codebook_vector_size),
                   "codebook_vector_size");
  }
}

// What a field outside the formula has to be for the equation of the family.
void ValidateRole(const BlockField& field, const BlockLayout& layout, bool has_codebook, const Path& path,
                  Validator* validator) {
  const bool is_bit = field.role == BlockFieldRole::kSign || field.role == BlockFieldRole::kMask;
  if (is_bit && layout.block_size > 0 && (field.bit_width != 1 || field.count != layout.block_size)) {
    validator->Add(ErrorCode::kProfileBlock, path,
                   fmt::format("{} has {} elements of {} bits", Name(field.role), field.count, field.bit_width),
                   fmt::format("one bit for each of the {} values", layout.block_size));
  } else if (field.role == BlockFieldRole::kExponent && !IsInteger(field)) {
    validator->Add(ErrorCode::kProfileBlock, path, fmt::format("EXPONENT holds {}", Name(field.data_type)),
                   "unsigned bits or an integer type");
  } else if (field.role == BlockFieldRole::kCode || (field.role == BlockFieldRole::kValues && has_codebook)) {
    validator->Add(ErrorCode::kProfileBlock, path, fmt::format("{} is in no index_formula", Name(field.role)),
                   "a term of the formula");
  }
}

void Validate(const Profile& profile, const Place& place, Validator* validator) {
  const auto& blocks = std::get<StructuredBlockProfile>(profile.kind);
  const Path& path = place.path;
  const BlockLayout& layout = blocks.block_layout;
  const size_t problems_before = validator->count();
  ValidateBlockLayout(layout, blocks.storage_order, path.Field("block_layout"), validator);
  if (blocks.axis) validator->Range(path.Field("axis"), *blocks.axis, 0, INT32_MAX);
  const bool has_codebook = !blocks.codebook_data.values.empty() || !blocks.codebook_data.parameter.empty();
  if (has_codebook) {
    validator->Data(path.Field("codebook_data"), blocks.codebook_data, std::nullopt);
    validator->Range(path.Field("codebook_vector_size"), blocks.codebook_vector_size, 1, INT32_MAX);
    if (blocks.index_formula.empty()) {
      validator->Add(ErrorCode::kProfileBlock, path.Field("index_formula"), "a codebook needs indices",
                     "the fields that make an index");
    } else if (blocks.codebook_vector_size > 0) {
      ValidateFormula(blocks, path, validator);
    }
  } else {
    if (!blocks.index_formula.empty()) {
      validator->Add(ErrorCode::kProfileBlock, path.Field("index_formula"), "makes indices into no codebook",
                     "codebook_data, or no formula");
    }
    if (blocks.codebook_vector_size != 0) {
      validator->Add(ErrorCode::kProfileConflict, path.Field("codebook_vector_size"), "there is no codebook",
                     "codebook_data, or 0");
    }
    const BlockField* values = FindField(layout, BlockFieldRole::kValues);
    if (values == nullptr) {
      validator->Add(ErrorCode::kProfileBlock, path.Field("block_layout"), "has neither VALUES nor a codebook",
                     "a field VALUES");
    } else if (values->count != layout.block_size) {
      validator->Add(ErrorCode::kProfileBlock, path.Field("block_layout"),
                     fmt::format("VALUES has {} elements for a block of {} values", values->count, layout.block_size),
                     "as many as block_size");
    }
  }
  // What follows from another mistake is not said.
  const bool in_order = validator->count() == problems_before;
  for (size_t i = 0; i < layout.fields.size(); ++i) {
    const BlockField& field = layout.fields[i];
    const bool in_formula = std::any_of(blocks.index_formula.begin(), blocks.index_formula.end(),
                                        [&](const FieldWeight& weight) { return weight.field == field.role; });
    if (in_formula) continue;
    if (in_order) ValidateRole(field, layout, has_codebook, path.Field("block_layout").Index("fields", i), validator);
    const bool runs = field.role == BlockFieldRole::kScale || field.role == BlockFieldRole::kZeroPoint ||
                      field.role == BlockFieldRole::kBias || field.role == BlockFieldRole::kExponent;
    if (runs && field.count > 0 && layout.block_size > 0 && layout.block_size % field.count != 0) {
      validator->Add(
          ErrorCode::kProfileBlock, path.Field("block_layout").Index("fields", i),
          fmt::format("{} {} do not divide a block of {} values", field.count, Name(field.role), layout.block_size),
          "a count that divides block_size");
    }
  }
  if (blocks.scatter) ValidateScatter(blocks, path.Field("scatter"), validator);
}

Result<uint64_t> CountBlocks(const Level& level, const StructuredBlockProfile& blocks) {
  const auto size = static_cast<uint64_t>(blocks.block_layout.block_size);
  uint64_t along = level.values;
  if (blocks.axis) {
    if (static_cast<size_t>(*blocks.axis) >= level.shape.size()) {
      return ShapeError(level, fmt::format("there is no axis {}", *blocks.axis), "an axis of the tensor");
    }
    along = level.shape[static_cast<size_t>(*blocks.axis)];
  }
  if (along % size != 0) {
    const uint64_t below = along - along % size;
    return ShapeError(level, fmt::format("{} values are not a multiple of block_size {}", along, size),
                      below == 0 ? fmt::format("{}", size) : fmt::format("a multiple: {} or {}", below, below + size));
  }
  return level.values / size;
}

Result<Body> Translate(Translator* translator, Level* level) {
  const auto& blocks = std::get<StructuredBlockProfile>(level->profile->kind);
  TESSERA_TRY(RefuseCodeType(*level));
  TESSERA_ASSIGN(uint64_t count, CountBlocks(*level, blocks));
  Body body;
  const bool sequential = blocks.storage_order == BlockStorageOrder::kSequential;
  if (sequential) {
    TESSERA_TRY(BlockRegions(translator, *level, blocks.block_layout, count, &body));
  } else {
    TESSERA_ASSIGN(int32_t block, BlockDeclaration(translator, level, blocks.block_layout));
    body.codes.push_back(PartField(NameOr(level->spelling->codes, "blocks"), ArrayOf({TypeReference{block}}, {count})));
  }
  std::vector<Field>& constants = body.constants;
  if (!blocks.codebook_data.values.empty()) {
    const auto entries = static_cast<int64_t>(blocks.codebook_data.values.size()) / blocks.codebook_vector_size;
    constants.push_back(FloatsConstant(NameOr(level->spelling->codebook, "codebook"),
                                       {entries, blocks.codebook_vector_size}, blocks.codebook_data.values));
    constants.push_back(IntConstant("codebook_vector_size", blocks.codebook_vector_size));
    std::vector<int32_t> fields;
    std::vector<int32_t> multipliers;
    for (const FieldWeight& weight : blocks.index_formula) {
      fields.push_back(static_cast<int32_t>(weight.field));
      multipliers.push_back(weight.multiplier);
    }
    constants.push_back(IntsConstant("index_fields", fields));
    constants.push_back(IntsConstant("index_multipliers", multipliers));
  }
  if (blocks.scatter) {
    constants.push_back(IntConstant("scatter_group_size", blocks.scatter->group_size));
    constants.push_back(IntConstant("scatter_vector_size", blocks.scatter->vector_size));
    constants.push_back(IntConstant("scatter_stride", blocks.scatter->stride));
  }
  if (sequential) constants.push_back(IntConstant("storage_order", static_cast<int64_t>(blocks.storage_order)));
  if (blocks.axis) constants.push_back(IntConstant("axis", *blocks.axis));
  return body;
}

// The blocks of an interleaved order; -1 if there are none.
int32_t BlockOf(const Recoverer& recoverer, const Reader& reader) {
  const Field* codes = reader.Codes();
  if (codes == nullptr) return -1;
  const int32_t block = Recoverer::Target(std::get<PhysicalType>(codes->content));
  return block >= 0 && recoverer.Read(block).Has("field_roles") ? block : -1;
}

bool Recognizes(const Recoverer& recoverer, const Reader& reader) {
  return reader.Has("storage_order") || (BlockOf(recoverer, reader) >= 0 && !reader.Has("storage_type"));
}

Result<ReadBack> Recover(Recoverer* recoverer, const Reader& reader, const ReadLevel&, const std::string& name) {
  ReadBack back;
  StructuredBlockProfile blocks;
  if (reader.Has("storage_order")) {
    blocks.storage_order = BlockStorageOrder::kSequential;
    TESSERA_ASSIGN(blocks.block_layout, ReadBlock(*recoverer, reader, /*regions=*/true));
  } else {
    const Reader block = recoverer->Read(BlockOf(*recoverer, reader));
    TESSERA_ASSIGN(blocks.block_layout, ReadBlock(*recoverer, block, /*regions=*/false));
    back.spelling.codes = UnlessRule(reader.Codes()->name, "blocks");
    back.spelling.parts.push_back({.name = UnlessRule(block.type().Name(), name + "_BLOCK")});
  }
  if (reader.Has("codebook_vector_size")) {
    TESSERA_ASSIGN(blocks.codebook_vector_size, reader.Int("codebook_vector_size"));
    TESSERA_ASSIGN(std::vector<int32_t> fields, reader.Ints("index_fields"));
    TESSERA_ASSIGN(std::vector<int32_t> multipliers, reader.Ints("index_multipliers"));
    if (fields.size() != multipliers.size())
      return reader.NotAProfile("index_multipliers", "is not one for each field");
    for (size_t i = 0; i < fields.size(); ++i) {
      std::optional<BlockFieldRole> role = BlockFieldRoleFromNumber(fields[i]);
      if (!role) return reader.NotAProfile("index_fields", fmt::format("{} is no role", fields[i]));
      blocks.index_formula.push_back({*role, multipliers[i]});
    }
    // The codebook is the constant before its vector size.
    const size_t at = reader.Position("codebook_vector_size");
    const auto* constant = at == 0 ? nullptr : std::get_if<Constant>(&reader.fields()[at - 1].content);
    if (constant == nullptr) return reader.NotAProfile("codebook", "is missing");
    TESSERA_ASSIGN(blocks.codebook_data.values, reader.Floats(*constant, reader.fields()[at - 1].name));
    back.spelling.codebook = UnlessRule(reader.fields()[at - 1].name, "codebook");
  }
  if (reader.Has("scatter_group_size")) {
    blocks.scatter.emplace();
    TESSERA_ASSIGN(blocks.scatter->group_size, reader.Int("scatter_group_size"));
    TESSERA_ASSIGN(blocks.scatter->vector_size, reader.Int("scatter_vector_size"));
    TESSERA_ASSIGN(blocks.scatter->stride, reader.Int("scatter_stride"));
  }
  if (reader.Has("axis")) {
    TESSERA_ASSIGN(blocks.axis, reader.Int("axis"));
  }
  back.profile.kind = std::move(blocks);
  return back;
}

}  // namespace

const Family kStructuredBlockFamily = {Validate, Translate, Recognizes, Recover};

}  // namespace tessera::quant
