// MXFP4 and NVFP4 as ggml has them: float4 codes (e2m1) under scales that are small floats themselves.
//
//   byte    0             1            17
// MXFP4     | exponent    | 16 bytes   |       nibbles: elements 0 .. 15 low, 16 .. 31 high
//   byte    0             4            36
// NVFP4     | 4 scales    | 4 x 8 bytes|       each group of 16 has a scale; nibbles: elements 0 .. 7 low, 8 .. 15 high
//
// ggml holds the levels doubled and the scales halved, so that levels are integers. Unlike in OCP's MXFP4 and NVIDIA's
// NVFP4, code 8 is +0, an exponent of 255 is no NaN, and neighbours do not share a byte.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "tessera/formats/ggml/block_types_internal.h"
#include "tessera/formats/ggml/numbers.h"

namespace tessera::ggml {
namespace {

constexpr std::array<float, 16> kDoubledLevels = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// 2^(exponent - 128), down to the subnormal 2^-128.
float HalfOfPower(uint8_t exponent) {
  if (exponent < 2) return std::bit_cast<float>(uint32_t{0x00200000} << exponent);
  return std::bit_cast<float>(static_cast<uint32_t>(exponent - 1) << 23);
}

// Half of a float8 e4m3 without sign. Bit 7 does not count, but 0x7F, the NaN of the format, means 0 only without it.
float HalfOfE4M3(uint8_t code) {
  if (code == 0x7F) return 0;
  const int exponent = code >> 3 & 15;
  const int mantissa = code & 7;
  const float value = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                    : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return value * 0.5F;
}

// The nearest code for a scale, the larger of two as near ones; from 448 on the largest, 0x7E.
//
// ggml's encoder gives 0x7E to everything that rounds to 256 or more, as if that exponent held no numbers, and 7 to
// what lies between 7.5 and 8 steps of 2^-9. The codes in between decode, and are used here.
uint8_t NearestE4M3(float value) {
  if (!(value > 0)) return 0;
  if (value >= 448) return 0x7E;
  const int exponent = std::ilogb(value) + 7;
  if (exponent <= 0) return static_cast<uint8_t>(Truncate(value * 512 + 0.5F, 0, 8));
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const int eighths = static_cast<int>(bits >> 20 & 7) + static_cast<int>(bits >> 19 & 1);  // 8 carries
  return static_cast<uint8_t>(std::min((exponent << 3) + eighths, 0x7E));
}

// The code whose level is nearest; the lowest of several.
int NearestCode(float value, float scale) {
  size_t best = 0;
  float least = std::abs(kDoubledLevels[0] * scale - value);
  for (size_t code = 1; code < kDoubledLevels.size(); ++code) {
    const float error = std::abs(kDoubledLevels[code] * scale - value);
    if (error < least) {
      least = error;
      best = code;
    }
  }
  return static_cast<int>(best);
}

// A group of 2 * `bytes` elements, the first half in the low nibbles.
void DecodeGroup(const uint8_t* nibbles, size_t bytes, float scale, float* values) {
  for (size_t i = 0; i < bytes; ++i) {
    values[i] = kDoubledLevels[nibbles[i] & 15] * scale;
    values[i + bytes] = kDoubledLevels[nibbles[i] >> 4] * scale;
  }
}
void EncodeGroup(const float* values, size_t bytes, float scale, uint8_t* nibbles) {
  for (size_t i = 0; i < bytes; ++i) {
    nibbles[i] = static_cast<uint8_t>(NearestCode(values[i], scale) | NearestCode(values[i + bytes], scale) << 4);
  }
}

struct Mxfp4 {
  static constexpr int64_t kValues = 32, kBytes = 17;
  static constexpr Weights kWeights = Weights::kIgnored;
  static constexpr float kLargest = kNoLimit;

  static void Decode(const uint8_t* block, float* values) { DecodeGroup(block + 1, 16, HalfOfPower(block[0]), values); }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const float largest = std::abs(LargestSigned(in.values));
    // The largest level, 6, is 1.5 * 2^2: the exponent of the largest value less 2. In single precision the logarithm
    // of what lies just below a power of two is that of the power, which ggml's encoder shows too.
    if (largest > 0) {
      const float log = static_cast<float>(std::log2(static_cast<double>(largest)));
      block[0] = static_cast<uint8_t>(std::clamp(static_cast<int>(std::floor(log)) + 125, 0, 254));
    }
    EncodeGroup(in.values.data(), 16, HalfOfPower(block[0]), block + 1);
  }
};

struct Nvfp4 {
  static constexpr int64_t kValues = 64, kBytes = 36;
  static constexpr Weights kWeights = Weights::kIgnored;
  static constexpr float kLargest = 6 * 448;

  static void Decode(const uint8_t* block, float* values) {
    for (size_t group = 0; group < 4; ++group) {
      DecodeGroup(block + 4 + 8 * group, 8, HalfOfE4M3(block[group]), values + 16 * group);
    }
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    for (size_t group = 0; group < 4; ++group) {
      const float largest = std::abs(LargestSigned(in.values.subspan(16 * group, 16)));
      block[group] = NearestE4M3(largest / 6);
      EncodeGroup(in.values.data() + 16 * group, 8, HalfOfE4M3(block[group]), block + 4 + 8 * group);
    }
  }
};

}  // namespace

std::vector<BlockType> MicroFloatTypes() { return {RowOf<Mxfp4>("ggml_mxfp4", 39), RowOf<Nvfp4>("ggml_nvfp4", 40)}; }

}  // namespace tessera::ggml
