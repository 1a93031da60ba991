#include "tessera/types/element_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tessera {
namespace {

using E = ElementType;
using ::testing::ElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The float formats up to 16 bits, written down here a second time and in other terms: how a code splits, and which
// codes are not numbers. Source: the tables of onnx.ai/onnx/technical/float8.html and float4.html, OCP MX 1.0.
struct Format {
  E type;
  int bits;
  int mantissa;
  int bias;
  uint32_t largest;        // magnitude of the largest finite value
  uint32_t infinity;       // magnitude, 0 if there is none
  uint32_t nan;            // the code that NaN is written as; 0 if there is none
  double largest_value;
  double smallest_value;   // above 0
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

TEST(Float, EveryCodeOf16BitsAndLess) {
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
    const int magnitudes_of_nan = static_cast<int>(sign_bit) - 1 - static_cast<int>(f.largest) - (f.infinity != 0 ? 1 : 0);
    EXPECT_EQ(nans, fnuz ? 1 : 2 * magnitudes_of_nan) << Name(f.type);
  }
}

// BFLOAT16 is the upper half of a FLOAT, FLOAT8E5M2 that of a FLOAT16: relations that no formula here knows of.
TEST(Float, UpperHalves) {
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
TEST(Float, RoundsToNearestEven) {
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
        ASSERT_EQ(EncodeFloat(f.type, sign * middle, Overflow::kOverflow), expected(even)) << Name(f.type) << " " << code;
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
TEST(Float, OverflowBeginsHalfAUnitAboveTheLargest) {
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
        EXPECT_EQ(EncodeFloat(f.type, -value, Overflow::kSaturate), sign_bit | f.largest) << Name(f.type) << " " << value;
      }
    }
  }
}

// cases.tsv C35. The two tables of ONNX Cast-25, "float to float 8", for the values of the case and for -NaN.
TEST(Float, C35OverflowOfFloat8) {
  const std::vector<double> values = {464, 465, 1000, kInfinity, -kInfinity, kNan, -kNan};
  auto codes = [&](E type, Overflow overflow) {
    std::vector<uint64_t> list;
    for (double value : values) list.push_back(EncodeFloat(type, value, overflow));
    return list;
  };
  // FLT_MAX is 448; 464 is the middle to 480 and stays at the even 448.
  EXPECT_THAT(codes(E::kFloat8E4M3FN, Overflow::kSaturate), ElementsAre(0x7E, 0x7E, 0x7E, 0x7E, 0xFE, 0x7F, 0xFF));
  EXPECT_THAT(codes(E::kFloat8E4M3FN, Overflow::kOverflow), ElementsAre(0x7E, 0x7F, 0x7F, 0x7F, 0xFF, 0x7F, 0xFF));
  // FLT_MAX is 240.
  EXPECT_THAT(codes(E::kFloat8E4M3FNUZ, Overflow::kSaturate), ElementsAre(0x7F, 0x7F, 0x7F, 0x7F, 0xFF, 0x80, 0x80));
  EXPECT_THAT(codes(E::kFloat8E4M3FNUZ, Overflow::kOverflow), ElementsAre(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80));
  // In range: 464 and 465 are nearer to 448 than to 512, 1000 is nearer to 1024.
  EXPECT_THAT(codes(E::kFloat8E5M2, Overflow::kSaturate), ElementsAre(0x5F, 0x5F, 0x64, 0x7B, 0xFB, 0x7E, 0xFE));
  EXPECT_THAT(codes(E::kFloat8E5M2, Overflow::kOverflow), ElementsAre(0x5F, 0x5F, 0x64, 0x7C, 0xFC, 0x7E, 0xFE));
  EXPECT_THAT(codes(E::kFloat8E5M2FNUZ, Overflow::kSaturate), ElementsAre(0x63, 0x63, 0x68, 0x7F, 0xFF, 0x80, 0x80));
  EXPECT_THAT(codes(E::kFloat8E5M2FNUZ, Overflow::kOverflow), ElementsAre(0x63, 0x63, 0x68, 0x80, 0x80, 0x80, 0x80));
}

// The formats without NaN take the largest value of its sign.
TEST(Float, NanWithoutANanCode) {
  for (E type : {E::kFloat4E2M1, E::kFloat6E2M3, E::kFloat6E3M2}) {
    const uint64_t largest = type == E::kFloat4E2M1 ? 0x7 : 0x1F;
    for (Overflow overflow : {Overflow::kSaturate, Overflow::kOverflow}) {
      EXPECT_EQ(EncodeFloat(type, kNan, overflow), largest) << Name(type);
      EXPECT_EQ(EncodeFloat(type, -kNan, overflow), (largest + 1) | largest) << Name(type);
    }
  }
}

