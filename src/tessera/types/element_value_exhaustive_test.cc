// Every code of 16 bits and less, and what lies between them, against arithmetic that shares nothing with the code
// under test. element_value_test.cc compares with what other libraries computed.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "tessera/types/element_value.h"

namespace tessera {
namespace {

using E = ElementType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The float formats up to 16 bits, written down here a second time and in other terms: how a code splits, and which
// codes are not numbers. Source: the tables of onnx.ai/onnx/technical/float8.html and float4.html, OCP MX 1.0.
struct Format {
  E type;
  int bits;
  int mantissa;
  int bias;
  uint32_t largest;   // magnitude of the largest finite value
  uint32_t infinity;  // magnitude, 0 if there is none
  uint32_t nan;       // the code that NaN is written as; 0 if there is none
  double largest_value;
  double smallest_value;  // above 0
};
const Format kFormats[] = {
    {E::kFloat16, 16, 10, 15, 0x7BFF, 0x7C00, 0x7E00, 65504.0, 0x1p-24},
    {E::kBfloat16, 16, 7, 127, 0x7F7F, 0x7F80, 0x7FC0, 0x1.FEp127, 0x1p-133},
    {E::kFloat8E4M3FN, 8, 3, 7, 0x7E, 0, 0x7F, 448.0, 0x1p-9},
    {E::kFloat8E4M3FNUZ, 8, 3, 8, 0x7F, 0, 0x80, 240.0, 0x1p-10},
    {E::kFloat8E5M2, 8, 2, 15, 0x7B, 0x7C, 0x7E, 57344.0, 0x1p-16},
    {E::kFloat8E5M2FNUZ, 8, 2, 16, 0x7F, 0, 0x80, 57344.0, 0x1p-17},
    {E::kFloat6E2M3, 6, 3, 1, 0x1F, 0, 0, 7.5, 0.125},
    {E::kFloat6E3M2, 6, 2, 3, 0x1F, 0, 0, 28.0, 0.0625},
    {E::kFloat4E2M1, 4, 1, 1, 0x7, 0, 0, 6.0, 0.5},
};

// The number that a magnitude stands for if every code were a number: in units of the smallest subnormal, a mantissa
// with its hidden bit shifted left once for each exponent above 1.
double Number(const Format& f, uint32_t magnitude) {
  const uint32_t exponent = magnitude >> f.mantissa;
  const uint32_t fraction = magnitude & ((1u << f.mantissa) - 1);
  const double units = exponent == 0 ? fraction : fraction + (1u << f.mantissa);
  const int doublings = exponent == 0 ? 0 : static_cast<int>(exponent) - 1;
  double value = units;
  double step = doublings >= 0 ? 2.0 : 0.5;
  for (int i = 0; i < std::abs(doublings); ++i) value *= step;
  for (int i = 0; i < f.bias - 1 + f.mantissa; ++i) value *= 0.5;
  return value;
}

TEST(EveryCode, IsTheNumberThatItsFieldsMake) {
  for (const Format& f : kFormats) {
    const uint32_t sign_bit = 1u << (f.bits - 1);
    const bool fnuz = f.nan == sign_bit;
    int nans = 0;
    for (uint32_t code = 0; code < 2 * sign_bit; ++code) {
      const uint32_t magnitude = code & (sign_bit - 1);
      const double sign = (code & sign_bit) != 0 ? -1.0 : 1.0;
      const double value = DecodeFloat(f.type, code);
      if (fnuz ? code == sign_bit : magnitude > f.largest && (f.infinity == 0 || magnitude != f.infinity)) {
        ++nans;
        EXPECT_TRUE(std::isnan(value)) << Name(f.type) << " " << code;
        continue;
      }
      const double expected = magnitude == f.infinity && f.infinity != 0 ? kInfinity : Number(f, magnitude);
      ASSERT_EQ(value, sign * expected) << Name(f.type) << " " << code;
      ASSERT_EQ(std::signbit(value), sign < 0) << Name(f.type) << " " << code;
      // And back, saturating or not; an infinity stays one only without.
      ASSERT_EQ(EncodeFloat(f.type, value, Overflow::kOverflow), code) << Name(f.type);
      if (f.bits <= 8) {
        ASSERT_EQ(EncodeFloat(f.type, value, Overflow::kSaturate),
                  std::isinf(value) ? (code & sign_bit) | f.largest : code)
            << Name(f.type);
      }
    }
    EXPECT_EQ(DecodeFloat(f.type, f.largest), f.largest_value) << Name(f.type);
    EXPECT_EQ(DecodeFloat(f.type, 1), f.smallest_value) << Name(f.type);
    const int magnitudes_of_nan =
        static_cast<int>(sign_bit) - 1 - static_cast<int>(f.largest) - (f.infinity != 0 ? 1 : 0);
    EXPECT_EQ(nans, fnuz ? 1 : 2 * magnitudes_of_nan) << Name(f.type);
  }
}

// BFLOAT16 is the upper half of a FLOAT, FLOAT8E5M2 that of a FLOAT16: relations that no formula here knows of.
TEST(EveryCode, UpperHalves) {
  for (uint32_t code = 0; code < 0x10000; ++code) {
    const float wide = std::bit_cast<float>(code << 16);
    const double value = DecodeFloat(E::kBfloat16, code);
    ASSERT_EQ(std::isnan(value), std::isnan(wide)) << code;
    if (!std::isnan(wide)) {
      ASSERT_EQ(value, static_cast<double>(wide)) << code;
    }
  }
  for (uint32_t code = 0; code < 0x100; ++code) {
    const double wide = DecodeFloat(E::kFloat16, code << 8);
    const double value = DecodeFloat(E::kFloat8E5M2, code);
    ASSERT_EQ(std::isnan(value), std::isnan(wide)) << code;
    if (!std::isnan(wide)) {
      ASSERT_EQ(value, wide) << code;
    }
  }
}

// Between every two neighbours the middle goes to the even code, and what is next to the middle to the nearer one.
TEST(EveryCode, RoundsToNearestEven) {
  for (const Format& f : kFormats) {
    const uint32_t sign_bit = 1u << (f.bits - 1);
    for (uint32_t code = 0; code < f.largest; ++code) {
      const double low = Number(f, code);
      const double high = Number(f, code + 1);
      const double middle = low + (high - low) / 2;
      const uint32_t even = code % 2 == 0 ? code : code + 1;
      for (double sign : {1.0, -1.0}) {
        const uint32_t s = sign < 0 ? sign_bit : 0;
        // The FNUZ kinds have no -0.
        auto expected = [&](uint32_t magnitude) { return magnitude == 0 && f.nan == sign_bit ? 0 : s | magnitude; };
        ASSERT_EQ(EncodeFloat(f.type, sign * middle, Overflow::kOverflow), expected(even))
            << Name(f.type) << " " << code;
        ASSERT_EQ(EncodeFloat(f.type, sign * std::nextafter(middle, 0.0), Overflow::kOverflow), expected(code))
            << Name(f.type) << " " << code;
        ASSERT_EQ(EncodeFloat(f.type, sign * std::nextafter(middle, 1e300), Overflow::kOverflow), expected(code + 1))
            << Name(f.type) << " " << code;
      }
    }
    // Values far below the smallest are 0 of their sign.
    EXPECT_EQ(EncodeFloat(f.type, 1e-310, Overflow::kOverflow), 0u);
    EXPECT_EQ(EncodeFloat(f.type, -1e-310, Overflow::kOverflow), f.nan == sign_bit ? 0u : sign_bit);
    EXPECT_EQ(EncodeFloat(f.type, -0.0, Overflow::kOverflow), f.nan == sign_bit ? 0u : sign_bit);
  }
}

// Where rounding passes the largest value: half a unit above it, that point itself going to the even one of the two.
TEST(EveryCode, OverflowBeginsHalfAUnitAboveTheLargest) {
  for (const Format& f : kFormats) {
    const uint32_t sign_bit = 1u << (f.bits - 1);
    const double edge = f.largest_value + (Number(f, f.largest + 1) - f.largest_value) / 2;
    const bool has_overflow = f.infinity != 0 || f.nan != 0;
    // FLOAT8E4M3FN keeps the sign of the NaN; the FNUZ kinds have one NaN.
    const uint32_t over = f.infinity != 0 ? f.infinity : has_overflow ? f.nan : f.largest;
    const uint32_t under = f.nan == sign_bit ? over : sign_bit | over;
    EXPECT_EQ(EncodeFloat(f.type, std::nextafter(edge, 0.0), Overflow::kOverflow), f.largest) << Name(f.type);
    EXPECT_EQ(EncodeFloat(f.type, edge, Overflow::kOverflow), f.largest % 2 == 0 ? f.largest : over) << Name(f.type);
    for (double value : {std::nextafter(edge, 1e300), 2 * edge, 1e300, kInfinity}) {
      EXPECT_EQ(EncodeFloat(f.type, value, Overflow::kOverflow), over) << Name(f.type) << " " << value;
      EXPECT_EQ(EncodeFloat(f.type, -value, Overflow::kOverflow), under) << Name(f.type) << " " << value;
      if (f.bits <= 8) {
        EXPECT_EQ(EncodeFloat(f.type, value, Overflow::kSaturate), f.largest) << Name(f.type) << " " << value;
        EXPECT_EQ(EncodeFloat(f.type, -value, Overflow::kSaturate), sign_bit | f.largest)
            << Name(f.type) << " " << value;
      }
    }
  }
}

}  // namespace
}  // namespace tessera
