#include "tessera/codecs/encoders/number_codes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "tessera/codecs/decoders/code_values.h"
#include "tessera/types/expression.h"

namespace tessera::encoders {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double Step(ElementType type, double value, double toward) {
  if (type == ElementType::kDouble) return std::nextafter(value, toward);
  return std::nextafter(static_cast<float>(value), static_cast<float>(toward));
}

double Rounded(ElementType type, double value) {
  return type == ElementType::kDouble ? value : static_cast<double>(static_cast<float>(value));
}

Value Number(FunctionBuilder* b, ElementType type, double value) { return b->Const(MakeFloats(type, {}, {{value}})); }

// The numbers of `type` from the integer on, and up to it. Doubles near an integer may lie on its other side.
double FloatAtMost(ElementType type, WideInteger value) {
  double number = Rounded(type, static_cast<double>(value));
  while (static_cast<WideInteger>(number) > value) number = Step(type, number, -kInf);
  return number;
}
double FloatAtLeast(ElementType type, WideInteger value) {
  double number = Rounded(type, static_cast<double>(value));
  while (static_cast<WideInteger>(number) < value) number = Step(type, number, kInf);
  return number;
}

// The code of the largest finite value, without the sign.
int64_t LargestCode(const FloatingPointProfile& format) {
  const int64_t one = int64_t{1} << format.mantissa_bits;
  const int64_t top = ((int64_t{1} << format.exponent_bits) - 1) * one;
  if (format.has_inf && format.has_nan) return top - 1;
  return top + one - 1 - (format.has_inf || format.has_nan ? 1 : 0);
}

// The numbers of all bits that mean a magnitude, rounded into a format; a in [0, infinity].
Value Magnitudes(FunctionBuilder* builder, const Value& a, const FloatingPointProfile& format, Beyond beyond,
                 ElementType integer) {
  FunctionBuilder& b = *builder;
  const int64_t mantissa = format.mantissa_bits;
  const int64_t bias = format.exponent_bias;
  const int64_t largest = LargestCode(format);
  const int64_t last = std::max<int64_t>(1, largest >> mantissa);  // exponent of the largest finite value
  double limit = LargestOf(format);
  if (beyond == Beyond::kInfinity && format.has_inf) {
    limit = std::max(limit, std::ldexp(1.0, static_cast<int>(last + 1 - bias)));
  }
  const double most = a.type == ElementType::kDouble ? std::numeric_limits<double>::max()
                                                     : static_cast<double>(std::numeric_limits<float>::max());
  const Value bounded = b.Min(a, Number(&b, a.type, std::min(limit, most)));
  // Exponents 0 and 1 have the same step, so that they are one.
  std::vector<double> thresholds;
  std::vector<double> first;
  std::vector<double> second;
  for (int64_t exponent = 1; exponent <= last; ++exponent) {
    if (exponent > 1) thresholds.push_back(Below(a.type, std::ldexp(1.0, static_cast<int>(exponent - bias))));
    // Two factors, since one may be beyond the type where the product is not.
    const auto power = static_cast<int>(mantissa + bias - exponent);
    first.push_back(std::ldexp(1.0, power / 2));
    second.push_back(std::ldexp(1.0, power - power / 2));
  }
  const Dims size = {static_cast<int64_t>(first.size())};
  const Value exponent = CountBelow(&b, bounded, std::move(thresholds));
  Value scaled = b.Mul(bounded, b.Gather(b.Const(MakeFloats(a.type, size, first)), exponent));
  scaled = b.Mul(scaled, b.Gather(b.Const(MakeFloats(a.type, size, second)), exponent));
  // A significand that is rounded up to the next power carries into the exponent.
  const Value significand = b.Cast(b.Round(scaled), integer);
  const Value above = b.Mul(b.Cast(exponent, integer), b.Scalar(integer, int64_t{1} << mantissa));
  Value codes = b.Add(above, significand);
  if (format.has_inf) {
    const int64_t infinity = format.has_nan ? ((int64_t{1} << format.exponent_bits) - 1) << mantissa : largest + 1;
    codes = b.Where(b.Equal(a, Number(&b, a.type, kInf)), b.Scalar(integer, infinity), codes);
  }
  return codes;
}

struct Specials {
  int64_t nan = 0;
  bool negative_zero = true;
};

Value Codes(FunctionBuilder* builder, const Value& x, const Value& nan, const FloatingPointProfile& format,
            Beyond beyond, const Specials& specials) {
  FunctionBuilder& b = *builder;
  const auto bits = static_cast<uint32_t>(format.sign_bits + format.exponent_bits + format.mantissa_bits);
  const ElementType integer = bits <= kNarrowBits ? ElementType::kInt32 : ElementType::kInt64;
  const Value zero = Number(&b, x.type, 0);
  Value codes;
  if (format.sign_bits == 0) {
    codes = Magnitudes(&b, b.Max(x, zero), format, beyond, integer);
  } else {
    codes = Magnitudes(&b, b.Abs(x), format, beyond, integer);
    Value negative = b.Less(x, zero);
    if (specials.negative_zero) {
      // 1 / -0 is -infinity.
      negative = b.Or(negative, b.Less(b.Div(Number(&b, x.type, 1), x), zero));
    } else {
      negative = b.And(negative, b.Less(b.Scalar(integer, 0), codes));
    }
    const int64_t sign = bits == 64 ? INT64_MIN : int64_t{1} << (bits - 1);
    codes = b.Add(codes, b.Where(negative, b.Scalar(integer, sign), b.Scalar(integer, 0)));
  }
  if (nan.name.empty()) return codes;
  return b.Where(nan, b.Scalar(integer, specials.nan), codes);
}

int64_t NanCode(const FloatingPointProfile& format) {
  if (!format.has_nan) return LargestCode(format);
  if (!format.has_inf) return LargestCode(format) + 1;
  const int64_t top = ((int64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
  return format.mantissa_bits == 0 ? top : top + (int64_t{1} << (format.mantissa_bits - 1));
}

}  // namespace

double AtMost(ElementType type, double value) {
  const double number = Rounded(type, value);
  return number > value ? Step(type, number, -kInf) : number;
}
double Below(ElementType type, double value) {
  const double number = AtMost(type, value);
  return number == value ? Step(type, number, -kInf) : number;
}
double AtLeast(ElementType type, double value) {
  const double number = Rounded(type, value);
  return number < value ? Step(type, number, kInf) : number;
}

Value CountBelow(FunctionBuilder* builder, const Value& values, std::vector<double> thresholds) {
  FunctionBuilder& b = *builder;
  const auto depth = static_cast<size_t>(std::bit_width(thresholds.size()));
  thresholds.resize((size_t{1} << depth) - 1, kInf);
  // A search by halves. Each round has a table of the thresholds that it may compare with.
  Value count;
  for (size_t round = 0; round < depth; ++round) {
    std::vector<double> table;
    for (size_t i = 0; i < size_t{1} << round; ++i) {
      table.push_back(thresholds[((2 * i + 1) << (depth - 1 - round)) - 1]);
    }
    const Value all = b.Const(MakeFloats(values.type, {static_cast<int64_t>(table.size())}, table));
    const Value threshold = round == 0 ? b.Reshape(all, {}) : b.Gather(all, count);
    const Value more = b.Cast(b.Less(threshold, values), ElementType::kInt32);
    count = round == 0 ? more : b.Add(b.Add(count, count), more);
  }
  if (depth > 0) return count;
  return b.Expand(b.Scalar(ElementType::kInt32, 0), values.dims);
}

IntegerRange RangeOf(ElementType type, uint32_t bits) {
  if (Info(type).kind == ElementKind::kUnsigned) return {0, bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1};
  const uint64_t half = uint64_t{1} << (bits - 1);
  return {static_cast<int64_t>(-half), half - 1};
}

std::optional<int64_t> ZeroPointIn(ElementType type, int64_t zero_point) {
  // Rounded once: not to double first.
  const double number = type == ElementType::kDouble ? static_cast<double>(zero_point)
                                                     : static_cast<double>(static_cast<float>(zero_point));
  if (number >= 0x1p63) return std::nullopt;
  return static_cast<int64_t>(number);
}

bool HasCodes(ElementType type, const IntegerRange& range, int64_t zero_point) {
  const WideInteger low = WideInteger{range.low} - zero_point;
  const WideInteger high = WideInteger{range.high} - zero_point;
  if (range.high > static_cast<uint64_t>(INT64_MAX)) return zero_point == 0;
  if (low < INT64_MIN || high > INT64_MAX) return false;
  return FloatAtLeast(type, low) <= FloatAtMost(type, high);
}

Value IntegerCodes(FunctionBuilder* builder, const Value& x, const IntegerRange& range, uint32_t bits,
                   std::span<const int64_t> zero_points, const Dims& dims) {
  FunctionBuilder& b = *builder;
  const Value whole = b.Round(x);
  const ElementType type = x.type;
  if (range.high > static_cast<uint64_t>(INT64_MAX)) {
    // UINT64: the upper half by its distance from 2^63. Two's complement is the same bits.
    const Value half = Number(&b, type, 0x1p63);
    const Value last = Number(&b, type, FloatAtMost(type, INT64_MAX));
    auto part = [&](const Value& y) { return b.Cast(b.Min(b.Max(y, Number(&b, type, 0)), last), ElementType::kInt64); };
    const Value upper = b.Add(part(b.Sub(whole, half)), b.Scalar(ElementType::kInt64, INT64_MIN));
    const Value codes = b.Where(b.Less(whole, half), part(whole), upper);
    const Value beyond = b.Less(whole, Number(&b, type, 0x1p64));
    return b.Where(beyond, codes, b.Scalar(ElementType::kInt64, -1));
  }
  std::vector<double> lows;
  std::vector<double> highs;
  bool exact = true;
  bool wide = bits > kNarrowBits;
  bool shifted = false;
  for (int64_t zero_point : zero_points) {
    const WideInteger low = WideInteger{range.low} - zero_point;
    const WideInteger high = WideInteger{range.high} - zero_point;
    lows.push_back(FloatAtLeast(type, low));
    highs.push_back(FloatAtMost(type, high));
    exact = exact && static_cast<WideInteger>(lows.back()) == low && static_cast<WideInteger>(highs.back()) == high;
    wide = wide || low < INT32_MIN || high > INT32_MAX || zero_point < INT32_MIN || zero_point > INT32_MAX;
    shifted = shifted || zero_point != 0;
  }
  const Value low = b.Const(MakeFloats(type, dims, lows));
  const Value high = b.Const(MakeFloats(type, dims, highs));
  const ElementType integer = wide ? ElementType::kInt64 : ElementType::kInt32;
  Value codes = b.Cast(b.Min(b.Max(whole, low), high), integer);
  if (shifted) codes = b.Add(codes, b.Const(integer, dims, zero_points));
  if (!exact) {
    // The type has no number just at an end of the range.
    codes = b.Where(b.Less(whole, low), b.Scalar(integer, range.low), codes);
    codes = b.Where(b.Less(high, whole), b.Scalar(integer, static_cast<int64_t>(range.high)), codes);
  }
  if (bits > kNarrowBits) return codes;
  if (range.low < 0) {
    const Value turn = b.Scalar(integer, int64_t{1} << bits);
    codes = b.Where(b.Less(codes, b.Scalar(integer, 0)), b.Add(codes, turn), codes);
  }
  return b.Cast(codes, ElementType::kInt32);
}

Value FloatCodes(FunctionBuilder* builder, const Value& x, const Value& nan, const FloatingPointProfile& format,
                 Beyond beyond) {
  return Codes(builder, x, nan, format, beyond, {.nan = NanCode(format)});
}

Value FloatTypeCodes(FunctionBuilder* builder, const Value& x, const Value& nan, ElementType type, Beyond beyond,
                     ScaleRounding rounding) {
  FunctionBuilder& b = *builder;
  const ElementInfo& info = Info(type);
  if (info.format.specials == FloatSpecials::kExponentOnly) {
    // Code c is 2^(c - 127), c at most 254.
    std::vector<double> thresholds;
    for (int power = -127; power < 127; ++power) {
      thresholds.push_back(rounding == ScaleRounding::kUp ? std::ldexp(1.0, power)
                                                          : Below(x.type, std::ldexp(1.0, power + 1)));
    }
    const Value codes = CountBelow(&b, x, std::move(thresholds));
    Value none = b.Less(x, Number(&b, x.type, 0));
    if (!nan.name.empty()) none = b.Or(none, nan);
    return b.Where(none, b.Scalar(ElementType::kInt32, 255), codes);
  }
  const FloatingPointProfile format = decoders::FormatOf(type);
  Specials specials{.nan = NanCode(format)};
  if (info.format.specials == FloatSpecials::kNanIsNegativeZero) {
    specials = {.nan = int64_t{1} << (info.bits - 1), .negative_zero = false};
  }
  // A DOUBLE has more bits than a FLOAT's significand can hold.
  const Value numbers = type == ElementType::kDouble ? b.Cast(x, ElementType::kDouble) : x;
  return Codes(&b, numbers, nan, format, beyond, specials);
}

double LargestOf(const FloatingPointProfile& format) {
  const int64_t largest = LargestCode(format);
  const int64_t one = int64_t{1} << format.mantissa_bits;
  const int64_t exponent = largest / one;
  const int64_t significand = largest % one + (exponent > 0 ? one : 0);
  return std::ldexp(static_cast<double>(significand),
                    static_cast<int>(std::max<int64_t>(1, exponent) - format.exponent_bias - format.mantissa_bits));
}

Value Pack(FunctionBuilder* builder, const Value& codes, uint32_t bits, uint32_t unit) {
  FunctionBuilder& b = *builder;
  const int64_t rows = codes.dims[0];
  const int64_t count = codes.dims[1];
  const int64_t units = (count * static_cast<int64_t>(bits) + unit - 1) / unit;
  if (bits == unit) return codes;
  if (rows == 0 || units == 0) return b.Const(ElementType::kInt32, {rows, units}, {});
  // Codes repeat their places in the units after `period` codes.
  const auto shared = static_cast<int64_t>(std::gcd(bits, unit));
  const int64_t period = unit / shared;
  const int64_t period_units = bits / shared;
  const int64_t periods = (count + period - 1) / period;
  Value padded = codes;
  if (const int64_t missing = periods * period - count; missing > 0) {
    padded = b.Concat({codes, b.Expand(b.Const(codes.type, {1, 1}, {{0}}), {rows, missing})}, 1);
  }
  padded = b.Reshape(padded, {rows, periods, period});
  const bool wide = bits > kNarrowBits;
  if (wide) padded = b.Cast(padded, ElementType::kUint64);
  std::vector<Value> packed;
  for (int64_t first = 0; first < period_units * unit; first += unit) {
    Value sum;
    for (int64_t bit = first; bit < first + unit;) {
      const int64_t low = bit % bits;  // in the code
      const int64_t taken = std::min<int64_t>(bits - low, first + unit - bit);
      Value piece = b.Slice(padded, 2, bit / bits, bit / bits + 1);
      if (wide) {
        piece = b.Cast(b.Bits(piece, static_cast<uint32_t>(low), static_cast<uint32_t>(taken)), ElementType::kInt32);
      } else {
        if (low > 0) piece = b.Div(piece, int64_t{1} << low);
        if (low + taken < bits) piece = b.Mod(piece, int64_t{1} << taken);
      }
      if (bit > first) piece = b.Mul(piece, b.Scalar(ElementType::kInt32, int64_t{1} << (bit - first)));
      sum = sum.name.empty() ? piece : b.Add(sum, piece);
      bit += taken;
    }
    packed.push_back(sum);
  }
  return b.Slice(b.Reshape(b.Concat(packed, 2), {rows, periods * period_units}), 1, 0, units);
}

}  // namespace tessera::encoders
