// A rotation is a product with a matrix along one axis of the logical tensor: the last one before, the first one after.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/codecs/decoders/level.h"
#include "tessera/types/function_builder.h"

namespace tessera::decoders {

class RotatedAxis {
 public:
  RotatedAxis(const Level& level, bool pre);

  // From [batch, values] in memory order to [batch, others, axis] of the logical tensor where `pre`, [batch, axis,
  // others] where not, and back.
  Value Enter(FunctionBuilder* builder, const Value& values) const;
  Value Leave(FunctionBuilder* builder, const Value& x) const;
  // The shape in which a diagonal broadcasts.
  Dims Diagonal() const { return pre_ ? Dims{1, 1, along_} : Dims{1, along_, 1}; }
  // The product of each block of `size` with Sylvester's matrix: butterflies of strides 1, 2, 4, ..., then one product
  // with 1 / sqrt(size) rounded to FLOAT. It is its own inverse, but for rounding.
  Value Hadamard(FunctionBuilder* builder, Value x, int64_t size) const;

 private:
  bool pre_;
  int64_t batch_;
  int64_t values_;
  int64_t along_;
  int64_t others_;
  Dims memory_;                      // BatchDims()
  Dims logical_;                     // the batch in front
  std::vector<int64_t> to_logical_;  // permutations
  std::vector<int64_t> to_memory_;
};

}  // namespace tessera::decoders
