// How a tiling divides a tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/quant/profile.h"

namespace tessera {

// The tiles of a tensor.
struct Tiles {
  uint64_t count = 1;
  std::vector<uint64_t> grid;    // of the axes that are divided, in memory order; {count} where the tensor is flattened
  std::vector<uint64_t> counts;  // of every axis, by the tensor's axes; empty where the tensor is flattened
  std::vector<uint64_t> shape;   // of one tile, by the tensor's axes; one number where the tensor is flattened
  std::vector<size_t> order;     // of its axes in memory
  std::vector<uint64_t> dims;    // its shape in memory order
  uint64_t values = 0;           // product of its shape
};

struct TileProblem {
  std::string what;
  std::string fix;
};

// Divides a tensor of `values` values whose axes lie in memory in `order`, from the outermost to the innermost.
// REQUIRES: a tiling that validation accepts; `values` is the product of `shape`.
std::optional<TileProblem> DivideTensor(const TilingProfile& tiling, const std::vector<uint64_t>& shape,
                                        const std::vector<size_t>& order, uint64_t values, Tiles* tiles);

}  // namespace tessera
