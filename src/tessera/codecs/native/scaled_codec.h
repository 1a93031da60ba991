// Families whose numbers are shifted by a zero point and multiplied with a scale, constant or stored. Private to
// codecs/.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tessera/codecs/native/builder.h"
#include "tessera/codecs/native/codec.h"

namespace tessera::native {

// A scale or a zero point.
struct Parameter {
  enum class Source : uint8_t { kAbsent, kConstant, kStored, kGiven };
  Source source = Source::kAbsent;
  double constant = 0;
  // Stored in the declaration itself: `count` numbers, which `profile` encodes if there is one.
  uint64_t bit = 0;
  uint64_t count = 1;
  ElementType type = ElementType::kUndefined;
  CodecPtr profile;
  bool power_of_two = false;  // what is stored can be nothing else

  bool is_stored() const { return source == Source::kStored || source == Source::kGiven; }
};

class ScaledCodec : public Codec {
 public:
  struct Scaling {
    Parameter scale;
    Parameter zero_point;
    // Where a parameter is stored per channel: value i has channel (i / inner) % channels, in the order of memory.
    uint64_t channels = 1;
    uint64_t inner = 1;
  };
  // The parameters of a level; `axis` is that of its channels. Errors: kNotAProfile.
  static Result<Scaling> ScalingOf(Builder* builder, const Level& level, const Scale& scale,
                                   const ZeroPoint& zero_point, int32_t axis);

  double WantedScale(const Range& range) const override;
  double WantedZeroPoint(const Range& range, double scale) const override;

 protected:
  ScaledCodec(Common common, Scaling scaling) : Codec(std::move(common)), scaling_(std::move(scaling)) {}

  // The numbers of codes, before they are shifted and scaled.
  virtual Result<void> DecodeNumbers(const Source& source, std::span<double> numbers) const = 0;
  // Codes of numbers / scale, which a zero point is added to. `numbers` has NaN where the values have.
  virtual Result<void> EncodeNumbers(std::span<const double> numbers, std::span<const double> zero_points,
                                     const Sink& sink) const = 0;
  // The largest magnitude that codes reach with this zero point, and the range of codes, of integers.
  virtual double Largest(double zero_point) const = 0;
  virtual IntegerRange Codes() const { return {}; }
  virtual bool RoundsZeroPoint() const { return true; }

  double ZeroPointOf(uint64_t value, std::span<const double> zero_points) const {
    return zero_points[zero_points.size() == 1 ? 0 : ChannelOf(value)];
  }

 private:
  Result<void> DecodeOwn(const Source& source, const Given& given, std::span<double> values) const final;
  Result<void> EncodeOwn(std::span<const double> values, const Given& given, const Sink& sink) const final;
  uint64_t ChannelOf(uint64_t value) const { return value / scaling_.inner % scaling_.channels; }
  Result<std::vector<double>> Read(const Parameter& parameter, const Source& source, double given, double absent) const;
  // What the sink holds after `wanted` was stored.
  Result<std::vector<double>> Write(const Parameter& parameter, std::span<const double> wanted, const Sink& sink) const;

  Scaling scaling_;
};

}  // namespace tessera::native
