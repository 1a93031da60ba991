// Half floats against the general conversions of element_value.h, and the three roundings at their ties.
#include "tessera/formats/ggml/numbers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

#include "tessera/types/element_value.h"

namespace tessera::ggml {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

uint16_t General(float value) {
  return static_cast<uint16_t>(EncodeFloat(ElementType::kFloat16, value, Overflow::kOverflow));
}

TEST(FloatToHalf, EveryHalfItsNeighboursAndTheMiddles) {
  for (uint32_t half = 0; half < 65536; ++half) {
    const float value = HalfToFloat(static_cast<uint16_t>(half));
    if (std::isnan(value)) {
      EXPECT_EQ(FloatToHalf(value), 0x7E00 | (half & 0x8000));
      continue;
    }
    EXPECT_EQ(FloatToHalf(value), half);
    const float next = half % 0x8000 == 0x7C00 ? value : HalfToFloat(static_cast<uint16_t>(half + 1));
    const float middle = std::isinf(next) ? std::copysign(65520.0F, value) : (value + next) / 2;
    for (float v : {middle, std::nextafter(middle, kInf), std::nextafter(middle, -kInf), std::nextafter(value, kInf),
                    std::nextafter(value, -kInf)}) {
      EXPECT_EQ(FloatToHalf(v), General(v)) << v;
    }
  }
}

TEST(FloatToHalf, RandomFloats) {
  std::mt19937 random(1);
  for (int i = 0; i < 1'000'000; ++i) {
    const uint32_t bits = static_cast<uint32_t>(random());
    const float value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    ASSERT_EQ(FloatToHalf(value), General(value)) << value;
  }
}

TEST(StoreHalf, SaturatesAndReturnsWhatIsRead) {
  uint8_t bytes[2];
  EXPECT_EQ(StoreHalf(bytes, 0.1F), HalfToFloat(0x2E66));
  EXPECT_EQ(LoadU16(bytes), 0x2E66);
  for (float huge : {65505.0F, 65520.0F, 1e30F, kInf}) {
    EXPECT_EQ(StoreHalf(bytes, huge), 65504.0F);
    EXPECT_EQ(StoreHalf(bytes, -huge), -65504.0F);
  }
}

TEST(Rounding, TiesAndBounds) {
  struct Sample {
    float value;
    int even, away, truncated;
  };
  for (const Sample& s :
       {Sample{0.5F, 0, 1, 0}, Sample{1.5F, 2, 2, 1}, Sample{2.5F, 2, 3, 2}, Sample{-0.5F, 0, -1, 0},
        Sample{-2.5F, -2, -3, -2}, Sample{2.4999998F, 2, 2, 2}, Sample{99, 15, 15, 15}, Sample{-99, -16, -16, -16},
        Sample{kInf, 15, 15, 15}, Sample{-kInf, -16, -16, -16}, Sample{kNan, -16, -16, -16}}) {
    EXPECT_EQ(RoundEven(s.value, -16, 15), s.even) << s.value;
    EXPECT_EQ(RoundAway(s.value, -16, 15), s.away) << s.value;
    EXPECT_EQ(Truncate(s.value, -16, 15), s.truncated) << s.value;
  }
}

TEST(Inverse, IsFinite) {
  EXPECT_EQ(Inverse(4), 0.25F);
  EXPECT_EQ(Inverse(0), 0);
  EXPECT_EQ(Inverse(-0.0F), 0);
  EXPECT_EQ(Inverse(1e-42F), 0);
  EXPECT_EQ(Inverse(kInf), 0);
}

TEST(LargestSigned, TheFirstOfSeveral) {
  const float values[] = {1, -3, 3, 2};
  EXPECT_EQ(LargestSigned(values), -3);
  EXPECT_EQ(LargestSigned({}), 0);
}

}  // namespace
}  // namespace tessera::ggml
