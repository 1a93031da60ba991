// LinearUniformProto: (code - zero_point) * scale.
#include "tessera/codecs/decoders/decoder_writer.h"

namespace tessera::decoders {

Result<Value> LinearCodes(DecoderWriter* writer, const Level& level) {
  const auto& linear = std::get<LinearProfile>(level.profile->kind);
  TESSERA_ASSIGN(std::string field, CodesField(*writer, level.place));
  return writer->Codes(level.place, field, linear.storage_type, static_cast<uint32_t>(linear.bits), level.values);
}

Result<Value> DecodeLinear(DecoderWriter* writer, const Level& level) {
  const auto& linear = std::get<LinearProfile>(level.profile->kind);
  TESSERA_ASSIGN(Value codes, LinearCodes(writer, level));
  TESSERA_ASSIGN(Value centred, writer->ApplyZeroPoint(level, codes, linear));
  return writer->ApplyScale(level, centred, linear.scale);
}

}  // namespace tessera::decoders
