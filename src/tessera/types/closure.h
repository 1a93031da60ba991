// A declaration together with everything it refers to, apart from the list it stands in. Two declarations of different
// models mean the same when their closures are equal.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tessera/types/struct_type.h"

namespace tessera {

// Calls visit for every TypeReference inside `type`.
void ForEachReference(PhysicalType* type, const std::function<void(TypeReference*)>& visit);

// `root`, whose references are positions in `table`, and what it refers to, directly or over others, in a list of its
// own: each declaration once, after those that it refers to, `root` last, references renumbered to positions in the
// list. References out of range become -1. In a cycle, which the checker refuses, one reference points forwards.
std::vector<StructType> Closure(const StructType& root, std::span<const StructType> table);

}  // namespace tessera
