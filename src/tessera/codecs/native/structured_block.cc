// StructuredBlockUniformProto: mask * (sign * (code - zero_point) * scale * 2^exponent + bias) in blocks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "tessera/codecs/native/bits.h"
#include "tessera/codecs/native/builder.h"
#include "tessera/codecs/native/nearest.h"
#include "tessera/quant/families/family.h"

namespace tessera::native {
namespace {

constexpr size_t kRoles = 8;

// A field of all blocks: element k of block i lies at bit + i * stride + k * bits.
struct Places {
  bool exists = false;
  bool in_formula = false;
  ElementType type = ElementType::kUndefined;
  uint64_t bit = 0;
  uint64_t stride = 0;
  uint32_t bits = 0;
  size_t count = 0;
};
// Beyond these the power is 0 or infinity.
int64_t ExponentOf(double number) { return static_cast<int64_t>(std::clamp(number, -4'000.0, 4'000.0)); }

using AllPlaces = std::array<Places, kRoles>;

class StructuredBlockCodec final : public Codec {
 public:
  StructuredBlockCodec(Common common, const StructuredBlockProfile& profile, const AllPlaces& places)
      : Codec(std::move(common)),
        profile_(profile),
        places_(places),
        size_(static_cast<size_t>(profile.block_layout.block_size)),
        vector_(profile.codebook_data.values.empty() ? 1 : static_cast<size_t>(profile.codebook_vector_size)) {
    for (float entry : profile_.codebook_data.values) largest_ = std::max(largest_, std::abs(double{entry}));
    // Where each number of the codewords goes, one codeword after the other.
    for (size_t i = 0; i < size_; ++i) scatter_.push_back(i);
    if (profile.scatter) {
      const auto group = static_cast<size_t>(profile.scatter->group_size);
      const auto stride = static_cast<size_t>(profile.scatter->stride);
      const size_t lanes = group / vector_;
      for (size_t i = 0; i < size_; ++i) {
        const size_t word = i / vector_;
        scatter_[i] = word / lanes * group + word % lanes + i % vector_ * stride;
      }
    }
    FindReachable();
  }

 private:
  const Places& Of(BlockFieldRole role) const { return places_[static_cast<size_t>(role)]; }
  // A field of the equation.
  const Places* Term(BlockFieldRole role) const {
    const Places& places = Of(role);
    return places.exists && !places.in_formula ? &places : nullptr;
  }
  bool has_codebook() const { return !profile_.codebook_data.values.empty(); }

  uint64_t Code(const Source& source, const Places& places, uint64_t block, size_t k) const {
    return ReadBits(source.bytes, source.bit + places.bit + block * places.stride + k * places.bits, places.bits);
  }
  double Number(const Source& source, const Places& places, uint64_t block, size_t k) const {
    return NumberOfCode(arithmetic(), places.type, places.bits, Code(source, places, block, k));
  }
  void Store(const Sink& sink, const Places& places, uint64_t block, size_t k, uint64_t code) const {
    WriteBits(sink.bytes, sink.bit + places.bit + block * places.stride + k * places.bits, places.bits, code);
  }

  // Calls visit(x, number) for each value of the block with the number of its run.
  template <typename Visit>
  void ForEachRun(const Source& source, BlockFieldRole role, uint64_t block, std::span<double> values,
                  Visit visit) const {
    const Places* places = Term(role);
    if (places == nullptr) return;
    const size_t run = size_ / places->count;
    for (size_t i = 0; i < size_; ++i) visit(values[i], Number(source, *places, block, i / run));
  }

  // ---- Decoding

  Result<void> Codewords(const Source& source, uint64_t block, std::span<double> values) const {
    const size_t entries = profile_.codebook_data.values.size() / vector_;
    for (size_t word = 0; word < size_ / vector_; ++word) {
      int64_t index = 0;
      for (const FieldWeight& weight : profile_.index_formula) {
        const auto number = static_cast<int64_t>(Number(source, Of(weight.field), block, word));
        index += number * weight.multiplier;
      }
      if (index < 0 || index >= static_cast<int64_t>(entries)) {
        return Fail(ErrorCode::kCodeOutside, fmt::format("blocks[{}].codes[{}]", block, word),
                    fmt::format("is {}, and the codebook has {} entries", index, entries),
                    fmt::format("0 to {}", entries - 1));
      }
      for (size_t i = 0; i < vector_; ++i) {
        values[scatter_[word * vector_ + i]] = profile_.codebook_data.values[static_cast<size_t>(index) * vector_ + i];
      }
    }
    return {};
  }

