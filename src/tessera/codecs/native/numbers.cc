#include "tessera/codecs/native/numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/types/element_value.h"

namespace tessera::native {
namespace {

constexpr uint64_t Ones(int64_t bits) { return bits >= 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1; }

// A float type as the parts of its codes. The two kinds whose NaN stands elsewhere are told apart by their row.
FloatingPointProfile FormatOf(const ElementInfo& info) {
  FloatingPointProfile format;
  format.sign_bits = info.format.sign_bits;
  format.exponent_bits = info.format.exponent_bits;
  format.mantissa_bits = info.format.mantissa_bits;
  format.exponent_bias = info.format.exponent_bias;
  format.has_inf = info.format.specials == FloatSpecials::kIeee;
  format.has_nan = info.format.specials == FloatSpecials::kIeee || info.format.specials == FloatSpecials::kNanOnly;
  return format;
}

int64_t SignBit(const FloatingPointProfile& format) { return int64_t{format.exponent_bits} + format.mantissa_bits; }

uint64_t CodeOfPower(double x, bool up) {
  constexpr uint64_t kNan = 255;
  if (std::isnan(x) || x < 0) return kNan;
  if (x == 0) return 0;
  if (std::isinf(x)) return kNan - 1;
  int exponent = 0;
  const bool whole = std::frexp(x, &exponent) == 0.5;
  const int power = exponent - 1 + (up && !whole ? 1 : 0);
  return static_cast<uint64_t>(std::clamp(power + 127, 0, 254));
}

}  // namespace

// ---- Arithmetic

double Arithmetic::PowerOfTwo(int64_t exponent) const {
  return Round(std::ldexp(1.0, static_cast<int>(std::clamp<int64_t>(exponent, -5'000, 5'000))));
}
double Arithmetic::Most() const {
  return wide_ ? std::numeric_limits<double>::max() : static_cast<double>(std::numeric_limits<float>::max());
}
double Arithmetic::FromInteger(int64_t value) const {
  return wide_ ? static_cast<double>(value) : static_cast<double>(static_cast<float>(value));
}
double Arithmetic::FromUnsigned(uint64_t value) const {
  return wide_ ? static_cast<double>(value) : static_cast<double>(static_cast<float>(value));
}

// ---- Whole numbers

IntegerRange RangeOf(ElementType type, uint32_t bits) {
  if (Info(type).kind != ElementKind::kSigned) return {0, Ones(bits)};
  return {-static_cast<int64_t>(Ones(bits - 1)) - 1, Ones(bits - 1)};
}

double Reach(const IntegerRange& range, double zero_point) {
  const double above = static_cast<double>(range.high) - zero_point;
  const double below = zero_point - static_cast<double>(range.low);
  return above > 0 && below > 0 ? std::min(above, below) : std::max(above, below);
}

uint64_t IntegerCode(double x, double zero_point, const IntegerRange& range, uint32_t bits) {
  const bool whole = zero_point == std::nearbyint(zero_point);
  // With 64 bits of significand or more, every sum that is inside the range is exact.
  const long double sum = whole ? static_cast<long double>(std::nearbyint(x)) + static_cast<long double>(zero_point)
                                : static_cast<long double>(std::nearbyint(x + zero_point));
  if (sum <= static_cast<long double>(range.low)) return static_cast<uint64_t>(range.low) & Ones(bits);
  if (sum >= static_cast<long double>(range.high)) return range.high;
  const uint64_t code = sum < 0 ? static_cast<uint64_t>(static_cast<int64_t>(sum)) : static_cast<uint64_t>(sum);
  return code & Ones(bits);
}

// ---- Floats

uint64_t LargestCode(const FloatingPointProfile& format) {
  const uint64_t all = Ones(SignBit(format));
  if (format.has_inf && format.has_nan) return all - Ones(format.mantissa_bits) - 1;
  return all - (format.has_inf || format.has_nan ? 1 : 0);
}

double FloatOfCode(const FloatingPointProfile& format, uint64_t code) {
  const uint64_t magnitude = code & Ones(SignBit(format));
  const bool negative = format.sign_bits > 0 && ((code >> SignBit(format)) & 1) != 0;
  double value = 0;
  if (magnitude > LargestCode(format)) {
    const bool infinite = format.has_inf && magnitude == LargestCode(format) + 1;
    value = infinite ? HUGE_VAL : std::nan("");
  } else {
    const auto exponent = static_cast<int>(magnitude >> format.mantissa_bits);
    const uint64_t mantissa = magnitude & Ones(format.mantissa_bits);
    const uint64_t significand = exponent == 0 ? mantissa : mantissa + (uint64_t{1} << format.mantissa_bits);
    value = std::ldexp(static_cast<double>(significand),
                       std::max(exponent, 1) - format.exponent_bias - format.mantissa_bits);
  }
  return negative ? -value : value;
}

uint64_t CodeOfFloat(const FloatingPointProfile& format, double x, Beyond beyond) {
  const uint64_t largest = LargestCode(format);
  if (std::isnan(x)) {
    if (!format.has_nan) return largest;
    if (!format.has_inf) return largest + 1;
    return format.mantissa_bits == 0 ? largest + 1 : largest + 1 + (uint64_t{1} << (format.mantissa_bits - 1));
  }
  const bool negative = std::signbit(x);
  if (negative && format.sign_bits == 0) return 0;
  const uint64_t sign = negative ? uint64_t{1} << SignBit(format) : 0;
  const double magnitude = std::abs(x);
  if (magnitude == 0) return sign;
  if (std::isinf(x)) return sign | (format.has_inf ? largest + 1 : largest);
  // In steps of the last place. A significand that is rounded up to the next power of two carries into the exponent.
  const int exponent = std::max(std::ilogb(magnitude), 1 - format.exponent_bias);
  const double steps = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  const int64_t above = int64_t{exponent} + format.exponent_bias - 1;
  // Beyond all codes, and beyond the 63 bits of their number.
  if (above > static_cast<int64_t>(Ones(format.exponent_bits))) {
    return sign | (beyond == Beyond::kInfinity && format.has_inf ? largest + 1 : largest);
  }
  const uint64_t code = (static_cast<uint64_t>(above) << format.mantissa_bits) + static_cast<uint64_t>(steps);
  if (code <= largest) return sign | code;
  return sign | (beyond == Beyond::kInfinity && format.has_inf ? largest + 1 : largest);
}

// ---- Element types

bool IsPowerOfTwoType(ElementType type) { return Info(type).format.specials == FloatSpecials::kExponentOnly; }
bool IsInteger(ElementType type) { return Info(type).kind != ElementKind::kFloat; }

double NumberOfCode(const Arithmetic& arithmetic, ElementType type, uint32_t bits, uint64_t code) {
  const ElementInfo& info = Info(type);
  if (info.kind == ElementKind::kFloat) {
    if (info.format.specials == FloatSpecials::kExponentOnly) {
      return code == 255 ? std::nan("") : arithmetic.PowerOfTwo(static_cast<int64_t>(code) - 127);
    }
    const bool nan = info.format.specials == FloatSpecials::kNanIsNegativeZero && code == uint64_t{1} << (bits - 1);
    return nan ? std::nan("") : arithmetic.Round(FloatOfCode(FormatOf(info), code));
  }
  if (info.kind == ElementKind::kBool) return code != 0 ? 1 : 0;
  if (info.kind != ElementKind::kSigned) return arithmetic.FromUnsigned(code);
  const uint64_t sign = uint64_t{1} << (bits - 1);
  return arithmetic.FromInteger(static_cast<int64_t>((code ^ sign) - sign));
}

uint64_t CodeOfNumber(ElementType type, uint32_t bits, double x, Beyond beyond, bool up) {
  const ElementInfo& info = Info(type);
  if (info.kind == ElementKind::kBool) return x != 0 ? 1 : 0;
  if (info.kind != ElementKind::kFloat) return IntegerCode(std::isnan(x) ? 0 : x, 0, RangeOf(type, bits), bits);
  if (IsPowerOfTwoType(type)) return CodeOfPower(x, up);
  const uint64_t code = CodeOfFloat(FormatOf(info), x, beyond);
  if (info.format.specials != FloatSpecials::kNanIsNegativeZero) return code;
  const uint64_t negative_zero = uint64_t{1} << (bits - 1);
  if (std::isnan(x)) return negative_zero;
  return code == negative_zero ? 0 : code;
}

double CastTo(ElementType type, double x) {
  const ElementInfo& info = Info(type);
  if (info.kind == ElementKind::kFloat) return DecodeFloat(type, EncodeFloat(type, x, Overflow::kSaturate));
  if (info.kind == ElementKind::kBool) return x != 0 ? 1 : 0;
  const Arithmetic wide(true);
  const double whole = std::isnan(x) ? 0 : std::trunc(x);
  return NumberOfCode(wide, type, info.bits, IntegerCode(whole, 0, RangeOf(type, info.bits), info.bits));
}

double LargestOf(ElementType type, uint32_t bits, double zero_point) {
  if (IsPowerOfTwoType(type)) return 0x1p127;
  if (!IsInteger(type)) {
    const FloatingPointProfile format = FormatOf(Info(type));
    return FloatOfCode(format, LargestCode(format));
  }
  return Reach(RangeOf(type, bits), zero_point);
}

double ScaleDivisor(const Arithmetic& arithmetic, double largest, bool power_of_two) {
  return power_of_two ? std::ldexp(1.0, std::ilogb(largest)) : arithmetic.Round(largest);
}

}  // namespace tessera::native
