// CodebookProto: the sum of one entry of each codebook, times the scale.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tessera/codecs/native/bits.h"
#include "tessera/codecs/native/nearest.h"
#include "tessera/codecs/native/scaled_codec.h"

namespace tessera::native {
namespace {

class CodebookCodec final : public ScaledCodec {
 public:
  CodebookCodec(Common common, Scaling scaling, const CodebookProfile& profile, uint64_t bit)
      : ScaledCodec(std::move(common), std::move(scaling)),
        profile_(profile),
        bit_(bit),
        books_(static_cast<size_t>(profile.num_codebooks)),
        size_(static_cast<size_t>(profile.codebook_size)),
        vector_(static_cast<size_t>(profile.vector_size)),
        nearest_(arithmetic(), std::span(profile_.codebook_data.values).first(size_ * vector_), vector_),
        sum_(profile_.codebook_data.values, books_, size_, vector_) {
    for (float entry : profile_.codebook_data.values) largest_ = std::max(largest_, std::abs(double{entry}));
    // What the largest sum cannot pass.
    largest_ *= static_cast<double>(books_);
    per_group_ = profile.packed_count == 0 ? std::max<uint64_t>(1, count() / vector_ * books_)
                                           : static_cast<uint64_t>(profile.packed_count);
    group_bits_ = static_cast<uint64_t>(profile.packed_bytes) * 8;
  }

 private:
  bool by_digits() const { return profile_.index_bits == 0; }
  uint64_t IndexCount() const { return count() / vector_ * books_; }

  // All indices; groups of digits are one number each.
  std::vector<uint64_t> Indices(const Source& source) const {
    std::vector<uint64_t> indices(IndexCount());
    const auto bits = static_cast<uint32_t>(profile_.index_bits);
    uint64_t number = 0;
    for (size_t i = 0; i < indices.size(); ++i) {
      const uint64_t group = source.bit + bit_ + i / per_group_ * group_bits_;
      if (!by_digits()) {
        indices[i] = ReadBits(source.bytes, group + i % per_group_ * bits, bits);
        continue;
      }
      if (i % per_group_ == 0) number = ReadBits(source.bytes, group, static_cast<uint32_t>(group_bits_));
      indices[i] = number % size_;
      number /= size_;
    }
    return indices;
  }

  void Store(std::span<const uint32_t> indices, const Sink& sink) const {
    const auto bits = static_cast<uint32_t>(profile_.index_bits);
    for (size_t i = 0; i < indices.size(); i += per_group_) {
      const uint64_t group = sink.bit + bit_ + i / per_group_ * group_bits_;
      const size_t end = std::min<size_t>(indices.size(), i + per_group_);
      // What no index takes is 0.
      for (uint64_t bit = 0; bit < group_bits_; bit += 8) WriteBits(sink.bytes, group + bit, 8, 0);
      if (by_digits()) {
        uint64_t number = 0;
        for (size_t k = end; k-- > i;) number = number * size_ + indices[k];
        WriteBits(sink.bytes, group, static_cast<uint32_t>(group_bits_), number);
        continue;
      }
      for (size_t k = i; k < end; ++k) WriteBits(sink.bytes, group + (k - i) * bits, bits, indices[k]);
    }
  }

  Result<void> DecodeNumbers(const Source& source, std::span<double> numbers) const override {
    const std::vector<uint64_t> indices = Indices(source);
    const std::vector<float>& entries = profile_.codebook_data.values;
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] >= size_) {
        return Fail(ErrorCode::kCodeOutside, fmt::format("codes[{}]", i),
                    fmt::format("is {}, and the codebook has {} entries", indices[i], size_),
                    fmt::format("0 to {}", size_ - 1));
      }
      const size_t book = i % books_;
      const float* entry = &entries[(book * size_ + indices[i]) * vector_];
      for (size_t k = 0; k < vector_; ++k) {
        double& number = numbers[i / books_ * vector_ + k];
        number = book == 0 ? static_cast<double>(entry[k]) : arithmetic().Round(number + static_cast<double>(entry[k]));
      }
    }
    return {};
  }

  Result<void> EncodeNumbers(std::span<const double> numbers, std::span<const double>,
                             const Sink& sink) const override {
    std::vector<uint32_t> indices;
    std::vector<double> x(vector_);
    for (size_t i = 0; i < numbers.size(); i += vector_) {
      for (size_t k = 0; k < vector_; ++k) x[k] = std::isnan(numbers[i + k]) ? 0 : numbers[i + k];
      if (books_ == 1) {
        indices.push_back(nearest_.Find(x));
      } else {
        const double most = arithmetic().Most();
        for (double& number : x) number = std::clamp(number, -most, most);
        for (uint32_t index : sum_.Find(x)) indices.push_back(index);
      }
    }
    Store(indices, sink);
    return {};
  }

  double Largest(double) const override { return largest_; }

  CodebookProfile profile_;
  uint64_t bit_;
  size_t books_;
  size_t size_;
  size_t vector_;
  NearestEntry nearest_;
  NearestSum sum_;
  double largest_ = 0;
  uint64_t per_group_ = 1;
  uint64_t group_bits_ = 0;
};

}  // namespace

Result<CodecPtr> BuildCodebook(Builder* builder, const Level& level) {
  const auto& codebook = std::get<CodebookProfile>(level.profile->kind);
  TESSERA_ASSIGN(ScaledCodec::Scaling scaling,
                 ScaledCodec::ScalingOf(builder, level, codebook.scale, ZeroPoint(int64_t{0}), 0));
  uint64_t bit = level.codes_bit.value_or(0);
  if (!level.codes_bit) {
    TESSERA_ASSIGN(const Builder::Part part, builder->Codes(level.type));
    bit = part.bit;
  }
  return std::make_unique<CodebookCodec>(builder->CommonOf(level), std::move(scaling), codebook, bit);
}

}  // namespace tessera::native