  Result<void> DecodeOwn(const Source& source, const Given&, std::span<double> values) const override {
    const Arithmetic& a = arithmetic();
    for (uint64_t block = 0; block < count() / size_; ++block) {
      const std::span<double> out = values.subspan(block * size_, size_);
      if (has_codebook()) {
        TESSERA_TRY(Codewords(source, block, out));
      } else {
        for (size_t i = 0; i < size_; ++i) out[i] = Number(source, Of(BlockFieldRole::kValues), block, i);
      }
      auto each = [&](BlockFieldRole role, auto visit) { ForEachRun(source, role, block, out, visit); };
      each(BlockFieldRole::kZeroPoint, [&](double& x, double y) { x = a.Round(x - y); });
      each(BlockFieldRole::kSign, [&](double& x, double y) { x = y != 0 ? -x : x; });
      each(BlockFieldRole::kScale, [&](double& x, double y) { x = a.Round(x * y); });
      each(BlockFieldRole::kExponent, [&](double& x, double y) { x = a.Round(x * a.PowerOfTwo(ExponentOf(y))); });
      each(BlockFieldRole::kBias, [&](double& x, double y) { x = a.Round(x + y); });
      each(BlockFieldRole::kMask, [&](double& x, double y) { x = y != 0 ? x : 0; });
    }
    return {};
  }

  // ---- Encoding: each field in turn, from the bias inwards; what one stores is what the next goes on with.

  // The integer codes of VALUES.
  IntegerRange CodeRange() const { return RangeOf(Of(BlockFieldRole::kValues).type, Of(BlockFieldRole::kValues).bits); }
  bool integer_codes() const { return !has_codebook() && IsInteger(Of(BlockFieldRole::kValues).type); }
  bool only_positive() const { return integer_codes() && CodeRange().low == 0; }
  // The largest magnitude that codes reach; with a zero point, half of what lies between the ends.
  double Largest() const {
    const Places& values = Of(BlockFieldRole::kValues);
    if (has_codebook()) return largest_;
    if (Term(BlockFieldRole::kZeroPoint) != nullptr && integer_codes()) {
      return (static_cast<double>(values.bits == 64 ? 0x1p64 : std::ldexp(1.0, static_cast<int>(values.bits))) - 1) / 2;
    }
    return LargestOf(values.type, values.bits, 0);
  }

  void TakeBias(const Sink& sink, uint64_t block, std::span<double> x) const {
    const Places* bias = Term(BlockFieldRole::kBias);
    if (bias == nullptr) return;
    const size_t run = size_ / bias->count;
    for (size_t k = 0; k < bias->count; ++k) {
      const std::span<double> values = x.subspan(k * run, run);
      const auto [least, most] = std::minmax_element(values.begin(), values.end());
      // Codes that are not negative begin at the bias; others lie around it.
      const bool from_least =
          only_positive() && Term(BlockFieldRole::kSign) == nullptr && Term(BlockFieldRole::kZeroPoint) == nullptr;
      const double wanted = from_least ? *least : *least / 2 + *most / 2;
      const uint64_t code = CodeOfNumber(bias->type, bias->bits, wanted, Beyond::kLargest, /*up=*/false);
      Store(sink, *bias, block, k, code);
      const double stored = NumberOfCode(arithmetic(), bias->type, bias->bits, code);
      for (double& value : values) value = arithmetic().Round(value - stored);
    }
  }

