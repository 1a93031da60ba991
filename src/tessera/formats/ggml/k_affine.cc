// Q2_K, Q4_K, Q5_K: super-blocks of 256 values in groups with a small integer scale and offset each, under two float16
// numbers: (d * scale) * code - dmin * offset.
//
//   byte  0                 16                            80     82      84
// Q2_K    | 16 x (scale |   | codes of 2 bits in planes   | d    | dmin  |
//         |  offset << 4)   |                             |      |       |
//   byte  0      2      4               16              48           144 (Q4_K)   176 (Q5_K)
// Q4_K    | d    | dmin | 8 x (6, 6)    | 128 bytes of nibbles       |
// Q5_K    | d    | dmin | 8 x (6, 6)    | fifth bits    | 128 bytes of nibbles                |
//
// Nibbles: 32 bytes serve two groups of 32, the first one low, the second one high. Fifth bits: bit j of byte k belongs
// to element k of group j.
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
constexpr size_t kMostGroups = 16;

// What differs between the three in encoding.
struct Plan {
  size_t group;         // values of a group
  int highest;          // code
  int highest_scale;    // code of a scale or offset
  float mean_square;    // of the block, in the weights of the search: this many times
  bool mean_in_plain;   // the search without importance counts the group's root mean square too
  AffineTrials trials;  // without importance weights
};
constexpr AffineTrials kWeightedTrials = {-0.9F, 0.05F, 36, AffineTrials::Error::kSquare};

struct SuperBlock {
  std::array<uint8_t, kMostGroups> scales = {};
  std::array<uint8_t, kMostGroups> offsets = {};
  std::array<uint8_t, kCount> codes = {};
};

// Integers for one number of each group, and what they are multiples of.
float CodeScales(std::span<const float> scales, std::span<const float> weights, int highest, std::span<uint8_t> codes) {
  if (!weights.empty()) return FitPositive(scales, weights, highest, codes);
  const float largest = *std::max_element(scales.begin(), scales.end());
  if (!(largest > 0)) return 0;
  const float inverse = static_cast<float>(highest) / largest;
  for (size_t g = 0; g < scales.size(); ++g)
    codes[g] = static_cast<uint8_t>(RoundEven(inverse * scales[g], 0, highest));
  return largest / static_cast<float>(highest);
}

// Stores d and dmin and finds all codes.
SuperBlock FitSuperBlock(const BlockInput& in, const Plan& plan, uint8_t* d_at, uint8_t* dmin_at) {
  SuperBlock block;
  const size_t groups = kCount / plan.group;
  const bool weighted = !in.weights.empty();
  float block_square = 0;
  for (float x : in.values) block_square += x * x;
  block_square = plan.mean_square * block_square / kCount;

  std::array<float, kMostGroups> scales, depths, weight_sums;
  const float limit = static_cast<float>(plan.highest_scale) * kLargestHalf;
  for (size_t g = 0; g < groups; ++g) {
    const auto x = in.values.subspan(g * plan.group, plan.group);
    std::array<float, kLargestGroup> buffer;
    const std::span<float> w(buffer.data(), plan.group);
    float root_mean = 0;
    if (!weighted && plan.mean_in_plain) {
      float square = 0;
      for (float v : x) square += v * v;
      root_mean = std::sqrt(square / static_cast<float>(plan.group));
    }
    weight_sums[g] = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      w[i] = weighted ? in.weights[g * plan.group + i] * std::sqrt(block_square + x[i] * x[i])
                      : root_mean + std::abs(x[i]);
      weight_sums[g] += w[i];
    }
    const Affine fit = FitAffine(x, w, plan.highest, weighted ? kWeightedTrials : plan.trials,
                                 std::span(block.codes).subspan(g * plan.group, plan.group));
    scales[g] = std::min(fit.scale, limit);
    depths[g] = std::min(fit.depth, limit);
  }

  const std::span<const float> sums(weight_sums.data(), weighted ? groups : 0);
  const float d = StoreHalf(
      d_at, CodeScales({scales.data(), groups}, sums, plan.highest_scale, std::span(block.scales).first(groups)));
  const float dmin = StoreHalf(
      dmin_at, CodeScales({depths.data(), groups}, sums, plan.highest_scale, std::span(block.offsets).first(groups)));

  // Against the scales as a reader will see them.
  for (size_t i = 0; i < kCount; ++i) {
    const float scale = d * static_cast<float>(block.scales[i / plan.group]);
    const float offset = dmin * static_cast<float>(block.offsets[i / plan.group]);
    if (scale != 0) block.codes[i] = static_cast<uint8_t>(RoundEven((in.values[i] + offset) / scale, 0, plan.highest));
  }
  return block;
}

