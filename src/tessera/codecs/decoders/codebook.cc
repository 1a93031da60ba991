// CodebookProto: the sum of one entry of each codebook, times the scale.
#include <fmt/format.h>

#include <numeric>

#include "tessera/codecs/decoders/decoder_writer.h"

namespace tessera::decoders {
namespace {

// The constant with the codebooks, which may have any name.
Result<std::string> CodebookField(const quant::Reader& reader) {
  for (const Field& field : reader.fields()) {
    const auto* constant = std::get_if<Constant>(&field.content);
    if (constant != nullptr && constant->type == ElementType::kFloat && !constant->dims.empty() &&
        field.name != "scales" && !field.name.ends_with("_rotation")) {
      return field.name;
    }
  }
  return reader.NotAProfile("codebook", "is missing");
}

// The digits of all values of a byte: [256, count], the first in the least significant digit.
Value DigitTable(FunctionBuilder* b, int64_t base, int64_t count) {
  std::vector<int64_t> digits;
  for (int64_t byte = 0; byte < 256; ++byte) {
    for (int64_t i = 0, rest = byte; i < count; ++i, rest /= base) digits.push_back(rest % base);
  }
  return b->Const(ElementType::kInt32, {256, count}, digits);
}

// [n, count] digits of numbers of `bytes` [n, packed_bytes], least significant byte first.
Result<Value> Digits(DecoderWriter* writer, const Value& bytes, int64_t base, int64_t count) {
  FunctionBuilder& b = writer->builder();
  const int64_t size = bytes.dims[1];
  // Two halves below 2^32, so that a remainder times 2^32 and the lower half is an INT64.
  if (size > 7 && base > (int64_t{1} << 30)) {
    return writer->NoDecoder(fmt::format("digits of base {} in {} bytes", base, size), "index_bits");
  }
  const int64_t low_bytes = size > 7 ? 4 : size;
  auto number = [&](int64_t first, int64_t end) {
    Value sum;
    for (int64_t i = first; i < end; ++i) {
      Value byte = b.Cast(b.Slice(bytes, 1, i, i + 1), ElementType::kInt64);
      if (i > first) byte = b.Mul(byte, b.Scalar(ElementType::kInt64, int64_t{1} << (8 * (i - first))));
      sum = i == first ? byte : b.Add(sum, byte);
    }
    return sum;
  };
  Value low = number(0, low_bytes);
  Value high;
  if (size > low_bytes) high = number(low_bytes, size);
  std::vector<Value> digits;
  for (int64_t i = 0; i < count; ++i) {
    if (!high.name.empty()) {
      low = b.Add(b.Mul(b.Mod(high, base), b.Scalar(ElementType::kInt64, int64_t{1} << 32)), low);
      high = b.Div(high, base);
    }
    digits.push_back(b.Mod(low, base));
    low = b.Div(low, base);
    // What the upper half hands down fits below again.
  }
  return b.Concat(digits, 1);
}

// The indices of all vectors, [batch, vectors * num_codebooks], UINT8 or INT64 or FLOAT.
Result<Value> Indices(DecoderWriter* writer, const Level& level, const CodebookProfile& codebook, int64_t count) {
  FunctionBuilder& b = writer->builder();
  TESSERA_ASSIGN(std::string field, CodesField(*writer, level.place));
  TESSERA_ASSIGN(Value bytes, writer->Field(level.place, field));
  const auto bits = static_cast<uint32_t>(codebook.index_bits);
  if (codebook.packed_count == 0) return writer->Unpack(bytes, bits, count);
  const int64_t per_group = codebook.packed_count;
  const int64_t groups = (count + per_group - 1) / per_group;
  const int64_t batch = level.place.batch;
  const Value rows = b.Reshape(bytes, {batch * groups, codebook.packed_bytes});
  Value indices;
  if (bits > 0) {
    TESSERA_ASSIGN(indices, writer->Unpack(rows, bits, per_group));
  } else if (codebook.packed_bytes == 1) {
    indices = b.Gather(DigitTable(&b, codebook.codebook_size, per_group), b.Cast(rows, ElementType::kInt32));
  } else {
    TESSERA_ASSIGN(indices, Digits(writer, rows, codebook.codebook_size, per_group));
  }
  return b.Slice(b.Reshape(indices, {batch, groups * per_group}), 1, 0, count);
}

}  // namespace

Result<Value> CodebookSum(DecoderWriter* writer, const Level& level) {
  FunctionBuilder& b = writer->builder();
  const auto& codebook = std::get<CodebookProfile>(level.profile->kind);
  const quant::Reader reader = writer->Read(level.place.type);
  TESSERA_ASSIGN(std::string name, CodebookField(reader));
  TESSERA_ASSIGN(Value books, writer->Parameter(level.place, name));
  const int64_t size = codebook.codebook_size;
  const int64_t vector = codebook.vector_size;
  const int64_t count = codebook.num_codebooks;
  const int64_t vectors = level.values / vector;
  books = b.Reshape(books, {count, size, vector});
  TESSERA_ASSIGN(Value indices, Indices(writer, level, codebook, vectors * count));
  indices = b.Reshape(b.Cast(indices, ElementType::kInt32), {level.place.batch, vectors, count});
  Value sum;
  for (int64_t k = 0; k < count; ++k) {
    const Value book = b.Reshape(b.Slice(books, 0, k, k + 1), {size, vector});
    const Value index = b.Reshape(b.Slice(indices, 2, k, k + 1), {level.place.batch, vectors});
    const Value entries = b.Gather(book, index);
    sum = k == 0 ? entries : b.Add(sum, entries);
  }
  return b.Reshape(sum, {level.place.batch, level.values});
}

Result<Value> DecodeCodebook(DecoderWriter* writer, const Level& level) {
  TESSERA_ASSIGN(Value sum, CodebookSum(writer, level));
  return writer->ApplyScale(level, sum, std::get<CodebookProfile>(level.profile->kind).scale);
}

}  // namespace tessera::decoders
