// The decoder of a profile's struct type: a function of standard operators that takes the type's leaves and gives the
// tensor, for one opset. docs/decoding.md says which operations it does in which order; native codecs do the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/quant/translate.h"
#include "tessera/types/function.h"
#include "tessera/types/limits.h"
#include "tessera/types/struct_type.h"
#include "tessera/types/type_table.h"

namespace tessera {

// The decoder of the last of `types`, which are what `profile` translates to for `shape` (names may differ). Its inputs
// are the leaves of the type in their order, its one output is declared with element type and shape.
// Errors: kNoDecoder where the profile has no meaning in standard operators (the family Function), or the opset has no
// type or operator for what it needs: the fix says which opset has; kNotAProfile for types of another profile;
// kArgument for an opset outside kMinOpset .. kMaxOpset.
Result<Function> BuildDecoder(const Profile& profile, std::span<const int64_t> shape, std::span<const StructType> types,
                              int64_t opset, const Limits& limits = {});

// The same from the bytes of a value: a function of one input for each of its segments, UINT8 tensors of
// `segment_bytes`, which takes the place of the decoder in a model for stock runtimes. It reads types that the opset
// does not convert out of their bits, so that it exists for every opset. Errors: also kPayloadSize, kLeafSegment.
Result<Function> BuildPayloadDecoder(const Profile& profile, std::span<const int64_t> shape,
                                     std::span<const StructType> types, std::span<const uint64_t> segment_bytes,
                                     int64_t opset, const Limits& limits = {});
// From a decoder that the type has, for leaves of any kind. Errors: kNoDecoder also where the opset has not the
// operators of the decoder as it was written.
Result<Function> BuildPayloadDecoder(const CheckedType& type, std::span<const uint64_t> segment_bytes, int64_t opset);

// The one of the last of `types`: by its profile, where it is one's and has no decoder but that of the profile, and
// else by its decoder. Errors: those of both.
Result<Function> PortableDecoder(std::span<const StructType> types, std::span<const uint64_t> segment_bytes,
                                 int64_t opset, const Limits& limits = {});

// Gives the last of `types` its decoder, for the profile and shape that RecoverProfile finds. Errors: also its errors.
Result<void> AttachDecoder(std::vector<StructType>* types, int64_t opset, const Limits& limits = {});

}  // namespace tessera
