// FloatingPointUniformProto: the code whose number is nearest to value / scale.
#include "tessera/codecs/encoders/encoder_writer.h"

namespace tessera::encoders {
namespace {

// The codes where the translation put them: see quant/families/floating_point.cc.
Result<void> StoreFloats(EncoderWriter* writer, const Level& level, const FloatingPointProfile& format,
                         const Value& codes) {
  FunctionBuilder& b = writer->builder();
  const quant::Reader reader = writer->Read(level.place.type);
  TESSERA_ASSIGN(std::string field, decoders::CodesField(reader));
  const PhysicalType* type = reader.FindPart(field);
  const auto bits = static_cast<uint32_t>(format.sign_bits + format.exponent_bits + format.mantissa_bits);
  const int64_t per_group = format.packed_count;
  if (reader.Has("sign_bits")) {
    if (per_group == 0 || quant::ElementOf(*type) != ElementType::kUint8)
      return writer->StoreCodes(level.place, field, codes, bits);
    writer->StoreGroups(level.place, field, codes, bits, per_group, format.packed_bytes);
    return {};
  }
  // All groups are whole; the last may have more codes than there are values.
  Value all = codes;
  if (per_group > 0) all = writer->PaddedTo(codes, (level.values + per_group - 1) / per_group * per_group);
  Place place = level.place;
  if (quant::Recoverer::Target(*type) >= 0) {
    TESSERA_ASSIGN(place, decoders::Inside(reader, level.place, field));
    TESSERA_ASSIGN(field, decoders::CodesField(writer->Read(place.type)));
  }
  if (!format.split_storage) {
    writer->Store(place, field, all, bits);
    return {};
  }
  const int64_t one = int64_t{1} << format.mantissa_bits;
  const auto mantissa_bits = static_cast<uint32_t>(format.mantissa_bits);
  // Each of the two has few bits, though all of them may be many.
  writer->Store(place, field, b.Cast(b.Div(all, one), ElementType::kInt32), bits - mantissa_bits);
  writer->Store(place, "mantissa", b.Cast(b.Mod(all, one), ElementType::kInt32), mantissa_bits);
  return {};
}

}  // namespace

Result<void> EncodeFloatingPoint(EncoderWriter* writer, const Level& level, const Value& values) {
  const auto& format = std::get<FloatingPointProfile>(level.profile->kind);
  Value nan;
  const Value numbers = writer->WithoutNan(values, &nan);
  TESSERA_ASSIGN(const Value quotients, writer->Quotients(level, numbers, format.scale, LargestOf(format)));
  return StoreFloats(writer, level, format, FloatCodes(&writer->builder(), quotients, nan, format, Beyond::kLargest));
}

}  // namespace tessera::encoders
