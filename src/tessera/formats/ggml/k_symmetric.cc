// Q3_K, Q6_K, Q8_K: super-blocks of 256 values. The first two have 16 groups with a signed integer scale each:
// (d * scale) * code. Q8_K is one float times signed bytes, made for products with the others.
//
//   byte  0                32                   96               108    110
// Q3_K    | third bits     | low bits in planes | 16 x 6 bits    | d    |       third bit: bit i / 32 of byte i % 32
//   byte  0                128                  192              208    210
// Q6_K    | low nibbles    | two high bits      | 16 signed bytes| d    |
//   byte  0                4                    260                     292
// Q8_K    | d (float)      | 256 signed bytes   | 16 sums of 16 codes, int16 |
//
// Q3_K, 6 bits of scale s: the low four in the nibbles of bytes 96 .. 103 (s < 8 low, else high), the high two in
// byte 104 + s % 4 at bit 2 * (s / 4).
// Q6_K, in each half of 128: 64 bytes of nibbles serve elements 0 .. 63 low and 64 .. 127 high; 32 bytes hold the high
// bits of elements k, k + 32, k + 64, k + 96.
#include <algorithm>
#include <array>
#include <cmath>

#include "tessera/formats/ggml/bit_planes.h"
#include "tessera/formats/ggml/block_types_internal.h"
#include "tessera/formats/ggml/numbers.h"
#include "tessera/formats/ggml/search.h"

namespace tessera::ggml {
namespace {

constexpr size_t kCount = 256;
constexpr size_t kGroup = 16;
constexpr size_t kGroups = kCount / kGroup;

// Scales saturate where `highest` times the largest float16 does.
float LargestScale(std::span<float> scales, float highest) {
  for (float& s : scales) s = Limited(s, highest * kLargestHalf);
  return LargestSigned(scales);
}

struct Q3_K {
  static constexpr int64_t kValues = kCount, kBytes = 110;
  static constexpr Weights kWeights = Weights::kUsed;
  static constexpr float kLargest = 32 * 4 * kLargestHalf;

  static int LoadScale(const uint8_t* s, size_t group) {
    const int low = s[group % 8] >> 4 * (group / 8) & 15;
    const int high = s[8 + group % 4] >> 2 * (group / 4) & 3;
    return low | high << 4;
  }
  static void AddScale(uint8_t* s, size_t group, int code) {
    s[group % 8] = static_cast<uint8_t>(s[group % 8] | (code & 15) << 4 * (group / 8));
    s[8 + group % 4] = static_cast<uint8_t>(s[8 + group % 4] | code >> 4 << 2 * (group / 4));
  }

  static void Decode(const uint8_t* block, float* values) {
    const float d = LoadHalf(block + 108);
    for (size_t i = 0; i < kCount; ++i) {
      const int third = block[i % 32] >> i / 32 & 1;
      const int code = LoadTwoBits(block + 32, i) + 4 * third - 4;
      values[i] = d * static_cast<float>(LoadScale(block + 96, i / kGroup) - 32) * static_cast<float>(code);
    }
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const bool weighted = !in.weights.empty();
    float mean_square = 0;
    for (float x : in.values) mean_square += x * x;
    mean_square = 2 * mean_square / kCount;

    std::array<uint8_t, kCount> codes;
    std::array<float, kGroups> scales, weight_sums = {};
    for (size_t g = 0; g < kGroups; ++g) {
      const auto x = in.values.subspan(g * kGroup, kGroup);
      const auto group_codes = std::span(codes).subspan(g * kGroup, kGroup);
      if (weighted) {
        std::array<float, kGroup> w;
        for (size_t i = 0; i < kGroup; ++i) {
          w[i] = in.weights[g * kGroup + i] * std::sqrt(mean_square + x[i] * x[i]);
          weight_sums[g] += w[i];
        }
        scales[g] = FitSymmetric(x, w, 4, group_codes);
      } else {
        scales[g] = FitSymmetricByDescent(x, 4, group_codes);
      }
    }

    const float largest = LargestScale(scales, 32);
    std::array<uint8_t, kGroups> scale_codes = {};
    float d = 0;
    if (weighted) {
      d = FitSymmetric(scales, weight_sums, 32, scale_codes);
    } else if (largest != 0) {
      const float inverse = -32 / largest;
      for (size_t g = 0; g < kGroups; ++g) {
        scale_codes[g] = static_cast<uint8_t>(RoundEven(inverse * scales[g], -32, 31) + 32);
      }
      d = 1 / inverse;
    }
    d = StoreHalf(block + 108, d);

    for (size_t g = 0; g < kGroups; ++g) AddScale(block + 96, g, scale_codes[g]);
    for (size_t i = 0; i < kCount; ++i) {
      const float scale = d * static_cast<float>(scale_codes[i / kGroup] - 32);
      const int code = scale == 0 ? codes[i] : RoundEven(in.values[i] / scale, -4, 3) + 4;
      AddTwoBits(block + 32, i, code & 3);
      block[i % 32] = static_cast<uint8_t>(block[i % 32] | code >> 2 << i / 32);
    }
  }
};

struct Q6_K {
  static constexpr int64_t kValues = kCount, kBytes = 210;
  static constexpr Weights kWeights = Weights::kUsed;
  static constexpr float kLargest = 128 * 32 * kLargestHalf;

