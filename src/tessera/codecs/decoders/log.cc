// LogUniformProto: sign * base^(code + offset).
#include <cmath>
#include <numeric>

#include "tessera/codecs/decoders/decoder_writer.h"

namespace tessera::decoders {
namespace {

// log2 of a base that is a power of two, where base^(code + offset) is one as well for every code; 0 otherwise.
int ExactLog(const LogProfile& log) {
  int exponent = 0;
  if (std::frexp(log.base, &exponent) != 0.5F) return 0;
  const int power = exponent - 1;
  const double offset = static_cast<double>(log.offset) * power;
  return offset == std::floor(offset) && std::abs(offset) < 1'000'000 ? power : 0;
}

// Of codes in the compute type.
Result<Value> Magnitudes(DecoderWriter* writer, const Level& level, const LogProfile& log, const Value& codes) {
  FunctionBuilder& b = writer->builder();
  TESSERA_ASSIGN(Value offset, writer->Parameter(level.place, "offset"));
  const Value sum = b.Add(codes, offset);
  if (const int power = ExactLog(log); power != 0) {
    const Value factor = b.Const(MakeFloats(writer->compute(), {}, {{static_cast<double>(power)}}));
    return b.PowerOfTwo(b.Cast(power == 1 ? sum : b.Mul(sum, factor), ElementType::kInt32), writer->compute());
  }
  TESSERA_ASSIGN(Value base, writer->Parameter(level.place, "base"));
  return b.Pow(base, sum);
}

}  // namespace

Result<Value> DecodeLog(DecoderWriter* writer, const Level& level) {
  FunctionBuilder& b = writer->builder();
  const auto& log = std::get<LogProfile>(level.profile->kind);
  TESSERA_ASSIGN(const std::string field, CodesField(*writer, level.place));
  const auto bits = static_cast<uint32_t>(log.bits);
  TESSERA_ASSIGN(Value codes, writer->Codes(level.place, field, ElementType::kUndefined, bits, level.values));
  Value values;
  if (bits <= 8) {
    std::vector<double> all(size_t{1} << bits);
    std::iota(all.begin(), all.end(), 0.0);
    const Value every = b.Const(MakeFloats(writer->compute(), {static_cast<int64_t>(all.size())}, all));
    TESSERA_ASSIGN(Value table, Magnitudes(writer, level, log, every));
    values = b.Gather(table, b.Cast(codes, ElementType::kInt32));
  } else {
    TESSERA_ASSIGN(values, Magnitudes(writer, level, log, codes));
  }
  if (!log.has_sign) return values;
  TESSERA_ASSIGN(Value bytes, writer->Field(level.place, "signs"));
  TESSERA_ASSIGN(Value signs, writer->Unpack(bytes, 1, level.values));
  const Value one = b.Const(MakeFloats(writer->compute(), {}, {{1}}));
  const Value two = b.Const(MakeFloats(writer->compute(), {}, {{2}}));
  return b.Mul(values, b.Sub(one, b.Mul(b.Cast(signs, writer->compute()), two)));
}

}  // namespace tessera::decoders
