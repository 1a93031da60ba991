// The codecs that formats are decoded and encoded with, a row and a file each. Only format_codec.cc takes them
// together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/codecs/format_codec.h"
#include "tessera/formats/format.h"
#include "tessera/types/limits.h"

namespace tessera {

// REQUIRES for all calls: the payload has the size of the type, the values are those of the shape, the weights are none
// or one for each value of the last axis, and Takes() said yes.
struct FormatCodec {
  std::string_view name;
  bool (*takes)(const Format& format, const FormatTypes& types);
  // What of the codec it is: "q4_k"; may be empty.
  std::string (*detail)(const Format& format, const FormatTypes& types);
  Result<std::vector<float>> (*decode)(const Format& format, const FormatTypes& types, std::span<const uint8_t> payload,
                                       const Limits& limits);
  Result<EncodedFormat> (*encode)(const Format& format, const FormatTypes& types, std::span<const float> values,
                                  std::span<const float> weights, const Limits& limits);
};

extern const FormatCodec kGgmlCodec;        // block types of ggml, which a format names as its codec
extern const FormatCodec kCheckpointCodec;  // layouts of checkpoints, which a format names as its codec
extern const FormatCodec kNativeCodec;      // the reference codec of a profile's family, for formats by profile
extern const FormatCodec kDecoderCodec;     // the decoder of the type, evaluated: takes everything that has one

}  // namespace tessera
