#include "tessera/codecs/native/scaled_codec.h"

#include <algorithm>
#include <cmath>

#include "tessera/codecs/native/bits.h"

namespace tessera::native {
namespace {

Result<Parameter> StoredParameter(Builder* builder, const Level& level, const Stored& stored, std::string_view name,
                                  uint64_t channels) {
  Parameter parameter;
  parameter.source = Parameter::Source::kStored;
  const auto* profile = std::get_if<Box<Profile>>(&stored.type);
  // Further out: what belongs to the whole tensor, and the parameters of all tiles that a profile quantizes together.
  const bool outer =
      (stored.per == Stored::Per::kTensor && level.in_tile) || (profile != nullptr && stored.per == Stored::Per::kTile);
  if (profile == nullptr) parameter.type = std::get<ElementType>(stored.type);
  const auto* cast = profile == nullptr ? nullptr : std::get_if<CastProfile>(&(*profile)->kind);
  const ElementType stored_type = cast != nullptr ? cast->storage_type : parameter.type;
  parameter.power_of_two = stored_type != ElementType::kUndefined && IsPowerOfTwoType(stored_type);
  if (outer) {
    parameter.source = Parameter::Source::kGiven;
    return parameter;
  }
  parameter.count = stored.per == Stored::Per::kChannel ? channels : 1;
  TESSERA_ASSIGN(const Builder::Part part, builder->Find(level.type, name));
  parameter.bit = part.bit;
  if (profile != nullptr) {
    TESSERA_ASSIGN(parameter.profile, builder->Build(Builder::Plain(**profile, part.target, {parameter.count})));
  }
  return parameter;
}

}  // namespace

Result<ScaledCodec::Scaling> ScaledCodec::ScalingOf(Builder* builder, const Level& level, const Scale& scale,
                                                    const ZeroPoint& zero_point, int32_t axis) {
  Scaling scaling;
  const Arithmetic& arithmetic = builder->arithmetic();
  const auto* stored_scale = std::get_if<Stored>(&scale);
  const auto* stored_zero = std::get_if<Stored>(&zero_point);
  const bool per_channel = (stored_scale != nullptr && stored_scale->per == Stored::Per::kChannel) ||
                           (stored_zero != nullptr && stored_zero->per == Stored::Per::kChannel);
  if (per_channel) {
    const auto channel_axis = static_cast<size_t>(axis);
    scaling.channels = level.shape[channel_axis];
    // What lies inside of that axis in memory.
    for (size_t i = level.order.size(); i-- > 0 && level.order[i] != channel_axis;) {
      scaling.inner *= level.shape[level.order[i]];
    }
    scaling.inner = std::max<uint64_t>(1, scaling.inner);
  }
  if (stored_scale != nullptr) {
    TESSERA_ASSIGN(scaling.scale, StoredParameter(builder, level, *stored_scale, "scale", scaling.channels));
  } else if (const auto* number = std::get_if<float>(&scale)) {
    scaling.scale.source = Parameter::Source::kConstant;
    scaling.scale.constant = *number;
  } else if (const auto* power = std::get_if<ScaleExponent>(&scale)) {
    scaling.scale.source = Parameter::Source::kConstant;
    scaling.scale.constant = arithmetic.PowerOfTwo(power->exponent);
  }
  if (stored_zero != nullptr) {
    TESSERA_ASSIGN(scaling.zero_point, StoredParameter(builder, level, *stored_zero, "zero_point", scaling.channels));
  } else if (const int64_t zero = std::get<int64_t>(zero_point); zero != 0) {
    scaling.zero_point.source = Parameter::Source::kConstant;
    scaling.zero_point.constant = arithmetic.FromInteger(zero);
  }
  return scaling;
}

// ---- Decoding

Result<std::vector<double>> ScaledCodec::Read(const Parameter& parameter, const Source& source, double given,
                                              double absent) const {
  switch (parameter.source) {
    case Parameter::Source::kAbsent:
      return std::vector<double>{absent};
    case Parameter::Source::kConstant:
      return std::vector<double>{parameter.constant};
    case Parameter::Source::kGiven:
      return std::vector<double>{given};
    case Parameter::Source::kStored:
      break;
  }
  std::vector<double> numbers(parameter.count);
  if (parameter.profile != nullptr) {
    TESSERA_TRY(parameter.profile->Decode(source.At(parameter.bit), {}, numbers));
    return numbers;
  }
  const uint32_t bits = BitWidth(parameter.type);
  for (size_t i = 0; i < numbers.size(); ++i) {
    const uint64_t code = ReadBits(source.bytes, source.bit + parameter.bit + i * bits, bits);
    numbers[i] = NumberOfCode(arithmetic(), parameter.type, bits, code);
  }
  return numbers;
}

Result<void> ScaledCodec::DecodeOwn(const Source& source, const Given& given, std::span<double> values) const {
  TESSERA_TRY(DecodeNumbers(source, values));
  const bool shifted = scaling_.zero_point.source != Parameter::Source::kAbsent;
  const bool scaled = scaling_.scale.source != Parameter::Source::kAbsent;
  TESSERA_ASSIGN(const std::vector<double> zero_points, Read(scaling_.zero_point, source, given.zero_point, 0));
  TESSERA_ASSIGN(const std::vector<double> scales, Read(scaling_.scale, source, given.scale, 1));
  for (size_t i = 0; i < values.size(); ++i) {
    if (shifted) values[i] = arithmetic().Round(values[i] - ZeroPointOf(i, zero_points));
    if (scaled) values[i] = arithmetic().Round(values[i] * scales[scales.size() == 1 ? 0 : ChannelOf(i)]);
  }
  return {};
}

// ---- Encoding

double ScaledCodec::WantedScale(const Range& range) const {
  const Parameter& zero_point = scaling_.zero_point;
  const bool power = scaling_.scale.power_of_two;
  double scale = 0;
  if (zero_point.is_stored()) {
    const IntegerRange codes = Codes();
    const double steps = static_cast<double>(codes.high) - static_cast<double>(codes.low);
    // In halves, since the difference may be beyond all numbers.
    const double half = range.high / 2 - range.low / 2;
    scale = half / ScaleDivisor(arithmetic(), steps / 2, power);
  } else if (const double largest = Largest(zero_point.constant); largest > 0) {
    scale = range.Magnitude() / ScaleDivisor(arithmetic(), largest, power);
  }
  scale = std::min(arithmetic().Round(scale), arithmetic().Most());
  return power && scale > 0 ? std::ldexp(1.0, std::ilogb(scale)) : scale;
}

double ScaledCodec::WantedZeroPoint(const Range& range, double scale) const {
  const IntegerRange codes = Codes();
  const double least = scale == 0 || !std::isfinite(scale) ? 0 : arithmetic().Round(range.low / scale);
  const double zero_point = static_cast<double>(codes.low) - least;
  if (!RoundsZeroPoint()) return arithmetic().Round(zero_point);
  return std::clamp(std::nearbyint(zero_point), static_cast<double>(codes.low), static_cast<double>(codes.high));
}

Result<std::vector<double>> ScaledCodec::Write(const Parameter& parameter, std::span<const double> wanted,
                                               const Sink& sink) const {
  if (parameter.profile != nullptr) {
    TESSERA_TRY(parameter.profile->Encode(wanted, {}, sink.At(parameter.bit)));
  } else {
    const uint32_t bits = BitWidth(parameter.type);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const uint64_t code = CodeOfNumber(parameter.type, bits, wanted[i], Beyond::kLargest, /*up=*/false);
      WriteBits(sink.bytes, sink.bit + parameter.bit + i * bits, bits, code);
    }
  }
  return Read(parameter, {sink.bytes, sink.bit}, 0, 0);
}

