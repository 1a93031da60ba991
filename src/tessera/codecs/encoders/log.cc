// LogUniformProto: round(log(|value|) / log(base) - offset), within the range of the codes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/codecs/encoders/encoder_writer.h"

namespace tessera::encoders {
namespace {

// Codes are found in a table of the magnitudes between them.
constexpr int32_t kMostBits = 16;

// Between code k and k + 1, ascending: a magnitude above belongs to the larger one.
std::vector<double> Thresholds(const LogProfile& log, ElementType type) {
  std::vector<double> thresholds;
  const int64_t count = int64_t{1} << log.bits;
  for (int64_t i = 0; i + 1 < count; ++i) {
    const bool grows = log.base > 1;
    const int64_t k = grows ? i : count - 2 - i;
    const double middle = std::pow(static_cast<double>(log.base), static_cast<double>(k) + 0.5 + double{log.offset});
    // A middle that is a number itself belongs to the even code.
    const bool even_above = (k % 2 == 0) != grows;
    double threshold = even_above ? Below(type, middle) : AtMost(type, middle);
    // Infinity lies above all.
    const double most = Below(type, HUGE_VAL);
    threshold = std::clamp(threshold, 0.0, most);
    if (!thresholds.empty()) threshold = std::max(threshold, thresholds.back());
    thresholds.push_back(threshold);
  }
  return thresholds;
}

}  // namespace

Result<void> EncodeLog(EncoderWriter* writer, const Level& level, const Value& values) {
  FunctionBuilder& b = writer->builder();
  const auto& log = std::get<LogProfile>(level.profile->kind);
  if (log.bits > kMostBits) {
    return writer->NoEncoder(fmt::format("a table for logarithmic codes of {} bits would be too large", log.bits),
                             fmt::format("at most {} bits", kMostBits));
  }
  const Value zero = writer->Number(0);
  const Value numbers = writer->WithoutNan(values);
  const Value magnitudes = log.has_sign ? b.Abs(numbers) : b.Max(numbers, zero);
  Value codes = CountBelow(&b, magnitudes, Thresholds(log, writer->compute()));
  if (log.base < 1) codes = b.Sub(b.Scalar(ElementType::kInt32, (int64_t{1} << log.bits) - 1), codes);
  TESSERA_ASSIGN(const std::string field, decoders::CodesField(writer->Read(level.place.type)));
  TESSERA_TRY(writer->StoreCodes(level.place, field, codes, static_cast<uint32_t>(log.bits)));
  if (!log.has_sign) return {};
  // 1 / -0 is -infinity.
  const Value negative = b.Or(b.Less(numbers, zero), b.Less(b.Div(writer->Number(1), numbers), zero));
  return writer->StoreCodes(level.place, "signs", b.Cast(negative, ElementType::kInt32), 1);
}

}  // namespace tessera::encoders
