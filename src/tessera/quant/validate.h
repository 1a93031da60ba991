// What a profile may hold, whatever shape it is used for. What depends on the shape is checked by the translation
// (translate.h), which calls this first.
#pragma once

#include "tessera/base/error.h"
#include "tessera/quant/profile.h"
#include "tessera/types/limits.h"

namespace tessera {

// Reports everything that is wrong, at paths such as `tiling.elem_quant[0].linear.bits` below `path`.
//   kProfileKind      no family
//   kProfileValue     a field is missing or out of range: 13 bits in INT8, a scale of 0 or NaN, an unknown type
//   kProfileConflict  two fields contradict each other: symmetric with a zero point, packed_count without packed_bytes
//   kProfileData      a codebook or matrix has another number of values than its sizes say, or one that is not finite
//   kProfileBlock     fields of a block overlap, leave it, or do not fit its formula, codebook or scatter
//   kProfileStored    a stored parameter where there can be none
//   kProfileMetadata  a metadata key that the translation needs for itself
//   kLimitDepth       profiles are nested deeper than limits.depth
// Data that is still a template parameter is not counted.
void ValidateProfile(const Profile& profile, const Path& path, const Limits& limits, Problems* problems);

}  // namespace tessera