  struct Place {
    size_t low_byte;
    size_t low_shift;
    size_t high_byte;
    size_t high_shift;
  };
  static Place PlaceOf(size_t i) {
    const size_t half = i / 128, quarter = i % 128 / 32;
    return {64 * half + 32 * (quarter % 2) + i % 32, 4 * (quarter / 2), 128 + 32 * half + i % 32, 2 * quarter};
  }

  static void Decode(const uint8_t* block, float* values) {
    const float d = LoadHalf(block + 208);
    for (size_t i = 0; i < kCount; ++i) {
      const Place p = PlaceOf(i);
      const int code = (block[p.low_byte] >> p.low_shift & 15) | (block[p.high_byte] >> p.high_shift & 3) << 4;
      const int scale = static_cast<int8_t>(block[192 + i / kGroup]);
      values[i] = d * static_cast<float>(scale) * static_cast<float>(code - 32);
    }
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    std::array<uint8_t, kCount> codes;
    std::array<float, kGroups> scales;
    for (size_t g = 0; g < kGroups; ++g) {
      const auto x = in.values.subspan(g * kGroup, kGroup);
      std::array<float, kGroup> w;
      for (size_t i = 0; i < kGroup; ++i) w[i] = in.weights.empty() ? x[i] * x[i] : in.weights[g * kGroup + i];
      scales[g] = FitSymmetric(x, w, 32, std::span(codes).subspan(g * kGroup, kGroup));
    }
    const float largest = LargestScale(scales, 128);
    if (std::abs(largest) < kTinyGroup) return;
    const float inverse = -128 / largest;
    const float d = StoreHalf(block + 208, 1 / inverse);
    for (size_t g = 0; g < kGroups; ++g) {
      block[192 + g] = static_cast<uint8_t>(RoundEven(inverse * scales[g], -128, 127));
    }
    for (size_t i = 0; i < kCount; ++i) {
      const float scale = d * static_cast<float>(static_cast<int8_t>(block[192 + i / kGroup]));
      const int code = scale == 0 ? codes[i] : RoundEven(in.values[i] / scale, -32, 31) + 32;
      const Place p = PlaceOf(i);
      block[p.low_byte] = static_cast<uint8_t>(block[p.low_byte] | (code & 15) << p.low_shift);
      block[p.high_byte] = static_cast<uint8_t>(block[p.high_byte] | code >> 4 << p.high_shift);
    }
  }
};

struct Q8_K {
  static constexpr int64_t kValues = kCount, kBytes = 292;
  static constexpr Weights kWeights = Weights::kIgnored;
  static constexpr float kLargest =
      0x1.fffff0p127F;  // a scale is rounded twice: 127 of it must not pass the largest float

  static void Decode(const uint8_t* block, float* values) {
    const float d = LoadF32(block);
    for (size_t i = 0; i < kCount; ++i) values[i] = d * static_cast<float>(static_cast<int8_t>(block[4 + i]));
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const float inverse = -127 / LargestSigned(in.values);
    if (!std::isfinite(inverse)) return;  // zeros, or so small that the inverse of their scale is no float
    StoreF32(block, 1 / inverse);
    for (size_t g = 0; g < kGroups; ++g) {
      int sum = 0;
      for (size_t i = g * kGroup; i < (g + 1) * kGroup; ++i) {
        const int code = RoundEven(inverse * in.values[i], -128, 127);
        block[4 + i] = static_cast<uint8_t>(code);
        sum += code;
      }
      StoreU16(block + 260 + 2 * g, static_cast<uint16_t>(sum));
    }
  }
};

}  // namespace

std::vector<BlockType> KSymmetricTypes() {
  return {RowOf<Q3_K>("q3_k", 11), RowOf<Q6_K>("q6_k", 14), RowOf<Q8_K>("q8_k", 15)};
}

}  // namespace tessera::ggml
