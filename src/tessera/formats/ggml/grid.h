// Grids of the IQ types: what a stored index means, and which point of a grid an encoder takes.
//
// A Grid is a table expanded; decoders need no more. A GridSearch finds the point for levels that an encoder would
// like: itself if the grid has it, else the best of its neighbours, which are listed for every point that the grid
// lacks. Each is built once, when first asked for, takes up to a megabyte, and is never freed.
//
// Everything here may be called from any thread.
// Source: ggml's quantizers (ggml-quants.c, version 0.21.0), from a description of what they compute.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/formats/ggml/grid_tables.h"

namespace tessera::ggml {

class Grid {
 public:
  static constexpr size_t kMaxElements = 8;
  static constexpr size_t kMaxLevels = 8;

  explicit Grid(const GridTable& table);

  const GridTable& table() const { return *table_; }
  size_t size() const { return table_->keys.size(); }
  size_t elements() const { return table_->elements; }
  size_t level_count() const { return table_->levels.size(); }
  // The numbers of a point. REQUIRES: index < size().
  const int8_t* Point(size_t index) const { return points_.data() + index * table_->elements; }
  // Which levels they are.
  const uint8_t* Levels(size_t index) const { return levels_.data() + index * table_->elements; }

 private:
  const GridTable* table_;
  std::vector<int8_t> points_;
  std::vector<uint8_t> levels_;
};

// The one expansion of a table.
template <const GridTable& kTable>
const Grid& GridOf() {
  static const Grid& grid = *new Grid(kTable);
  return grid;
}

class GridSearch {
 public:
  // Neighbours of a point are those points of the grid that are at one of the `distances` smallest distances from it
  // that occur, the nearest first, of equally far ones the lower index. Distances are those between numbers of levels:
  // that the steps between levels are not all alike does not count.
  GridSearch(const Grid& grid, size_t distances);

  const Grid& grid() const { return grid_; }

  struct Found {
    uint16_t index;
    bool on_grid;  // it has the levels that were asked for
  };
  // The point for `levels`; of neighbours the first with the least sum of weight * (level_values[level] - value)^2.
  // `level_values` has one value a level, the others one an element. REQUIRES: levels are below level_count().
  Found Find(const uint8_t* levels, const float* level_values, const float* values, const float* weights) const;

  // Neighbours of a point that the grid lacks, by its key; none of another.
  std::span<const uint16_t> Neighbors(size_t key) const;

 private:
  const Grid& grid_;
  std::vector<int16_t> index_;       // of each key up to the last, -1 for those that the grid lacks
  std::vector<uint32_t> first_;      // where its neighbours begin, and at the end their number
  std::vector<uint16_t> neighbors_;  // of all keys
};

// The one search in a table's grid.
template <const GridTable& kTable, size_t kDistances>
const GridSearch& SearchOf() {
  static const GridSearch& search = *new GridSearch(GridOf<kTable>(), kDistances);
  return search;
}

// Signs of eight elements, bit k set if element k is negative, from seven bits: an even number of them is negative.
inline uint8_t SignsOfSevenBits(uint32_t bits) {
  return static_cast<uint8_t>((bits & 127) | (std::popcount(bits & 127) & 1) << 7);
}

}  // namespace tessera::ggml