Result<void> ScaledCodec::EncodeOwn(std::span<const double> values, const Given& given, const Sink& sink) const {
  const Source so_far = {sink.bytes, sink.bit};
  TESSERA_ASSIGN(std::vector<double> scales, Read(scaling_.scale, so_far, given.scale, 1));
  TESSERA_ASSIGN(std::vector<double> zero_points, Read(scaling_.zero_point, so_far, given.zero_point, 0));
  const bool store_scale = scaling_.scale.source == Parameter::Source::kStored;
  const bool store_zero = scaling_.zero_point.source == Parameter::Source::kStored;
  if (store_scale || store_zero) {
    std::vector<Range> ranges(scaling_.channels);
    const double most = arithmetic().Most();
    for (size_t i = 0; i < values.size(); ++i) ranges[ChannelOf(i)].Add(values[i], most);
    Range all;
    for (const Range& range : ranges) all.Add(range);
    auto range_of = [&](size_t channel, size_t count) { return count == 1 ? all : ranges[channel]; };
    if (store_scale) {
      for (size_t k = 0; k < scales.size(); ++k) scales[k] = WantedScale(range_of(k, scales.size()));
      TESSERA_ASSIGN(scales, Write(scaling_.scale, scales, sink));
    }
    if (store_zero) {
      for (size_t k = 0; k < zero_points.size(); ++k) {
        // Where the scale has more channels than the zero point, the finest serves all.
        const double scale =
            scales.size() == zero_points.size() ? scales[k] : *std::min_element(scales.begin(), scales.end());
        zero_points[k] = WantedZeroPoint(range_of(k, zero_points.size()), scale);
      }
      TESSERA_ASSIGN(zero_points, Write(scaling_.zero_point, zero_points, sink));
    }
  }
  std::vector<double> numbers(values.begin(), values.end());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double scale = scales[scales.size() == 1 ? 0 : ChannelOf(i)];
    if (std::isnan(numbers[i])) continue;
    // What is multiplied with 0 means 0 whatever its code.
    numbers[i] = scale == 0 || !std::isfinite(scale) ? 0 : arithmetic().Round(numbers[i] / scale);
  }
  return EncodeNumbers(numbers, zero_points, sink);
}

}  // namespace tessera::native
