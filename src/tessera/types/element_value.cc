#include "tessera/types/element_value.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tessera/base/checked.h"

namespace tessera {
namespace {

// Codes of a format's exceptional values, without the sign.
struct Codes {
  uint64_t mantissa_mask;
  uint64_t top_exponent;  // largest exponent field
  uint64_t max_finite;    // largest finite magnitude
  uint64_t sign;          // the sign bit, 0 if there is none
};

constexpr Codes CodesOf(const FloatFormat& f) {
  Codes c{};
  c.mantissa_mask = (uint64_t{1} << f.mantissa_bits) - 1;
  c.top_exponent = (uint64_t{1} << f.exponent_bits) - 1;
  c.sign = f.sign_bits == 0 ? 0 : uint64_t{1} << (f.exponent_bits + f.mantissa_bits);
  uint64_t all = c.top_exponent << f.mantissa_bits | c.mantissa_mask;
  switch (f.specials) {
    case FloatSpecials::kIeee:
      c.max_finite = (c.top_exponent << f.mantissa_bits) - 1;
      break;
    case FloatSpecials::kNanOnly:
    case FloatSpecials::kExponentOnly:
      c.max_finite = all - 1;
      break;
    case FloatSpecials::kNone:
    case FloatSpecials::kNanIsNegativeZero:
      c.max_finite = all;
      break;
  }
  return c;
}

constexpr uint64_t NanCode(const FloatFormat& f, const Codes& c) {
  switch (f.specials) {
    case FloatSpecials::kIeee:  // quiet: the mantissa's top bit
      return c.top_exponent << f.mantissa_bits | uint64_t{1} << (f.mantissa_bits - 1);
    case FloatSpecials::kNanOnly:
    case FloatSpecials::kExponentOnly:
      return c.max_finite + 1;
    case FloatSpecials::kNanIsNegativeZero:
      return c.sign;
    case FloatSpecials::kNone:
      break;
  }
  return c.max_finite;
}

bool IsNanCode(const FloatFormat& f, const Codes& c, uint64_t magnitude, bool negative) {
  if (f.specials == FloatSpecials::kNanIsNegativeZero) return negative && magnitude == 0;
  if (f.specials == FloatSpecials::kIeee) return magnitude > c.top_exponent << f.mantissa_bits;
  return f.specials != FloatSpecials::kNone && magnitude > c.max_finite;
}

}  // namespace

double DecodeFloat(ElementType type, uint64_t code) {
  const FloatFormat& f = Info(type).format;
  const Codes c = CodesOf(f);
  bool negative = (code & c.sign) != 0;
  uint64_t magnitude = c.sign == 0 ? code : code & (c.sign - 1);
  double sign = negative ? -1.0 : 1.0;
  if (IsNanCode(f, c, magnitude, negative)) return std::numeric_limits<double>::quiet_NaN();
  uint64_t exponent = magnitude >> f.mantissa_bits;
  uint64_t mantissa = magnitude & c.mantissa_mask;
  if (f.specials == FloatSpecials::kIeee && exponent == c.top_exponent) {
    return sign * std::numeric_limits<double>::infinity();
  }
  if (f.specials == FloatSpecials::kExponentOnly) {
    return std::ldexp(1.0, static_cast<int>(exponent) - f.exponent_bias);
  }
  int scale = 1 - f.exponent_bias - f.mantissa_bits;
  if (exponent > 0) {
    mantissa |= uint64_t{1} << f.mantissa_bits;
    scale += static_cast<int>(exponent) - 1;
  }
  return sign * std::ldexp(static_cast<double>(mantissa), scale);
}

uint64_t EncodeFloat(ElementType type, double value, Overflow overflow) {
  const FloatFormat& f = Info(type).format;
  const Codes c = CodesOf(f);
  bool negative = std::signbit(value);
  if (std::isnan(value)) {
    uint64_t nan = NanCode(f, c);
    bool keeps_sign = f.specials != FloatSpecials::kNanIsNegativeZero && negative;
    return keeps_sign ? c.sign | nan : nan;
  }
  if (f.specials == FloatSpecials::kExponentOnly) {
    if (negative && value != 0) return NanCode(f, c);
    if (std::isinf(value)) return overflow == Overflow::kSaturate ? c.max_finite : NanCode(f, c);
    if (value < DecodeFloat(type, 0)) return 0;
    int exponent = 0;
    double fraction = std::frexp(value, &exponent);  // value = fraction * 2^exponent, fraction in [0.5, 1)
    int code = exponent - 1 + f.exponent_bias + (fraction >= 0.75 ? 1 : 0);
    if (code <= static_cast<int>(c.max_finite)) return static_cast<uint64_t>(code);
    return overflow == Overflow::kSaturate ? c.max_finite : NanCode(f, c);
  }
  uint64_t sign = negative ? c.sign : 0;
  double magnitude = std::fabs(value);
  uint64_t code = 0;
  if (std::isinf(magnitude)) {
    code = c.max_finite + 1;
  } else if (magnitude != 0) {
    // In units of the last place of its binade (or of the subnormals) the value is rounded to an integer, ties to even;
    // a carry runs into the exponent field by itself.
    int exponent = std::max(std::ilogb(magnitude), 1 - f.exponent_bias);
    double units = std::ldexp(magnitude, f.mantissa_bits - exponent);  // exact
    double floor = std::floor(units);
    uint64_t rounded = static_cast<uint64_t>(floor);
    double rest = units - floor;
    if (rest > 0.5 || (rest == 0.5 && (rounded & 1) != 0)) ++rounded;
    // `rounded` holds the hidden bit unless subnormal; in either case it adds to the exponent field below.
    code = (static_cast<uint64_t>(exponent + f.exponent_bias - 1) << f.mantissa_bits) + rounded;
  }
  if (code > c.max_finite) {
    if (overflow == Overflow::kSaturate || f.specials == FloatSpecials::kNone) {
      code = c.max_finite;
    } else if (f.specials == FloatSpecials::kIeee) {
      code = c.top_exponent << f.mantissa_bits;
    } else {
      // FLOAT8E4M3FN keeps the sign of its NaN; the FNUZ kinds have one NaN.
      return f.specials == FloatSpecials::kNanOnly ? sign | NanCode(f, c) : NanCode(f, c);
    }
  }
  if (code == 0 && f.specials == FloatSpecials::kNanIsNegativeZero) return 0;
  return sign | code;
}

int64_t DecodeInteger(ElementType type, uint64_t code) {
  uint32_t bits = BitWidth(type);
  if (Info(type).kind != ElementKind::kSigned || bits == 64) return static_cast<int64_t>(code);
  uint64_t sign = uint64_t{1} << (bits - 1);
  return static_cast<int64_t>(code ^ sign) - static_cast<int64_t>(sign);
}

int64_t MinInteger(ElementType type) {
  return Info(type).kind == ElementKind::kSigned ? static_cast<int64_t>(~uint64_t{0} << (BitWidth(type) - 1)) : 0;
}

uint64_t MaxInteger(ElementType type) {
  if (Info(type).kind == ElementKind::kBool) return 1;
  uint32_t bits = BitWidth(type) - (Info(type).kind == ElementKind::kSigned ? 1 : 0);
  return bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
}

std::optional<uint64_t> PackedBytes(ElementType type, uint64_t count) {
  std::optional<uint64_t> bits = CheckedMul(count, BitWidth(type));
  return bits ? std::optional(CeilDiv(*bits, 8)) : std::nullopt;
}

uint64_t LoadCode(std::span<const uint8_t> bytes, ElementType type, uint64_t index) {
  uint32_t bits = std::min<uint32_t>(BitWidth(type), 64);
  uint64_t code = 0;
  if (bits % 8 == 0) {
    std::memcpy(&code, bytes.data() + index * (bits / 8), bits / 8);
    return code;
  }
  uint64_t bit = index * bits;  // an element of 2, 4 or 6 bits touches at most two bytes
  code = bytes[bit / 8];
  if (bit % 8 + bits > 8) code |= uint64_t{bytes[bit / 8 + 1]} << 8;
  return code >> bit % 8 & ((uint64_t{1} << bits) - 1);
}

void StoreCode(std::span<uint8_t> bytes, ElementType type, uint64_t index, uint64_t code) {
  uint32_t bits = std::min<uint32_t>(BitWidth(type), 64);
  if (bits % 8 == 0) {
    std::memcpy(bytes.data() + index * (bits / 8), &code, bits / 8);
    return;
  }
  uint64_t bit = index * bits;
  uint32_t mask = ((1u << bits) - 1) << bit % 8;
  uint32_t value = static_cast<uint32_t>(code << bit % 8) & mask;
  bytes[bit / 8] = static_cast<uint8_t>((bytes[bit / 8] & ~mask) | value);
  if (bit % 8 + bits > 8) {
    bytes[bit / 8 + 1] = static_cast<uint8_t>((bytes[bit / 8 + 1] & ~(mask >> 8)) | value >> 8);
  }
}

}  // namespace tessera
