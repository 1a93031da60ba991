#include "tessera/types/element_value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tessera/base/checked.h"

namespace tessera {
namespace {

constexpr uint64_t LowBits(uint32_t bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

// A float's code is | sign | exponent | mantissa |; the magnitude is what follows the sign.
uint32_t MagnitudeBits(const FloatFormat& f) { return uint32_t{f.exponent_bits} + f.mantissa_bits; }

// The magnitude of the largest finite value. All larger magnitudes are infinity or NaN.
uint64_t LargestMagnitude(const FloatFormat& f) {
  uint64_t all = LowBits(MagnitudeBits(f));
  switch (f.specials) {
    case FloatSpecials::kNone:
    case FloatSpecials::kNanIsNegativeZero:
      return all;
    case FloatSpecials::kNanOnly:
    case FloatSpecials::kExponentOnly:
      return all - 1;
    case FloatSpecials::kIeee:
      return (LowBits(f.exponent_bits) << f.mantissa_bits) - 1;
  }
  return all;
}

// A finite positive double as significand * 2^exponent, both integers.
struct Scaled {
  uint64_t significand;
  int exponent;
};
Scaled Split(double value) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint64_t mantissa = bits & LowBits(52);
  int biased = static_cast<int>(bits >> 52 & LowBits(11));
  if (biased == 0) return {mantissa, -1074};
  return {mantissa | uint64_t{1} << 52, biased - 1075};
}

// significand / 2^shift to the nearest integer, ties to even. REQUIRES: significand < 2^63.
uint64_t RoundedShift(uint64_t significand, int shift) {
  if (shift == 0) return significand;
  if (shift > 63) return 0;
  uint64_t kept = significand >> shift;
  uint64_t rest = significand & LowBits(static_cast<uint32_t>(shift));
  uint64_t half = uint64_t{1} << (shift - 1);
  return kept + (rest > half || (rest == half && (kept & 1) != 0));
}

// The magnitude nearest to a finite positive value, as if exponents had no upper end; the caller cuts it off.
uint64_t RoundedMagnitude(const FloatFormat& f, double value) {
  Scaled v = Split(value);
  if (v.significand == 0) return 0;
  int top = v.exponent + 63 - std::countl_zero(v.significand);  // value lies in [2^top, 2^(top+1))
  int lowest = 1 - f.exponent_bias;                             // exponent of the smallest normal value
  int unit = (top > lowest ? top : lowest) - f.mantissa_bits;   // the result is a multiple of 2^unit
  // A double has at least as fine a unit as any format here, so the shift is never to the left.
  uint64_t rounded = RoundedShift(v.significand, unit - v.exponent);
  // `rounded` holds the hidden bit for normal values, and rounding up to the next power of two carries into the
  // exponent.
  return (static_cast<uint64_t>(unit + f.mantissa_bits - lowest) << f.mantissa_bits) + rounded;
}

uint64_t EncodeScale(const FloatFormat& f, double value, Overflow overflow, ScaleRounding rounding) {
  const bool saturate = overflow == Overflow::kSaturate;
  const uint64_t nan = LowBits(MagnitudeBits(f));
  const int largest = static_cast<int>(LargestMagnitude(f));
  if (std::isnan(value) || value < 0) return nan;
  if (value == 0) return saturate ? 0 : nan;
  if (std::isinf(value)) return saturate ? static_cast<uint64_t>(largest) : nan;
  Scaled v = Split(value);
  int top = 63 - std::countl_zero(v.significand);
  bool exact = std::has_single_bit(v.significand);
  bool upper_half = top > 0 && (v.significand >> (top - 1) & 1) != 0;
  bool up = rounding == ScaleRounding::kUp ? !exact : rounding == ScaleRounding::kNearest && upper_half;
  int code = v.exponent + top + up + f.exponent_bias;
  if (code < 0) return saturate ? 0 : nan;
  if (code > largest) return saturate ? static_cast<uint64_t>(largest) : nan;
  return static_cast<uint64_t>(code);
}

}  // namespace

uint64_t LargestFinite(ElementType type) { return LargestMagnitude(Info(type).format); }

std::optional<uint64_t> CanonicalNan(ElementType type) {
  const FloatFormat& f = Info(type).format;
  uint64_t all = LowBits(MagnitudeBits(f));
  switch (f.specials) {
    case FloatSpecials::kNone:
      return std::nullopt;
    case FloatSpecials::kIeee:
      return LargestMagnitude(f) + 1 + (uint64_t{1} << (f.mantissa_bits - 1));
    case FloatSpecials::kNanOnly:
    case FloatSpecials::kExponentOnly:
      return all;
    case FloatSpecials::kNanIsNegativeZero:
      return all + 1;
  }
  return std::nullopt;
}

bool IsNan(ElementType type, uint64_t code) {
  const FloatFormat& f = Info(type).format;
  if (f.specials == FloatSpecials::kNanIsNegativeZero) return code == LargestMagnitude(f) + 1;
  uint64_t magnitude = code & LowBits(MagnitudeBits(f));
  return magnitude > LargestMagnitude(f) + (f.specials == FloatSpecials::kIeee ? 1 : 0);
}

bool IsInfinite(ElementType type, uint64_t code) {
  const FloatFormat& f = Info(type).format;
  return f.specials == FloatSpecials::kIeee && (code & LowBits(MagnitudeBits(f))) == LargestMagnitude(f) + 1;
}

double DecodeFloat(ElementType type, uint64_t code) {
  const FloatFormat& f = Info(type).format;
  uint64_t magnitude = code & LowBits(MagnitudeBits(f));
  double value;
  if (IsNan(type, code)) {
    value = std::numeric_limits<double>::quiet_NaN();
    if (f.specials == FloatSpecials::kNanIsNegativeZero) return value;
  } else if (IsInfinite(type, code)) {
    value = std::numeric_limits<double>::infinity();
  } else if (f.specials == FloatSpecials::kExponentOnly) {
    value = std::ldexp(1.0, static_cast<int>(magnitude) - f.exponent_bias);
  } else {
    uint64_t mantissa = magnitude & LowBits(f.mantissa_bits);
    int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
    if (exponent == 0)
      exponent = 1;  // subnormal: no hidden bit
    else
      mantissa |= uint64_t{1} << f.mantissa_bits;
    value = std::ldexp(static_cast<double>(mantissa), exponent - f.exponent_bias - f.mantissa_bits);
  }
  bool negative = f.sign_bits != 0 && (code >> MagnitudeBits(f) & 1) != 0;
  return negative ? -value : value;
}

float DecodeToFloat(ElementType type, uint64_t code) { return static_cast<float>(DecodeFloat(type, code)); }

uint64_t EncodeFloat(ElementType type, double value, Overflow overflow, ScaleRounding scale_rounding) {
  const FloatFormat& f = Info(type).format;
  if (f.specials == FloatSpecials::kExponentOnly) return EncodeScale(f, value, overflow, scale_rounding);
  const bool has_negative_zero = f.specials != FloatSpecials::kNanIsNegativeZero;
  const uint64_t sign = static_cast<uint64_t>(std::signbit(value)) << MagnitudeBits(f);
  const uint64_t largest = LargestMagnitude(f);
  if (std::isnan(value)) {
    auto nan = CanonicalNan(type);
    // The cast table of ONNX's page on float4 sends every NaN to 6, the largest value; the FLOAT6 kinds, for which
    // there is no table, do the same. (ml_dtypes gives -0, which would hide the NaN.)
    if (!nan) return largest;
    return has_negative_zero ? sign | *nan : *nan;
  }
  uint64_t magnitude = std::isinf(value) ? largest + 1 : RoundedMagnitude(f, std::fabs(value));
  if (magnitude > largest) {
    const bool saturates =
        f.specials == FloatSpecials::kNone || (overflow == Overflow::kSaturate && Info(type).bits <= 8);
    if (saturates) return sign | largest;
    if (f.specials == FloatSpecials::kIeee) return sign | (largest + 1);
    return has_negative_zero ? sign | *CanonicalNan(type) : *CanonicalNan(type);
  }
  if (magnitude == 0 && !has_negative_zero) return 0;
  return sign | magnitude;
}

std::optional<uint64_t> EncodeFinite(ElementType type, double value) {
  if (!std::isfinite(value)) return std::nullopt;
  const FloatFormat& f = Info(type).format;
  if (f.specials == FloatSpecials::kExponentOnly) {
    const uint64_t code = EncodeScale(f, value, Overflow::kOverflow, ScaleRounding::kNearest);
    if (IsNan(type, code)) return std::nullopt;
    return code;
  }
  if (RoundedMagnitude(f, std::fabs(value)) > LargestMagnitude(f)) return std::nullopt;
  return EncodeFloat(type, value, Overflow::kOverflow);
}

int64_t DecodeInteger(ElementType type, uint64_t code) {
  const ElementInfo& info = Info(type);
  if (info.kind == ElementKind::kBool) return code != 0;
  if (info.kind == ElementKind::kUnsigned) return static_cast<int64_t>(code);
  const int unused = 64 - info.bits;
  return static_cast<int64_t>(code << unused) >> unused;
}

int64_t MinInteger(ElementType type) {
  const ElementInfo& info = Info(type);
  return info.kind == ElementKind::kSigned ? std::numeric_limits<int64_t>::min() >> (64 - info.bits) : 0;
}

uint64_t MaxInteger(ElementType type) {
  const ElementInfo& info = Info(type);
  if (info.kind == ElementKind::kBool) return 1;
  return LowBits(info.kind == ElementKind::kSigned ? info.bits - 1u : info.bits);
}

bool FitsInteger(ElementType type, int64_t value) {
  return value >= MinInteger(type) && (value < 0 || static_cast<uint64_t>(value) <= MaxInteger(type));
}

uint64_t EncodeInteger(ElementType type, int64_t value) {
  return static_cast<uint64_t>(value) & LowBits(Info(type).bits);
}

ElementType HalfOf(ElementType type) {
  const ElementInfo& info = Info(type);
  if (info.kind != ElementKind::kComplex) return type;
  auto is_half = [&](const ElementInfo& row) { return row.kind == ElementKind::kFloat && row.bits * 2 == info.bits; };
  auto rows = AllElementTypes();
  return std::find_if(rows.begin(), rows.end(), is_half)->type;  // FLOAT is the first of 32 bits, DOUBLE of 64
}

std::optional<uint64_t> PackedBytes(ElementType type, uint64_t count) {
  const uint32_t bits = BitWidth(type);
  if (bits % 8 == 0) return CheckedMul(count, bits / 8);
  // bits < 8 here: counted in whole bytes of 8 elements and a rest, so that nothing overflows before the result does.
  return count / 8 * bits + CeilDiv(count % 8 * bits, 8);
}

uint64_t LoadCode(std::span<const uint8_t> bytes, ElementType type, uint64_t index) {
  const uint32_t bits = std::min(BitWidth(type), 64u);
  if (bits % 8 == 0) {
    uint64_t code = 0;
    std::memcpy(&code, bytes.data() + index * (bits / 8), bits / 8);
    return code;
  }
  // Eight elements take `bits` bytes; one of them lies in at most two.
  const uint32_t bit = static_cast<uint32_t>(index % 8) * bits;
  const uint8_t* p = bytes.data() + index / 8 * bits + bit / 8;
  uint32_t window = p[0];
  if (bit % 8 + bits > 8) window |= uint32_t{p[1]} << 8;
  return window >> (bit % 8) & LowBits(bits);
}

void StoreCode(std::span<uint8_t> bytes, ElementType type, uint64_t index, uint64_t code) {
  const uint32_t bits = std::min(BitWidth(type), 64u);
  if (bits % 8 == 0) {
    std::memcpy(bytes.data() + index * (bits / 8), &code, bits / 8);
    return;
  }
  const uint32_t bit = static_cast<uint32_t>(index % 8) * bits;
  uint8_t* p = bytes.data() + index / 8 * bits + bit / 8;
  const uint32_t mask = static_cast<uint32_t>(LowBits(bits)) << (bit % 8);
  const uint32_t value = static_cast<uint32_t>(code) << (bit % 8) & mask;
  p[0] = static_cast<uint8_t>((p[0] & ~mask) | value);
  if (bit % 8 + bits > 8) p[1] = static_cast<uint8_t>((p[1] & ~(mask >> 8)) | value >> 8);
}

static_assert(std::endian::native == std::endian::little, "canonical bytes are little-endian; no big-endian host yet");

}  // namespace tessera
