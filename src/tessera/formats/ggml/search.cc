#include "tessera/formats/ggml/search.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "tessera/formats/ggml/numbers.h"

namespace tessera::ggml {
namespace {

constexpr int kSweeps = 5;

// Least squares of values against codes: the best scale is product / square, and product^2 / square is what it takes
// off the error.
struct Fit {
  float product = 0;  // sum of weight * value * code
  float square = 0;   // sum of weight * code * code

  void Add(float weight, float value, int code) {
    const float c = static_cast<float>(code);
    product += weight * value * c;
    square += weight * c * c;
  }
  Fit Without(float weight, float value, int code) const {
    const float c = static_cast<float>(code);
    return {product - weight * value * c, square - weight * c * c};
  }
  Fit With(float weight, float value, int code) const {
    Fit sum = *this;
    sum.Add(weight, value, code);
    return sum;
  }
  float Scale() const { return square == 0 ? 0 : product / square; }
  bool BetterThan(const Fit& other) const {
    return product * product * other.square > other.product * other.product * square;
  }
};

using SignedCodes = std::array<int, kLargestGroup>;

Fit TrySymmetric(std::span<const float> values, std::span<const float> weights, int half, float inverse,
                 SignedCodes& codes) {
  Fit fit;
  for (size_t i = 0; i < values.size(); ++i) {
    codes[i] = RoundEven(inverse * values[i], -half, half - 1);
    fit.Add(weights[i], values[i], codes[i]);
  }
  return fit;
}

void StoreShifted(const SignedCodes& from, int shift, std::span<uint8_t> codes) {
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(from[i] + shift);
}

float AffineError(std::span<const float> values, std::span<const float> weights, std::span<const uint8_t> codes,
                  float scale, float lowest, AffineTrials::Error kind) {
  float sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const float error = scale * static_cast<float>(codes[i]) + lowest - values[i];
    sum += weights[i] * (kind == AffineTrials::Error::kAbsolute ? std::abs(error) : error * error);
  }
  return sum;
}

}  // namespace

float FitSymmetric(std::span<const float> values, std::span<const float> weights, int half, std::span<uint8_t> codes) {
  const float largest = LargestSigned(values);
  if (std::abs(largest) < kTinyGroup) {
    std::fill(codes.begin(), codes.end(), uint8_t{0});
    return 0;
  }
  const float n = static_cast<float>(half);
  SignedCodes trial;
  const Fit first = TrySymmetric(values, weights, half, -n / largest, trial);
  StoreShifted(trial, half, codes);
  float scale = first.Scale();
  float gain = scale * first.product;
  for (int k = -9; k <= 9; ++k) {
    if (k == 0) continue;
    const Fit fit = TrySymmetric(values, weights, half, -(n + 0.1F * static_cast<float>(k)) / largest, trial);
    if (fit.square > 0 && fit.product * fit.product > gain * fit.square) {
      StoreShifted(trial, half, codes);
      scale = fit.Scale();
      gain = scale * fit.product;
    }
  }
  return scale;
}

float FitSymmetricByDescent(std::span<const float> values, int half, std::span<uint8_t> codes) {
  const float largest = LargestSigned(values);
  if (std::abs(largest) < kTinyGroup) {
    std::fill(codes.begin(), codes.end(), uint8_t{0});
    return 0;
  }
  std::array<float, kLargestGroup> weights;
  for (size_t i = 0; i < values.size(); ++i) weights[i] = values[i] * values[i];
  SignedCodes code;
  Fit fit = TrySymmetric(values, weights, half, -static_cast<float>(half) / largest, code);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool moved = false;
    for (size_t i = 0; i < values.size(); ++i) {
      const float w = weights[i];
      Fit rest = fit.Without(w, values[i], code[i]);
      if (!(rest.product > 0)) continue;
      const int best = RoundEven(values[i] * rest.square / rest.product, -half, half - 1);
      if (best == code[i]) continue;
      const Fit candidate = rest.With(w, values[i], best);
      if (candidate.square > 0 && candidate.BetterThan(fit)) {
        code[i] = best;
        fit = candidate;
        moved = true;
      }
    }
    if (!moved) break;
  }
  StoreShifted(code, half, codes);
  return fit.Scale();
}

