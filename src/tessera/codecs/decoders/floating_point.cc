// FloatingPointUniformProto: the exact value of each code, times the scale.
#include "tessera/codecs/decoders/decoder_writer.h"

namespace tessera::decoders {
namespace {

// The parts of the codes in the fields of a group: components of bit packings, and mantissas apart.
Result<FloatParts> PartsOf(DecoderWriter* writer, const Place& place, const FloatingPointProfile& format) {
  TESSERA_ASSIGN(const std::string packed, CodesField(*writer, place));
  auto part = [&](const std::string& path) { return writer->Field(place, path, ElementType::kInt32); };
  FloatParts parts;
  if (format.sign_bits > 0) {
    TESSERA_ASSIGN(parts.sign, part(packed + ".sign"));
  }
  TESSERA_ASSIGN(parts.exponent, part(packed + ".exponent"));
  if (format.split_storage) {
    const quant::Reader reader = writer->Read(place.type);
    const PhysicalType* mantissa = reader.FindPart("mantissa");
    const bool packing = mantissa != nullptr && std::holds_alternative<BitPackingType>(mantissa->kind);
    TESSERA_ASSIGN(parts.mantissa, part(packing ? "mantissa.mantissa" : "mantissa"));
  } else if (format.mantissa_bits > 0) {
    TESSERA_ASSIGN(parts.mantissa, part(packed + ".mantissa"));
  }
  return parts;
}

Result<Value> Codes(DecoderWriter* writer, const Level& level, const FloatingPointProfile& format) {
  FunctionBuilder& b = writer->builder();
  const int64_t batch = level.place.batch;
  const quant::Reader reader = writer->Read(level.place.type);
  TESSERA_ASSIGN(const std::string field, CodesField(*writer, level.place));
  const PhysicalType* type = reader.FindPart(field);
  if (reader.Has("sign_bits")) {
    if (quant::ElementOf(*type) != ElementType::kUint8) return writer->Field(level.place, field, writer->compute());
    TESSERA_ASSIGN(Value values, writer->Field(level.place, field));
    TESSERA_ASSIGN(Value bias, writer->Field(level.place, "exponent_bias"));
    const auto bits = static_cast<uint32_t>(format.sign_bits + format.exponent_bits + format.mantissa_bits);
    Value codes;
    if (format.packed_count == 0) {
      TESSERA_ASSIGN(codes, writer->Unpack(values, bits, level.values));
    } else {
      const int64_t per_group = format.packed_count;
      const int64_t groups = (level.values + per_group - 1) / per_group;
      TESSERA_ASSIGN(codes, writer->Unpack(b.Reshape(values, {batch * groups, format.packed_bytes}), bits, per_group));
      codes = b.Slice(b.Reshape(codes, {batch, groups * per_group}), 1, 0, level.values);
    }
    return FloatFromCodes(&b, writer->compute(), codes, format, bias);
  }
  Place place = level.place;
  if (type != nullptr && quant::Recoverer::Target(*type) >= 0) {
    TESSERA_ASSIGN(place, writer->Inside(level.place, field));
  }
  TESSERA_ASSIGN(Value bias, writer->Field(place, "exponent_bias"));
  TESSERA_ASSIGN(FloatParts parts, PartsOf(writer, place, format));
  const Value values = FloatFromParts(&b, writer->compute(), parts, format, bias);
  // All groups are whole; the last may have more codes than there are values.
  const int64_t count = CountOf(values.dims);
  return b.Slice(b.Reshape(values, {batch, batch == 0 ? 0 : count / batch}), 1, 0, level.values);
}

}  // namespace

Result<Value> DecodeFloatingPoint(DecoderWriter* writer, const Level& level) {
  const auto& format = std::get<FloatingPointProfile>(level.profile->kind);
  TESSERA_ASSIGN(Value values, Codes(writer, level, format));
  return writer->ApplyScale(level, values, format.scale);
}

}  // namespace tessera::decoders