TEST(Float, EveryCodeOfFloat8E8M0) {
  double value = 0x1p-127;
  for (uint32_t code = 0; code < 255; ++code, value *= 2) {
    ASSERT_EQ(DecodeFloat(E::kFloat8E8M0, code), value);
    ASSERT_EQ(EncodeFloat(E::kFloat8E8M0, value, Overflow::kSaturate), code);
    ASSERT_EQ(EncodeFloat(E::kFloat8E8M0, value, Overflow::kOverflow), code);
  }
  EXPECT_TRUE(std::isnan(DecodeFloat(E::kFloat8E8M0, 255)));
  EXPECT_EQ(EncodeFloat(E::kFloat8E8M0, kNan, Overflow::kSaturate), 255u);
  EXPECT_EQ(EncodeFloat(E::kFloat8E8M0, -1.0, Overflow::kSaturate), 255u);
  EXPECT_EQ(EncodeFloat(E::kFloat8E8M0, kInfinity, Overflow::kSaturate), 254u);
  EXPECT_EQ(EncodeFloat(E::kFloat8E8M0, kInfinity, Overflow::kOverflow), 255u);
  EXPECT_EQ(EncodeFloat(E::kFloat8E8M0, 0x1p128, Overflow::kSaturate), 254u);
  EXPECT_EQ(EncodeFloat(E::kFloat8E8M0, 0x1p128, Overflow::kOverflow), 255u);
  EXPECT_EQ(EncodeFloat(E::kFloat8E8M0, 0.0, Overflow::kSaturate), 0u);
}

// Between two powers the middle, 1.5 times the lower one, goes up.
TEST(Float, Float8E8M0RoundsToTheNearerPower) {
  for (uint32_t code = 0; code < 254; ++code) {
    const double middle = 1.5 * DecodeFloat(E::kFloat8E8M0, code);
    EXPECT_EQ(EncodeFloat(E::kFloat8E8M0, middle, Overflow::kSaturate), code + 1);
    EXPECT_EQ(EncodeFloat(E::kFloat8E8M0, std::nextafter(middle, 0.0), Overflow::kSaturate), code);
  }
}

// FLOAT and DOUBLE against the processor's own conversions.
TEST(Float, WideTypesAreTheProcessorsOwn) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t bits = random();
    const double value = std::bit_cast<double>(bits);
    if (std::isnan(value)) continue;
    ASSERT_EQ(std::bit_cast<uint64_t>(DecodeFloat(E::kDouble, bits)), bits);
    ASSERT_EQ(EncodeFloat(E::kDouble, value, Overflow::kOverflow), bits);
    // Numbers in and around the range of FLOAT: the exponent is folded into it.
    int unused = 0;
    const double near = std::ldexp(std::frexp(value, &unused), static_cast<int>(bits % 300) - 160);
    ASSERT_EQ(EncodeFloat(E::kFloat, near, Overflow::kOverflow), std::bit_cast<uint32_t>(static_cast<float>(near))) << near;
    const auto code = static_cast<uint32_t>(bits);
    const float single = std::bit_cast<float>(code);
    if (std::isnan(single)) continue;
    ASSERT_EQ(DecodeFloat(E::kFloat, code), static_cast<double>(single));
    ASSERT_EQ(EncodeFloat(E::kFloat, single, Overflow::kOverflow), code);
  }
}

TEST(Integer, EveryCodeOf16BitsAndLess) {
  const std::vector<std::pair<E, int>> types = {{E::kUint2, 2},  {E::kInt2, -2}, {E::kUint4, 4},    {E::kInt4, -4},
                                                {E::kUint8, 8},  {E::kInt8, -8}, {E::kUint16, 16}, {E::kInt16, -16}};
  for (auto [type, signed_bits] : types) {
    const int bits = std::abs(signed_bits);
    const int64_t half = int64_t{1} << (bits - 1);
    for (int64_t code = 0; code < 2 * half; ++code) {
      const int64_t expected = signed_bits < 0 && code >= half ? code - 2 * half : code;
      ASSERT_EQ(DecodeInteger(type, static_cast<uint64_t>(code)), expected) << Name(type);
    }
    EXPECT_EQ(MinInteger(type), signed_bits < 0 ? -half : 0) << Name(type);
    EXPECT_EQ(MaxInteger(type), static_cast<uint64_t>(signed_bits < 0 ? half - 1 : 2 * half - 1)) << Name(type);
  }
  EXPECT_EQ(DecodeInteger(E::kBool, 0), 0);
  EXPECT_EQ(DecodeInteger(E::kBool, 1), 1);
  EXPECT_EQ(MaxInteger(E::kBool), 1u);
}

