// The reference codec of a profile: scalar, exact, one family a file in native/. It decodes to the bits that the
// profile's decoder gives (docs/decoding.md), and it encodes, which a decoder cannot.
//
// Immutable: any number of threads may use one codec. It holds what it needs of profile and types.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/quant/profile.h"
#include "tessera/types/limits.h"
#include "tessera/types/struct_type.h"

namespace tessera {

namespace native {
class Codec;
}

class NativeCodec {
 public:
  // `types` are what `profile` translates to for `shape` (names may differ), checked, the root last.
  // Errors: kNotAProfile for types of another profile, kLimitPayload for a tensor whose values pass
  // limits.payload_bytes.
  static Result<NativeCodec> Create(const Profile& profile, std::span<const int64_t> shape,
                                    std::span<const StructType> types, const Limits& limits = {});

  uint64_t count() const { return count_; }  // values of the tensor
  uint64_t payload_bytes() const { return payload_bytes_; }

  // The tensor, row-major: numbers of the profile's data type.
  // Errors: kPayloadSize for a payload of another size; kCodeOutside for an index that no codebook has, with the number
  // of its tile or block; kNoDecoder for an operator that is not registered.
  Result<std::vector<double>> Decode(std::span<const uint8_t> payload) const;

  // The payload, its padding 0. What docs/decoding.md says of encoders, and where a profile leaves a choice (zero
  // points, additive codebooks, outliers, fields of blocks) that of this codec. The same values give the same bytes.
  // Errors: kArgument for another number of values; kUnsupported where values cannot be encoded.
  Result<std::vector<uint8_t>> Encode(std::span<const double> values) const;

 private:
  NativeCodec() = default;
  std::shared_ptr<const native::Codec> codec_;
  ElementType data_type_ = ElementType::kFloat;
  bool wide_ = false;
  uint64_t count_ = 0;
  uint64_t payload_bytes_ = 0;
};

}  // namespace tessera
