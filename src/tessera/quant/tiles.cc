#include "tessera/quant/tiles.h"

#include <fmt/format.h>

#include <string_view>

#include "tessera/base/checked.h"

namespace tessera {
namespace {

// One axis: how many tiles there are, and their size.
std::optional<TileProblem> Divide(uint64_t size, int64_t tile_size, std::string_view what, uint64_t* tiles,
                                  uint64_t* tile) {
  *tile = tile_size == 0 ? size : static_cast<uint64_t>(tile_size);
  *tiles = 1;
  if (tile_size == 0) return std::nullopt;
  if (size % *tile != 0) {
    const uint64_t below = size - size % *tile;
    return TileProblem{
        fmt::format("tiles of {} do not cover {} {}", *tile, what, size),
        below == 0 ? fmt::format("{}", *tile) : fmt::format("a multiple: {} or {}", below, below + *tile)};
  }
  *tiles = size / *tile;
  return std::nullopt;
}

}  // namespace

std::optional<TileProblem> DivideTensor(const TilingProfile& tiling, const std::vector<uint64_t>& shape,
                                        const std::vector<size_t>& order, uint64_t values, Tiles* tiles) {
  const size_t rank = shape.size();
  if (!tiling.perm.empty() && tiling.perm.size() != rank) {
    return TileProblem{fmt::format("perm has {} axes, the tensor {}", tiling.perm.size(), rank),
                       "one entry for each axis"};
  }
  if (tiling.axes.empty()) {
    uint64_t tile = 0;
    if (auto problem = Divide(values, tiling.tile_shape[0], "all values, which are", &tiles->count, &tile)) {
      return problem;
    }
    tiles->grid = {tiles->count};
    tiles->shape = {tile};
    tiles->dims = {tile};
    tiles->order = {0};
    tiles->values = tile;
    return std::nullopt;
  }
  std::vector<uint64_t> counts(rank, 1);
  std::vector<bool> divided(rank);
  tiles->shape = shape;
  for (size_t i = 0; i < tiling.axes.size(); ++i) {
    const auto axis = static_cast<size_t>(tiling.axes[i]);
    if (axis >= rank) {
      return TileProblem{fmt::format("axis {} is none of a tensor of rank {}", axis, rank), "an axis of the tensor"};
    }
    divided[axis] = true;
    auto problem = Divide(shape[axis], tiling.tile_shape[i], fmt::format("axis {} of size", axis), &counts[axis],
                          &tiles->shape[axis]);
    if (problem) return problem;
  }
  tiles->order = order;
  if (!tiling.perm.empty()) tiles->order.assign(tiling.perm.begin(), tiling.perm.end());
  tiles->counts = counts;
  for (size_t axis : tiles->order) {
    tiles->dims.push_back(tiles->shape[axis]);
    if (divided[axis]) tiles->grid.push_back(counts[axis]);
  }
  // Where an axis has size 0, the others may be of any size.
  const std::optional<uint64_t> count = CheckedProduct(tiles->grid);
  const std::optional<uint64_t> tile_values = CheckedProduct(tiles->shape);
  constexpr auto kMost = static_cast<uint64_t>(INT64_MAX);
  if (!count || !tile_values || *count > kMost || *tile_values > kMost) {
    return TileProblem{"the tiles, or the values of one, are more than 2^63 - 1", "a smaller tensor"};
  }
  tiles->count = *count;
  tiles->values = *tile_values;
  if (tiles->count == 1) tiles->grid = {1};
  return std::nullopt;
}

}  // namespace tessera
