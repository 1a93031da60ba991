// The comparison of struct types with those that the founding document writes for a scheme.
#pragma once

#include <span>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/formats/testing/difference.h"
#include "tessera/types/struct_type.h"

namespace tessera {

// Compares two lists of declarations, each with its root last, by the names of declarations and fields:
//   serialized fields: names, order, place, kind, element type, count and dimensions;
//   constants: type, dimensions and bytes, in any order;
//   metadata, but for `tessera.shape`, which each of our roots has.
// The order of the declarations, documentation and decoders mean nothing. A nested declaration is compared once, not
// wherever it is used.
// Errors: the first problem of TypeTable::Build with either list.
Result<std::vector<Difference>> CompareDeclarations(std::span<const StructType> ours,
                                                    std::span<const StructType> document);

}  // namespace tessera