TEST(Integer, WideTypes) {
  EXPECT_EQ(DecodeInteger(E::kInt32, 0x80000000), -2147483648LL);
  EXPECT_EQ(DecodeInteger(E::kUint32, 0xFFFFFFFF), 4294967295LL);
  EXPECT_EQ(DecodeInteger(E::kInt64, ~uint64_t{0}), -1);
  EXPECT_EQ(MinInteger(E::kInt32), INT32_MIN);
  EXPECT_EQ(MaxInteger(E::kInt32), static_cast<uint64_t>(INT32_MAX));
  EXPECT_EQ(MinInteger(E::kInt64), INT64_MIN);
  EXPECT_EQ(MaxInteger(E::kInt64), static_cast<uint64_t>(INT64_MAX));
  EXPECT_EQ(MinInteger(E::kUint64), 0);
  EXPECT_EQ(MaxInteger(E::kUint64), UINT64_MAX);
}

TEST(Packed, Bytes) {
  EXPECT_EQ(PackedBytes(E::kInt4, 5), 3u);  // cases.tsv C34
  EXPECT_EQ(PackedBytes(E::kInt4, 0), 0u);
  EXPECT_EQ(PackedBytes(E::kUint2, 5), 2u);
  EXPECT_EQ(PackedBytes(E::kFloat6E2M3, 3), 3u);
  EXPECT_EQ(PackedBytes(E::kFloat6E2M3, 4), 3u);
  EXPECT_EQ(PackedBytes(E::kComplex128, 2), 32u);
  EXPECT_EQ(PackedBytes(E::kUint8, (uint64_t{1} << 61) - 1), (uint64_t{1} << 61) - 1);
  EXPECT_EQ(PackedBytes(E::kUint8, uint64_t{1} << 61), std::nullopt);
  EXPECT_EQ(PackedBytes(E::kInt4, uint64_t{1} << 62), std::nullopt);
}

TEST(Packed, LoadC34) {
  const std::vector<uint8_t> bytes = {0x21, 0xF3, 0x08};
  std::vector<int64_t> values;
  for (uint64_t i = 0; i < 5; ++i) values.push_back(DecodeInteger(E::kInt4, LoadCode(bytes, E::kInt4, i)));
  EXPECT_THAT(values, ElementsAre(1, 2, 3, -1, -8));
}

// Loading is reading bit by bit; storing changes that element alone. The buffer ends where the elements end.
TEST(Packed, LoadAndStoreEveryType) {
  std::mt19937_64 random(3);
  for (const ElementInfo& row : AllElementTypes()) {
    if (!IsFixedWidth(row.type)) continue;
    const uint32_t bits = row.bits > 64 ? 64 : row.bits;
    for (uint64_t count : {1, 2, 3, 4, 5, 11}) {
      std::vector<uint8_t> bytes((count * bits + 7) / 8);
      for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
      auto bit_by_bit = [&](uint64_t index) {
        uint64_t code = 0;
        for (uint32_t b = 0; b < bits; ++b) {
          const uint64_t at = index * bits + b;
          code |= uint64_t{static_cast<uint8_t>(bytes[at / 8] >> at % 8 & 1)} << b;
        }
        return code;
      };
      for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(LoadCode(bytes, row.type, i), bit_by_bit(i)) << row.name;
      for (uint64_t i = 0; i < count; ++i) {
        std::vector<uint64_t> expected;
        for (uint64_t j = 0; j < count; ++j) expected.push_back(bit_by_bit(j));
        const uint8_t unused = static_cast<uint8_t>(count * bits % 8 == 0 ? 0 : bytes.back() >> count * bits % 8);
        expected[i] = random() & (bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1);
        StoreCode(bytes, row.type, i, expected[i]);
        for (uint64_t j = 0; j < count; ++j) ASSERT_EQ(bit_by_bit(j), expected[j]) << row.name << " " << j;
        if (count * bits % 8 != 0) {
          ASSERT_EQ(bytes.back() >> count * bits % 8, unused) << row.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera
