#include "tessera/codecs/payload_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tessera/codecs/decoders/code_values.h"

namespace tessera {
namespace {

using decoders::kFloatBits;

// A dimension of a leaf: how many elements, and how many bits from one to the next.
struct Step {
  int64_t count = 0;
  int64_t bits = 0;
};

// Fields of `width` bits in rows of bytes, [rows, bytes], at `offset` bits and `steps` from there: [rows, fields].
class Extractor {
 public:
  Extractor(FunctionBuilder* builder, int64_t width) : b_(*builder), width_(width) {}

  // Whole numbers in UINT8 (fields inside a byte), FLOAT (of at most 24 bits) or INT64; those of 64 bits as their two's
  // complement.
  Value Fields(const Value& rows, int64_t offset, std::vector<Step> steps) {
    steps = Merged(steps);
    narrow_ = InsideBytes(offset, steps, 0);
    return Walk(rows, offset, steps);
  }

 private:
  // Steps of one element go; two that make one regular run are one.
  static std::vector<Step> Merged(const std::vector<Step>& steps) {
    std::vector<Step> merged;
    for (const Step& step : steps) {
      if (step.count == 1) continue;
      if (!merged.empty() && merged.back().bits == step.count * step.bits)
        merged.back() = {merged.back().count * step.count, step.bits};
      else
        merged.push_back(step);
    }
    return merged;
  }

  // True if no field crosses a byte.
  bool InsideBytes(int64_t offset, const std::vector<Step>& steps, size_t at) const {
    if (width_ > 8) return false;
    if (at == steps.size()) return offset % 8 + width_ <= 8;
    // Places in a byte repeat after eight steps at the latest.
    for (int64_t i = 0; i < std::min<int64_t>(8, steps[at].count); ++i) {
      if (!InsideBytes(offset + i * steps[at].bits, steps, at + 1)) return false;
    }
    return true;
  }

  // Bits from the first field's first to the last one's last.
  int64_t Extent(const std::vector<Step>& steps, size_t from) const {
    int64_t extent = width_;
    for (size_t i = from; i < steps.size(); ++i) extent += (steps[i].count - 1) * steps[i].bits;
    return extent;
  }

  Value PaddedTo(const Value& rows, int64_t bytes) {
    if (rows.dims[1] >= bytes) return rows;
    const std::vector<int64_t> zeros(static_cast<size_t>(rows.dims[0] * (bytes - rows.dims[1])));
    return b_.Concat({rows, b_.Const(ElementType::kUint8, {rows.dims[0], bytes - rows.dims[1]}, zeros)}, 1);
  }

  Value Walk(const Value& rows, int64_t offset, std::vector<Step> steps) {
    if (steps.empty()) return Field(rows, offset);
    const Step step = steps.front();
    const std::vector<Step> rest(steps.begin() + 1, steps.end());
    int64_t inner = 1;
    for (const Step& other : rest) inner *= other.count;
    const int64_t count = rows.dims[0];
    if (step.bits % 8 == 0) {
      // A row for each element, which begins at or before its first field, unless it would end before the last one.
      const int64_t bytes = step.bits / 8;
      const Value padded = PaddedTo(rows, bytes * step.count);
      const int64_t start = std::min(offset / 8, padded.dims[1] - bytes * step.count);
      if (offset - 8 * start + Extent(rest, 0) <= step.bits) {
        const Value part = b_.Slice(padded, 1, start, start + bytes * step.count);
        const Value fields = Walk(b_.Reshape(part, {count * step.count, bytes}), offset - 8 * start, rest);
        return b_.Reshape(fields, {count, step.count * inner});
      }
    }
    // A row for as many elements as it takes to come to the same place in a byte again.
    const int64_t period = 8 / std::gcd(step.bits, int64_t{8});
    const int64_t bytes = period * step.bits / 8;
    const int64_t groups = (step.count + period - 1) / period;
    const int64_t start = offset / 8;
    const int64_t used = std::min(period, step.count);
    const int64_t needed = (offset % 8 + (used - 1) * step.bits + Extent(rest, 0) + 7) / 8;
    // The last fields of a row may lie in the first bytes of the next.
    const int64_t more = std::max<int64_t>(0, needed - bytes);
    const Value padded = PaddedTo(rows, start + groups * bytes + (more > 0 ? bytes : 0));
    Value part = b_.Reshape(b_.Slice(padded, 1, start, start + groups * bytes), {count * groups, bytes});
    if (more > 0) {
      const Value next = b_.Slice(padded, 1, start + bytes, start + (groups + 1) * bytes);
      part = b_.Concat({part, b_.Slice(b_.Reshape(next, {count * groups, bytes}), 1, 0, more)}, 1);
    }
    std::vector<Value> elements;
    for (int64_t i = 0; i < used; ++i) {
      const Value fields = Walk(part, offset % 8 + i * step.bits, rest);
      elements.push_back(b_.Reshape(fields, {count * groups, 1, inner}));
    }
    const Value all = b_.Reshape(b_.Concat(elements, 1), {count, groups * used * inner});
    return b_.Slice(all, 1, 0, step.count * inner);
  }

