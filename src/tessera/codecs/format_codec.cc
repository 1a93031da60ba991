#include "tessera/codecs/format_codec.h"

#include <fmt/format.h>

#include <utility>

#include "tessera/base/checked.h"
#include "tessera/codecs/decoder.h"
#include "tessera/codecs/encoder.h"
#include "tessera/codecs/format_codecs/format_codecs.h"
#include "tessera/quant/translate.h"
#include "tessera/types/function_check.h"
#include "tessera/types/operators.h"

namespace tessera {
namespace {

// The first that takes a format is used; the last takes all.
constexpr const FormatCodec* kCodecs[] = {&kGgmlCodec, &kCheckpointCodec, &kNativeCodec, &kDecoderCodec};

const FormatCodec& CodecOf(const Format& format, const FormatTypes& types) {
  for (const FormatCodec* codec : kCodecs) {
    if (codec->takes(format, types)) return *codec;
  }
  return kDecoderCodec;
}

// A codec that is named and unknown is an error, and not silently another one.
Result<const FormatCodec*> NamedCodec(const Format& format, const FormatTypes& types) {
  const FormatCodec& codec = CodecOf(format, types);
  if (!format.codec.empty() && codec.detail(format, types) != format.codec) {
    return Fail(ErrorCode::kFormatValue, format.name, fmt::format("there is no codec {}", Quoted(format.codec)),
                "a codec that there is, or none");
  }
  return &codec;
}

Result<void> CheckOpset(std::optional<int64_t> opset) {
  if (!opset || (*opset >= kMinOpset && *opset <= kMaxOpset)) return {};
  return Fail(ErrorCode::kArgument, "opset", fmt::format("{} is outside the range", *opset),
              fmt::format("{} to {}", kMinOpset, kMaxOpset));
}

std::string ShapeName(const std::vector<int64_t>& shape) { return shape.empty() ? "a scalar" : ShapeText(shape); }

}  // namespace

Result<std::vector<float>> DecodeFormat(const Format& format, const FormatTypes& types,
                                        std::span<const uint8_t> payload, const Limits& limits) {
  if (payload.size() != types.SizeBytes()) {
    return Fail(ErrorCode::kPayloadSize, format.name,
                fmt::format("the payload has {} bytes, and {} takes {}", payload.size(), ShapeName(types.shape),
                            types.SizeBytes()),
                fmt::format("{} bytes, or another shape", types.SizeBytes()));
  }
  TESSERA_ASSIGN(const FormatCodec* codec, NamedCodec(format, types));
  return codec->decode(format, types, payload, limits);
}

Result<std::vector<float>> DecodeFormat(const Format& format, std::span<const int64_t> shape,
                                        std::span<const uint8_t> payload, const DeclareOptions& options) {
  TESSERA_ASSIGN(const FormatTypes types, DeclareFormat(format, shape, options));
  return DecodeFormat(format, types, payload, options.limits);
}

Result<EncodedFormat> EncodeFormat(const Format& format, const FormatTypes& types, std::span<const float> values,
                                   std::span<const float> weights, const Limits& limits) {
  const std::optional<uint64_t> count = CheckedProduct(types.shape);
  if (values.size() != count) {
    return Fail(ErrorCode::kArgument, format.name,
                fmt::format("there are {} values, and {} has {}", values.size(), ShapeName(types.shape),
                            count.value_or(UINT64_MAX)),
                "as many values as the shape has");
  }
  const uint64_t columns = types.shape.empty() ? 1 : static_cast<uint64_t>(types.shape.back());
  if (!weights.empty() && weights.size() != columns) {
    return Fail(ErrorCode::kArgument, format.name,
                fmt::format("there are {} weights, and a row has {} values", weights.size(), columns),
                fmt::format("{} weights, the same for every row", columns));
  }
  TESSERA_ASSIGN(const FormatCodec* codec, NamedCodec(format, types));
  return codec->encode(format, types, values, weights, limits);
}

Result<EncodedFormat> EncodeFormat(const Format& format, std::span<const int64_t> shape, std::span<const float> values,
                                   std::span<const float> weights, const DeclareOptions& options) {
  TESSERA_ASSIGN(const FormatTypes types, DeclareFormat(format, shape, options));
  return EncodeFormat(format, types, values, weights, options.limits);
}

Result<Function> FormatDecoder(const FormatTypes& types, std::optional<int64_t> opset, const Limits& limits) {
  TESSERA_TRY(CheckOpset(opset));
  const StructType& root = types.root->declaration;
  if (!root.decoder) {
    return BuildDecoder(*types.profile, types.shape, types.types, opset.value_or(kDefaultOpset), limits);
  }
  Function decoder = *root.decoder;
  if (!opset) return decoder;
  for (OpsetImport& import : decoder.opset_imports) import.version = *opset;
  Problems problems;
  CheckDecoder(decoder, types.root->leaves, Path("decoder"), &problems);
  if (!problems.empty()) return tl::unexpected<Error>(problems.list().front());
  return decoder;
}

Result<Function> FormatEncoder(const FormatTypes& types, std::optional<int64_t> opset, const Limits& limits) {
  TESSERA_TRY(CheckOpset(opset));
  const StructType& root = types.root->declaration;
  if (!root.encoder) {
    if (types.profile) {
      return BuildEncoder(*types.profile, types.shape, types.types, opset.value_or(kDefaultOpset), limits);
    }
    return Fail(ErrorCode::kNoEncoder, root.Name(),
                "its type declares no encoder, and there is no profile that one follows from",
                "encoder: FunctionProto { ... } in the format's text");
  }
  Function encoder = *root.encoder;
  if (!opset) return encoder;
  for (OpsetImport& import : encoder.opset_imports) import.version = *opset;
  Problems problems;
  CheckEncoder(encoder, root.decoder ? &*root.decoder : nullptr, types.SizeBytes(), Path("encoder"), &problems);
  if (!problems.empty()) return tl::unexpected<Error>(problems.list().front());
  return encoder;
}

std::string CodecName(const Format& format, const FormatTypes& types) {
  const FormatCodec& codec = CodecOf(format, types);
  const std::string detail = codec.detail(format, types);
  return detail.empty() ? std::string(codec.name) : fmt::format("{} {}", codec.name, detail);
}

}  // namespace tessera
