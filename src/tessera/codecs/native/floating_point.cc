// FloatingPointUniformProto: the exact value of each code, times the scale.
#include "tessera/codecs/native/bits.h"
#include "tessera/codecs/native/scaled_codec.h"

namespace tessera::native {
namespace {

class FloatingPointCodec final : public ScaledCodec {
 public:
  FloatingPointCodec(Common common, Scaling scaling, const FloatingPointProfile& profile, uint64_t bit)
      : ScaledCodec(std::move(common), std::move(scaling)), profile_(profile), bit_(bit) {
    bits_ = static_cast<uint32_t>(profile.sign_bits + profile.exponent_bits + profile.mantissa_bits);
    per_group_ =
        profile.packed_count == 0 ? std::max<uint64_t>(1, count()) : static_cast<uint64_t>(profile.packed_count);
    group_bits_ = static_cast<uint64_t>(profile.packed_bytes) * 8;
  }

 private:
  // Where the two parts of code i lie: all of it, or sign and exponent before the mantissas of the group.
  struct Places {
    uint64_t high = 0;
    uint64_t mantissa = 0;
  };
  Places PlacesOf(uint64_t i) const {
    const uint64_t group = bit_ + i / per_group_ * group_bits_;
    const uint64_t at = i % per_group_;
    const auto mantissa_bits = static_cast<uint64_t>(profile_.mantissa_bits);
    const uint64_t high_bits = bits_ - mantissa_bits;
    if (profile_.split_storage) return {group + at * high_bits, group + per_group_ * high_bits + at * mantissa_bits};
    return {group + at * bits_ + mantissa_bits, group + at * bits_};
  }

  Result<void> DecodeNumbers(const Source& source, std::span<double> numbers) const override {
    const auto mantissa_bits = static_cast<uint32_t>(profile_.mantissa_bits);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const Places places = PlacesOf(i);
      uint64_t code = ReadBits(source.bytes, source.bit + places.high, bits_ - mantissa_bits) << mantissa_bits;
      if (mantissa_bits > 0) code |= ReadBits(source.bytes, source.bit + places.mantissa, mantissa_bits);
      numbers[i] = arithmetic().Round(FloatOfCode(profile_, code));
    }
    return {};
  }

  Result<void> EncodeNumbers(std::span<const double> numbers, std::span<const double>,
                             const Sink& sink) const override {
    const auto mantissa_bits = static_cast<uint32_t>(profile_.mantissa_bits);
    for (size_t i = 0; i < numbers.size(); ++i) {
      const Places places = PlacesOf(i);
      const uint64_t code = CodeOfFloat(profile_, numbers[i], Beyond::kLargest);
      WriteBits(sink.bytes, sink.bit + places.high, bits_ - mantissa_bits, code >> mantissa_bits);
      if (mantissa_bits > 0) {
        const uint64_t mantissa = code & ((uint64_t{1} << mantissa_bits) - 1);
        WriteBits(sink.bytes, sink.bit + places.mantissa, mantissa_bits, mantissa);
      }
    }
    return {};
  }

  double Largest(double) const override { return FloatOfCode(profile_, LargestCode(profile_)); }

  FloatingPointProfile profile_;
  uint64_t bit_;
  uint32_t bits_ = 0;
  uint64_t per_group_ = 1;
  uint64_t group_bits_ = 0;
};

}  // namespace

Result<CodecPtr> BuildFloatingPoint(Builder* builder, const Level& level) {
  const auto& profile = std::get<FloatingPointProfile>(level.profile->kind);
  TESSERA_ASSIGN(ScaledCodec::Scaling scaling,
                 ScaledCodec::ScalingOf(builder, level, profile.scale, ZeroPoint(int64_t{0}), 0));
  TESSERA_ASSIGN(const Builder::Part part, builder->Codes(level.type));
  return std::make_unique<FloatingPointCodec>(builder->CommonOf(level), std::move(scaling), profile, part.bit);
}

}  // namespace tessera::native
