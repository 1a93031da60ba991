// The searches: against a fine grid of all scales on random groups, at their bounds, and on groups without a solution.
#include "tessera/formats/ggml/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "tessera/formats/ggml/numbers.h"

namespace tessera::ggml {
namespace {

struct Group {
  std::vector<float> values, weights;
};
Group RandomGroup(std::mt19937& random, size_t size, bool positive) {
  std::normal_distribution<float> normal;
  Group group;
  for (size_t i = 0; i < size; ++i) {
    const float x = normal(random);
    group.values.push_back(positive ? std::abs(x) : x);
    group.weights.push_back(std::abs(normal(random)) + 0.05F);
  }
  return group;
}

double SquareError(const Group& group, double scale, double lowest, std::span<const uint8_t> codes, int shift) {
  double sum = 0;
  for (size_t i = 0; i < group.values.size(); ++i) {
    const double error = scale * (codes[i] - shift) + lowest - group.values[i];
    sum += group.weights[i] * error * error;
  }
  return sum;
}

constexpr int kGrid = 1000;

// The least error over a fine grid of scales around the extreme, codes rounded to nearest.
double LeastError(const Group& group, double lowest, int low_code, int high_code, double first, double last) {
  double least = 1e300;
  for (int k = 0; k <= kGrid; ++k) {
    const double scale = first + (last - first) * k / kGrid;
    if (scale == 0) continue;
    double sum = 0;
    for (size_t i = 0; i < group.values.size(); ++i) {
      const double code =
          std::clamp(std::round((group.values[i] - lowest) / scale), double(low_code), double(high_code));
      const double error = scale * code + lowest - group.values[i];
      sum += group.weights[i] * error * error;
    }
    least = std::min(least, sum);
  }
  return least;
}

TEST(FitSymmetric, NearTheBestOfAllScales) {
  std::mt19937 random(21);
  for (int half : {4, 8, 16, 32}) {
    double found = 0, best = 0;
    for (int trial = 0; trial < 50; ++trial) {
      const Group group = RandomGroup(random, 16, false);
      std::array<uint8_t, 16> codes;
      const float scale = FitSymmetric(group.values, group.weights, half, codes);
      for (uint8_t code : codes) ASSERT_LT(code, 2 * half);
      found += SquareError(group, scale, 0, codes, half);
      const double extreme = LargestSigned(group.values);
      best += LeastError(group, 0, -half, half - 1, -extreme / half * 0.6, -extreme / half * 1.6);
    }
    EXPECT_LT(found, 1.25 * best) << half;
    EXPECT_GT(found, 0.8 * best) << half;
  }
}

TEST(FitSymmetric, TheExtremeHasTheCodeWithOneStepMore) {
  const std::vector<float> values = {0.25F, -0.5F, 2, 1}, weights = {1, 1, 1, 1};
  std::array<uint8_t, 4> codes;
  EXPECT_EQ(FitSymmetric(values, weights, 8, codes), -0.25F);
  EXPECT_EQ(codes, (std::array<uint8_t, 4>{7, 10, 0, 4}));
}

TEST(FitSymmetricByDescent, NoWorseThanItsStart) {
  std::mt19937 random(22);
  for (int trial = 0; trial < 200; ++trial) {
    Group group = RandomGroup(random, 16, false);
    for (size_t i = 0; i < 16; ++i) group.weights[i] = group.values[i] * group.values[i];
    std::array<uint8_t, 16> codes, start;
    const float scale = FitSymmetricByDescent(group.values, 4, codes);
    const float first = LargestSigned(group.values) / -4;
    for (size_t i = 0; i < 16; ++i) start[i] = static_cast<uint8_t>(RoundEven(group.values[i] / first, -4, 3) + 4);
    EXPECT_LE(SquareError(group, scale, 0, codes, 4), SquareError(group, first, 0, start, 4) * 1.0001);
    for (uint8_t code : codes) ASSERT_LT(code, 8);
  }
}

TEST(FitAffine, NearTheBestOfAllScales) {
  std::mt19937 random(23);
  constexpr AffineTrials kTrials = {-0.9F, 0.05F, 36, AffineTrials::Error::kSquare};
  for (int highest : {3, 15, 31}) {
    double found = 0, best = 0;
    for (int trial = 0; trial < 20; ++trial) {
      const Group group = RandomGroup(random, 32, false);
      std::array<uint8_t, 32> codes;
      const Affine fit = FitAffine(group.values, group.weights, highest, kTrials, codes);
      EXPECT_GE(fit.depth, 0);
      for (uint8_t code : codes) ASSERT_LE(code, highest);
      found += SquareError(group, fit.scale, -fit.depth, codes, 0);
      const auto [low, high] = std::minmax_element(group.values.begin(), group.values.end());
      const double step = (*high - *low) / highest;
      double least = 1e300;
      for (int shift = 0; shift < 40; ++shift) {
        least = std::min(least, LeastError(group, *low + step * shift / 40, 0, highest, 0.5 * step, 1.2 * step));
      }
      best += least;
    }
    EXPECT_LT(found, 1.35 * best) << highest;
  }
}

TEST(FitAffine, ZeroStaysAndEqualValuesAreExact) {
  constexpr AffineTrials kTrials = {-0.5F, 0.1F, 15, AffineTrials::Error::kAbsolute};
  const std::vector<float> weights(4, 1.0F);
  std::array<uint8_t, 4> codes;
  Affine fit = FitAffine(std::vector<float>{5, 6, 7, 8}, weights, 15, kTrials, codes);
  EXPECT_EQ(fit.depth, 0);
  EXPECT_NEAR(fit.scale * codes[3], 8, 0.3);
  fit = FitAffine(std::vector<float>(4, -3.0F), weights, 15, kTrials, codes);
  EXPECT_EQ(fit.scale * codes[0] - fit.depth, -3);
  fit = FitAffine(std::vector<float>(4, 0.0F), weights, 15, kTrials, codes);
  EXPECT_EQ(fit.scale, 0);
  EXPECT_EQ(fit.depth, 0);
}

TEST(FitPositive, NearTheBestOfAllScales) {
  std::mt19937 random(24);
  for (int highest : {4, 15, 63}) {
    double found = 0, best = 0;
    for (int trial = 0; trial < 50; ++trial) {
      const Group group = RandomGroup(random, 16, true);
      std::array<uint8_t, 16> codes;
      const float scale = FitPositive(group.values, group.weights, highest, codes);
      for (uint8_t code : codes) ASSERT_LE(code, highest);
      found += SquareError(group, scale, 0, codes, 0);
      const double extreme = *std::max_element(group.values.begin(), group.values.end());
      best += LeastError(group, 0, 0, highest, extreme / highest * 0.6, extreme / highest * 1.6);
    }
    EXPECT_LT(found, 1.35 * best) << highest;
    EXPECT_GT(found, 0.7 * best) << highest;
  }
}

TEST(Searches, GroupsOfZerosHaveCodesAndScaleZero) {
  const std::vector<float> zeros(16, 0.0F), tiny(16, 1e-16F), weights(16, 1.0F);
  for (const auto& values : {zeros, tiny}) {
    std::array<uint8_t, 16> codes;
    codes.fill(9);
    EXPECT_EQ(FitSymmetric(values, weights, 8, codes), 0);
    EXPECT_EQ(codes, (std::array<uint8_t, 16>{}));
    codes.fill(9);
    EXPECT_EQ(FitSymmetricByDescent(values, 8, codes), 0);
    EXPECT_EQ(codes, (std::array<uint8_t, 16>{}));
    codes.fill(9);
    EXPECT_EQ(FitPositive(values, weights, 8, codes), 0);
    EXPECT_EQ(codes, (std::array<uint8_t, 16>{}));
  }
}

TEST(NearestLevel, AsByTryingAll) {
  const std::array<int8_t, 6> levels = {-127, -10, 1, 13, 25, 113};
  for (float value = -140; value <= 140; value += 0.25F) {
    size_t expected = 0;
    for (size_t k = 1; k < levels.size(); ++k) {  // <=: the upper of two as near ones
      if (std::abs(levels[k] - value) <= std::abs(levels[expected] - value)) expected = k;
    }
    EXPECT_EQ(NearestLevel(levels, value), expected) << value;
  }
}

}  // namespace
}  // namespace tessera::ggml
