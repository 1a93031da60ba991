#include "tessera/formats/ggml/grid.h"

#include <algorithm>
#include <limits>

namespace tessera::ggml {
namespace {

size_t LevelOf(const GridTable& table, size_t key, size_t element) {
  return key >> table.bits * element & ((size_t{1} << table.bits) - 1);
}

// Square distances between the halves of keys: two look-ups then give that between keys.
class HalfDistances {
 public:
  explicit HalfDistances(const GridTable& table)
      : bits_(table.bits * table.elements / 2), squares_(size_t{1} << 2 * bits_) {
    const size_t halves = size_t{1} << bits_;
    for (size_t a = 0; a < halves; ++a) {
      for (size_t b = 0; b < halves; ++b) {
        int sum = 0;
        for (size_t k = 0; k < table.elements / 2; ++k) {
          const int step = static_cast<int>(LevelOf(table, a, k)) - static_cast<int>(LevelOf(table, b, k));
          sum += step * step;
        }
        squares_[a << bits_ | b] = static_cast<uint8_t>(sum);  // at most 4 * 3^2 or 2 * 7^2
      }
    }
  }

  // From `key` to each of `keys`.
  void From(size_t key, std::span<const uint16_t> keys, std::vector<uint8_t>& distances) const {
    const size_t mask = (size_t{1} << bits_) - 1;
    const uint8_t* low = squares_.data() + ((key & mask) << bits_);
    const uint8_t* high = squares_.data() + (key >> bits_ << bits_);
    for (size_t i = 0; i < keys.size(); ++i) {
      distances[i] = static_cast<uint8_t>(low[keys[i] & mask] + high[keys[i] >> bits_]);
    }
  }

 private:
  size_t bits_;
  std::vector<uint8_t> squares_;
};

}  // namespace

Grid::Grid(const GridTable& table) : table_(&table) {
  points_.reserve(table.keys.size() * table.elements);
  levels_.reserve(table.keys.size() * table.elements);
  for (size_t key : table.keys) {
    for (size_t k = 0; k < table.elements; ++k) {
      const size_t level = LevelOf(table, key, k);
      levels_.push_back(static_cast<uint8_t>(level));
      points_.push_back(table.levels[level]);
    }
  }
}

GridSearch::GridSearch(const Grid& grid, size_t distances) : grid_(grid) {
  const GridTable& table = grid.table();
  size_t last = 0;  // all elements at the highest level
  for (size_t k = 0; k < table.elements; ++k) last |= (table.levels.size() - 1) << table.bits * k;
  index_.assign(last + 1, -1);
  for (size_t i = 0; i < table.keys.size(); ++i) index_[table.keys[i]] = static_cast<int16_t>(i);

  auto is_possible = [&](size_t key) {
    for (size_t k = 0; k < table.elements; ++k) {
      if (LevelOf(table, key, k) >= table.levels.size()) return false;
    }
    return true;
  };
  const HalfDistances halves(table);
  std::vector<uint8_t> distance(table.keys.size());
  first_.reserve(last + 2);
  for (size_t key = 0; key <= last; ++key) {
    first_.push_back(static_cast<uint32_t>(neighbors_.size()));
    if (index_[key] >= 0 || !is_possible(key)) continue;
    halves.From(key, table.keys, distance);
    std::array<bool, 256> occurs = {};
    for (uint8_t d : distance) occurs[d] = true;
    size_t left = distances;
    for (size_t d = 0; d < occurs.size() && left > 0; ++d) {
      if (!occurs[d]) continue;
      --left;
      for (size_t i = 0; i < distance.size(); ++i) {
        if (distance[i] == d) neighbors_.push_back(static_cast<uint16_t>(i));
      }
    }
  }
  first_.push_back(static_cast<uint32_t>(neighbors_.size()));
  neighbors_.shrink_to_fit();
}

std::span<const uint16_t> GridSearch::Neighbors(size_t key) const {
  if (key >= index_.size()) return {};
  return std::span(neighbors_).subspan(first_[key], first_[key + 1] - first_[key]);
}

GridSearch::Found GridSearch::Find(const uint8_t* levels, const float* level_values, const float* values,
                                   const float* weights) const {
  const size_t elements = grid_.elements(), level_count = grid_.level_count();
  size_t key = 0;
  for (size_t k = 0; k < elements; ++k) key |= size_t{levels[k]} << grid_.table().bits * k;
  if (index_[key] >= 0) return {static_cast<uint16_t>(index_[key]), true};

  // What each level costs in each element; a neighbour then is a sum of those.
  std::array<std::array<float, Grid::kMaxLevels>, Grid::kMaxElements> costs;
  for (size_t k = 0; k < elements; ++k) {
    for (size_t l = 0; l < level_count; ++l) {
      const float error = level_values[l] - values[k];
      costs[k][l] = weights[k] * error * error;
    }
  }
  const std::span<const uint16_t> neighbors = Neighbors(key);
  uint16_t best = neighbors[0];
  float least = std::numeric_limits<float>::max();
  for (uint16_t index : neighbors) {
    const uint8_t* point = grid_.Levels(index);
    float sum = 0;
    for (size_t k = 0; k < elements; ++k) sum += costs[k][point[k]];
    if (sum < least) {
      least = sum;
      best = index;
    }
  }
  return {best, false};
}

}  // namespace tessera::ggml
