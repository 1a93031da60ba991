// LinearUniformProto: round(value / scale) + zero_point, within the range of the codes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/codecs/decoders/code_values.h"
#include "tessera/codecs/encoders/encoder_writer.h"

namespace tessera::encoders {
namespace {

// The number of steps from the zero point that codes have on both sides, or on the one side that has codes.
double LargestDistance(const IntegerRange& range, int64_t zero_point) {
  const double above = static_cast<double>(range.high) - static_cast<double>(zero_point);
  const double below = static_cast<double>(zero_point) - static_cast<double>(range.low);
  return above > 0 && below > 0 ? std::min(above, below) : std::max(above, below);
}

}  // namespace

Result<void> StoreLinear(EncoderWriter* writer, const Level& level, const Value& quotients, const Value& nan,
                         std::span<const int64_t> zero_points, const Dims& dims) {
  FunctionBuilder& b = writer->builder();
  const auto& linear = std::get<LinearProfile>(level.profile->kind);
  const auto bits = static_cast<uint32_t>(linear.bits);
  Value codes;
  if (Info(linear.storage_type).kind == ElementKind::kFloat) {
    Value numbers = quotients;
    if (std::any_of(zero_points.begin(), zero_points.end(), [](int64_t zero_point) { return zero_point != 0; })) {
      const std::vector<double> shifts(zero_points.begin(), zero_points.end());
      numbers = b.Add(quotients, b.Const(MakeFloats(writer->compute(), dims, shifts)));
      // -0 stays -0 where nothing is added.
      std::vector<int64_t> unshifted;
      for (int64_t zero_point : zero_points) unshifted.push_back(zero_point == 0 ? 1 : 0);
      if (std::count(unshifted.begin(), unshifted.end(), 1) > 0) {
        numbers = b.Where(b.Const(ElementType::kBool, dims, unshifted), quotients, numbers);
      }
    }
    codes = FloatTypeCodes(&b, numbers, nan, linear.storage_type, Beyond::kLargest);
  } else {
    const IntegerRange range = RangeOf(linear.storage_type, bits);
    std::vector<int64_t> rounded;
    for (int64_t zero_point : zero_points) {
      rounded.push_back(ZeroPointIn(quotients.type, zero_point).value_or(INT64_MAX));
      if (!HasCodes(quotients.type, range, rounded.back())) {
        return writer->NoEncoder(
            fmt::format("codes of {} bits around a zero point of {} take more than 64 bits", bits, zero_point),
            "a zero point of 0, or fewer bits");
      }
    }
    codes = IntegerCodes(&b, quotients, range, bits, rounded, dims);
  }
  codes = b.Reshape(codes, {level.place.batch, level.values});
  TESSERA_ASSIGN(const std::string field, decoders::CodesField(writer->Read(level.place.type)));
  return writer->StoreCodes(level.place, field, codes, bits);
}

Result<void> EncodeLinear(EncoderWriter* writer, const Level& level, const Value& values) {
  const auto& linear = std::get<LinearProfile>(level.profile->kind);
  const auto* zero_point = std::get_if<int64_t>(&linear.zero_point);
  if (zero_point == nullptr) {
    return writer->NoEncoder("zero points that are stored are the choice of whoever encodes", "a constant zero point");
  }
  const ElementInfo& info = Info(linear.storage_type);
  Value nan;
  const Value numbers = writer->WithoutNan(values, &nan);
  double largest = 0x1p127;
  if (info.kind != ElementKind::kFloat) {
    const int64_t rounded = ZeroPointIn(writer->compute(), *zero_point).value_or(INT64_MAX);
    largest = LargestDistance(RangeOf(linear.storage_type, static_cast<uint32_t>(linear.bits)), rounded);
  } else if (info.format.specials != FloatSpecials::kExponentOnly) {
    largest = LargestOf(decoders::FormatOf(linear.storage_type));
  }
  TESSERA_ASSIGN(const Value quotients, writer->Quotients(level, numbers, linear.scale, largest));
  return StoreLinear(writer, level, quotients, nan, {{*zero_point}}, {});
}

}  // namespace tessera::encoders
