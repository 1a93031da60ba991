// StructuredBlockUniformProto: mask * (sign * (code - zero_point) * scale * 2^exponent + bias) in blocks.
#include <algorithm>
#include <numeric>

#include "tessera/codecs/decoders/decoder_writer.h"

namespace tessera::decoders {
namespace {

// The fields of all blocks, and their sizes.
struct Blocks {
  const StructuredBlockProfile& profile;
  Place place;        // of the fields
  int64_t count = 0;  // of all blocks, the batch included
  int64_t size = 0;   // values of a block
};

const BlockField* Find(const Blocks& blocks, BlockFieldRole role) {
  for (const BlockField& field : blocks.profile.block_layout.fields) {
    if (field.role == role) return &field;
  }
  return nullptr;
}

// [blocks, count] numbers of a field in the compute type.
Result<Value> Numbers(DecoderWriter* writer, const Blocks& blocks, const BlockField& field) {
  const std::string name = quant::FieldName(field.role);
  Place place = blocks.place;
  const quant::Reader reader = writer->Read(place.type);
  const PhysicalType* part = reader.FindPart(name);
  // A sequential field behind an offset is a record of its own.
  if (part != nullptr && quant::Recoverer::Target(*part) >= 0) {
    TESSERA_ASSIGN(place, writer->Inside(place, name));
  }
  place.batch = blocks.count;
  TESSERA_ASSIGN(Value numbers,
                 writer->Codes(place, name, field.data_type, static_cast<uint32_t>(field.bit_width), field.count));
  return writer->builder().Reshape(numbers, {blocks.count, field.count});
}

// [blocks, size] codewords by the index formula.
Result<Value> Codewords(DecoderWriter* writer, const Level& level, const Blocks& blocks) {
  FunctionBuilder& b = writer->builder();
  const StructuredBlockProfile& profile = blocks.profile;
  Value index;
  for (const FieldWeight& weight : profile.index_formula) {
    const BlockField* field = Find(blocks, weight.field);
    if (field == nullptr) return writer->Read(level.place.type).NotAProfile("index_fields", "has a field that is none");
    TESSERA_ASSIGN(Value numbers, Numbers(writer, blocks, *field));
    Value term = b.Cast(numbers, ElementType::kInt32);
    if (weight.multiplier != 1) term = b.Mul(term, b.Scalar(ElementType::kInt32, weight.multiplier));
    index = index.name.empty() ? term : b.Add(index, term);
  }
  const quant::Reader reader = writer->Read(level.place.type);
  const size_t at = reader.Position("codebook_vector_size");
  if (at == 0 || at == reader.fields().size()) return reader.NotAProfile("codebook", "is missing");
  TESSERA_ASSIGN(Value book, writer->Parameter(level.place, reader.fields()[at - 1].name));
  const Value words = b.Gather(book, index);  // [blocks, codewords, vector]
  const Value flat = b.Reshape(words, {blocks.count, blocks.size});
  if (!profile.scatter) return flat;
  const int64_t vector = profile.scatter->vector_size;
  const int64_t group = profile.scatter->group_size;
  const int64_t lanes = group / vector;
  if (profile.scatter->stride == lanes) {
    const Value parts = b.Reshape(words, {blocks.count * (blocks.size / group), lanes, vector});
    return b.Reshape(b.Transpose(parts, {0, 2, 1}), {blocks.count, blocks.size});
  }
  std::vector<int64_t> source(static_cast<size_t>(blocks.size));
  for (int64_t g = 0; g < blocks.size / vector; ++g) {
    for (int64_t p = 0; p < vector; ++p) {
      source[static_cast<size_t>(group * (g / lanes) + g % lanes + profile.scatter->stride * p)] = g * vector + p;
    }
  }
  return b.Gather(flat, b.Const(ElementType::kInt32, {blocks.size}, source), 1);
}

}  // namespace

Result<Value> DecodeStructuredBlock(DecoderWriter* writer, const Level& level) {
  FunctionBuilder& b = writer->builder();
  const auto& profile = std::get<StructuredBlockProfile>(level.profile->kind);
  Blocks blocks{profile, level.place};
  blocks.size = profile.block_layout.block_size;
  blocks.count = level.place.batch * (level.values / blocks.size);
  if (profile.storage_order == BlockStorageOrder::kInterleaved) {
    TESSERA_ASSIGN(const std::string field, CodesField(*writer, level.place));
    TESSERA_ASSIGN(blocks.place, writer->Inside(level.place, field));
  }
  blocks.place.batch = blocks.count;

  Value values;  // [blocks, size]
  if (!profile.codebook_data.values.empty()) {
    TESSERA_ASSIGN(values, Codewords(writer, level, blocks));
  } else {
    const BlockField* field = Find(blocks, BlockFieldRole::kValues);
    if (field == nullptr) return writer->Read(level.place.type).NotAProfile("values", "is missing");
    TESSERA_ASSIGN(values, Numbers(writer, blocks, *field));
  }
  // A field that is no part of an index; its elements each stand for a run of values.
  const auto in_formula = [&](BlockFieldRole role) {
    return std::any_of(profile.index_formula.begin(), profile.index_formula.end(),
                       [&](const FieldWeight& weight) { return weight.field == role; });
  };
  auto apply = [&](BlockFieldRole role, const auto& operation) -> Result<void> {
    const BlockField* field = Find(blocks, role);
    if (field == nullptr || in_formula(role)) return {};
    TESSERA_ASSIGN(Value numbers, Numbers(writer, blocks, *field));
    const Value runs = b.Reshape(values, {blocks.count, field->count, blocks.size / field->count});
    const Value factors = b.Reshape(numbers, {blocks.count, field->count, 1});
    values = b.Reshape(operation(runs, factors), {blocks.count, blocks.size});
    return {};
  };
  const Value zero = b.Const(MakeFloats(writer->compute(), {}, {{0}}));
  const Value one = b.Const(MakeFloats(writer->compute(), {}, {{1}}));
  const Value two = b.Const(MakeFloats(writer->compute(), {}, {{2}}));
  TESSERA_TRY(apply(BlockFieldRole::kZeroPoint, [&](const Value& x, const Value& y) { return b.Sub(x, y); }));
  TESSERA_TRY(apply(BlockFieldRole::kSign,
                    [&](const Value& x, const Value& y) { return b.Mul(x, b.Sub(one, b.Mul(y, two))); }));
  TESSERA_TRY(apply(BlockFieldRole::kScale, [&](const Value& x, const Value& y) { return b.Mul(x, y); }));
  TESSERA_TRY(apply(BlockFieldRole::kExponent, [&](const Value& x, const Value& y) {
    // Exponents of many bits are no INT32; beyond these the power is 0 or infinity anyway.
    const Value low = b.Const(MakeFloats(writer->compute(), {}, {{-4'000}}));
    const Value high = b.Const(MakeFloats(writer->compute(), {}, {{4'000}}));
    Value exponent = y;
    if (Find(blocks, BlockFieldRole::kExponent)->bit_width > 16) {
      exponent = b.Where(b.Less(exponent, low), low, exponent);
      exponent = b.Where(b.Less(high, exponent), high, exponent);
    }
    return b.Mul(x, b.PowerOfTwo(b.Cast(exponent, ElementType::kInt32), writer->compute()));
  }));
  TESSERA_TRY(apply(BlockFieldRole::kBias, [&](const Value& x, const Value& y) { return b.Add(x, y); }));
  TESSERA_TRY(
      apply(BlockFieldRole::kMask, [&](const Value& x, const Value& y) { return b.Where(b.Equal(y, zero), zero, x); }));

  values = b.Reshape(values, {level.place.batch, level.values});
  if (!profile.axis) return values;
  // The blocks' axis lies innermost.
  const auto axis = static_cast<size_t>(*profile.axis);
  Dims dims = {level.place.batch};
  std::vector<size_t> axes;
  for (size_t other : level.order) {
    if (other != axis) axes.push_back(other);
  }
  axes.push_back(axis);
  for (size_t other : axes) dims.push_back(static_cast<int64_t>(level.shape[other]));
  std::vector<int64_t> perm = {0};
  for (size_t other : level.order) {
    perm.push_back(1 + (std::find(axes.begin(), axes.end(), other) - axes.begin()));
  }
  return b.Reshape(b.Transpose(b.Reshape(values, dims), perm), {level.place.batch, level.values});
}

}  // namespace tessera::decoders
