// Numbers inside ggml's blocks: little-endian fields, float16 scales, and the three ways in which its encoders round.
// Rounding functions take any float, NaN included, and stay inside the bounds they are given.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

namespace tessera::ggml {

inline uint16_t LoadU16(const uint8_t* at) { return static_cast<uint16_t>(at[0] | at[1] << 8); }
inline uint32_t LoadU32(const uint8_t* at) { return LoadU16(at) | static_cast<uint32_t>(LoadU16(at + 2)) << 16; }
inline void StoreU16(uint8_t* at, uint16_t v) {
  at[0] = static_cast<uint8_t>(v);
  at[1] = static_cast<uint8_t>(v >> 8);
}
inline void StoreU32(uint8_t* at, uint32_t v) {
  StoreU16(at, static_cast<uint16_t>(v));
  StoreU16(at + 2, static_cast<uint16_t>(v >> 16));
}
inline float LoadF32(const uint8_t* at) { return std::bit_cast<float>(LoadU32(at)); }
inline void StoreF32(uint8_t* at, float v) { StoreU32(at, std::bit_cast<uint32_t>(v)); }

// IEEE binary16; a signalling NaN becomes quiet, its payload stays.
inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = half >> 10 & 31;
  const uint32_t mantissa = half & 0x3FF;
  uint32_t magnitude;
  if (exponent == 0) {
    magnitude = std::bit_cast<uint32_t>(static_cast<float>(mantissa) * 0x1p-24F);
  } else if (exponent == 31) {
    magnitude = 0x7F800000 | mantissa << 13 | (mantissa != 0 ? 0x400000 : 0);
  } else {
    magnitude = (exponent + 112) << 23 | mantissa << 13;
  }
  return std::bit_cast<float>(sign | magnitude);
}

// To nearest, ties to even; beyond 65504 infinity, NaN 0x7E00 with its sign.
inline uint16_t FloatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00);
  if (magnitude >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00);  // 65520, the middle to the next power
  uint32_t half;
  if (magnitude < 0x38800000) {  // below 2^-14 the unit is 2^-24: that of floats between 0.5 and 1
    half = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000;
  } else {
    half = (magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1)) >> 13;
  }
  return static_cast<uint16_t>(sign | half);
}

inline float LoadHalf(const uint8_t* at) { return HalfToFloat(LoadU16(at)); }

// `value` between the largest finite float16 and its negative.
inline float LimitedToHalf(float value) { return value > 65504 ? 65504 : value < -65504 ? -65504 : value; }

// Stores a scale, saturated, and returns the float that a reader gets.
inline float StoreHalf(uint8_t* at, float value) {
  StoreU16(at, FloatToHalf(LimitedToHalf(value)));
  return LoadHalf(at);
}

// 1 / value, or 0 where that is infinite.
inline float Inverse(float value) {
  const float inverse = 1 / value;
  return std::isfinite(inverse) ? inverse : 0;
}

inline float Bounded(float v, float lowest, float highest) { return v > lowest ? (v < highest ? v : highest) : lowest; }

// To nearest, ties to even. REQUIRES: |bounds| < 2^22. Adding 1.5 * 2^23 leaves no bits below the unit.
inline int RoundEven(float v, int lowest, int highest) {
  constexpr float kShift = 0x1.8p23F;
  return static_cast<int>(Bounded(v, static_cast<float>(lowest), static_cast<float>(highest)) + kShift - kShift);
}
// To nearest, ties away from 0.
inline int RoundAway(float v, int lowest, int highest) {
  return static_cast<int>(std::round(Bounded(v, static_cast<float>(lowest), static_cast<float>(highest))));
}
// Toward 0.
inline int Truncate(float v, int lowest, int highest) {
  return static_cast<int>(Bounded(v, static_cast<float>(lowest), static_cast<float>(highest)));
}

// The value of largest magnitude, with its sign; the first of several. 0 for none.
inline float LargestSigned(std::span<const float> values) {
  float largest = 0;
  for (float v : values) {
    if (std::abs(v) > std::abs(largest)) largest = v;
  }
  return largest;
}

}  // namespace tessera::ggml
