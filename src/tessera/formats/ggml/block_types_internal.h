// How a codec of a block type becomes a row of the table. A type is a class of static members:
//
//   struct Q8_0 {
//     static constexpr int64_t kValues = 32, kBytes = 34;       // of a block
//     static constexpr Weights kWeights = Weights::kIgnored;
//     static constexpr float kLargest = 127 * kLargestHalf;     // magnitude at which values saturate
//     static void Decode(const uint8_t* block, float* values);
//     static void Encode(const BlockInput& input, uint8_t* block);
//   };
//
// Each file of types exports its rows through one function, named here.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/formats/ggml/block_type.h"

namespace tessera::ggml {

std::vector<BlockType> PlainTypes();       // F32 .. I64: one value a block
std::vector<BlockType> SmallTypes();       // Q4_0 .. Q8_1: 32 values, one scale
std::vector<BlockType> FewBitTypes();      // Q1_0, Q2_0, TQ1_0, TQ2_0: one and two bits, trits
std::vector<BlockType> MicroFloatTypes();  // MXFP4, NVFP4
std::vector<BlockType> KAffineTypes();  // Q2_K, Q4_K, Q5_K: 256 values, scales and offsets of 16 or 32 under two more
std::vector<BlockType> KSymmetricTypes();  // Q3_K, Q6_K, Q8_K: 256 values, scales of 16 under one more
std::vector<BlockType> Iq1Types();         // IQ1_S, IQ1_M: grids of -1, 0, 1
std::vector<BlockType> Iq2Types();         // IQ2_XXS, IQ2_XS, IQ2_S: grids of three magnitudes
std::vector<BlockType> Iq3Types();         // IQ3_XXS, IQ3_S: grids of eight magnitudes
std::vector<BlockType> Iq4Types();         // IQ4_NL, IQ4_XS: 16 levels

inline constexpr float kLargestHalf = 65504;  // the largest finite float16
inline constexpr float kNoLimit = std::numeric_limits<float>::max();

// What the encoder of one block sees: finite values of at most kLargest, weights of which one at least is positive.
struct BlockInput {
  std::span<const float> values;
  std::span<const float> weights;  // one a value, or empty
  float row_mean_square = 0;       // of the values of the whole row; 0 without weights
};

// `value` between -limit and limit; NaN gives 0.
inline float Limited(float value, float limit) { return std::isnan(value) ? 0 : std::clamp(value, -limit, limit); }

// The power of two that brings a row's weights into a range in which no sum of a search overflows; 1 for any that
// measured activations give.
inline float WeightScale(std::span<const float> weights) {
  const float largest = weights.empty() ? 0 : *std::max_element(weights.begin(), weights.end());
  if (!(largest > 0)) return 1;
  const int exponent = std::ilogb(largest);
  return std::abs(exponent) <= 30 ? 1 : std::ldexp(1.0F, std::clamp(-exponent, -126, 126));
}

template <typename Type>
void DecodeRow(std::span<const uint8_t> row, std::span<float> values) {
  const uint8_t* block = row.data();
  for (size_t at = 0; at < values.size(); at += Type::kValues, block += Type::kBytes) {
    Type::Decode(block, values.data() + at);
  }
}

template <typename Type>
void EncodeRow(std::span<const float> row, std::span<const float> weights, std::span<uint8_t> bytes) {
  if (Type::kWeights == Weights::kIgnored) weights = {};
  BlockInput input;
  if (!weights.empty()) {
    float sum = 0;
    for (float raw : row) {
      const float x = Limited(raw, Type::kLargest);
      sum += x * x;
    }
    input.row_mean_square = sum / static_cast<float>(row.size());
  }
  const float weight_scale = WeightScale(weights);
  std::array<float, Type::kValues> x, w;
  uint8_t* block = bytes.data();
  for (size_t at = 0; at < row.size(); at += Type::kValues, block += Type::kBytes) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = Limited(row[at + i], Type::kLargest);
    bool any = false;
    for (size_t i = 0; i < w.size() && !weights.empty(); ++i) {
      w[i] = weights[at + i] * weight_scale;
      any = any || w[i] > 0;
    }
    if (!any && Type::kWeights == Weights::kNeeded) {
      w.fill(1);
      any = true;
    }
    input.values = x;
    input.weights = any ? std::span<const float>(w) : std::span<const float>();
    std::fill_n(block, Type::kBytes, uint8_t{0});
    Type::Encode(input, block);
  }
}

template <typename Type>
BlockType RowOf(std::string_view name, int32_t id) {
  return {name,           id, Type::kValues, Type::kBytes, Type::kWeights, /*has_specials=*/false, DecodeRow<Type>,
          EncodeRow<Type>};
}

}  // namespace tessera::ggml
