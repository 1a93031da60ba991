// CastUniformProto: the values in another type. Floats of 16 bits and more overflow to infinity, as ONNX's Cast has it.
#include "tessera/codecs/encoders/encoder_writer.h"

namespace tessera::encoders {

Result<void> EncodeCast(EncoderWriter* writer, const Level& level, const Value& values) {
  FunctionBuilder& b = writer->builder();
  const ElementType type = std::get<CastProfile>(level.profile->kind).storage_type;
  const ElementInfo& info = Info(type);
  Value nan;
  const Value numbers = writer->WithoutNan(values, &nan);
  const Value codes =
      info.kind == ElementKind::kFloat
          ? FloatTypeCodes(&b, numbers, nan, type, info.bits < 16 ? Beyond::kLargest : Beyond::kInfinity)
          : IntegerCodes(&b, numbers, RangeOf(type, info.bits), info.bits, {{0}});
  if (!writer->Read(level.place.type).is_structure()) {
    const auto [place, field] = decoders::BareArray(level.place);
    writer->Store(place, field, codes, info.bits);
    return {};
  }
  TESSERA_ASSIGN(const std::string field, decoders::CodesField(writer->Read(level.place.type)));
  return writer->StoreCodes(level.place, field, codes, info.bits);
}

}  // namespace tessera::encoders
