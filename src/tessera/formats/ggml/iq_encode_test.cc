// What only the encoders of the IQ types do: zeros inside of blocks, parts without importance, extreme blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tessera/formats/testing/ggml_goldens.h"

namespace tessera::ggml {
namespace {

std::vector<const BlockType*> IqTypes() {
  std::vector<const BlockType*> types;
  for (const BlockType& type : AllBlockTypes()) {
    if (type.name.starts_with("iq")) types.push_back(&type);
  }
  EXPECT_EQ(types.size(), 9U);
  return types;
}

std::vector<float> Normal(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& x : values) x = normal(random);
  return values;
}
std::vector<float> Importance(size_t count, uint32_t seed) {
  std::vector<float> weights = Normal(count, seed);
  for (float& w : weights) w = w * w + 0.01F;
  return weights;
}

// sqrt(sum (x - y)^2 / sum x^2) of `count` values from `from`.
double RelativeError(const std::vector<float>& x, const std::vector<float>& y, size_t from, size_t count) {
  double error = 0, square = 0;
  for (size_t i = from; i < from + count; ++i) {
    error += (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
    square += double{x[i]} * x[i];
  }
  return std::sqrt(error / square);
}
double RelativeError(const std::vector<float>& x, const std::vector<float>& y) {
  return RelativeError(x, y, 0, x.size());
}

// Those types whose grids have a zero, or that store scales of zero.
const std::set<std::string_view> kExactZeros = {"iq4_nl", "iq4_xs"};

// Zeros inside of a block of other values cost what the smallest scale gives, and nothing elsewhere.
TEST(IqEncode, ZerosInsideABlock) {
  const std::vector<float> full = Normal(1024, 1);
  for (const BlockType* type : IqTypes()) {
    for (size_t at = 0; at < 1024; at += 32) {
      for (bool weighted : {false, true}) {
        const std::vector<float> weights = weighted ? Importance(1024, 2) : std::vector<float>();
        std::vector<float> input = full;
        std::fill_n(input.begin() + static_cast<ptrdiff_t>(at), 32, 0.0F);
        const std::vector<float> output = Decoded(*type, Encoded(*type, input, 1024, weights));
        const std::vector<float> usual = Decoded(*type, Encoded(*type, full, 1024, weights));
        for (size_t part = 0; part < 1024; part += 32) {
          if (part == at) {
            for (size_t i = part; i < part + 32; ++i) {
              EXPECT_LE(std::abs(output[i]), kExactZeros.contains(type->name) ? 0.0F : 0.5F) << type->name << " " << i;
            }
          } else {
            EXPECT_LE(RelativeError(input, output, part, 32), RelativeError(full, usual, part, 32) + 0.2)
                << type->name << ", zeros at " << at << ", part at " << part << (weighted ? ", weighted" : "");
          }
        }
      }
    }
  }
}

// ggml's encoder of IQ3_S does not move on past the indices and signs of 32 zeros, so that those of all later parts
// stand too early. The block that it would make shows that the errors tell.
TEST(IqEncode, Iq3SStaysInStepBehindZeros) {
  const BlockType& type = *FindBlockType("iq3_s");
  std::vector<float> input = Normal(256, 3);
  std::fill_n(input.begin() + 64, 32, 0.0F);
  const std::vector<uint8_t> block = Encoded(type, input, 256);
  std::vector<uint8_t> defective = block;
  for (size_t part = 2; part < 7; ++part) {
    std::copy_n(block.begin() + static_cast<ptrdiff_t>(2 + 8 * (part + 1)), 8,
                defective.begin() + static_cast<ptrdiff_t>(2 + 8 * part));
    std::copy_n(block.begin() + static_cast<ptrdiff_t>(74 + 4 * (part + 1)), 4,
                defective.begin() + static_cast<ptrdiff_t>(74 + 4 * part));
  }
  std::fill_n(defective.begin() + 2 + 8 * 7, 8, uint8_t{0});
  std::fill_n(defective.begin() + 74 + 4 * 7, 4, uint8_t{0});
  for (size_t part = 3; part < 8; ++part) {
    EXPECT_LT(RelativeError(input, Decoded(type, block), 32 * part, 32), 0.25) << part;
    EXPECT_GT(RelativeError(input, Decoded(type, defective), 32 * part, 32), 0.9) << part;
  }
  EXPECT_LT(RelativeError(input, Decoded(type, block)), 0.2);
}

// What has no importance at all inside of a row is still kept: not as well as the rest, but not thrown away.
TEST(IqEncode, PartsWithoutImportance) {
  const std::vector<float> input = Normal(4096, 4);
  for (const BlockType* type : IqTypes()) {
    std::vector<float> weights = Importance(512, 5);
    for (size_t i = 64; i < 128; ++i) weights[i] = 0;
    std::vector<float> ones(512, 1.0F);
    const std::vector<float> output = Decoded(*type, Encoded(*type, input, 512, weights));
    const std::vector<float> even = Decoded(*type, Encoded(*type, input, 512, ones));
    for (size_t row = 0; row < 4096; row += 512) {
      EXPECT_LE(RelativeError(input, output, row + 64, 64), RelativeError(input, even, row + 64, 64) * 1.2 + 0.02)
          << type->name;
    }
  }
}

// Weights that float sums could not hold together.
TEST(IqEncode, WeightsOfAllSizes) {
  const std::vector<float> input = Normal(4096, 6);
  for (const BlockType* type : IqTypes()) {
    const std::vector<float> ones(512, 1.0F);
    const double even = RelativeError(input, Decoded(*type, Encoded(*type, input, 512, ones)));
    for (const auto& [small, large] : {std::pair{1e-38F, 1e38F}, {1e-45F, 1.0F}, {1.0F, 3e38F}, {1e-20F, 1e10F}}) {
      std::vector<float> weights(512);
      for (size_t i = 0; i < 512; ++i) weights[i] = i / 32 % 3 == 0 ? small : large;  // whole parts differ
      EXPECT_LE(RelativeError(input, Decoded(*type, Encoded(*type, input, 512, weights))), even * 1.1)
          << type->name << " " << small << " " << large;
      for (size_t i = 0; i < 512; ++i) weights[i] = i % 2 == 0 ? small : large;  // neighbours differ
      const std::vector<float> output = Decoded(*type, Encoded(*type, input, 512, weights));
      double error = 0, square = 0;
      for (size_t i = 1; i < 4096; i += 2) {
        error += std::pow(double{input[i]} - output[i], 2);
        square += double{input[i]} * input[i];
      }
      EXPECT_LE(std::sqrt(error / square), even) << type->name << " " << small << " " << large;
    }
  }
}

// Values times a power of four give the same codes and a d that is as much larger, as far as float16 holds it; and
// importance times a power of four the same block. Sums of squares of squares overflowed at 2^20 or so without that.
TEST(IqEncode, BlocksOfAllSizesAreAlike) {
  const std::vector<float> input = Normal(1024, 7);
  for (const BlockType* type : IqTypes()) {
    for (bool weighted : {false, true}) {
      const std::vector<float> weights = weighted ? Importance(512, 8) : std::vector<float>();
      const std::vector<float> usual = Decoded(*type, Encoded(*type, input, 512, weights));
      for (int exponent : {-2, 2, 4, 6, 8, 10}) {
        std::vector<float> scaled = input, expected = usual;
        for (float& x : scaled) x = std::ldexp(x, exponent);
        for (float& y : expected) y = std::ldexp(y, exponent);
        EXPECT_EQ(FirstDifference(Decoded(*type, Encoded(*type, scaled, 512, weights)), expected), "")
            << type->name << " 2^" << exponent;
      }
    }
  }
}

// Up to the largest values that a type holds errors are what they are elsewhere.
TEST(IqEncode, LargeBlocksAreAsGood) {
  for (const BlockType* type : IqTypes()) {
    std::vector<float> input = Normal(1024, 9);
    for (float& x : input) x = std::clamp(x, -2.0F, 2.0F);
    const double usual = RelativeError(input, Decoded(*type, Encoded(*type, input, 512)));
    for (float size : {1e3F, 1e4F, 1e5F, 2e5F}) {
      std::vector<float> scaled = input;
      for (float& x : scaled) x *= size;
      EXPECT_NEAR(RelativeError(scaled, Decoded(*type, Encoded(*type, scaled, 512))), usual, 0.01 * usual)
          << type->name << " " << size;
    }
  }
}

// Beyond them the largest that there is.
TEST(IqEncode, TheLargestValueOfEachType) {
  const std::vector<std::pair<std::string_view, float>> largest = {
      {"iq2_xxs", 15.5F / 4 * 43}, {"iq2_xs", 15.5F / 4 * 43}, {"iq2_s", 15.5F / 4 * 43}, {"iq3_xxs", 15.5F / 2 * 62},
      {"iq3_s", 31 * 15},          {"iq1_s", 15 * 1.125F},     {"iq1_m", 15 * 1.125F},    {"iq4_nl", 127},
      {"iq4_xs", 32 * 127},
  };
  for (const auto& [name, steps] : largest) {
    const BlockType& type = *FindBlockType(name);
    for (float size : {1e9F, 1e30F, 3e38F}) {
      const std::vector<float> output = Decoded(type, Encoded(type, std::vector<float>(256, -size), 256));
      float end = 0;
      for (float y : output) end = std::max(end, std::abs(y));
      // Not every grid has all eight values at the highest level, nor does a search always end with the highest scale.
      EXPECT_LE(end, steps * 65504) << name;
      EXPECT_GE(end, steps * 65504 * 0.75F) << name;
    }
  }
}

// A part beyond all bounds takes the highest scale with the largest d; the scales of other parts are in terms of that
// d, not of the one that could not be stored.
TEST(IqEncode, HugePartsDoNotShrinkOthers) {
  const std::vector<std::pair<std::string_view, float>> largest = {
      {"iq2_xxs", 15.5F / 4 * 43}, {"iq2_xs", 15.5F / 4 * 43}, {"iq2_s", 15.5F / 4 * 43},
      {"iq3_xxs", 15.5F / 2 * 62}, {"iq3_s", 31 * 15},         {"iq1_s", 15 * 1.125F},
  };
  for (const auto& [name, steps] : largest) {
    const BlockType& type = *FindBlockType(name);
    std::vector<float> input = Normal(64 * 256, 12);
    for (float& x : input) x = std::clamp(x, -2.0F, 2.0F) * steps * 65504 * 0.3F;
    auto slope = [&](const std::vector<float>& values) {
      const std::vector<float> output = Decoded(type, Encoded(type, values, 256));
      double product = 0, square = 0;
      for (size_t i = 0; i < output.size(); ++i) {
        if (i % 256 < 32) continue;
        product += double{output[i]} * input[i];
        square += double{input[i]} * input[i];
      }
      return product / square;
    };
    std::vector<float> bounded = input, huge = input;
    for (size_t i = 0; i < input.size(); ++i) {
      if (i % 256 < 32) {
        bounded[i] = std::copysign(steps * 65504 * 0.85F, input[i]);
        huge[i] = std::copysign(1e12F, input[i]);
      }
    }
    EXPECT_NEAR(slope(huge), slope(bounded), 0.01) << name;
  }
}

// Groups have an even number of signs, so one in two has to turn one: that of least importance times square.
TEST(IqEncode, TheSignThatMattersLeastIsTurned) {
  for (const char* name : {"iq2_xxs", "iq2_xs", "iq3_xxs"}) {
    const BlockType& type = *FindBlockType(name);
    for (size_t least = 0; least < 8; ++least) {
      for (size_t negative = 0; negative < 8; ++negative) {
        std::vector<float> input(256, 1.0F), weights(256, 1.0F);
        for (size_t i = 0; i < 256; ++i) {
          if (i % 8 == negative) input[i] = -input[i];
          if (i % 8 == least) weights[i] = 0.25F;
        }
        const std::vector<float> output = Decoded(type, Encoded(type, input, 256, weights));
        for (size_t i = 0; i < 256; ++i) {
          EXPECT_EQ(output[i] < 0, (input[i] < 0) != (i % 8 == least)) << name << " " << least << " " << negative;
        }
      }
    }
  }
}

// A sign may be turned that by square matters least, and yet outweighs the others in the sum that gives the scale. Then
// all signs are meant the other way round: it has its own again, the others have not.
TEST(IqEncode, AllSignsTurnWhereTheTurnedOneOutweighs) {
  for (const char* name : {"iq2_xxs", "iq2_xs", "iq3_xxs"}) {
    const BlockType& type = *FindBlockType(name);
    std::vector<float> input(256, 1000.0F), weights(256, 1e-6F);
    for (size_t i = 0; i < 256; i += 8) {
      input[i + i / 8 % 8] = -1;
      weights[i + i / 8 % 8] = 1;
    }
    const std::vector<float> output = Decoded(type, Encoded(type, input, 256, weights));
    double error = 0, square = 0;
    for (size_t i = 0; i < 256; ++i) {
      EXPECT_LT(output[i], 0) << name << " " << i;
      if (weights[i] != 1) continue;
      error += std::pow(double{input[i]} - output[i], 2);
      square += 1;
    }
    EXPECT_LT(error, square) << name;
  }
}

// Values that lie on the grid are set on the points they came from, or on others with their signs: nothing there has to
// give way. d is positive, as encoders make it: the grid of IQ1 lacks the mirror images of many points.
TEST(IqEncode, PointsOfTheGridKeepTheirSigns) {
  for (const BlockType* type : IqTypes()) {
    if (type->name.starts_with("iq4")) continue;
    std::vector<uint8_t> blocks = GoldenBytes(GoldenName(*type) + ".fuzz.bin");
    for (size_t at = 0; at < blocks.size(); at += static_cast<size_t>(type->block_bytes)) {
      blocks[at + (type->name == "iq1_m" ? 55 : 1)] &= 0x7F;
    }
    const std::vector<float> values = Decoded(*type, blocks);
    const std::vector<float> again = Decoded(*type, Encoded(*type, values, 256));
    EXPECT_EQ(values.size(), 64U * 256);
    size_t turned = 0, counted = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (again[i] == 0) continue;  // d was too small
      ++counted;
      turned += std::signbit(again[i]) != std::signbit(values[i]);
    }
    EXPECT_GT(counted, values.size() / 4) << type->name;
    EXPECT_EQ(turned, 0U) << type->name;
  }
}

}  // namespace
}  // namespace tessera::ggml
