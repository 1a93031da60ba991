// IQ3_XXS, IQ3_S: 256 values, groups of 4 whose magnitudes are points of a grid, with a scale s of four bits for 32.
//
// IQ3_XXS: ((d * (0.5 + s)) * 0.5) * number * sign, numbers 4, 12, 20, 28, 36, 44, 52, 62.
// IQ3_S:   (d * (1 + 2 * s)) * number * sign, numbers 1, 3, .. 15.
//
//   byte  0      2                 66                                                   98
// IQ3_XXS | d    | 64 index bytes  | 8 x 32 bits: 4 x 7 bits of signs, s on top         |
//   byte  0      2                 66                    74                   106       110
// IQ3_S   | d    | 64 low bytes    | ninth bits of index | 32 x 8 signs       | scales  |
//
// Signs are those of 8 values, two groups; seven bits give the eighth: an even number is negative. Scales of IQ3_S are
// nibbles, the first of two low; a byte of ninth bits serves eight groups.
// Source: ggml's block_iq3_xxs, block_iq3_s. ggml's encoder of IQ3_S puts everything after 32 zeros in the wrong place;
// this one does not.
#include <array>

#include "tessera/formats/ggml/block_types_internal.h"
#include "tessera/formats/ggml/grid.h"
#include "tessera/formats/ggml/lattice.h"
#include "tessera/formats/ggml/numbers.h"

namespace tessera::ggml {
namespace {

constexpr size_t kGroup = 4;
constexpr size_t kGroups = kLatticeValues / kGroup;

// `signs` are those of this group and the next, or of the one before and this.
void DecodeGroup(size_t g, float scale, const int8_t* point, uint8_t signs, float* values) {
  for (size_t k = 0; k < kGroup; ++k) {
    const bool negative = (signs >> (g % 2 * kGroup + k) & 1) != 0;
    values[k] = scale * static_cast<float>(point[k]) * (negative ? -1.0F : 1.0F);
  }
}

constexpr LatticeRule kXxsRule = {
    .search = SearchOf<kIq3xxsTable, 2>,
    .part = 32,
    .even_signs = true,
    .tiny = 1e-8F,
    .trials = 15,
    .step = 0.2F,
    .first_without_grid = false,
    .last = LatticeRule::Last::kOffGrid,
    .means = 2,
    .plain = PlainWeight::kSquare,
    .stored = 1.0125F,
};
constexpr LatticeRule kSRule = {
    .search = SearchOf<kIq3sTable, 3>,
    .part = 32,
    .even_signs = false,
    .tiny = 0,
    .trials = 9,
    .step = 0.2F,
    .first_without_grid = false,
    .last = LatticeRule::Last::kAllIfAnyOffGrid,
    .means = 2,
    .plain = PlainWeight::kSquare,
    .stored = 1.033F,
};

struct Iq3Xxs {
  static constexpr int64_t kValues = kLatticeValues, kBytes = 98;
  static constexpr Weights kWeights = Weights::kUsed;
  static constexpr float kLargest = 15.5F * 0.5F * 62 * kLargestHalf;

  static void Decode(const uint8_t* block, float* values) {
    const Grid& grid = GridOf<kIq3xxsTable>();
    const float d = LoadHalf(block);
    for (size_t g = 0; g < kGroups; ++g) {
      const uint32_t word = LoadU32(block + 66 + g / 8 * 4);
      const float scale = d * (0.5F + static_cast<float>(word >> 28)) * 0.5F;
      DecodeGroup(g, scale, grid.Point(block[2 + g]), SignsOfSevenBits(word >> 7 * (g % 8 / 2)), values + kGroup * g);
    }
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const LatticeCodes codes = EncodeLattice(kXxsRule, in, block);
    for (size_t g = 0; g < kGroups; ++g) block[2 + g] = static_cast<uint8_t>(codes.points[g]);
    for (size_t p = 0; p < kGroups / 8; ++p) {
      uint32_t word = static_cast<uint32_t>(codes.scales[p]) << 28;
      for (size_t k = 0; k < 4; ++k) word |= static_cast<uint32_t>(codes.signs[4 * p + k] & 127) << 7 * k;
      StoreU32(block + 66 + 4 * p, word);
    }
  }
};

struct Iq3S {
  static constexpr int64_t kValues = kLatticeValues, kBytes = 110;
  static constexpr Weights kWeights = Weights::kUsed;
  static constexpr float kLargest = 31 * 15 * kLargestHalf;

  static void Decode(const uint8_t* block, float* values) {
    const Grid& grid = GridOf<kIq3sTable>();
    const float d = LoadHalf(block);
    for (size_t g = 0; g < kGroups; ++g) {
      const size_t index = block[2 + g] | (block[66 + g / 8] >> g % 8 & 1) << 8;
      const int s = block[106 + g / 16] >> (g / 8 % 2 * 4) & 15;
      DecodeGroup(g, d * static_cast<float>(1 + 2 * s), grid.Point(index), block[74 + g / 2], values + kGroup * g);
    }
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const LatticeCodes codes = EncodeLattice(kSRule, in, block);
    for (size_t g = 0; g < kGroups; ++g) {
      uint8_t& ninth = block[66 + g / 8];
      block[2 + g] = static_cast<uint8_t>(codes.points[g]);
      ninth = static_cast<uint8_t>(ninth | codes.points[g] >> 8 << g % 8);
    }
    for (size_t i = 0; i < codes.signs.size(); ++i) block[74 + i] = codes.signs[i];
    for (size_t p = 0; p < 4; ++p) {
      block[106 + p] = static_cast<uint8_t>(codes.scales[2 * p] | codes.scales[2 * p + 1] << 4);
    }
  }
};

}  // namespace

std::vector<BlockType> Iq3Types() { return {RowOf<Iq3Xxs>("iq3_xxs", 18), RowOf<Iq3S>("iq3_s", 21)}; }

}  // namespace tessera::ggml
