// The searches of ggml's encoders: scales and codes that make the weighted square error of a group small. They try a
// fixed number of scales, take the codes that each gives, and fit the scale to the codes by least squares. Sums run in
// order of the index and in single precision, so that the outcome is one, on every machine.
//
// Values and weights have the same length, at most kLargestGroup; `codes` too, and they are written always.
// Source: ggml's quantizers (ggml-quants.c, version 0.21.0), from a description of what they compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::ggml {

inline constexpr size_t kLargestGroup = 32;
// A group whose largest magnitude is smaller counts as zeros.
inline constexpr float kTinyGroup = 1e-15F;

// Values as scale * (code - half), codes 0 .. 2 * half - 1. Returns the scale, negative where the largest magnitude is
// positive: that value lies on -half, the end that has one step more. Tries 19 scales around the one that puts it
// there. A group of zeros has codes 0 and scale 0.
float FitSymmetric(std::span<const float> values, std::span<const float> weights, int half, std::span<uint8_t> codes);

// The same, but starting from the one scale and then moving one code at a time to its best place, at most 5 times
// through the group. Weights are the squares of the values.
float FitSymmetricByDescent(std::span<const float> values, int half, std::span<uint8_t> codes);

// Which scales FitAffine tries: those that spread the values over highest + first, highest + first + step, ... codes.
struct AffineTrials {
  enum class Error : uint8_t { kSquare, kAbsolute };
  float first;
  float step;
  int steps;  // one trial more than this
  Error error;
};

struct Affine {
  float scale = 0;
  float depth = 0;  // what is subtracted; never negative
};

// Values as scale * code - depth, codes 0 .. highest, for any `highest` up to 255. Zero stays representable: a group
// of positive values has depth 0.
Affine FitAffine(std::span<const float> values, std::span<const float> weights, int highest, const AffineTrials& trials,
                 std::span<uint8_t> codes);

// Values that are not negative as scale * code, codes 0 .. highest: nine scales, then one code at a time as above.
// Also the search for the scales of scales. A group of zeros has codes 0 and scale 0.
float FitPositive(std::span<const float> values, std::span<const float> weights, int highest, std::span<uint8_t> codes);

// The index of the level nearest to `value`, of two as near ones the upper. REQUIRES: levels ascend.
size_t NearestLevel(std::span<const int8_t> levels, float value);

}  // namespace tessera::ggml
