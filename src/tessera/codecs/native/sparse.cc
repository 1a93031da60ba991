// SparseQuantizationProto: a base with outliers in place of some of its values.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/codecs/native/bits.h"
#include "tessera/codecs/native/builder.h"

namespace tessera::native {
namespace {

class SparseCodec final : public Codec {
 public:
  struct Places {
    uint64_t base = 0;  // bits
    uint64_t indices = 0;
    uint64_t values = 0;
    uint64_t outliers = 0;  // how many
  };
  SparseCodec(Common common, const SparseProfile& profile, CodecPtr base, Places places, std::vector<uint64_t> memory)
      : Codec(std::move(common)),
        type_(profile.outlier_data_type),
        threshold_(profile.outlier_threshold),
        base_(std::move(base)),
        places_(places),
        logical_of_(std::move(memory)) {}

  double WantedScale(const Range& range) const override { return base_->WantedScale(range); }
  double WantedZeroPoint(const Range& range, double scale) const override {
    return base_->WantedZeroPoint(range, scale);
  }

 private:
  // A position counts in memory; values are row-major.
  size_t LogicalOf(uint64_t position) const { return logical_of_.empty() ? position : logical_of_[position]; }

  Result<void> DecodeOwn(const Source& source, const Given& given, std::span<double> values) const override {
    TESSERA_TRY(base_->Decode(source.At(places_.base), given, values));
    const uint32_t bits = BitWidth(type_);
    for (uint64_t i = 0; i < places_.outliers; ++i) {
      auto position = static_cast<int64_t>(ReadBits(source.bytes, source.bit + places_.indices + i * 64, 64));
      // As ScatterND has it, a negative one counts from the end.
      const auto size = static_cast<int64_t>(values.size());
      if (position < 0 && position >= -size) position += size;
      if (position < 0 || position >= size) {
        return Fail(ErrorCode::kCodeOutside, fmt::format("outlier_indices[{}]", i),
                    fmt::format("is {}, and there are {} values", position, size), fmt::format("0 to {}", size - 1));
      }
      const uint64_t code = ReadBits(source.bytes, source.bit + places_.values + i * bits, bits);
      values[LogicalOf(static_cast<uint64_t>(position))] = NumberOfCode(arithmetic(), type_, bits, code);
    }
    return {};
  }

  // The values of largest magnitude, by their positions, ascending; of equal ones those that come first. NaN is none.
  // Errors: kUnsupported for more values above the threshold than there is room for.
  Result<std::vector<uint64_t>> Outliers(std::span<const double> values) const {
    auto magnitude = [&](uint64_t position) {
      const double x = values[LogicalOf(position)];
      return std::isnan(x) ? -1 : std::abs(x);
    };
    std::vector<uint64_t> positions(values.size());
    std::iota(positions.begin(), positions.end(), uint64_t{0});
    if (threshold_ > 0) {
      const auto above = static_cast<uint64_t>(
          std::count_if(positions.begin(), positions.end(), [&](uint64_t p) { return magnitude(p) > threshold_; }));
      if (above > places_.outliers) {
        return Fail(ErrorCode::kUnsupported, "outliers",
                    fmt::format("{} values are above the threshold of {}, and the type has room for {}", above,
                                threshold_, places_.outliers),
                    fmt::format("a type with {} outliers", above));
      }
    }
    std::stable_sort(positions.begin(), positions.end(),
                     [&](uint64_t a, uint64_t b) { return magnitude(a) > magnitude(b); });
    positions.resize(places_.outliers);
    std::sort(positions.begin(), positions.end());
    return positions;
  }

  // The values without the outliers, which shall not stretch the scales of the others.
  std::vector<double> Rest(std::span<const double> values, std::span<const uint64_t> outliers) const {
    std::vector<double> rest(values.begin(), values.end());
    for (uint64_t position : outliers) rest[LogicalOf(position)] = 0;
    return rest;
  }

  Result<Range> MeasureOwn(std::span<const double> values) const override {
    TESSERA_ASSIGN(const std::vector<uint64_t> outliers, Outliers(values));
    return base_->Measure(Rest(values, outliers));
  }

  Result<void> EncodeOwn(std::span<const double> values, const Given& given, const Sink& sink) const override {
    TESSERA_ASSIGN(const std::vector<uint64_t> outliers, Outliers(values));
    TESSERA_TRY(base_->Encode(Rest(values, outliers), given, sink.At(places_.base)));
    const uint32_t bits = BitWidth(type_);
    const Beyond beyond = bits < 16 ? Beyond::kLargest : Beyond::kInfinity;
    for (size_t i = 0; i < outliers.size(); ++i) {
      WriteBits(sink.bytes, sink.bit + places_.indices + i * 64, 64, outliers[i]);
      const uint64_t code = CodeOfNumber(type_, bits, values[LogicalOf(outliers[i])], beyond, /*up=*/true);
      WriteBits(sink.bytes, sink.bit + places_.values + i * bits, bits, code);
    }
    return {};
  }

  ElementType type_;
  double threshold_;
  CodecPtr base_;
  Places places_;
  std::vector<uint64_t> logical_of_;
};

}  // namespace

Result<CodecPtr> BuildSparse(Builder* builder, const Level& level) {
  const auto& sparse = std::get<SparseProfile>(level.profile->kind);
  TESSERA_ASSIGN(const Builder::Part base, builder->Codes(level.type));
  TESSERA_ASSIGN(const Builder::Part indices, builder->Find(level.type, "outlier_indices"));
  TESSERA_ASSIGN(const Builder::Part values, builder->Find(level.type, "outlier_values"));
  Level inner = level;
  inner.profile = &*sparse.base_quant;
  inner.type = base.target;
  inner.is_root = false;
  TESSERA_ASSIGN(CodecPtr codec, builder->Build(inner));
  const SparseCodec::Places places = {base.bit, indices.bit, values.bit, indices.count};
  std::vector<size_t> row_major(level.shape.size());
  std::iota(row_major.begin(), row_major.end(), size_t{0});
  return std::make_unique<SparseCodec>(builder->CommonOf(level, row_major), sparse, std::move(codec), places,
                                       LogicalOf(level.shape, level.order));
}

}  // namespace tessera::native
