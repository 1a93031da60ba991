// Random payloads of declared types, for tests that decode them in several ways. Only tests link it.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/codecs/tensor.h"
#include "tessera/types/testing/random_type.h"
#include "tessera/types/type_table.h"

namespace tessera {

// Random bytes, but for positions of outliers: those are distinct where there are at least as many values as outliers,
// and all below `fewest_values`, the size of the smallest tensor or tile that has some.
std::vector<uint8_t> RandomPayload(RandomSource* random, const CheckedType& type, uint64_t fewest_values);

// The same type, shape and bits, but that two NaN are equal.
bool SameValues(const Tensor& a, const Tensor& b);

}  // namespace tessera
