// IQ1_S and IQ1_M: 256 values, groups of 8 that are points of a grid of -1, 0 and 1, moved up or down by an eighth:
// (d * (2 * s + 1)) * (number + shift). A scale s of three bits serves 32 values in IQ1_S and 16 in IQ1_M; a shift
// serves 32 and 8.
//
//   byte  0      2                        34                                                   50
// IQ1_S   | d    | 32 low bytes of index  | 8 x 16 bits: 4 x 3 high bits of index, s, shift    |
//   byte  0                        32                                             48          56
// IQ1_M   | 32 low bytes of index  | 32 nibbles: 3 high bits of index, shift      | 4 x 16 bits |
//
// A set bit of shift means down. Nibbles: the first of two groups low. The 16-bit words of IQ1_M have four scales of
// three bits each, and on top four bits of d, the lowest in the first.
// Source: ggml's block_iq1_s, block_iq1_m; the searches after ggml-quants.c, version 0.21.0, from a description of what
// they compute.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "tessera/formats/ggml/block_types_internal.h"
#include "tessera/formats/ggml/grid.h"
#include "tessera/formats/ggml/numbers.h"
#include "tessera/formats/ggml/search_block.h"

namespace tessera::ggml {
namespace {

constexpr size_t kCount = 256;
constexpr size_t kGroup = 8;
constexpr size_t kGroups = kCount / kGroup;
constexpr float kShift = 0.125F;
constexpr float kLargestValue = 15 * (1 + kShift) * kLargestHalf;

using Levels = std::array<float, 3>;
constexpr Levels kUp = {-1 + kShift, kShift, 1 + kShift}, kDown = {-1 - kShift, -kShift, 1 - kShift};
constexpr const Levels& LevelsOf(bool down) { return down ? kDown : kUp; }

void DecodeGroup(float scale, size_t index, bool down, float* values) {
  const int8_t* point = GridOf<kIq1sTable>().Point(index);
  const float shift = down ? -kShift : kShift;
  for (size_t k = 0; k < kGroup; ++k) values[k] = scale * (static_cast<float>(point[k]) + shift);
}

// The places of values in ascending order.
template <size_t kPart>
std::array<uint8_t, kPart> Ascending(std::span<const float> values) {
  std::array<uint8_t, kPart> places;
  std::iota(places.begin(), places.end(), uint8_t{0});
  std::stable_sort(places.begin(), places.end(), [&](uint8_t a, uint8_t b) { return values[a] < values[b]; });
  return places;
}

// How to cut a part: of its values in ascending order the first `low` have level 0, those from `high` level 2. Bit h of
// `down` is set if the levels of its h-th half (or of the one whole) are the lower ones.
struct Cut {
  size_t low = 0;
  size_t high = 0;
  uint32_t down = 0;
  float scale = 0;
  float gain = std::numeric_limits<float>::lowest();

  void Consider(const LevelFit& fit, size_t low_end, size_t high_begin, uint32_t down_bits) {
    if (!fit.Beats(gain)) return;
    scale = fit.Scale();
    *this = {low_end, high_begin, down_bits, scale, scale * fit.product};
  }
};

// Of all cuts and shifts the first of those that take most off the error. Sums come from sums over the first values.
struct CutOfWhole {
  static constexpr size_t kPart = 32, kHalves = 1;

  static Cut Best(std::span<const float> values, std::span<const float> weights,
                  const std::array<uint8_t, kPart>& order) {
    std::array<float, kPart + 1> product, weight;
    product[0] = weight[0] = 0;
    for (size_t j = 0; j < kPart; ++j) {
      product[j + 1] = product[j] + weights[order[j]] * values[order[j]];
      weight[j + 1] = weight[j] + weights[order[j]];
    }
    Cut best;
    for (size_t low = 0; low <= kPart; ++low) {
      for (size_t high = low; high <= kPart; ++high) {
        for (uint32_t down = 0; down < 2; ++down) {
          const Levels& q = LevelsOf(down != 0);
          const LevelFit fit = {
              product[low] * q[0] + (product[high] - product[low]) * q[1] + (product[kPart] - product[high]) * q[2],
              weight[low] * q[0] * q[0] + (weight[high] - weight[low]) * q[1] * q[1] +
                  (weight[kPart] - weight[high]) * q[2] * q[2]};
          best.Consider(fit, low, high, down);
        }
      }
    }
    return best;
  }
};

// The same with a shift for each half. Sums are over the values themselves, in ascending order, for all four shifts.
struct CutOfHalves {
  static constexpr size_t kPart = 16, kHalves = 2;
  static constexpr size_t kShifts = 4;

  struct Sums {
    std::array<float, kShifts> product = {};
    std::array<float, kShifts> square = {};
    void Add(const Sums& other) {
      for (size_t s = 0; s < kShifts; ++s) {
        product[s] += other.product[s];
        square[s] += other.square[s];
      }
    }
  };

