#include <utility>

#include "tessera/codecs/format_codecs/format_codecs.h"
#include "tessera/codecs/native_codec.h"

namespace tessera {
namespace {

bool Takes(const Format& format, const FormatTypes& types) {
  return format.codec.empty() && types.profile && !types.root->declaration.decoder;
}

// The family of what the values are in the end: "linear" for tiles of it.
std::string Detail(const Format&, const FormatTypes& types) {
  const Profile* profile = &*types.profile;
  while (const auto* tiling = std::get_if<TilingProfile>(&profile->kind)) profile = &tiling->elem_quant.front();
  return std::string(NamesOf(*profile).field);
}

tl::unexpected<Error> OfFormat(const Format& format, Error error) {
  error.where = error.where.empty() ? format.name : format.name + ": " + error.where;
  return tl::unexpected<Error>(std::move(error));
}

Result<std::vector<float>> Decode(const Format& format, const FormatTypes& types, std::span<const uint8_t> payload,
                                  const Limits& limits) {
  TESSERA_ASSIGN(const NativeCodec codec, NativeCodec::Create(*types.profile, types.shape, types.types, limits));
  Result<std::vector<double>> values = codec.Decode(payload);
  if (!values) return OfFormat(format, std::move(values).error());
  return std::vector<float>(values->begin(), values->end());
}

Result<EncodedFormat> Encode(const Format& format, const FormatTypes& types, std::span<const float> values,
                             std::span<const float> weights, const Limits& limits) {
  TESSERA_ASSIGN(const NativeCodec codec, NativeCodec::Create(*types.profile, types.shape, types.types, limits));
  Result<std::vector<uint8_t>> payload = codec.Encode(std::vector<double>(values.begin(), values.end()));
  if (!payload) return OfFormat(format, std::move(payload).error());
  EncodedFormat encoded{.payload = *std::move(payload), .note = {}};
  if (!weights.empty())
    encoded.note = format.name + " is encoded without importance weights; those given have no effect";
  return encoded;
}

}  // namespace

const FormatCodec kNativeCodec = {"native", Takes, Detail, Decode, Encode};

}  // namespace tessera
