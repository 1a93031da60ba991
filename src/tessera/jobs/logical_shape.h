// Which tensor a value of a struct type stands for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/types/type_table.h"

namespace tessera {

// What the decoder declares, or else the metadata `tessera.shape` that the translation of a profile writes; nullopt
// where neither says.
std::optional<std::vector<int64_t>> LogicalShape(const StructType& type);

// Bits of the payload for each element of that shape, or of the shape given; nullopt where there is none, or it has no
// elements.
std::optional<double> BitsPerWeight(const CheckedType& type);
std::optional<double> BitsPerWeight(const CheckedType& type, const std::vector<int64_t>& shape);

}  // namespace tessera