  static Cut Best(std::span<const float> values, std::span<const float> weights,
                  const std::array<uint8_t, kPart>& order) {
    // Shifts in the order up up, up down, down up, down down.
    constexpr std::array<uint32_t, kShifts> kDownBits = {0, 2, 1, 3};
    std::array<std::array<Sums, kPart>, 3> terms;
    for (size_t j = 0; j < kPart; ++j) {
      const size_t i = order[j];
      for (size_t level = 0; level < 3; ++level) {
        for (size_t s = 0; s < kShifts; ++s) {
          const float q = LevelsOf((kDownBits[s] >> i / kGroup & 1) != 0)[level];
          terms[level][j].product[s] = weights[i] * q * values[i];
          terms[level][j].square[s] = weights[i] * q * q;
        }
      }
    }
    Cut best;
    Sums lows;
    for (size_t low = 0; low <= kPart; ++low) {
      Sums middles = lows;
      for (size_t high = low; high <= kPart; ++high) {
        Sums sums = middles;
        for (size_t j = high; j < kPart; ++j) sums.Add(terms[2][j]);
        for (size_t s = 0; s < kShifts; ++s) {
          best.Consider({sums.product[s], sums.square[s]}, low, high, kDownBits[s]);
        }
        if (high < kPart) middles.Add(terms[1][high]);
      }
      if (low < kPart) lows.Add(terms[0][low]);
    }
    return best;
  }
};

struct TernaryPart {
  float scale = 0;  // 0 leaves the rest 0
  uint32_t down = 0;
  std::array<uint16_t, 4> points = {};

  const Levels& LevelsOfGroup(size_t g, size_t halves) const {
    return LevelsOf((down >> (halves == 1 ? 0 : g) & 1) != 0);
  }
};

template <typename Cuts>
TernaryPart EncodePart(std::span<const float> values, std::span<const float> weights) {
  constexpr size_t kPart = Cuts::kPart;
  const std::array<uint8_t, kPart> order = Ascending<kPart>(values);
  const Cut cut = Cuts::Best(values, weights, order);
  std::array<uint8_t, kPart> levels;
  for (size_t j = 0; j < kPart; ++j) levels[order[j]] = j < cut.low ? 0 : j < cut.high ? 1 : 2;
  TernaryPart part;
  part.scale = cut.scale;
  part.down = cut.down;
  if (cut.scale < 0) {
    // The mirrored levels are the ones of the other shift.
    for (uint8_t& level : levels) level = static_cast<uint8_t>(2 - level);
    part.scale = -cut.scale;
    part.down ^= (1U << Cuts::kHalves) - 1;
  }

  const GridSearch& search = SearchOf<kIq1sTable, 3>();
  bool all_on_grid = true;
  LevelFit fit;
  for (size_t g = 0; g < kPart / kGroup; ++g) {
    const Levels& q = part.LevelsOfGroup(g, Cuts::kHalves);
    const Levels scaled = {part.scale * q[0], part.scale * q[1], part.scale * q[2]};
    const auto found =
        search.Find(levels.data() + kGroup * g, scaled.data(), values.data() + kGroup * g, weights.data() + kGroup * g);
    part.points[g] = found.index;
    all_on_grid = all_on_grid && found.on_grid;
    const uint8_t* point = search.grid().Levels(found.index);
    for (size_t k = 0; k < kGroup; ++k) {
      const size_t i = kGroup * g + k;
      fit.product += weights[i] * q[point[k]] * values[i];
      fit.square += weights[i] * q[point[k]] * q[point[k]];
    }
  }
  if (!all_on_grid && fit.product > 0 && fit.square > 0) part.scale = fit.Scale();
  return part;
}

// Scales of parts as odd numbers 1, 3, .. 15 of steps.
uint32_t ScaleCode(float scale, float inverse_step) {
  return static_cast<uint32_t>(RoundEven(0.5F * (inverse_step * scale - 1), 0, 7));
}

struct Iq1S {
  static constexpr size_t kPart = CutOfWhole::kPart, kParts = kCount / kPart;
  static constexpr int64_t kValues = kCount, kBytes = 50;
  static constexpr Weights kWeights = Weights::kNeeded;
  static constexpr float kLargest = kLargestValue;
  static constexpr float kTiny = 1e-12F;
  static constexpr float kStored = 1.125F;  // makes up for rounding scales

