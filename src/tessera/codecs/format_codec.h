// Decodes and encodes by the name of a format: whichever codec knows it, down to evaluating the type's own decoder, so
// that a format which nobody registered works too. Which codecs there are is the table in format_codec.cc.
//
// Pure functions; the caller owns all memory. Any number of threads may call them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/formats/format.h"
#include "tessera/types/function.h"
#include "tessera/types/limits.h"

namespace tessera {

// Row-major values of a tensor of `shape` from its payload.
// Errors: those of DeclareFormat; kPayloadSize, with both numbers, for a payload of another size; kFormatValue where
// the format names a codec that there is not, or one that takes other bytes; those of the codec.
Result<std::vector<float>> DecodeFormat(const Format& format, std::span<const int64_t> shape,
                                        std::span<const uint8_t> payload, const DeclareOptions& options = {});
// The same for types that are declared already.
Result<std::vector<float>> DecodeFormat(const Format& format, const FormatTypes& types,
                                        std::span<const uint8_t> payload, const Limits& limits = {});

struct EncodedFormat {
  std::vector<uint8_t> payload;
  std::string note;  // what the user should know: weights that were needed and taken as 1; may be empty
};

// `weights` say how much each column matters, the same for every row: empty, or one for each value of the last axis.
// Errors: as DecodeFormat; kArgument for another number of values or weights than the shape has; kNoEncoder where there
// is none.
Result<EncodedFormat> EncodeFormat(const Format& format, std::span<const int64_t> shape, std::span<const float> values,
                                   std::span<const float> weights = {}, const DeclareOptions& options = {});
Result<EncodedFormat> EncodeFormat(const Format& format, const FormatTypes& types, std::span<const float> values,
                                   std::span<const float> weights = {}, const Limits& limits = {});

// The decoder as a function of standard operators: the root's own, or for a format by profile the one that follows from
// it. `opset` is the one that it is for; by default that of the root's own, else kDefaultOpset.
// Errors: those of BuildDecoder; kDecoderOpset, kDecoderOperator, ... where the root's own does not exist at `opset`.
Result<Function> FormatDecoder(const FormatTypes& types, std::optional<int64_t> opset = std::nullopt,
                               const Limits& limits = {});
inline constexpr int64_t kDefaultOpset = 21;

// The encoder: the root's own, or for a format by profile the one that follows from it. Errors: kNoEncoder, and others
// of BuildEncoder; as above where the root's own does not exist at `opset`.
Result<Function> FormatEncoder(const FormatTypes& types, std::optional<int64_t> opset = std::nullopt,
                               const Limits& limits = {});

// Which codec DecodeFormat takes: "ggml q4_k", "native linear", "decoder".
std::string CodecName(const Format& format, const FormatTypes& types);

}  // namespace tessera
