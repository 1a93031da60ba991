#include "tessera/codecs/decoders/code_values.h"

#include <cmath>
#include <numeric>
#include <vector>

namespace tessera::decoders {

FloatingPointProfile FormatOf(ElementType type) {
  const FloatFormat& row = Info(type).format;
  FloatingPointProfile format;
  format.sign_bits = row.sign_bits;
  format.exponent_bits = row.exponent_bits;
  format.mantissa_bits = row.mantissa_bits;
  format.exponent_bias = row.exponent_bias;
  format.has_inf = row.specials == FloatSpecials::kIeee;
  format.has_nan = row.specials == FloatSpecials::kIeee || row.specials == FloatSpecials::kNanOnly;
  return format;
}

Value FloatFromParts(FunctionBuilder* builder, ElementType compute, const FloatParts& parts,
                     const FloatingPointProfile& format, const Value& bias) {
  FunctionBuilder& b = *builder;
  auto integer = [&](int64_t value) { return b.Scalar(ElementType::kInt32, value); };
  auto number = [&](double value) { return b.Const(MakeFloats(compute, {}, {{value}})); };
  const Value zero = b.Equal(parts.exponent, integer(0));
  const bool has_mantissa = !parts.mantissa.name.empty();
  const int64_t one = int64_t{1} << format.mantissa_bits;
  const Value significand = has_mantissa ? b.Where(zero, parts.mantissa, b.Add(parts.mantissa, integer(one)))
                                         : b.Where(zero, integer(0), integer(1));
  const Value exponent = b.Sub(b.Where(zero, integer(1), parts.exponent), b.Add(bias, integer(format.mantissa_bits)));
  Value value = b.Mul(b.Cast(significand, compute), b.PowerOfTwo(exponent, compute));
  if (format.has_inf || format.has_nan) {
    const Value top = b.Equal(parts.exponent, integer((int64_t{1} << format.exponent_bits) - 1));
    const Value inf = number(HUGE_VAL);
    const Value nan = number(std::nan(""));
    if (format.has_inf && format.has_nan) {
      const Value special = has_mantissa ? b.Where(b.Equal(parts.mantissa, integer(0)), inf, nan) : inf;
      value = b.Where(top, special, value);
    } else {
      const Value all = has_mantissa ? b.And(top, b.Equal(parts.mantissa, integer(one - 1))) : top;
      value = b.Where(all, format.has_inf ? inf : nan, value);
    }
  }
  if (parts.sign.name.empty()) return value;
  return b.Mul(value, b.Sub(number(1), b.Mul(b.Cast(parts.sign, compute), number(2))));
}

Value FloatFromCodes(FunctionBuilder* builder, ElementType compute, const Value& codes,
                     const FloatingPointProfile& format, const Value& bias) {
  FunctionBuilder& b = *builder;
  const int64_t bits = format.sign_bits + format.exponent_bits + format.mantissa_bits;
  auto decode = [&](const Value& all) {
    FloatParts parts;
    auto part = [&](int64_t low, int64_t width) {
      const Value moved = low == 0 ? all : b.Div(all, int64_t{1} << low);
      const Value field = low + width == bits ? moved : b.Mod(moved, int64_t{1} << width);
      return b.Cast(field, ElementType::kInt32);
    };
    if (format.mantissa_bits > 0) parts.mantissa = part(0, format.mantissa_bits);
    parts.exponent = part(format.mantissa_bits, format.exponent_bits);
    if (format.sign_bits > 0) parts.sign = part(format.mantissa_bits + format.exponent_bits, 1);
    return FloatFromParts(builder, compute, parts, format, bias);
  };
  if (bits > 8) return decode(b.Cast(codes, bits < 32 ? ElementType::kInt32 : ElementType::kInt64));
  // The values of all codes once, then one look-up each.
  std::vector<int64_t> all(size_t{1} << bits);
  std::iota(all.begin(), all.end(), 0);
  const Value table = decode(b.Const(ElementType::kInt32, {static_cast<int64_t>(all.size())}, all));
  return b.Gather(table, b.Cast(codes, ElementType::kInt32));
}

Value FloatOfType(FunctionBuilder* builder, ElementType compute, const Value& codes, ElementType type) {
  FunctionBuilder& b = *builder;
  const ElementInfo& info = Info(type);
  const Value nan = b.Const(MakeFloats(compute, {}, {{std::nan("")}}));
  auto integer = [&](int64_t value) { return b.Scalar(ElementType::kInt32, value); };
  if (info.format.specials == FloatSpecials::kExponentOnly) {
    const Value code = b.Cast(codes, ElementType::kInt32);
    const Value power = b.PowerOfTwo(b.Sub(code, integer(127)), compute);
    return b.Where(b.Equal(code, integer(255)), nan, power);
  }
  const FloatingPointProfile format = FormatOf(type);
  const Value value = FloatFromCodes(builder, compute, codes, format, integer(format.exponent_bias));
  if (info.format.specials != FloatSpecials::kNanIsNegativeZero) return value;
  const Value code = b.Cast(codes, ElementType::kInt32);
  return b.Where(b.Equal(code, integer(int64_t{1} << (info.bits - 1))), nan, value);
}

Value Signed(FunctionBuilder* builder, const Value& numbers, uint32_t bits) {
  FunctionBuilder& b = *builder;
  const int64_t half = int64_t{1} << (bits - 1);
  if (Info(numbers.type).kind == ElementKind::kFloat && bits <= kFloatBits) {
    // Faster in onnxruntime than a Where.
    auto number = [&](double value) { return b.Const(MakeFloats(numbers.type, {}, {{value}})); };
    const Value negative = b.Cast(b.Less(number(static_cast<double>(half) - 0.5), numbers), numbers.type);
    return b.Sub(numbers, b.Mul(negative, number(static_cast<double>(2 * half))));
  }
  const bool is_float = Info(numbers.type).kind == ElementKind::kFloat;
  const Value step =
      is_float ? b.Const(MakeFloats(numbers.type, {}, {{static_cast<double>(half)}})) : b.Scalar(numbers.type, half);
  // In two steps: twice the half may be no number of the type.
  return b.Where(b.Less(numbers, step), numbers, b.Sub(b.Sub(numbers, step), step));
}

}  // namespace tessera::decoders
