#include "tessera/codecs/native/codec.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::native {

void Range::Add(double x, double most) {
  if (std::isnan(x)) return;
  x = std::clamp(x, -most, most);
  low = std::min(low, x);
  high = std::max(high, x);
}
void Range::Add(const Range& other) {
  low = std::min(low, other.low);
  high = std::max(high, other.high);
}
double Range::Magnitude() const { return std::max(std::abs(low), high); }

Codec::Codec(Common common) : common_(std::move(common)), count_(common_.count) {}

double Codec::WantedScale(const Range&) const { return 1; }
double Codec::WantedZeroPoint(const Range&, double) const { return 0; }

Result<void> Codec::Decode(const Source& source, const Given& given, std::span<double> values) const {
  if (common_.logical_of.empty()) {
    TESSERA_TRY(DecodeOwn(source, given, values));
  } else {
    std::vector<double> own(values.size());
    TESSERA_TRY(DecodeOwn(source, given, own));
    for (size_t i = 0; i < own.size(); ++i) values[common_.logical_of[i]] = own[i];
  }
  if (common_.pre) Rotate(common_.arithmetic, *common_.pre, /*pre=*/true, common_.shape, values);
  if (common_.post) Rotate(common_.arithmetic, *common_.post, /*pre=*/false, common_.shape, values);
  if (common_.data_type) {
    const ElementType type = *common_.data_type;
    for (double& value : values) value = CastTo(type, value);
  }
  return {};
}

Result<std::span<const double>> Codec::Own(std::span<const double> values, std::vector<double>* scratch) const {
  if (common_.pre || common_.post) {
    scratch->assign(values.begin(), values.end());
    if (common_.post) {
      TESSERA_TRY(Unrotate(common_.arithmetic, *common_.post, /*pre=*/false, common_.shape, *scratch));
    }
    if (common_.pre) {
      TESSERA_TRY(Unrotate(common_.arithmetic, *common_.pre, /*pre=*/true, common_.shape, *scratch));
    }
    values = *scratch;
  }
  if (common_.logical_of.empty()) return values;
  std::vector<double> own(values.size());
  for (size_t i = 0; i < own.size(); ++i) own[i] = values[common_.logical_of[i]];
  *scratch = std::move(own);
  return *scratch;
}

Result<void> Codec::Encode(std::span<const double> values, const Given& given, const Sink& sink) const {
  std::vector<double> scratch;
  TESSERA_ASSIGN(const std::span<const double> own, Own(values, &scratch));
  return EncodeOwn(own, given, sink);
}

Result<Range> Codec::Measure(std::span<const double> values) const {
  std::vector<double> scratch;
  TESSERA_ASSIGN(const std::span<const double> own, Own(values, &scratch));
  return MeasureOwn(own);
}

Result<Range> Codec::MeasureOwn(std::span<const double> values) const {
  Range range;
  const double most = common_.arithmetic.Most();
  for (double x : values) range.Add(x, most);
  return range;
}

}  // namespace tessera::native
