// CastUniformProto: the values in another type.
#include "tessera/codecs/native/bits.h"
#include "tessera/codecs/native/builder.h"

namespace tessera::native {
namespace {

class CastCodec final : public Codec {
 public:
  // Scales, `parameter`, are finite, and powers of two among them rounded down.
  CastCodec(Common common, ElementType type, uint64_t bit, bool parameter)
      : Codec(std::move(common)), type_(type), bits_(BitWidth(type)), bit_(bit), parameter_(parameter) {}

 private:
  Result<void> DecodeOwn(const Source& source, const Given&, std::span<double> values) const override {
    for (size_t i = 0; i < values.size(); ++i) {
      const uint64_t code = ReadBits(source.bytes, source.bit + bit_ + i * bits_, bits_);
      values[i] = NumberOfCode(arithmetic(), type_, bits_, code);
    }
    return {};
  }
  Result<void> EncodeOwn(std::span<const double> values, const Given&, const Sink& sink) const override {
    const Beyond beyond = bits_ < 16 || parameter_ ? Beyond::kLargest : Beyond::kInfinity;
    for (size_t i = 0; i < values.size(); ++i) {
      const uint64_t code = CodeOfNumber(type_, bits_, values[i], beyond, /*up=*/!parameter_);
      WriteBits(sink.bytes, sink.bit + bit_ + i * bits_, bits_, code);
    }
    return {};
  }

  ElementType type_;
  uint32_t bits_;
  uint64_t bit_;
  bool parameter_;
};

}  // namespace

CodecPtr Builder::Numbers(ElementType type, const std::vector<uint64_t>& shape) const {
  Codec::Common common;
  common.arithmetic = arithmetic_;
  common.count = 1;
  for (uint64_t dim : shape) common.count *= dim;
  common.shape = shape;
  return std::make_unique<CastCodec>(std::move(common), type, 0, /*parameter=*/true);
}

Result<CodecPtr> BuildCast(Builder* builder, const Level& level) {
  TESSERA_ASSIGN(const Builder::Part part, builder->Codes(level.type));
  const ElementType type = std::get<CastProfile>(level.profile->kind).storage_type;
  return std::make_unique<CastCodec>(builder->CommonOf(level), type, part.bit, /*parameter=*/false);
}

}  // namespace tessera::native
