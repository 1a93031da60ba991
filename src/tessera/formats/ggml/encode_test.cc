// Encoding against ggml's encoder: errors, bytes, and what the header says of values that ggml leaves open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tessera/formats/ggml/block_type.h"
#include "tessera/formats/testing/ggml_goldens.h"

namespace tessera::ggml {
namespace {

constexpr size_t kColumns = 512;

const BlockType* ByGoldenName(const std::string& name) {
  for (const BlockType& type : AllBlockTypes()) {
    if (GoldenName(type) == name) return &type;
  }
  return nullptr;
}

// sqrt(sum w * (x - y)^2 / sum w * x^2), weights per column.
double RelativeError(const std::vector<float>& x, const std::vector<float>& y, const std::vector<float>& weights) {
  double error = 0, square = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double w = weights.empty() ? 1 : weights[i % weights.size()];
    error += w * (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
    square += w * x[i] * x[i];
  }
  return std::sqrt(error / square);
}

// The table has five decimals.
constexpr double kTableUnit = 0.5e-5, kTolerance = 1.005;

// Types that keep within the errors of the table without repeating them, because ggml's encoder has a defect there.
const std::set<std::string> kOtherErrors = {"IQ3_S"};  // 32 zeros put what follows in the wrong place

TEST(Encode, ErrorsOfGgml) {
  const std::vector<float> input = GoldenFloats("encode-input.f32");
  const std::vector<float> weights = GoldenFloats("encode-imatrix.f32");
  ASSERT_EQ(weights.size(), kColumns);
  std::set<std::string> seen;
  for (const auto& line : GoldenTable("encode_errors.txt")) {
    ASSERT_EQ(line.size(), 4U);
    const BlockType* type = ByGoldenName(line[0]);
    if (type == nullptr) continue;
    const bool weighted = line[1] == "with";
    seen.insert(line[0]);
    const std::vector<float> output =
        Decoded(*type, Encoded(*type, input, kColumns, weighted ? weights : std::vector<float>()));
    const double plain = RelativeError(input, output, {}), by_weight = RelativeError(input, output, weights);
    EXPECT_LE(plain, std::stod(line[2]) * kTolerance + kTableUnit) << line[0] << " " << line[1];
    EXPECT_LE(by_weight, std::stod(line[3]) * kTolerance + kTableUnit) << line[0] << " " << line[1];
    EXPECT_EQ(type->weights == Weights::kIgnored && weighted, false) << line[0];
    if (kOtherErrors.contains(line[0])) continue;
    // The same searches make the same errors, to the last digit of the table.
    EXPECT_NEAR(plain, std::stod(line[2]), 1.1 * kTableUnit) << line[0] << " " << line[1];
    EXPECT_NEAR(by_weight, std::stod(line[3]), 1.1 * kTableUnit) << line[0] << " " << line[1];
  }
  for (const BlockType& type : AllBlockTypes()) {
    if (HasGolden(GoldenName(type) + ".bin") && type.name != "f32") {
      EXPECT_TRUE(seen.contains(GoldenName(type))) << type.name;
    }
  }
}

// Types for which ggml's own bytes are not ours, and why. Values are compared instead, by their error.
const std::map<std::string, std::string> kOtherBytes = {
    {"Q8_1", "a sum of codes that passes float16 saturates; ggml stores infinity"},
};

TEST(Encode, BytesOfGgml) {
  const std::vector<float> input = GoldenFloats("input.f32");
  for (const BlockType& type : AllBlockTypes()) {
    const std::string name = GoldenName(type);
    if (!HasGolden(name + ".bin")) continue;
    const std::vector<uint8_t> expected = GoldenBytes(name + ".bin");
    const std::vector<uint8_t> actual = Encoded(type, input, kColumns);
    ASSERT_EQ(actual.size(), expected.size()) << name;
    const auto [a, e] = std::mismatch(actual.begin(), actual.end(), expected.begin());
    if (kOtherBytes.contains(name)) {
      EXPECT_NE(a, actual.end()) << name << " has ggml's bytes: take it off the list";
      EXPECT_LE(RelativeError(input, Decoded(type, actual), {}),
                RelativeError(input, Decoded(type, expected), {}) * 1.005)
          << name;
    } else {
      const auto at = a - actual.begin();
      EXPECT_EQ(a, actual.end()) << name << ": byte " << at % type.block_bytes << " of block " << at / type.block_bytes
                                 << " is " << +*a << " instead of " << +*e;
    }
  }
}

TEST(Encode, WeightsMatterWhereTheTypeSaysSo) {
  const std::vector<float> input = GoldenFloats("encode-input.f32");
  const std::vector<float> weights = GoldenFloats("encode-imatrix.f32");
  for (const BlockType& type : AllBlockTypes()) {
    const std::vector<uint8_t> without = Encoded(type, input, kColumns);
    const std::vector<uint8_t> with = Encoded(type, input, kColumns, weights);
    EXPECT_EQ(with != without, type.weights != Weights::kIgnored) << type.name;
    if (type.weights == Weights::kNeeded) {
      EXPECT_EQ(without, Encoded(type, input, kColumns, std::vector<float>(kColumns, 1.0F))) << type.name;
    }
    // No importance at all says nothing.
    EXPECT_EQ(without, Encoded(type, input, kColumns, std::vector<float>(kColumns, 0.0F))) << type.name;
    // Only ratios count: powers of two change no bit.
    for (float factor : {0x1p-110F, 0x1p-20F, 0x1p20F, 0x1p110F}) {
      std::vector<float> scaled = weights;
      for (float& w : scaled) w *= factor;
      EXPECT_EQ(with, Encoded(type, input, kColumns, scaled)) << type.name << " " << factor;
    }
  }
}

// A block is a function of its values, its weights and the mean square of its row.
TEST(Encode, RowsAreIndependent) {
  const std::vector<float> input = GoldenFloats("encode-input.f32");
  const std::vector<float> weights = GoldenFloats("encode-imatrix.f32");
  for (const BlockType& type : AllBlockTypes()) {
    const std::vector<uint8_t> whole = Encoded(type, input, kColumns, weights);
    std::vector<uint8_t> joined;
    for (size_t row = 0; row < input.size(); row += kColumns) {
      const auto begin = input.begin() + static_cast<ptrdiff_t>(row);
      const auto bytes = Encoded(type, std::vector<float>(begin, begin + kColumns), kColumns, weights);
      joined.insert(joined.end(), bytes.begin(), bytes.end());
    }
    EXPECT_EQ(whole, joined) << type.name;
  }
}

// Normal values in rows of 512 under scales from 2^-4 to 2^12.
std::vector<float> RandomRows(size_t rows, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(rows * kColumns);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = std::ldexp(normal(random), static_cast<int>(i / kColumns % 17) - 4);
  }
  return values;
}

// What a type's encoder made decodes to values that it encodes to the same values again. Not so for
//   K types with searches (Q2_K .. Q6_K): decoded values are another input, with other optima nearby;
//   Q8_K, whose float scale is the inverse of an inverse: the last bit moves;
//   NVFP4 under scales of few steps, where the largest value of a group need not take level 6: rows below 2^-6;
//   blocks that the encoder did not make: the largest code need not be there to tell the scale;
//   weights: the searches for the small types are not the simple rule then.
TEST(Encode, AgainGivesTheSameValues) {
  const std::set<std::string_view> with_search = {"q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q8_k"};
  const std::vector<float> input = RandomRows(170, 5);
  size_t types = 0;
  for (const BlockType& type : AllBlockTypes()) {
    if (with_search.contains(type.name) || type.name.starts_with("iq")) continue;
    ++types;
    const std::vector<float> once = Decoded(type, Encoded(type, input, kColumns));
    const std::vector<float> twice = Decoded(type, Encoded(type, once, kColumns));
    size_t differing = 0;
    for (size_t i = 0; i < once.size(); ++i) differing += once[i] != twice[i];
    EXPECT_EQ(differing, 0U) << type.name << " " << FirstDifference(twice, once);
  }
  EXPECT_EQ(types, 20U);
}

TEST(Encode, HalfFloatsComeBackFromEveryCode) {
  std::vector<uint8_t> codes(2 * 65536);
  for (uint32_t code = 0; code < 65536; ++code) StoreU16(codes.data() + 2 * code, static_cast<uint16_t>(code));
  for (const char* name : {"f16", "bf16"}) {
    const BlockType& type = *FindBlockType(name);
    const std::vector<float> values = Decoded(type, codes);
    const std::vector<uint8_t> back = Encoded(type, values, values.size());
    for (size_t code = 0; code < 65536; ++code) {
      if (std::isnan(values[code])) {
        EXPECT_TRUE(std::isnan(Decoded(type, {back[2 * code], back[2 * code + 1]})[0]));
        EXPECT_EQ(back[2 * code + 1] >> 7, codes[2 * code + 1] >> 7);
      } else {
        ASSERT_EQ(LoadU16(back.data() + 2 * code), code) << name;
      }
    }
  }
}

TEST(Encode, PlainTypesRoundAndSaturate) {
  struct Sample {
    const char* type;
    float value;
    std::vector<uint8_t> bytes;
  };
  const std::vector<Sample> samples = {
      {"i8", 2.5F, {2}},
      {"i8", 3.5F, {4}},
      {"i8", -0.5F, {0}},
      {"i8", 127.6F, {127}},
      {"i8", 1e30F, {127}},
      {"i8", -128.5F, {0x80}},
      {"i8", -1e30F, {0x80}},
      {"i8", -200, {0x80}},
      {"i8", 200, {0x7F}},
      {"i16", 32767.5F, {0xFF, 0x7F}},
      {"i16", -32768.0F, {0x00, 0x80}},
      {"i32", 8388607.5F, {0x00, 0x00, 0x80, 0x00}},
      {"i32", 4194305.5F, {0x02, 0x00, 0x40, 0x00}},
      {"i32", 0x1p31F, {0xFF, 0xFF, 0xFF, 0x7F}},
      {"i32", -0x1p31F, {0x00, 0x00, 0x00, 0x80}},
      {"i64", 0x1p63F, {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F}},
      {"i64", -3, {0xFD, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}},
      {"f64", -1.5F, {0, 0, 0, 0, 0, 0, 0xF8, 0xBF}},
      {"f16", 65520.0F, {0x00, 0x7C}},  // infinity, as IEEE conversion has it
      {"f16", 65519.0F, {0xFF, 0x7B}},
      {"bf16", 3.4028235e38F, {0x80, 0x7F}},
      {"bf16", 1.00390625F, {0x80, 0x3F}},  // 1 + 2^-8: a tie, to even
      {"bf16", 1.01171875F, {0x82, 0x3F}},  // 1 + 3 * 2^-8: the other way
  };
  for (const Sample& s : samples) {
    EXPECT_EQ(Encoded(*FindBlockType(s.type), {s.value}, 1), s.bytes) << s.type << " " << s.value;
  }
}

// Types in whose blocks not every sign can be stored: that of what matters least is turned.
const std::set<std::string_view> kTurnsSigns = {"iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq3_xxs"};

// Types whose scales are float16, or that otherwise have a largest value: what it is. Both ends may differ by a step.
TEST(Encode, HugeValuesSaturate) {
  std::mt19937 random(9);
  for (const BlockType& type : AllBlockTypes()) {
    if (type.has_specials || type.block_values == 1) continue;
    for (float size : {1e5F, 1e6F, 1e7F, 1e9F, 1e20F, std::numeric_limits<float>::max()}) {
      for (bool weighted : {false, true}) {
        std::vector<float> input(kColumns), weights;
        std::uniform_real_distribution<float> uniform(-1, 1);
        for (float& x : input) x = uniform(random) * size;
        input[3] = size;
        input[300] = -size;
        for (size_t i = 0; i < kColumns && weighted; ++i) weights.push_back(std::abs(uniform(random)));
        const std::vector<float> output = Decoded(type, Encoded(type, input, kColumns, weights));
        for (size_t i = 0; i < kColumns; ++i) {
          ASSERT_TRUE(std::isfinite(output[i])) << type.name << " " << size << " at " << i;
          // Nothing that was large changes sides.
          if (std::abs(input[i]) > size / 2 && !kTurnsSigns.contains(type.name)) {
            EXPECT_GE(output[i] * std::copysign(1.0F, input[i]), 0) << type.name << " " << size << " " << input[i];
          }
        }
      }
    }
  }
}

// A group beyond all bounds does not spoil its neighbours, which the largest scales can hold.
TEST(Encode, SuperBlocksSaturateGroupByGroup) {
  struct Case {
    const char* type;
    float low, high;  // of the other groups: under the largest offset, or the largest scale
    float error;
  };
  constexpr float k = 65504;
  for (const Case& c : {Case{"q2_k", -15 * k, 0, 0.4F}, Case{"q2_k", 0, 45 * k, 0.3F}, Case{"q4_k", -63 * k, 0, 0.1F},
                        Case{"q4_k", 0, 945 * k, 0.1F}, Case{"q5_k", -63 * k, 0, 0.1F}, Case{"q5_k", 0, 1953 * k, 0.1F},
                        Case{"q3_k", -96 * k, 96 * k, 0.2F}, Case{"q6_k", -3968 * k, 3968 * k, 0.05F}}) {
    for (bool weighted : {false, true}) {
      std::mt19937 random(13);
      std::uniform_real_distribution<float> uniform(c.low, c.high);
      std::vector<float> input(256);
      for (float& x : input) x = uniform(random);
      for (size_t i = 0; i < 32; ++i) input[i] = c.high == 0 ? -1e12F : i % 2 == 0 ? -1e12F : 1e12F;
      const auto output = Decoded(*FindBlockType(c.type), Encoded(*FindBlockType(c.type), input, 256,
                                                                  std::vector<float>(weighted ? 256 : 0, 1.0F)));
      EXPECT_LT(RelativeError({input.begin() + 32, input.end()}, {output.begin() + 32, output.end()}, {}), c.error)
          << c.type << " " << c.low << " " << weighted;
    }
  }
}

TEST(Encode, TheLargestValueOfEachType) {
  const std::map<std::string_view, std::pair<float, float>> ends = {
      {"q4_0", {-8 * 65504.0F, 7 * 65504.0F}},
      {"q4_1", {-65504.0F, 14 * 65504.0F}},
      {"q5_0", {-16 * 65504.0F, 15 * 65504.0F}},
      {"q5_1", {-65504.0F, 30 * 65504.0F}},
      {"q8_0", {-127 * 65504.0F, 127 * 65504.0F}},
      {"q8_1", {-127 * 65504.0F, 127 * 65504.0F}},
      {"q1_0", {-65504.0F, 65504.0F}},
      {"q2_0", {-65504.0F, 65504.0F}},
      {"tq1_0", {-65504.0F, 65504.0F}},
      {"tq2_0", {-65504.0F, 65504.0F}},
      {"ggml_nvfp4", {-2688, 2688}},
  };
  for (const auto& [name, end] : ends) {
    const BlockType& type = *FindBlockType(name);
    std::vector<float> input(static_cast<size_t>(type.block_values));
    for (size_t i = 0; i < input.size(); ++i) input[i] = i % 2 == 0 ? -1e12F : 1e12F;
    const std::vector<float> output = Decoded(type, Encoded(type, input, input.size()));
    EXPECT_EQ(output[0], end.first) << name;
    EXPECT_EQ(output[1], end.second) << name;
  }
}

TEST(Encode, TinyValuesGiveFiniteValuesOfTheirSize) {
  for (const BlockType& type : AllBlockTypes()) {
    if (type.block_values == 1) continue;
    for (float size : {1e-6F, 1e-9F, 1e-20F, 1e-38F, 1e-42F, std::numeric_limits<float>::denorm_min()}) {
      for (bool weighted : {false, true}) {
        std::vector<float> input = RandomRows(1, 3), weights;
        for (float& x : input) x = std::clamp(x * 16, -1.0F, 1.0F) * size;
        if (weighted) weights.assign(kColumns, 0.5F);
        for (float y : Decoded(type, Encoded(type, input, kColumns, weights))) {
          ASSERT_LE(std::abs(y), 2.5F * size + std::ldexp(1.0F, -20)) << type.name << " " << size;
        }
      }
    }
    // A scale below half of the smallest float16 is 0.
    const std::vector<float> input(kColumns, 1e-9F);
    if (type.name == "q8_k" || type.name == "ggml_mxfp4" || type.name.starts_with("iq")) continue;
    for (float y : Decoded(type, Encoded(type, input, kColumns))) ASSERT_EQ(y, 0) << type.name;
  }
}

TEST(Encode, ZerosStayZeros) {
  for (const BlockType& type : AllBlockTypes()) {
    for (float zero : {0.0F, -0.0F}) {
      for (bool weighted : {false, true}) {
        const std::vector<float> weights(weighted ? kColumns : 0, 1.0F);
        for (float y : Decoded(type, Encoded(type, std::vector<float>(kColumns, zero), kColumns, weights))) {
          ASSERT_EQ(y, 0) << type.name;
        }
      }
    }
  }
}

// The header promises it of whoever skips the checks: no undefined behaviour, and NaN counts as 0.
TEST(Encode, SpecialValuesDoNoHarmUnchecked) {
  for (const BlockType& type : AllBlockTypes()) {
    if (type.has_specials) continue;
    std::vector<float> input = RandomRows(1, 4);
    input[7] = std::numeric_limits<float>::quiet_NaN();
    std::vector<uint8_t> bytes(BlocksSize(type, kColumns).value());
    type.encode(input, {}, bytes);
    input[7] = 0;
    EXPECT_EQ(bytes, Encoded(type, input, kColumns)) << type.name;
    input[7] = std::numeric_limits<float>::infinity();
    type.encode(input, {}, bytes);
    input[7] = std::numeric_limits<float>::max();
    EXPECT_EQ(bytes, Encoded(type, input, kColumns)) << type.name;
  }
}

// Each of the 127 scales, and halfway to the next: the nearest is taken, so a block of 6 * s has one step of error.
TEST(Encode, ScalesOfNvfp4AreTheNearest) {
  const BlockType& type = *FindBlockType("ggml_nvfp4");
  auto value_of = [&](uint8_t scale) {
    std::vector<uint8_t> block(36, 0x77);  // level 6
    std::fill_n(block.begin(), 4, scale);
    return Decoded(type, block)[0];
  };
  auto scale_of = [&](float value) { return Encoded(type, std::vector<float>(64, value), 64)[0]; };
  for (uint8_t scale = 1; scale < 0x7F; ++scale) {
    const float value = value_of(scale);
    EXPECT_EQ(scale_of(value), scale);
    if (scale == 0x7E) continue;
    const float next = value_of(static_cast<uint8_t>(scale + 1));
    EXPECT_EQ(scale_of(value * 0.51F + next * 0.49F), scale);
    EXPECT_EQ(scale_of(value * 0.49F + next * 0.51F), scale + 1);
  }
}

}  // namespace
}  // namespace tessera::ggml
