// CastUniformProto: the values in another type. Floats of 16 bits and more overflow to infinity, as ONNX's Cast has it.
#include <fmt/format.h>

#include "tessera/codecs/encoders/encoder_writer.h"

namespace tessera::encoders {
namespace {

Value CodesOf(EncoderWriter* writer, const Value& values, ElementType type) {
  FunctionBuilder& b = writer->builder();
  const ElementInfo& info = Info(type);
  if (info.kind == ElementKind::kBool) {
    // Whatever is not 0 is true, a NaN too.
    const Value zero = b.Equal(values, writer->Number(0));
    return b.Where(zero, b.Scalar(ElementType::kInt32, 0), b.Scalar(ElementType::kInt32, 1));
  }
  Value nan;
  const Value numbers = writer->WithoutNan(values, &nan);
  if (info.kind != ElementKind::kFloat) {
    return IntegerCodes(&b, numbers, RangeOf(type, info.bits), info.bits, {{0}});
  }
  return FloatTypeCodes(&b, numbers, nan, type, info.bits < 16 ? Beyond::kLargest : Beyond::kInfinity);
}

}  // namespace

Result<void> EncodeCast(EncoderWriter* writer, const Level& level, const Value& values) {
  const ElementType type = std::get<CastProfile>(level.profile->kind).storage_type;
  const ElementInfo& info = Info(type);
  if (info.kind == ElementKind::kComplex) {
    return writer->NoEncoder(fmt::format("{} has no operators", info.name), "a type of real numbers");
  }
  const Value codes = CodesOf(writer, values, type);
  if (!writer->Read(level.place.type).is_structure()) {
    const auto [place, field] = decoders::BareArray(level.place);
    writer->Store(place, field, codes, info.bits);
    return {};
  }
  TESSERA_ASSIGN(const std::string field, decoders::CodesField(writer->Read(level.place.type)));
  return writer->StoreCodes(level.place, field, codes, info.bits);
}

}  // namespace tessera::encoders
