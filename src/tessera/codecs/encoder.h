// The encoder of a profile's struct type: a function of standard operators that takes the tensor and gives the bytes,
// for one opset. Only profiles whose values have one right encoding have one; docs/decoding.md says which, and what it
// is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/quant/translate.h"
#include "tessera/types/function.h"
#include "tessera/types/limits.h"
#include "tessera/types/struct_type.h"

namespace tessera {

// The encoder of the last of `types`, which are what `profile` translates to for `shape` (names may differ). Its input
// is the tensor, in the profile's data type; its output UINT8[size of the type].
// Errors: kNoEncoder where values have several encodings, or the opset has not the profile's data type; kNotAProfile
// for types of another profile; kArgument for an opset outside kMinOpset .. kMaxOpset.
Result<Function> BuildEncoder(const Profile& profile, std::span<const int64_t> shape, std::span<const StructType> types,
                              int64_t opset, const Limits& limits = {});

// Gives the last of `types` its encoder, for the profile and shape that RecoverProfile finds. Errors: also its errors.
Result<void> AttachEncoder(std::vector<StructType>* types, int64_t opset, const Limits& limits = {});

}  // namespace tessera
