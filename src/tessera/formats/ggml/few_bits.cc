// Q1_0, Q2_0, TQ1_0, TQ2_0: signs, two bits and trits, with one float16 scale.
//
//   byte   0     2         18
// Q1_0     | d   | 128 bits in order, 1 is +d, 0 is -d                |
// Q2_0     | d   | 64 codes of 2 bits in order; (code - 1) * d        |
//
//   byte   0                                     48              52     54
// TQ1_0    | 160 trits in 32 bytes, 80 in 16     | 16 in 4 bytes | d    |
// TQ2_0    | 256 codes of 2 bits in planes, 64 bytes                   | d 66 |
//
// A byte of TQ1_0 holds five trits (the last four bytes: four) as the fraction byte / 256 in base 3, most significant
// digit first. The first digits of a region's bytes come first, then the second ones, and so on.
#include <algorithm>
#include <array>
#include <cmath>

#include "tessera/formats/ggml/bit_planes.h"
#include "tessera/formats/ggml/block_types_internal.h"
#include "tessera/formats/ggml/numbers.h"

namespace tessera::ggml {
namespace {

float LargestMagnitude(std::span<const float> values) { return std::abs(LargestSigned(values)); }

struct Q1_0 {
  static constexpr int64_t kValues = 128, kBytes = 18;
  static constexpr Weights kWeights = Weights::kIgnored;
  static constexpr float kLargest = kLargestHalf;

  static void Decode(const uint8_t* block, float* values) {
    const float d = LoadHalf(block);
    for (size_t i = 0; i < kValues; ++i) values[i] = (block[2 + i / 8] >> i % 8 & 1) != 0 ? d : -d;
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    float sum = 0;
    for (size_t i = 0; i < kValues; ++i) {
      sum += std::abs(in.values[i]);
      if (in.values[i] >= 0) block[2 + i / 8] = static_cast<uint8_t>(block[2 + i / 8] | 1 << i % 8);
    }
    StoreHalf(block, sum / static_cast<float>(kValues));
  }
};

struct Q2_0 {
  static constexpr int64_t kValues = 64, kBytes = 18;
  static constexpr Weights kWeights = Weights::kIgnored;
  static constexpr float kLargest = kLargestHalf;

  static void Decode(const uint8_t* block, float* values) {
    const float d = LoadHalf(block);
    for (size_t i = 0; i < kValues; ++i) {
      values[i] = static_cast<float>((block[2 + i / 4] >> 2 * (i % 4) & 3) - 1) * d;
    }
  }

  // As ggml's encoder, which never uses code 3 (twice the scale).
  static void Encode(const BlockInput& in, uint8_t* block) {
    const float d = LargestMagnitude(in.values);
    const float inverse = Inverse(d);
    for (size_t i = 0; i < kValues; ++i) {
      const int code = RoundAway(in.values[i] * inverse, -1, 1) + 1;
      block[2 + i / 4] = static_cast<uint8_t>(block[2 + i / 4] | code << 2 * (i % 4));
    }
    StoreHalf(block, d);
  }
};

struct Tq2_0 {
  static constexpr int64_t kValues = 256, kBytes = 66;
  static constexpr Weights kWeights = Weights::kIgnored;
  static constexpr float kLargest = kLargestHalf;

  static void Decode(const uint8_t* block, float* values) {
    const float d = LoadHalf(block + 64);
    for (size_t i = 0; i < kValues; ++i) values[i] = static_cast<float>(LoadTwoBits(block, i) - 1) * d;
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const float d = LargestMagnitude(in.values);
    const float inverse = Inverse(d);
    for (size_t i = 0; i < kValues; ++i) AddTwoBits(block, i, RoundAway(in.values[i] * inverse, -1, 1) + 1);
    StoreHalf(block + 64, d);
  }
};

struct Tq1_0 {
  static constexpr int64_t kValues = 256, kBytes = 54;
  static constexpr Weights kWeights = Weights::kIgnored;
  static constexpr float kLargest = kLargestHalf;

  // Where the trit of an element stands: `digit` 0 is the most significant one of the byte.
  struct Place {
    size_t byte;
    size_t digit;
  };
  static Place PlaceOf(size_t i) {
    if (i < 160) return {i % 32, i / 32};
    if (i < 240) return {32 + i % 16, (i - 160) / 16};  // 160 is a multiple of 16
    return {48 + i % 4, (i - 240) / 4};                 // and 240 of 4
  }

  static void Decode(const uint8_t* block, float* values) {
    constexpr std::array<uint32_t, 5> kPowers = {1, 3, 9, 27, 81};
    const float d = LoadHalf(block + 52);
    for (size_t i = 0; i < kValues; ++i) {
      const Place place = PlaceOf(i);
      // The fraction left after `digit` digits, in 256ths; its first digit is the whole part of three times that.
      const uint32_t rest = block[place.byte] * kPowers[place.digit] & 255;
      values[i] = static_cast<float>(static_cast<int>(rest * 3 >> 8) - 1) * d;
    }
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const float d = LargestMagnitude(in.values);
    const float inverse = Inverse(d);
    std::array<uint32_t, 52> numbers = {};
    for (size_t i = 0; i < kValues; ++i) {  // ascending digits within each byte
      uint32_t& number = numbers[PlaceOf(i).byte];
      number = number * 3 + static_cast<uint32_t>(RoundAway(in.values[i] * inverse, -1, 1) + 1);
    }
    for (size_t k = 0; k < numbers.size(); ++k) {
      const uint32_t five_digits = k < 48 ? numbers[k] : numbers[k] * 3;
      // Rounded up, so that the truncation in decoding gives every digit back; 243 = 3^5.
      block[k] = static_cast<uint8_t>((five_digits * 256 + 242) / 243);
    }
    StoreHalf(block + 52, d);
  }
};

}  // namespace

std::vector<BlockType> FewBitTypes() {
  return {RowOf<Tq1_0>("tq1_0", 34), RowOf<Tq2_0>("tq2_0", 35), RowOf<Q1_0>("q1_0", 41), RowOf<Q2_0>("q2_0", 42)};
}

}  // namespace tessera::ggml
