// A block as the searches of the IQ types see it: values divided by a power of four, so that the largest magnitude is
// between 1 and 4, and importance likewise. That changes no bit of what a search finds, not even where it takes roots
// of weights, as long as nothing overflows or underflows; and with it nothing that counts does, whatever the block
// holds.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/formats/ggml/block_types_internal.h"
#include "tessera/formats/ggml/numbers.h"

namespace tessera::ggml {

// How much the error of a value x counts where no importance is given; m is the mean square of the block.
enum class PlainWeight : uint8_t { kSquare, kHalfOfMeanAndSquare };  // x^2; m / 2 + x^2

class SearchBlock {
 public:
  static constexpr size_t kMaxValues = 256;

  explicit SearchBlock(const BlockInput& in) : weighted_(!in.weights.empty()), size_(in.values.size()) {
    const float largest = std::abs(LargestSigned(in.values));
    if (largest > 0) exponent_ = EvenExponent(largest);
    for (size_t i = 0; i < size_; ++i) {
      values_[i] = std::ldexp(in.values[i], -exponent_);
      mean_square_ += values_[i] * values_[i];
    }
    mean_square_ /= static_cast<float>(size_);
    std::copy(in.weights.begin(), in.weights.end(), importance_.begin());
    if (weighted_) Normalize(std::span(importance_).first(size_));
  }

  std::span<const float> Values(size_t from, size_t count) const { return {values_.data() + from, count}; }
  float mean_square() const { return mean_square_; }
  // A result of a search in terms of the block as it was given.
  float InFull(float value) const { return std::ldexp(value, exponent_); }

  // Weights of the errors of a part of the block: importance * sqrt(m + x^2), where m is `means` times the mean square,
  // or `plain`. A part without any importance counts as one of equal importance: it too has a best approximation.
  //
  // Importance is normalized within the part. Returns by what to multiply weights to compare them with those of other
  // parts: 1 without importance, 0 if there is none here.
  float ErrorWeights(size_t from, float means, PlainWeight plain, std::span<float> weights) const {
    const std::span<const float> x = Values(from, weights.size());
    if (!weighted_) {
      const float least = plain == PlainWeight::kSquare ? 0 : 0.5F * mean_square_;
      for (size_t i = 0; i < x.size(); ++i) weights[i] = least + x[i] * x[i];
      return 1;
    }
    std::copy_n(importance_.begin() + static_cast<ptrdiff_t>(from), weights.size(), weights.begin());
    const float factor = Normalize(weights);
    const float mean = means * mean_square_;
    for (size_t i = 0; i < x.size(); ++i) weights[i] = (factor > 0 ? weights[i] : 1) * std::sqrt(mean + x[i] * x[i]);
    return factor;
  }

 private:
  static int EvenExponent(float value) { return std::ilogb(value) & ~1; }

  // Divides by a power of four, so that the largest is between 1 and 4, and returns it; 0, and does nothing, if all are
  // 0.
  static float Normalize(std::span<float> importance) {
    const float largest = *std::max_element(importance.begin(), importance.end());
    if (!(largest > 0)) return 0;
    const int exponent = EvenExponent(largest);
    for (float& w : importance) w = std::ldexp(w, -exponent);
    return std::ldexp(1.0F, exponent);
  }

  bool weighted_;
  size_t size_;
  int exponent_ = 0;
  float mean_square_ = 0;
  std::array<float, kMaxValues> values_;
  std::array<float, kMaxValues> importance_;
};

// Least squares of values against levels: the best scale is product / square.
struct LevelFit {
  float product = 0;  // sum of weight * value * level
  float square = 0;   // sum of weight * level^2

  float Scale() const { return product / square; }
  // Takes more off the error than `gain`, which is the scale of another fit times its product.
  bool Beats(float gain) const { return square > 0 && product * product > gain * square; }
};

}  // namespace tessera::ggml
