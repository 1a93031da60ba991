// The byte map of one value of a type: which bit belongs to which field.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/types/type_table.h"

namespace tessera {

struct LayoutOptions {
  uint64_t max_bytes = 64;  // of the drawing; the table of fields is always whole
};

// A table of the leaves (offset, width, dimensions, strides) and a drawing of the first bytes, one line a byte, bit 7
// to bit 0: each leaf has a letter, and neighbouring elements alternate between small and capital letters.
std::string LayoutText(const CheckedType& type, const LayoutOptions& options = {});
// The table as JSON.
std::string LayoutJson(const CheckedType& type);

}  // namespace tessera