  // x / 2^exponent / scale. Both are powers or fractions of the magnitudes of their runs.
  void TakeScale(const Sink& sink, uint64_t block, std::span<double> x) const {
    const Places* scale = Term(BlockFieldRole::kScale);
    const Places* exponent = Term(BlockFieldRole::kExponent);
    auto magnitude = [&](size_t run, size_t k) {
      Range range;
      for (size_t i = k * run; i < (k + 1) * run; ++i) range.Add(x[i], arithmetic().Most());
      return Term(BlockFieldRole::kZeroPoint) != nullptr && integer_codes() ? range.high / 2 - range.low / 2
                                                                            : range.Magnitude();
    };
    const double largest = Largest();
    auto store_exponent = [&](double divisor) {
      const IntegerRange range = RangeOf(exponent->type, exponent->bits);
      const size_t run = size_ / exponent->count;
      for (size_t k = 0; k < exponent->count; ++k) {
        const double wanted = magnitude(run, k) / divisor;
        const double power = wanted > 0 && std::isfinite(wanted) ? static_cast<double>(std::ilogb(wanted)) : 0;
        const uint64_t code = IntegerCode(power, 0, range, exponent->bits);
        Store(sink, *exponent, block, k, code);
        const double stored = NumberOfCode(arithmetic(), exponent->type, exponent->bits, code);
        const double factor = arithmetic().PowerOfTwo(ExponentOf(stored));
        for (size_t i = k * run; i < (k + 1) * run; ++i) {
          x[i] = factor == 0 || !std::isfinite(factor) ? 0 : arithmetic().Round(x[i] / factor);
        }
      }
    };
    // Alone, or coarser than the scale, the exponent comes first and leaves the scale what is less than a power of two.
    if (exponent != nullptr) store_exponent(scale == nullptr ? ScaleDivisor(arithmetic(), largest, true) : 1);
    if (scale == nullptr) return;
    const bool power = IsPowerOfTwoType(scale->type);
    const size_t run = size_ / scale->count;
    for (size_t k = 0; k < scale->count; ++k) {
      const double wanted =
          largest > 0 ? arithmetic().Round(magnitude(run, k) / ScaleDivisor(arithmetic(), largest, power)) : 0;
      const uint64_t code = CodeOfNumber(scale->type, scale->bits, wanted, Beyond::kLargest, /*up=*/false);
      Store(sink, *scale, block, k, code);
      const double stored = NumberOfCode(arithmetic(), scale->type, scale->bits, code);
      for (size_t i = k * run; i < (k + 1) * run; ++i) {
        x[i] = stored == 0 || !std::isfinite(stored) ? 0 : arithmetic().Round(x[i] / stored);
      }
    }
  }

  // The zero point of each value's run, 0 where there is none.
  std::vector<double> TakeZeroPoint(const Sink& sink, uint64_t block, std::span<const double> x) const {
    std::vector<double> zero_points(size_);
    const Places* places = Term(BlockFieldRole::kZeroPoint);
    if (places == nullptr) return zero_points;
    const size_t run = size_ / places->count;
    for (size_t k = 0; k < places->count; ++k) {
      double least = 0;
      for (size_t i = k * run; i < (k + 1) * run; ++i) least = std::min(least, x[i]);
      double wanted = 0;
      if (integer_codes()) {
        const IntegerRange range = CodeRange();
        wanted = std::clamp(std::nearbyint(static_cast<double>(range.low) - least), static_cast<double>(range.low),
                            static_cast<double>(range.high));
      }
      const uint64_t code = CodeOfNumber(places->type, places->bits, wanted, Beyond::kLargest, /*up=*/false);
      Store(sink, *places, block, k, code);
      const double stored = NumberOfCode(arithmetic(), places->type, places->bits, code);
      for (size_t i = k * run; i < (k + 1) * run; ++i) zero_points[i] = stored;
    }
    return zero_points;
  }

  void StoreCodewords(const Sink& sink, uint64_t block, std::span<const double> x) const {
    std::vector<double> wanted(vector_);
    for (size_t word = 0; word < size_ / vector_; ++word) {
      for (size_t i = 0; i < vector_; ++i) wanted[i] = x[scatter_[word * vector_ + i]];
      const std::vector<uint64_t>& codes = reachable_codes_[reachable_->Find(wanted)];
      for (size_t k = 0; k < codes.size(); ++k) {
        Store(sink, Of(profile_.index_formula[k].field), block, word, codes[k]);
      }
    }
  }

  Result<void> EncodeOwn(std::span<const double> values, const Given&, const Sink& sink) const override {
    if (has_codebook() && reachable_ == nullptr) {
      return Fail(ErrorCode::kUnsupported, "codes",
                  fmt::format("the index fields of a codeword have more than {} bits", kMostIndexBits),
                  "fields of fewer bits");
    }
    std::vector<double> x(size_);
    for (uint64_t block = 0; block < count() / size_; ++block) {
      for (size_t i = 0; i < size_; ++i) {
        const double value = values[block * size_ + i];
        x[i] = std::isnan(value) ? 0 : value;
        // A mask and a sign have a bit for each value.
        if (const Places* mask = Term(BlockFieldRole::kMask)) Store(sink, *mask, block, i, x[i] != 0 ? 1 : 0);
      }
      TakeBias(sink, block, x);
      if (const Places* sign = Term(BlockFieldRole::kSign)) {
        for (size_t i = 0; i < size_; ++i) {
          Store(sink, *sign, block, i, std::signbit(x[i]) ? 1 : 0);
          x[i] = std::abs(x[i]);
        }
      }
      TakeScale(sink, block, x);
      const std::vector<double> zero_points = TakeZeroPoint(sink, block, x);
      if (has_codebook()) {
        for (size_t i = 0; i < size_; ++i) x[i] = arithmetic().Round(x[i] + zero_points[i]);
        StoreCodewords(sink, block, x);
        continue;
      }
      const Places& codes = Of(BlockFieldRole::kValues);
      for (size_t i = 0; i < size_; ++i) {
        const uint64_t code = integer_codes()
                                  ? IntegerCode(x[i], zero_points[i], CodeRange(), codes.bits)
                                  : CodeOfNumber(codes.type, codes.bits, arithmetic().Round(x[i] + zero_points[i]),
                                                 Beyond::kLargest, /*up=*/true);
        Store(sink, codes, block, i, code);
      }
    }
    return {};
  }

