// CastUniformProto and FunctionUniformProto.
#include <fmt/format.h>

#include "tessera/codecs/decoders/decoder_writer.h"

namespace tessera::decoders {

Result<Value> DecodeCast(DecoderWriter* writer, const Level& level) {
  if (!writer->Read(level.place.type).is_structure()) {
    const auto [place, field] = BareArray(level.place);
    return writer->Field(place, field, writer->compute());
  }
  TESSERA_ASSIGN(const std::string field, CodesField(*writer, level.place));
  return writer->Field(level.place, field, writer->compute());
}

Result<Value> DecodeFunction(DecoderWriter* writer, const Level& level) {
  const auto& function = std::get<FunctionProfile>(level.profile->kind);
  return writer->NoDecoder(fmt::format("its codes are decoded by the operator {}", Quoted(function.dequantize_op)),
                           "a decoder given with the type");
}

}  // namespace tessera::decoders