Affine FitAffine(std::span<const float> values, std::span<const float> weights, int highest, const AffineTrials& trials,
                 std::span<uint8_t> codes) {
  float low = values[0], high = values[0], weight_sum = 0, value_sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
    weight_sum += weights[i];
    value_sum += weights[i] * values[i];
  }
  low = std::min(low, 0.0F);
  if (high <= low) {
    std::fill(codes.begin(), codes.end(), uint8_t{0});
    return {0, -low};
  }
  const float n = static_cast<float>(highest);
  const float first = n / (high - low);
  float scale = 1 / first;
  float lowest = low;
  for (size_t i = 0; i < values.size(); ++i) {
    codes[i] = static_cast<uint8_t>(RoundEven(first * (values[i] - low), 0, highest));
  }
  float least = AffineError(values, weights, codes, scale, lowest, trials.error);
  std::array<uint8_t, kLargestGroup> buffer;
  const std::span<uint8_t> trial(buffer.data(), values.size());
  for (int k = 0; k <= trials.steps; ++k) {
    // From the lowest value accepted so far: what a good trial found is where the next ones start.
    const float inverse = (trials.first + trials.step * static_cast<float>(k) + n) / (high - lowest);
    float code_sum = 0, code_square = 0, product = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const int code = RoundEven(inverse * (values[i] - lowest), 0, highest);
      trial[i] = static_cast<uint8_t>(code);
      const float c = static_cast<float>(code);
      code_sum += weights[i] * c;
      code_square += weights[i] * c * c;
      product += weights[i] * c * values[i];
    }
    const float determinant = weight_sum * code_square - code_sum * code_sum;
    if (!(determinant > 0)) continue;
    float trial_scale = (weight_sum * product - value_sum * code_sum) / determinant;
    float trial_lowest = (code_square * value_sum - code_sum * product) / determinant;
    if (trial_lowest > 0) {
      trial_lowest = 0;
      trial_scale = product / code_square;
    }
    const float error = AffineError(values, weights, trial, trial_scale, trial_lowest, trials.error);
    if (error < least) {
      std::copy(trial.begin(), trial.end(), codes.begin());
      least = error;
      scale = trial_scale;
      lowest = trial_lowest;
    }
  }
  return {scale, -lowest};
}

float FitPositive(std::span<const float> values, std::span<const float> weights, int highest,
                  std::span<uint8_t> codes) {
  const float largest = *std::max_element(values.begin(), values.end());
  if (largest < kTinyGroup) {
    std::fill(codes.begin(), codes.end(), uint8_t{0});
    return 0;
  }
  const float n = static_cast<float>(highest);
  auto error_of = [&](float inverse) {
    const float scale = 1 / inverse;
    float sum = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const float error = values[i] - scale * static_cast<float>(RoundEven(inverse * values[i], 0, highest));
      sum += weights[i] * error * error;
    }
    return sum;
  };
  float inverse = n / largest;
  float least = error_of(inverse);
  for (int k = -4; k <= 4; ++k) {
    if (k == 0) continue;
    const float trial = (0.1F * static_cast<float>(k) + n) / largest;
    const float error = error_of(trial);
    if (error < least) {
      least = error;
      inverse = trial;
    }
  }
  Fit fit;
  for (size_t i = 0; i < values.size(); ++i) {
    codes[i] = static_cast<uint8_t>(RoundEven(inverse * values[i], 0, highest));
    fit.Add(weights[i], values[i], codes[i]);
  }
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool moved = false;
    for (size_t i = 0; i < values.size(); ++i) {
      const Fit rest = fit.Without(weights[i], values[i], codes[i]);
      if (!(rest.product > 0 && rest.square > 0)) continue;
      const int best = RoundEven(values[i] * rest.square / rest.product, 0, highest);
      if (best == codes[i]) continue;
      const Fit candidate = rest.With(weights[i], values[i], best);
      if (candidate.BetterThan(fit)) {
        codes[i] = static_cast<uint8_t>(best);
        fit = candidate;
        moved = true;
      }
    }
    if (!moved) break;
  }
  return fit.Scale();
}

size_t NearestLevel(std::span<const int8_t> levels, float value) {
  const auto above = std::upper_bound(levels.begin(), levels.end(), value,
                                      [](float v, int8_t level) { return v < static_cast<float>(level); });
  const size_t upper = static_cast<size_t>(above - levels.begin());
  if (upper == 0) return 0;
  if (upper == levels.size()) return upper - 1;
  const float to_lower = value - static_cast<float>(levels[upper - 1]);
  const float to_upper = static_cast<float>(levels[upper]) - value;
  return to_lower < to_upper ? upper - 1 : upper;
}

}  // namespace tessera::ggml
