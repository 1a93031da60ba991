// CastUniformProto and FunctionUniformProto.
#include <fmt/format.h>

#include "tessera/codecs/decoders/decoder_writer.h"

namespace tessera::decoders {

Result<Value> DecodeCast(DecoderWriter* writer, const Level& level) {
  Place place = level.place;
  std::string field = "values";
  if (writer->Read(place.type).is_structure()) {
    TESSERA_ASSIGN(field, CodesField(*writer, place));
  } else if (!place.prefix.empty()) {
    // A bare array has no field: its leaf is called as the field that refers to it.
    field = place.prefix.substr(0, place.prefix.size() - 1);
    place.prefix.clear();
  }
  return writer->Field(place, field, writer->compute());
}

Result<Value> DecodeFunction(DecoderWriter* writer, const Level& level) {
  const auto& function = std::get<FunctionProfile>(level.profile->kind);
  return writer->NoDecoder(fmt::format("its codes are decoded by the operator {}", Quoted(function.dequantize_op)),
                           "a decoder given with the type");
}

}  // namespace tessera::decoders
