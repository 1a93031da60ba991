// FunctionUniformProto: bytes that operators of somebody else convert.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tessera/codecs/custom_operators.h"
#include "tessera/codecs/native/bits.h"
#include "tessera/codecs/native/builder.h"

namespace tessera::native {
namespace {

class FunctionCodec final : public Codec {
 public:
  FunctionCodec(Common common, const FunctionProfile& profile, uint64_t bit, uint64_t bits)
      : Codec(std::move(common)), profile_(profile), bit_(bit), bits_(bits) {}

 private:
  std::vector<int64_t> Shape() const { return {shape().begin(), shape().end()}; }

  Result<void> DecodeOwn(const Source& source, const Given&, std::span<double> values) const override {
    const std::optional<CustomDequantizer> operation = FindDequantizer(profile_.dequantize_op);
    if (!operation) {
      return Fail(ErrorCode::kNoDecoder, "",
                  fmt::format("its codes are decoded by the operator {}, which is not registered",
                              Quoted(profile_.dequantize_op)),
                  "RegisterDequantizer(), or a decoder given with the type");
    }
    std::vector<uint8_t> bytes((bits_ + 7) / 8);
    for (uint64_t at = 0; at < bits_; at += 8) {
      bytes[at / 8] = static_cast<uint8_t>(
          ReadBits(source.bytes, source.bit + bit_ + at, static_cast<uint32_t>(std::min<uint64_t>(8, bits_ - at))));
    }
    std::vector<float> floats(values.size());
    TESSERA_TRY((*operation)(profile_, Shape(), bytes, floats));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(floats[i]);
    return {};
  }

  Result<void> EncodeOwn(std::span<const double> values, const Given&, const Sink& sink) const override {
    const std::optional<CustomQuantizer> operation = FindQuantizer(profile_.quantize_op);
    if (!operation) {
      return Fail(ErrorCode::kUnsupported, "",
                  profile_.quantize_op.empty()
                      ? "it names no operator that encodes"
                      : fmt::format("its codes are made by the operator {}, which is not registered",
                                    Quoted(profile_.quantize_op)),
                  "quantize_op, and RegisterQuantizer()");
    }
    std::vector<float> floats;
    for (double value : values) floats.push_back(static_cast<float>(value));
    std::vector<uint8_t> bytes((bits_ + 7) / 8);
    TESSERA_TRY((*operation)(profile_, Shape(), floats, bytes));
    for (uint64_t at = 0; at < bits_; at += 8) {
      WriteBits(sink.bytes, sink.bit + bit_ + at, static_cast<uint32_t>(std::min<uint64_t>(8, bits_ - at)),
                bytes[at / 8]);
    }
    return {};
  }

  FunctionProfile profile_;
  uint64_t bit_;
  uint64_t bits_;
};

}  // namespace

Result<CodecPtr> BuildFunction(Builder* builder, const Level& level) {
  TESSERA_ASSIGN(const Builder::Part part, builder->Codes(level.type));
  return std::make_unique<FunctionCodec>(builder->CommonOf(level), std::get<FunctionProfile>(level.profile->kind),
                                         part.bit, part.count * part.stride);
}

}  // namespace tessera::native
