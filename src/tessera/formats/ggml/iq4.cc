// IQ4_NL and IQ4_XS: codes of four bits for levels that lie denser near zero.
//
// IQ4_NL: 32 values, d * level. IQ4_XS: 256 values, (d * (s - 32)) * level, with a scale s of six bits for 32.
//
//   byte  0      2                    18
// IQ4_NL  | d    | 16 bytes           |
//   byte  0      2           4                      8                             136
// IQ4_XS  | d    | high bits | low bits of scales   | 8 x 16 bytes                |
//
// Of 32 values the low nibbles of 16 bytes are the first half, the high nibbles the second. Scales: low four bits in
// nibbles, the first of two low; two high bits in a 16-bit word, from its lowest.
// Source: ggml's block_iq4_nl, block_iq4_xs.
#include <array>
#include <cmath>

#include "tessera/formats/ggml/block_types_internal.h"
#include "tessera/formats/ggml/grid_tables.h"
#include "tessera/formats/ggml/numbers.h"
#include "tessera/formats/ggml/search.h"
#include "tessera/formats/ggml/search_block.h"

namespace tessera::ggml {
namespace {

constexpr size_t kPart = 32;
constexpr float kTiny = 1e-15F;  // parts of smaller values count as zeros

void DecodePart(const uint8_t* nibbles, float scale, float* values) {
  for (size_t i = 0; i < kPart; ++i) {
    values[i] = scale * static_cast<float>(kIq4nlLevels[nibbles[i % 16] >> (i < 16 ? 0 : 4) & 15]);
  }
}

// The nearest levels; the one nearest to 0 everywhere if the scale is 0.
void EncodePart(std::span<const float> values, float scale, uint8_t* nibbles) {
  const float inverse = scale == 0 ? 0 : Inverse(scale);
  for (size_t i = 0; i < kPart; ++i) {
    const size_t code = NearestLevel(kIq4nlLevels, values[i] * inverse);
    nibbles[i % 16] = static_cast<uint8_t>(nibbles[i % 16] | code << (i < 16 ? 0 : 4));
  }
}

LevelFit FitOf(std::span<const float> values, std::span<const float> weights, float inverse) {
  LevelFit fit;
  for (size_t i = 0; i < values.size(); ++i) {
    const float level = static_cast<float>(kIq4nlLevels[NearestLevel(kIq4nlLevels, inverse * values[i])]);
    fit.product += weights[i] * level * values[i];
    fit.square += weights[i] * level * level;
  }
  return fit;
}

// Scales that are tried bring the value of largest magnitude to the middle of 15 places around the lowest level; and
// one to its opposite.
float ScaleOfPart(const SearchBlock& block, size_t from) {
  constexpr int kTrials = 7;
  const std::span<const float> values = block.Values(from, kPart);
  const float largest = LargestSigned(values);
  if (std::abs(block.InFull(largest)) < kTiny) return 0;
  std::array<float, kPart> weights;
  block.ErrorWeights(from, 2, PlainWeight::kSquare, weights);
  const float lowest = static_cast<float>(kIq4nlLevels[0]);
  const LevelFit opposite = FitOf(values, weights, 1 / (-largest / lowest));
  float scale = opposite.square > 0 ? opposite.Scale() : 0;
  float gain = scale * opposite.product;
  for (int k = -kTrials; k <= kTrials; ++k) {
    const LevelFit fit = FitOf(values, weights, (static_cast<float>(k) + lowest) / largest);
    if (!fit.Beats(gain)) continue;
    scale = fit.Scale();
    gain = scale * fit.product;
  }
  return scale;
}

struct Iq4Nl {
  static constexpr int64_t kValues = kPart, kBytes = 18;
  static constexpr Weights kWeights = Weights::kUsed;
  static constexpr float kLargest = 127 * kLargestHalf;

  static void Decode(const uint8_t* block, float* values) { DecodePart(block + 2, LoadHalf(block), values); }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const SearchBlock search(in);
    const float d = LimitedToHalf(search.InFull(ScaleOfPart(search, 0)));
    StoreHalf(block, d);
    EncodePart(in.values, d, block + 2);
  }
};

struct Iq4Xs {
  static constexpr size_t kParts = 8;
  static constexpr int64_t kValues = kParts * kPart, kBytes = 136;
  static constexpr Weights kWeights = Weights::kUsed;
  static constexpr float kLargest = 32 * 127 * kLargestHalf;

  static void Decode(const uint8_t* block, float* values) {
    const float d = LoadHalf(block);
    const uint32_t high = LoadU16(block + 2);
    for (size_t p = 0; p < kParts; ++p) {
      const uint32_t s = (block[4 + p / 2] >> 4 * (p % 2) & 15U) | (high >> 2 * p & 3) << 4;
      DecodePart(block + 8 + 16 * p, d * static_cast<float>(static_cast<int>(s) - 32), values + kPart * p);
    }
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const SearchBlock search(in);
    std::array<float, kParts> scales;
    for (size_t p = 0; p < kParts; ++p) scales[p] = search.InFull(ScaleOfPart(search, kPart * p));
    const float d = LimitedToHalf(-LargestSigned(scales) / 32);
    const float inverse = d == 0 ? 0 : Inverse(d);
    StoreHalf(block, d);
    uint32_t high = 0;
    for (size_t p = 0; p < kParts; ++p) {
      const int s = RoundEven(inverse * scales[p], -32, 31);
      EncodePart(in.values.subspan(kPart * p, kPart), d * static_cast<float>(s), block + 8 + 16 * p);
      const uint32_t code = static_cast<uint32_t>(s + 32);
      block[4 + p / 2] = static_cast<uint8_t>(block[4 + p / 2] | (code & 15) << 4 * (p % 2));
      high |= code >> 4 << 2 * p;
    }
    StoreU16(block + 2, static_cast<uint16_t>(high));
  }
};

}  // namespace

std::vector<BlockType> Iq4Types() { return {RowOf<Iq4Nl>("iq4_nl", 20), RowOf<Iq4Xs>("iq4_xs", 23)}; }

}  // namespace tessera::ggml