struct Q2_K {
  static constexpr int64_t kValues = kCount, kBytes = 84;
  static constexpr Weights kWeights = Weights::kUsed;
  static constexpr float kLargest = 15 * 3 * kLargestHalf;
  static constexpr Plan kPlan = {16, 3, 15, 1, false, {-0.5F, 0.1F, 15, AffineTrials::Error::kAbsolute}};

  static void Decode(const uint8_t* block, float* values) {
    const float d = LoadHalf(block + 80), dmin = LoadHalf(block + 82);
    for (size_t i = 0; i < kCount; ++i) {
      const uint8_t group = block[i / 16];
      const float scale = d * static_cast<float>(group & 15);
      const float offset = dmin * static_cast<float>(group >> 4);
      values[i] = scale * static_cast<float>(LoadTwoBits(block + 16, i)) - offset;
    }
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const SuperBlock found = FitSuperBlock(in, kPlan, block + 80, block + 82);
    for (size_t g = 0; g < 16; ++g) block[g] = static_cast<uint8_t>(found.scales[g] | found.offsets[g] << 4);
    for (size_t i = 0; i < kCount; ++i) AddTwoBits(block + 16, i, found.codes[i]);
  }
};

// The 12 bytes of eight scales and eight offsets of 6 bits:
//   bytes 0..3   scale of group 0..3,  above it the top two bits of the scale of group 4..7
//   bytes 4..7   offset of group 0..3, above it the top two bits of the offset of group 4..7
//   bytes 8..11  low four bits of group 4..7: scale, then offset
int LoadScale(const uint8_t* s, size_t group) {
  return group < 4 ? s[group] & 63 : (s[group + 4] & 15) | s[group - 4] >> 6 << 4;
}
int LoadOffset(const uint8_t* s, size_t group) {
  return group < 4 ? s[group + 4] & 63 : s[group + 4] >> 4 | s[group] >> 6 << 4;
}
void StoreScales(const SuperBlock& from, uint8_t* s) {
  for (size_t g = 0; g < 4; ++g) {
    s[g] = static_cast<uint8_t>(from.scales[g] | from.scales[g + 4] >> 4 << 6);
    s[g + 4] = static_cast<uint8_t>(from.offsets[g] | from.offsets[g + 4] >> 4 << 6);
    s[g + 8] = static_cast<uint8_t>((from.scales[g + 4] & 15) | (from.offsets[g + 4] & 15) << 4);
  }
}

template <int kBits>
struct SixBitScales {
  static constexpr int64_t kNibbles = kBits == 4 ? 16 : 48;
  static constexpr int64_t kValues = kCount, kBytes = kNibbles + 128;
  static constexpr Weights kWeights = Weights::kUsed;
  static constexpr int kHighest = (1 << kBits) - 1;
  static constexpr float kLargest = 63 * kHighest * kLargestHalf;
  static constexpr Plan kPlan = {32,
                                 kHighest,
                                 63,
                                 2,
                                 true,
                                 kBits == 4 ? AffineTrials{-1, 0.1F, 20, AffineTrials::Error::kSquare}
                                            : AffineTrials{-0.5F, 0.1F, 15, AffineTrials::Error::kSquare}};

  static void Decode(const uint8_t* block, float* values) {
    const float d = LoadHalf(block), dmin = LoadHalf(block + 2);
    for (size_t i = 0; i < kCount; ++i) {
      const size_t group = i / 32;
      const float scale = d * static_cast<float>(LoadScale(block + 4, group));
      const float offset = dmin * static_cast<float>(LoadOffset(block + 4, group));
      int code = block[kNibbles + 32 * (group / 2) + i % 32] >> 4 * (group % 2) & 15;
      if (kBits == 5) code |= (block[16 + i % 32] >> group & 1) << 4;
      values[i] = scale * static_cast<float>(code) - offset;
    }
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const SuperBlock found = FitSuperBlock(in, kPlan, block, block + 2);
    StoreScales(found, block + 4);
    for (size_t i = 0; i < kCount; ++i) {
      const size_t group = i / 32;
      uint8_t& nibbles = block[kNibbles + 32 * (group / 2) + i % 32];
      nibbles = static_cast<uint8_t>(nibbles | (found.codes[i] & 15) << 4 * (group % 2));
      if (kBits == 5) block[16 + i % 32] = static_cast<uint8_t>(block[16 + i % 32] | found.codes[i] >> 4 << group);
    }
  }
};

}  // namespace

std::vector<BlockType> KAffineTypes() {
  return {RowOf<Q2_K>("q2_k", 10), RowOf<SixBitScales<4>>("q4_k", 12), RowOf<SixBitScales<5>>("q5_k", 13)};
}

}  // namespace tessera::ggml
