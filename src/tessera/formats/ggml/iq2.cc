// IQ2_XXS, IQ2_XS, IQ2_S: 256 values, groups of 8 whose magnitudes are points of a grid with the numbers 8, 25 and 43.
// A value is ((d * (0.5 + s)) * 0.25) * number * sign; s, of four bits, serves 32 values in IQ2_XXS, 16 in the others.
//
//   byte  0      2                                                                66
// IQ2_XXS | d    | 8 x (4 index bytes, 32 bits: 4 x 7 bits of signs, s on top)    |
//   byte  0      2                                                                66        74
// IQ2_XS  | d    | 32 x 16 bits: 9 of index, 7 of signs                           | scales  |
//   byte  0      2                     34                    66                   74        82
// IQ2_S   | d    | low bytes of index  | 8 signs each         | high bits of index | scales  |
//
// Seven bits of signs give the eighth: an even number of a group is negative. Scales are nibbles, the first 16 values
// of 32 low. A byte of high bits has two for each of four groups.
// Source: ggml's block_iq2_xxs, block_iq2_xs, block_iq2_s.
#include <array>

#include "tessera/formats/ggml/block_types_internal.h"
#include "tessera/formats/ggml/grid.h"
#include "tessera/formats/ggml/lattice.h"
#include "tessera/formats/ggml/numbers.h"

namespace tessera::ggml {
namespace {

constexpr size_t kGroup = 8;
constexpr size_t kGroups = kLatticeValues / kGroup;
constexpr float kLargestValue = 15.5F * 0.25F * 43 * kLargestHalf;

float ScaleOf(float d, uint32_t s) { return d * (0.5F + static_cast<float>(s)) * 0.25F; }

void DecodeGroup(float scale, const int8_t* point, uint8_t signs, float* values) {
  for (size_t k = 0; k < kGroup; ++k) {
    values[k] = scale * static_cast<float>(point[k]) * ((signs >> k & 1) != 0 ? -1.0F : 1.0F);
  }
}

uint32_t LoadNibble(const uint8_t* nibbles, size_t i) { return nibbles[i / 2] >> 4 * (i % 2) & 15; }

void StoreNibbles(const LatticeCodes& codes, uint8_t* nibbles) {
  for (size_t i = 0; i < codes.scales.size(); i += 2) {
    nibbles[i / 2] = static_cast<uint8_t>(codes.scales[i] | codes.scales[i + 1] << 4);
  }
}

constexpr LatticeRule kXxsRule = {
    .search = SearchOf<kIq2xxsTable, 2>,
    .part = 32,
    .even_signs = true,
    .tiny = 1e-15F,
    .trials = 6,
    .step = 0.1F,
    .first_without_grid = true,
    .last = LatticeRule::Last::kAll,
    .means = 1,
    .plain = PlainWeight::kSquare,
    .stored = 1,
};
constexpr LatticeRule kXsRule = {
    .search = SearchOf<kIq2xsTable, 2>,
    .part = 16,
    .even_signs = true,
    .tiny = 1e-15F,
    .trials = 9,
    .step = 0.1F,
    .first_without_grid = false,
    .last = LatticeRule::Last::kOffGrid,
    .means = 1,
    .plain = PlainWeight::kSquare,
    .stored = 1,
};
constexpr LatticeRule kSRule = {
    .search = SearchOf<kIq2sTable, 1>,
    .part = 16,
    .even_signs = false,
    .tiny = 1e-8F,
    .trials = 9,
    .step = 0.1F,
    .first_without_grid = false,
    .last = LatticeRule::Last::kOffGrid,
    .means = 2,
    .plain = PlainWeight::kHalfOfMeanAndSquare,
    .stored = 0.9875F,
};

struct Iq2Xxs {
  static constexpr int64_t kValues = kLatticeValues, kBytes = 66;
  static constexpr Weights kWeights = Weights::kNeeded;
  static constexpr float kLargest = kLargestValue;

  static void Decode(const uint8_t* block, float* values) {
    const Grid& grid = GridOf<kIq2xxsTable>();
    const float d = LoadHalf(block);
    for (size_t g = 0; g < kGroups; ++g) {
      const uint8_t* part = block + 2 + g / 4 * 8;
      const uint32_t word = LoadU32(part + 4);
      DecodeGroup(ScaleOf(d, word >> 28), grid.Point(part[g % 4]), SignsOfSevenBits(word >> 7 * (g % 4)),
                  values + kGroup * g);
    }
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const LatticeCodes codes = EncodeLattice(kXxsRule, in, block);
    for (size_t p = 0; p < kGroups / 4; ++p) {
      uint8_t* part = block + 2 + 8 * p;
      uint32_t word = static_cast<uint32_t>(codes.scales[p]) << 28;
      for (size_t g = 0; g < 4; ++g) {
        part[g] = static_cast<uint8_t>(codes.points[4 * p + g]);
        word |= static_cast<uint32_t>(codes.signs[4 * p + g] & 127) << 7 * g;
      }
      StoreU32(part + 4, word);
    }
  }
};

struct Iq2Xs {
  static constexpr int64_t kValues = kLatticeValues, kBytes = 74;
  static constexpr Weights kWeights = Weights::kNeeded;
  static constexpr float kLargest = kLargestValue;

  static void Decode(const uint8_t* block, float* values) {
    const Grid& grid = GridOf<kIq2xsTable>();
    const float d = LoadHalf(block);
    for (size_t g = 0; g < kGroups; ++g) {
      const uint32_t word = LoadU16(block + 2 + 2 * g);
      DecodeGroup(ScaleOf(d, LoadNibble(block + 66, g / 2)), grid.Point(word & 511), SignsOfSevenBits(word >> 9),
                  values + kGroup * g);
    }
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const LatticeCodes codes = EncodeLattice(kXsRule, in, block);
    for (size_t g = 0; g < kGroups; ++g) {
      StoreU16(block + 2 + 2 * g, static_cast<uint16_t>(codes.points[g] | (codes.signs[g] & 127) << 9));
    }
    StoreNibbles(codes, block + 66);
  }
};

struct Iq2S {
  static constexpr int64_t kValues = kLatticeValues, kBytes = 82;
  static constexpr Weights kWeights = Weights::kUsed;
  static constexpr float kLargest = kLargestValue;

  static void Decode(const uint8_t* block, float* values) {
    const Grid& grid = GridOf<kIq2sTable>();
    const float d = LoadHalf(block);
    for (size_t g = 0; g < kGroups; ++g) {
      const size_t index = block[2 + g] | (block[66 + g / 4] >> 2 * (g % 4) & 3) << 8;
      DecodeGroup(ScaleOf(d, LoadNibble(block + 74, g / 2)), grid.Point(index), block[34 + g], values + kGroup * g);
    }
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const LatticeCodes codes = EncodeLattice(kSRule, in, block);
    for (size_t g = 0; g < kGroups; ++g) {
      uint8_t& high = block[66 + g / 4];
      block[2 + g] = static_cast<uint8_t>(codes.points[g]);
      block[34 + g] = codes.signs[g];
      high = static_cast<uint8_t>(high | codes.points[g] >> 8 << 2 * (g % 4));
    }
    StoreNibbles(codes, block + 74);
  }
};

}  // namespace

std::vector<BlockType> Iq2Types() {
  return {RowOf<Iq2Xxs>("iq2_xxs", 16), RowOf<Iq2Xs>("iq2_xs", 17), RowOf<Iq2S>("iq2_s", 22)};
}

}  // namespace tessera::ggml