  // Finds which fields lead to which entries, where there are few enough.
  void FindReachable() {
    uint32_t bits = 0;
    for (const FieldWeight& weight : profile_.index_formula) bits += Of(weight.field).bits;
    if (!has_codebook() || bits > kMostIndexBits) return;
    const auto entries = static_cast<int64_t>(profile_.codebook_data.values.size() / vector_);
    std::map<int64_t, std::vector<uint64_t>> by_index;
    for (uint64_t all = 0; all < uint64_t{1} << bits; ++all) {
      std::vector<uint64_t> codes;
      int64_t index = 0;
      uint32_t at = 0;
      for (const FieldWeight& weight : profile_.index_formula) {
        const Places& places = Of(weight.field);
        codes.push_back(ReadBits({reinterpret_cast<const uint8_t*>(&all), sizeof(all)}, at, places.bits));
        index += static_cast<int64_t>(NumberOfCode(Arithmetic(true), places.type, places.bits, codes.back())) *
                 weight.multiplier;
        at += places.bits;
      }
      if (index >= 0 && index < entries) by_index.emplace(index, std::move(codes));
    }
    std::vector<float> reachable;
    for (auto& [index, codes] : by_index) {
      const auto first = profile_.codebook_data.values.begin() + index * static_cast<int64_t>(vector_);
      reachable.insert(reachable.end(), first, first + static_cast<int64_t>(vector_));
      reachable_codes_.push_back(std::move(codes));
    }
    if (!reachable_codes_.empty()) reachable_ = std::make_unique<NearestEntry>(arithmetic(), reachable, vector_);
  }

  StructuredBlockProfile profile_;
  AllPlaces places_;
  size_t size_;
  size_t vector_;
  double largest_ = 0;
  std::vector<size_t> scatter_;
  // The entries that some codes of the fields lead to, and those codes.
  static constexpr uint32_t kMostIndexBits = 16;
  std::unique_ptr<NearestEntry> reachable_;
  std::vector<std::vector<uint64_t>> reachable_codes_;
};

}  // namespace

Result<CodecPtr> BuildStructuredBlock(Builder* builder, const Level& level) {
  const auto& profile = std::get<StructuredBlockProfile>(level.profile->kind);
  const bool sequential = profile.storage_order == BlockStorageOrder::kSequential;
  AllPlaces all;
  Builder::Part blocks;
  if (!sequential) {
    TESSERA_ASSIGN(blocks, builder->Codes(level.type));
  }
  for (const BlockField& field : profile.block_layout.fields) {
    Places& places = all[static_cast<size_t>(field.role)];
    places.exists = true;
    places.type = field.data_type;
    places.bits = static_cast<uint32_t>(field.bit_width);
    places.count = static_cast<size_t>(field.count);
    places.bit = static_cast<uint64_t>(field.bit_offset);
    if (sequential) {
      // A record of this field for each block.
      TESSERA_ASSIGN(const Builder::Part record, builder->Find(level.type, quant::FieldName(field.role)));
      places.bit += record.bit;
      places.stride = places.count * places.bits + static_cast<uint64_t>(field.bit_offset);
    } else {
      places.bit += blocks.bit;
      places.stride = static_cast<uint64_t>(profile.block_layout.bytes_per_block) * 8;
    }
  }
  for (const FieldWeight& weight : profile.index_formula) all[static_cast<size_t>(weight.field)].in_formula = true;
  // The blocks' axis lies innermost.
  std::vector<size_t> order = level.order;
  if (profile.axis) {
    const auto axis = static_cast<size_t>(*profile.axis);
    order.erase(std::remove(order.begin(), order.end(), axis), order.end());
    order.push_back(axis);
  }
  return std::make_unique<StructuredBlockCodec>(builder->CommonOf(level, order), profile, all);
}

}  // namespace tessera::native
