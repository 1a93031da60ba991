// The leaves of a type as JSON. For files of this folder only: it names the JSON library.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tessera/types/type_table.h"

namespace tessera {

// An array, one object a leaf: path, input_name, type, bits, dims; bit_offset and bit_strides, or constant: true.
nlohmann::ordered_json LeafRows(const CheckedType& type);

}  // namespace tessera