  // One field of each row: [rows, 1].
  Value Field(const Value& rows, int64_t offset) {
    const ElementType wide = width_ <= static_cast<int64_t>(kFloatBits) ? ElementType::kFloat : ElementType::kInt64;
    Value sum;
    for (int64_t bit = offset; bit < offset + width_;) {
      const int64_t low = bit % 8;
      const int64_t taken = std::min(8 - low, offset + width_ - bit);
      const int64_t weight = bit - offset;
      // Of one dimension: with [rows, 1] onnxruntime takes 20 ns an element for an operator whose other input is a
      // scalar.
      Value piece = b_.Reshape(b_.Slice(rows, 1, bit / 8, bit / 8 + 1), {rows.dims[0]});
      piece = b_.Bits(piece, static_cast<uint32_t>(low), static_cast<uint32_t>(taken));
      if (!narrow_) {
        // Bit 63 is the sign: the highest bits as a signed number.
        if (weight + taken == 64)
          piece = decoders::Signed(&b_, b_.Cast(piece, ElementType::kInt64), static_cast<uint32_t>(taken));
        piece = b_.Cast(piece, wide);
        if (weight > 0) {
          const int64_t factor = int64_t{1} << weight;
          piece = b_.Mul(piece,
                         wide == ElementType::kFloat ? b_.Scalar(static_cast<float>(factor)) : b_.Scalar(wide, factor));
        }
      }
      sum = sum.name.empty() ? piece : b_.Add(sum, piece);
      bit += taken;
    }
    return b_.Reshape(sum, {rows.dims[0], 1});
  }

  FunctionBuilder& b_;
  int64_t width_;
  bool narrow_ = false;
};

// A DOUBLE by its parts: 52 bits of a mantissa, 11 of an exponent and a sign.
Value DoubleFromCodes(FunctionBuilder* builder, const Value& codes) {
  FunctionBuilder& b = *builder;
  auto number = [&](double value) { return b.Const(MakeFloats(ElementType::kDouble, {}, {{value}})); };
  auto integer = [&](int64_t value) { return b.Scalar(ElementType::kInt64, value); };
  const Value negative = b.Less(codes, integer(0));
  // Without the sign's bit.
  const Value rest = b.Where(negative, b.Add(b.Add(codes, integer(INT64_MAX)), integer(1)), codes);
  const int64_t one = int64_t{1} << 52;
  const Value exponent = b.Cast(b.Div(rest, one), ElementType::kInt32);
  const Value mantissa = b.Mod(rest, one);
  const Value zero = b.Equal(exponent, b.Scalar(ElementType::kInt32, 0));
  const Value significand = b.Cast(b.Where(zero, mantissa, b.Add(mantissa, integer(one))), ElementType::kDouble);
  const Value lifted = b.Where(zero, b.Scalar(ElementType::kInt32, 1), exponent);
  // 2^-1074 to 2^971, and so exact.
  const Value power = b.PowerOfTwo(b.Sub(lifted, b.Scalar(ElementType::kInt32, 1075)), ElementType::kDouble);
  Value value = b.Mul(significand, power);
  const Value top = b.Equal(exponent, b.Scalar(ElementType::kInt32, 2047));
  const Value special = b.Where(b.Equal(mantissa, integer(0)), number(HUGE_VAL), number(std::nan("")));
  value = b.Where(top, special, value);
  // onnxruntime's Where makes 0 of a -0 from its second input, and keeps one from the third.
  return b.Where(b.Less(integer(-1), codes), value, b.Neg(value));
}

Result<Value> Converted(FunctionBuilder* builder, const Value& codes, const Leaf& leaf) {
  FunctionBuilder& b = *builder;
  const ElementInfo& info = Info(leaf.type);
  switch (info.kind) {
    case ElementKind::kUnsigned:
      return leaf.bits == 64 ? b.Cast(codes, ElementType::kUint64) : codes;
    case ElementKind::kSigned:
      if (info.bits == 64) return codes;
      // Between integers of one width Cast keeps the bits.
      if (info.bits == 8 && codes.type == ElementType::kUint8) return b.Cast(codes, ElementType::kInt8);
      if (codes.type == ElementType::kUint8) {
        return decoders::Signed(builder, b.Cast(codes, ElementType::kFloat), info.bits);
      }
      return b.Cast(decoders::Signed(builder, codes, info.bits), ElementType::kInt32);
    case ElementKind::kBool:
      return b.Cast(codes, ElementType::kBool);
    case ElementKind::kFloat:
      if (info.bits == 64) return DoubleFromCodes(builder, codes);
      return decoders::FloatOfType(builder, ElementType::kFloat, codes, leaf.type);
    default:
      return Fail(ErrorCode::kNoDecoder, leaf.path, fmt::format("{} is not read from bytes", info.name),
                  "types of real numbers");
  }
}

}  // namespace

Result<Value> ReadLeaf(FunctionBuilder* builder, const Value& segment, uint64_t segment_byte, const Leaf& leaf) {
  FunctionBuilder& b = *builder;
  if (leaf.constant != nullptr) return b.Const(*leaf.constant);
  Dims dims(leaf.dims.begin(), leaf.dims.end());
  std::vector<Step> steps;
  for (size_t i = 0; i < dims.size(); ++i) steps.push_back({dims[i], static_cast<int64_t>(leaf.bit_strides[i])});
  Value codes;
  if (CountOf(dims) == 0) {
    codes = b.Const(
        leaf.bits > 8 ? (leaf.bits > kFloatBits ? ElementType::kInt64 : ElementType::kInt32) : ElementType::kUint8,
        {1, 0}, {});
  } else {
    const Value row = b.Reshape(segment, {1, segment.dims[0]});
    const auto offset = static_cast<int64_t>(leaf.bit_offset - 8 * segment_byte);
    codes = Extractor(builder, leaf.bits).Fields(row, offset, std::move(steps));
  }
  TESSERA_ASSIGN(Value value, Converted(builder, codes, leaf));
  return b.Reshape(value, std::move(dims));
}

}  // namespace tessera
