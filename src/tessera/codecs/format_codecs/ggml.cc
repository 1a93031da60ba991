#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/codecs/format_codecs/format_codecs.h"
#include "tessera/formats/ggml/block_type.h"

namespace tessera {
namespace {

bool Takes(const Format& format, const FormatTypes&) { return ggml::FindBlockType(format.codec) != nullptr; }

std::string Detail(const Format& format, const FormatTypes&) { return format.codec; }

// The block type, if the format's type has just its blocks.
Result<const ggml::BlockType*> BlockTypeOf(const Format& format, const FormatTypes& types, uint64_t values) {
  const ggml::BlockType* type = ggml::FindBlockType(format.codec);
  TESSERA_ASSIGN(const uint64_t bytes, ggml::BlocksSize(*type, values));
  if (bytes != types.SizeBytes() || format.BlockValues() % type->block_values != 0) {
    return Fail(
        ErrorCode::kFormatValue, format.name,
        fmt::format("the codec {} has blocks of {} values in {} bytes, and the type takes {} bytes for {} values",
                    type->name, type->block_values, type->block_bytes, types.SizeBytes(), values),
        fmt::format("block: {} and a type of that size, or another codec", type->block_values));
  }
  return type;
}

Result<std::vector<float>> Decode(const Format& format, const FormatTypes& types, std::span<const uint8_t> payload,
                                  const Limits&) {
  const uint64_t count = CheckedProduct(types.shape).value_or(0);
  TESSERA_ASSIGN(const ggml::BlockType* type, BlockTypeOf(format, types, count));
  std::vector<float> values(count);
  TESSERA_TRY(ggml::DecodeBlocks(*type, payload, values));
  return values;
}

Result<EncodedFormat> Encode(const Format& format, const FormatTypes& types, std::span<const float> values,
                             std::span<const float> weights, const Limits&) {
  TESSERA_ASSIGN(const ggml::BlockType* type, BlockTypeOf(format, types, values.size()));
  EncodedFormat encoded;
  encoded.payload.resize(types.SizeBytes());
  if (values.empty()) return encoded;
  const auto columns = static_cast<uint64_t>(types.shape.empty() ? 1 : types.shape.back());
  if (type->weights == ggml::Weights::kNeeded && weights.empty()) {
    encoded.note =
        fmt::format("{} is encoded with importance weights, and none are given: each counts as 1.0", format.name);
  } else if (type->weights == ggml::Weights::kIgnored && !weights.empty()) {
    encoded.note = fmt::format("{} is encoded without importance weights; those given have no effect", format.name);
  }
  TESSERA_TRY(ggml::EncodeBlocks(*type, values, columns, weights, encoded.payload));
  return encoded;
}

}  // namespace

const FormatCodec kGgmlCodec = {"ggml", Takes, Detail, Decode, Encode};

}  // namespace tessera
