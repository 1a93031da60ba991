// LogUniformProto: sign * base^(code + offset).
#include <algorithm>
#include <cmath>

#include "tessera/codecs/native/bits.h"
#include "tessera/codecs/native/builder.h"

namespace tessera::native {
namespace {

class LogCodec final : public Codec {
 public:
  LogCodec(Common common, const LogProfile& profile, uint64_t codes, uint64_t signs)
      : Codec(std::move(common)),
        bits_(static_cast<uint32_t>(profile.bits)),
        base_(profile.base),
        offset_(profile.offset),
        has_sign_(profile.has_sign),
        codes_(codes),
        signs_(signs) {
    int exponent = 0;
    if (std::frexp(base_, &exponent) == 0.5) power_ = exponent - 1;
  }

 private:
  double Magnitude(uint64_t code) const {
    const double exponent = arithmetic().Round(arithmetic().FromUnsigned(code) + offset_);
    // Exact where the base is a power of two and the exponent a whole number.
    const double whole = exponent * power_;
    if (power_ != 0 && whole == std::nearbyint(whole) && std::abs(whole) < 1e9) {
      return arithmetic().PowerOfTwo(static_cast<int64_t>(whole));
    }
    return arithmetic().Round(std::pow(base_, exponent));
  }
  // Between this code and the next, in the logarithm.
  double Middle(int64_t code) const { return std::pow(base_, static_cast<double>(code) + 0.5 + offset_); }

  int64_t CodeOf(double magnitude) const {
    const auto last = static_cast<int64_t>((uint64_t{1} << bits_) - 1);
    const bool grows = base_ > 1;
    // The ends, also where the middles between codes are 0 or infinite.
    if (magnitude == 0 || std::isinf(magnitude)) return (magnitude > 0) == grows ? last : 0;
    const double guess = std::nearbyint(std::log(magnitude) / std::log(base_) - offset_);
    auto code = static_cast<int64_t>(std::clamp(guess, 0.0, static_cast<double>(last)));
    // The logarithm is rounded; the middles decide. What lies on one goes to the even code.
    auto past = [&](int64_t k) {
      const double middle = Middle(k);
      if (magnitude == middle) return k % 2 != 0;
      return (magnitude > middle) == grows;
    };
    while (code < last && past(code)) ++code;
    while (code > 0 && !past(code - 1)) --code;
    return code;
  }

  Result<void> DecodeOwn(const Source& source, const Given&, std::span<double> values) const override {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = Magnitude(ReadBits(source.bytes, source.bit + codes_ + i * bits_, bits_));
      if (has_sign_ && ReadBits(source.bytes, source.bit + signs_ + i, 1) != 0) values[i] = -values[i];
    }
    return {};
  }

  Result<void> EncodeOwn(std::span<const double> values, const Given&, const Sink& sink) const override {
    for (size_t i = 0; i < values.size(); ++i) {
      const double x = std::isnan(values[i]) ? 0 : values[i];
      const int64_t code = CodeOf(has_sign_ ? std::abs(x) : std::max(x, 0.0));
      WriteBits(sink.bytes, sink.bit + codes_ + i * bits_, bits_, static_cast<uint64_t>(code));
      if (has_sign_) WriteBits(sink.bytes, sink.bit + signs_ + i, 1, std::signbit(x) ? 1 : 0);
    }
    return {};
  }

  uint32_t bits_;
  double base_;
  double offset_;
  bool has_sign_;
  uint64_t codes_;
  uint64_t signs_;
  int power_ = 0;  // of two
};

}  // namespace

Result<CodecPtr> BuildLog(Builder* builder, const Level& level) {
  const auto& log = std::get<LogProfile>(level.profile->kind);
  TESSERA_ASSIGN(const Builder::Part codes, builder->Codes(level.type));
  Builder::Part signs;
  if (log.has_sign) {
    TESSERA_ASSIGN(signs, builder->Find(level.type, "signs"));
  }
  return std::make_unique<LogCodec>(builder->CommonOf(level), log, codes.bit, signs.bit);
}

}  // namespace tessera::native