  static void Decode(const uint8_t* block, float* values) {
    const float d = LoadHalf(block);
    for (size_t g = 0; g < kGroups; ++g) {
      const uint32_t word = LoadU16(block + 34 + g / 4 * 2);
      const size_t index = block[2 + g] | (word >> 3 * (g % 4) & 7) << 8;
      DecodeGroup(d * static_cast<float>(2 * (word >> 12 & 7) + 1), index, word >> 15 != 0, values + kGroup * g);
    }
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const SearchBlock search(in);
    std::array<TernaryPart, kParts> parts;
    float largest = 0;
    for (size_t p = 0; p < kParts; ++p) {
      const std::span<const float> values = search.Values(kPart * p, kPart);
      if (std::abs(search.InFull(LargestSigned(values))) < kTiny) continue;
      std::array<float, kPart> weights;
      search.ErrorWeights(kPart * p, 2, PlainWeight::kSquare, weights);
      parts[p] = EncodePart<CutOfWhole>(values, weights);
      largest = std::max(largest, parts[p].scale);
    }
    if (largest == 0) return;
    float step = largest / 15;
    const float stored = search.InFull(step) * kStored;
    StoreHalf(block, stored);
    if (stored > kLargestHalf) step *= kLargestHalf / stored;
    for (size_t p = 0; p < kParts; ++p) {
      uint32_t word = ScaleCode(parts[p].scale, 1 / step) << 12 | parts[p].down << 15;
      for (size_t g = 0; g < 4; ++g) {
        block[2 + 4 * p + g] = static_cast<uint8_t>(parts[p].points[g]);
        word |= static_cast<uint32_t>(parts[p].points[g] >> 8) << 3 * g;
      }
      StoreU16(block + 34 + 2 * p, static_cast<uint16_t>(word));
    }
  }
};

struct Iq1M {
  static constexpr size_t kPart = CutOfHalves::kPart, kParts = kCount / kPart;
  static constexpr int64_t kValues = kCount, kBytes = 56;
  static constexpr Weights kWeights = Weights::kUsed;
  static constexpr float kLargest = kLargestValue;
  static constexpr float kTiny = 1e-7F;
  static constexpr float kStored = 1.1125F;

  static void Decode(const uint8_t* block, float* values) {
    uint32_t half = 0;
    std::array<uint32_t, 4> words;
    for (size_t k = 0; k < 4; ++k) {
      words[k] = LoadU16(block + 48 + 2 * k);
      half |= words[k] >> 12 << 4 * k;
    }
    const float d = HalfToFloat(static_cast<uint16_t>(half));
    for (size_t g = 0; g < kGroups; ++g) {
      const uint32_t nibble = block[32 + g / 2] >> 4 * (g % 2) & 15;
      const uint32_t s = words[g / 8] >> 3 * (g / 2 % 4) & 7;
      DecodeGroup(d * static_cast<float>(2 * s + 1), block[g] | (nibble & 7) << 8, nibble >> 3 != 0,
                  values + kGroup * g);
    }
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const SearchBlock search(in);
    std::array<TernaryPart, kParts> parts;
    std::array<float, kCount> weights;
    std::array<float, kParts> factors = {};
    float largest = 0;
    for (size_t p = 0; p < kParts; ++p) {
      const std::span<const float> values = search.Values(kPart * p, kPart);
      if (std::abs(search.InFull(LargestSigned(values))) < kTiny) continue;
      const std::span<float> w = std::span(weights).subspan(kPart * p, kPart);
      factors[p] = search.ErrorWeights(kPart * p, 2, PlainWeight::kSquare, w);
      parts[p] = EncodePart<CutOfHalves>(values, w);
      largest = std::max(largest, parts[p].scale);
    }
    if (largest == 0) return;

    const float inverse_step = 15 / largest;
    std::array<uint32_t, 4> words = {};
    LevelFit fit;  // of the whole block, with all codes chosen
    for (size_t p = 0; p < kParts; ++p) {
      const TernaryPart& part = parts[p];
      const uint32_t s = ScaleCode(part.scale, inverse_step);
      words[p / 4] |= s << 3 * (p % 4);
      for (size_t g = 0; g < 2; ++g) {
        const uint32_t nibble = static_cast<uint32_t>(part.points[g] >> 8) | (part.down >> g & 1) << 3;
        block[2 * p + g] = static_cast<uint8_t>(part.points[g]);
        block[32 + p] = static_cast<uint8_t>(block[32 + p] | nibble << 4 * g);
        if (factors[p] == 0) continue;
        const Levels& levels = part.LevelsOfGroup(g, 2);
        const uint8_t* point = GridOf<kIq1sTable>().Levels(part.points[g]);
        for (size_t k = 0; k < kGroup; ++k) {
          const size_t i = kPart * p + kGroup * g + k;
          const float w = weights[i] * factors[p];
          const float q = levels[point[k]] * static_cast<float>(2 * s + 1);
          fit.product += w * q * search.Values(i, 1)[0];
          fit.square += w * q * q;
        }
      }
    }
    const float d = fit.square > 0 ? fit.Scale() : largest / 15;
    const uint32_t half = FloatToHalf(LimitedToHalf(search.InFull(d) * kStored));
    for (size_t k = 0; k < 4; ++k) {
      StoreU16(block + 48 + 2 * k, static_cast<uint16_t>(words[k] | (half >> 4 * k & 15) << 12));
    }
  }
};

}  // namespace

std::vector<BlockType> Iq1Types() { return {RowOf<Iq1S>("iq1_s", 19), RowOf<Iq1M>("iq1_m", 29)}; }

}  // namespace tessera::ggml
