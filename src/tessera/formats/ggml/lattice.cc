#include "tessera/formats/ggml/lattice.h"

#include <algorithm>
#include <cmath>

#include "tessera/formats/ggml/numbers.h"
#include "tessera/formats/ggml/search.h"

namespace tessera::ggml {
namespace {

constexpr size_t kMaxPart = 32;
constexpr size_t kSigned = 8;  // values that share a byte of signs

// A part of a block while its scale is looked for.
class Part {
 public:
  Part(const LatticeRule& rule, const SearchBlock& block, size_t from)
      : rule_(rule), search_(rule.search()), group_(search_.grid().elements()), size_(rule.part) {
    const std::span<float> weights(weights_.data(), size_);
    block.ErrorWeights(from, rule.means, rule.plain, weights);
    const std::span<const float> values = block.Values(from, size_);
    for (size_t at = 0; at < size_; at += kSigned) TakeSigns(values.subspan(at, kSigned), at);
    for (size_t i = 0; i < size_; ++i) roots_[i] = std::sqrt(weights_[i]);
  }

  // Returns the scale; 0 leaves points and signs 0.
  float Encode(float tiny, uint16_t* points, uint8_t* signs) {
    const std::span<const float> x(magnitudes_.data(), size_);
    float largest = *std::max_element(x.begin(), x.end());
    if (largest < tiny || largest <= 0) return 0;
    if (rule_.first_without_grid) {
      std::array<uint8_t, kMaxPart> codes;
      // Codes 0 .. 4, but of those the grid's three levels are used.
      largest = 3 * FitPositive(x, std::span(weights_).first(size_), 4, std::span(codes).first(size_));
      if (!(largest > 0)) return 0;
    }
    float scale = Try(largest);
    if (scale > 0) scale = SetAgain(scale);
    if (scale == 0) return 0;
    // More of what matters may have turned signs than not; then all are meant the other way.
    const uint8_t turned = scale < 0 ? 0xFF : 0;
    for (size_t at = 0; at < size_; at += kSigned) {
      signs[at / kSigned] = static_cast<uint8_t>(signs_[at / kSigned] ^ turned);
    }
    for (size_t g = 0; g < size_ / group_; ++g) points[g] = best_[g].index;
    return std::abs(scale);
  }

 private:
  using Points = std::array<GridSearch::Found, kMaxPart / 4>;

  void TakeSigns(std::span<const float> values, size_t at) {
    uint32_t signs = 0;
    size_t least = 0;
    for (size_t k = 0; k < kSigned; ++k) {
      const float x = values[k];
      magnitudes_[at + k] = x >= 0 ? x : -x;
      if (!(x >= 0)) signs |= 1U << k;
      if (weights_[at + k] * x * x < weights_[at + least] * values[least] * values[least]) least = k;
    }
    if (rule_.even_signs && std::popcount(signs) % 2 != 0) {
      signs ^= 1U << least;
      magnitudes_[at + least] = -magnitudes_[at + least];
    }
    signs_[at / kSigned] = static_cast<uint8_t>(signs);
  }

  // `inverse` is 1 / scale, rounded or not.
  GridSearch::Found SetOnGrid(size_t g, float scale, float inverse) const {
    const Grid& grid = search_.grid();
    const int highest = static_cast<int>(grid.level_count()) - 1;
    std::array<uint8_t, Grid::kMaxElements> levels;
    std::array<float, Grid::kMaxLevels> level_values;
    const float* x = magnitudes_.data() + g * group_;
    for (size_t k = 0; k < group_; ++k) {
      levels[k] = static_cast<uint8_t>(RoundEven(0.5F * (inverse * x[k] - 1), 0, highest));
    }
    for (size_t l = 0; l < grid.level_count(); ++l) level_values[l] = scale * static_cast<float>(2 * l + 1);
    return search_.Find(levels.data(), level_values.data(), x, roots_.data() + g * group_);
  }

  LevelFit FitOf(const Points& points) const {
    LevelFit fit;
    for (size_t i = 0; i < size_; ++i) {
      const float level = static_cast<float>(2 * search_.grid().Levels(points[i / group_].index)[i % group_] + 1);
      fit.product += weights_[i] * magnitudes_[i] * level;
      fit.square += weights_[i] * level * level;
    }
    return fit;
  }

  float Try(float largest) {
    const float highest = static_cast<float>(2 * search_.grid().level_count() - 1);
    float scale = 0, gain = 0;
    for (int k = -rule_.trials; k <= rule_.trials; ++k) {
      const float inverse = (highest + rule_.step * static_cast<float>(k)) / largest;
      Points points = {};
      for (size_t g = 0; g < size_ / group_; ++g) points[g] = SetOnGrid(g, 1 / inverse, inverse);
      const LevelFit fit = FitOf(points);
      if (!fit.Beats(gain)) continue;
      best_ = points;
      scale = fit.Scale();
      gain = scale * fit.product;
    }
    return scale;
  }

  float SetAgain(float scale) {
    const size_t groups = size_ / group_;
    const auto end = best_.begin() + static_cast<ptrdiff_t>(groups);
    const bool any_off = std::any_of(best_.begin(), end, [](const GridSearch::Found& f) { return !f.on_grid; });
    if (!any_off && rule_.last != LatticeRule::Last::kAll) return scale;
    for (size_t g = 0; g < groups; ++g) {
      if (rule_.last == LatticeRule::Last::kOffGrid && best_[g].on_grid) continue;
      best_[g] = SetOnGrid(g, scale, 1 / scale);
    }
    const LevelFit fit = FitOf(best_);
    return fit.square > 0 ? fit.Scale() : scale;
  }

  const LatticeRule& rule_;
  const GridSearch& search_;
  const size_t group_;
  const size_t size_;
  std::array<float, kMaxPart> magnitudes_;  // negative where a sign was turned
  std::array<float, kMaxPart> weights_;
  std::array<float, kMaxPart> roots_;  // of weights: what choosing among neighbours goes by
  std::array<uint8_t, kMaxPart / kSigned> signs_;
  Points best_ = {};
};

}  // namespace

LatticeCodes EncodeLattice(const LatticeRule& rule, const BlockInput& in, uint8_t* d) {
  constexpr float kHighestScale = 31;  // 2 * 15 + 1
  LatticeCodes codes;
  const SearchBlock block(in);
  const size_t parts = kLatticeValues / rule.part;
  const size_t groups = rule.part / rule.search().grid().elements();
  const float tiny = rule.tiny / block.InFull(1);
  std::array<float, kLatticeValues / 16> scales;
  float largest = 0;
  for (size_t p = 0; p < parts; ++p) {
    scales[p] = Part(rule, block, p * rule.part)
                    .Encode(tiny, codes.points.data() + p * groups, codes.signs.data() + p * rule.part / kSigned);
    largest = std::max(largest, scales[p]);
  }
  if (largest == 0) return {};
  float step = largest / kHighestScale;
  const float stored = block.InFull(step) * rule.stored;
  StoreHalf(d, stored);
  if (stored > kLargestHalf) step *= kLargestHalf / stored;  // the others are in terms of what could be stored
  const float inverse = 1 / step;
  for (size_t p = 0; p < parts; ++p) {
    codes.scales[p] = static_cast<uint8_t>(RoundEven(0.5F * (inverse * scales[p] - 1), 0, 15));
  }
  return codes;
}

}  // namespace tessera::ggml
