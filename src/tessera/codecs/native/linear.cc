// LinearUniformProto: (code - zero_point) * scale.
#include <cmath>

#include "tessera/codecs/native/bits.h"
#include "tessera/codecs/native/scaled_codec.h"

namespace tessera::native {
namespace {

class LinearCodec final : public ScaledCodec {
 public:
  LinearCodec(Common common, Scaling scaling, const LinearProfile& profile, uint64_t bit)
      : ScaledCodec(std::move(common), std::move(scaling)),
        type_(profile.storage_type),
        bits_(static_cast<uint32_t>(profile.bits)),
        bit_(bit),
        rounds_zero_point_(!IsFloatStored(profile.zero_point)) {}

 private:
  static bool IsFloatStored(const ZeroPoint& zero_point) {
    const auto* stored = std::get_if<Stored>(&zero_point);
    const auto* type = stored == nullptr ? nullptr : std::get_if<ElementType>(&stored->type);
    return stored != nullptr && (type == nullptr || !IsInteger(*type));
  }

  Result<void> DecodeNumbers(const Source& source, std::span<double> numbers) const override {
    for (size_t i = 0; i < numbers.size(); ++i) {
      const uint64_t code = ReadBits(source.bytes, source.bit + bit_ + i * bits_, bits_);
      numbers[i] = NumberOfCode(arithmetic(), type_, bits_, code);
    }
    return {};
  }

  Result<void> EncodeNumbers(std::span<const double> numbers, std::span<const double> zero_points,
                             const Sink& sink) const override {
    const IntegerRange range = Codes();
    for (size_t i = 0; i < numbers.size(); ++i) {
      const double zero_point = ZeroPointOf(i, zero_points);
      const double x = numbers[i];
      uint64_t code = 0;
      if (IsInteger(type_)) {
        code = IntegerCode(std::isnan(x) ? 0 : x, std::isnan(zero_point) ? 0 : zero_point, range, bits_);
      } else {
        code = CodeOfNumber(type_, bits_, zero_point == 0 ? x : arithmetic().Round(x + zero_point), Beyond::kLargest,
                            /*up=*/true);
      }
      WriteBits(sink.bytes, sink.bit + bit_ + i * bits_, bits_, code);
    }
    return {};
  }

  double Largest(double zero_point) const override { return LargestOf(type_, bits_, zero_point); }
  // Of floats, whose zero point stays 0: as far as they reach on both sides.
  IntegerRange Codes() const override { return IsInteger(type_) ? RangeOf(type_, bits_) : IntegerRange{}; }
  bool RoundsZeroPoint() const override { return rounds_zero_point_; }

  ElementType type_;
  uint32_t bits_;
  uint64_t bit_;
  bool rounds_zero_point_;
};

}  // namespace

Result<CodecPtr> BuildLinear(Builder* builder, const Level& level) {
  const auto& linear = std::get<LinearProfile>(level.profile->kind);
  TESSERA_ASSIGN(ScaledCodec::Scaling scaling,
                 ScaledCodec::ScalingOf(builder, level, linear.scale, linear.zero_point, linear.axis));
  uint64_t bit = level.codes_bit.value_or(0);
  if (!level.codes_bit) {
    TESSERA_ASSIGN(const Builder::Part part, builder->Codes(level.type));
    bit = part.bit;
  }
  return std::make_unique<LinearCodec>(builder->CommonOf(level), std::move(scaling), linear, bit);
}

}  // namespace tessera::native
