#include "tessera/types/element_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tessera/types/element_value.h"

namespace tessera {
namespace {

using enum ElementType;

void ExpectRoundTrip(ElementType type, uint64_t code) {
  const std::string text = FormatElement(type, code);
  auto back = ParseElement(type, text);
  ASSERT_TRUE(back.has_value()) << Name(type) << " " << text << ": " << back.error().Format();
  ASSERT_EQ(*back, code) << Name(type) << " " << text;
}

TEST(ElementText, EveryCodeComesBack) {
  std::mt19937_64 random(9);
  for (const ElementInfo& row : AllElementTypes()) {
    if (!IsFixedWidth(row.type) || row.kind == ElementKind::kComplex) continue;
    if (row.bits <= 16) {
      for (uint64_t code = 0; code < uint64_t{1} << row.bits; ++code) ExpectRoundTrip(row.type, code);
      continue;
    }
    const uint64_t mask = ~uint64_t{0} >> (64 - row.bits);
    for (uint64_t code : {uint64_t{0}, uint64_t{1}, mask, mask - 1, mask / 2, mask / 2 + 1, mask / 2 + 2})
      ExpectRoundTrip(row.type, code);
    for (int i = 0; i < 20000; ++i) ExpectRoundTrip(row.type, random() & mask);
    for (int i = 0; i < 20000; ++i)
      ExpectRoundTrip(row.type, random() & mask & (random() << row.bits / 2));  // subnormals
  }
}

TEST(FormatElement, Examples) {
  EXPECT_EQ(FormatElement(kBool, 1), "true");
  EXPECT_EQ(FormatElement(kBool, 0), "false");
  EXPECT_EQ(FormatElement(kBool, 2), "bits(0x02)");
  EXPECT_EQ(FormatElement(kInt4, 0x8), "-8");
  EXPECT_EQ(FormatElement(kUint64, ~uint64_t{0}), "18446744073709551615");
  EXPECT_EQ(FormatElement(kInt64, uint64_t{1} << 63), "-9223372036854775808");
  EXPECT_EQ(FormatElement(kFloat, 0x3F800000), "1.0");
  EXPECT_EQ(FormatElement(kFloat, 0x80000000), "-0.0");
  EXPECT_EQ(FormatElement(kFloat, 0x3DCCCCCD), "0.1");
  EXPECT_EQ(FormatElement(kFloat, 0x00000001), "1e-45");
  EXPECT_EQ(FormatElement(kFloat, 0x7F800000), "inf");
  EXPECT_EQ(FormatElement(kFloat, 0xFF800000), "-inf");
  EXPECT_EQ(FormatElement(kFloat, 0x7FC00000), "nan");
  EXPECT_EQ(FormatElement(kFloat, 0xFFC00000), "bits(0xffc00000)");
  EXPECT_EQ(FormatElement(kFloat, 0x7FC00001), "bits(0x7fc00001)");
  EXPECT_EQ(FormatElement(kDouble, 0x3FB999999999999A), "0.1");
  EXPECT_EQ(FormatElement(kFloat8E4M3FN, 0x7E), "448.0");
  EXPECT_EQ(FormatElement(kFloat8E4M3FNUZ, 0x80), "nan");
  EXPECT_EQ(FormatElement(kFloat4E2M1, 0x9), "-0.5");
}

TEST(ParseElement, Spellings) {
  EXPECT_EQ(ParseElement(kBool, "1"), 1u);
  EXPECT_EQ(ParseElement(kInt8, " -0x80 "), 0x80u);
  EXPECT_EQ(ParseElement(kUint8, "+255"), 255u);
  EXPECT_EQ(ParseElement(kUint8, "-0"), 0u);
  for (const char* text : {"2", "2.", "+2.0", "0.2e1", ".2E+1", "200e-2", "0x2", "bits( 0x40000000 )",
                           "0.0000000000000000000000000000000002e34"}) {
    EXPECT_EQ(ParseElement(kFloat, text), 0x40000000u) << text;
  }
  EXPECT_EQ(ParseElement(kFloat, "-0x10"), 0xC1800000u);
  EXPECT_EQ(ParseElement(kFloat, "+inf"), 0x7F800000u);
  EXPECT_EQ(ParseElement(kFloat, "-0"), 0x80000000u);
  EXPECT_EQ(ParseElement(kFloat8E4M3FNUZ, "-0.0"), 0u);
  EXPECT_EQ(ParseElement(kFloat, "1e-99999999999999999999"), 0u);
  EXPECT_EQ(ParseElement(kDouble, "-1e-400"), uint64_t{1} << 63);
  EXPECT_EQ(ParseElement(kDouble, "4.9e-324"), 1u);
  EXPECT_EQ(ParseElement(kDouble, "3e-324"), 1u);
  EXPECT_EQ(ParseElement(kDouble, "2e-324"), 0u);
  EXPECT_EQ(ParseElement(kDouble, "2.2250738585072011e-308"), 0x000FFFFFFFFFFFFFu);
  EXPECT_EQ(ParseElement(kDouble, "0." + std::string(400, '0') + "1e401"), 0x3FF0000000000000u);
  EXPECT_EQ(ParseElement(kFloat8E8M0, "1.5"), 128u);
}

TEST(ParseElement, RoundsADecimalOnce) {
  // The middle of 1 and the next value, then digits that a double cannot tell from it.
  const std::string float_middle = "1.000000059604644775390625";  // 1 + 2^-24
  EXPECT_EQ(ParseElement(kFloat, float_middle), 0x3F800000u);
  EXPECT_EQ(ParseElement(kFloat, float_middle + std::string(60, '0') + "1"), 0x3F800001u);
  EXPECT_EQ(ParseElement(kFloat, "1.0000000596046447753906249999999999999999"), 0x3F800000u);
  const std::string next_middle = "1.000000178813934326171875";  // 1 + 3 * 2^-24: a tie goes up
  EXPECT_EQ(ParseElement(kFloat, next_middle), 0x3F800002u);
  EXPECT_EQ(ParseElement(kFloat, "1.0000001788139343261718749999999999999999"), 0x3F800001u);
  const std::string half_middle = "1.00048828125";  // 1 + 2^-11
  EXPECT_EQ(ParseElement(kFloat16, half_middle), 0x3C00u);
  EXPECT_EQ(ParseElement(kFloat16, half_middle + "00000000000000000000001"), 0x3C01u);
  EXPECT_EQ(ParseElement(kFloat16, "-" + half_middle + "00000000000000000000001"), 0xBC01u);
  EXPECT_EQ(ParseElement(kFloat4E2M1, "0.25"), 0u);
  EXPECT_EQ(ParseElement(kFloat4E2M1, "0.2500000000000000000000001"), 1u);
  EXPECT_EQ(ParseElement(kFloat8E8M0, "1.4999999999999999999999999"), 127u);
}

TEST(ParseElement, TheLastValueBeforeTheRangeEnds) {
  // Each pair: text that still fits, and text one step on that does not.
  struct Row {
    ElementType type;
    const char* good;
    uint64_t code;
    const char* bad;
  };
  const Row rows[] = {
      {kUint8, "255", 255, "256"},
      {kInt8, "-128", 0x80, "-129"},
      {kInt8, "127", 127, "128"},
      {kInt2, "-2", 2, "2"},
      {kUint2, "3", 3, "-1"},
      {kBool, "true", 1, "2"},
      {kUint64, "18446744073709551615", ~uint64_t{0}, "18446744073709551616"},
      {kInt64, "-9223372036854775808", uint64_t{1} << 63, "-9223372036854775809"},
      {kInt64, "9223372036854775807", ~uint64_t{0} >> 1, "9223372036854775808"},
      {kFloat16, "65519.999999999999999999", 0x7BFF, "65520"},
      {kFloat16, "-65519", 0xFBFF, "-65520"},
      {kFloat8E4M3FN, "464", 0x7E, "464.0000000000000000000000001"},
      {kFloat8E4M3FNUZ, "247.9", 0x7F, "248"},
      {kFloat8E5M2, "inf", 0x7C, "61440"},
      {kFloat8E4M3FN, "nan", 0x7F, "inf"},
      {kFloat4E2M1, "6.9999999999999999999999999", 7, "7"},
      {kFloat4E2M1, "-6", 15, "nan"},
      {kFloat6E2M3, "7.6", 0x1F, "7.75"},
      {kFloat, "3.4028235677973366e38", 0x7F7FFFFF, "3.4028235677973367e38"},
      {kDouble, "1.7976931348623158e308", 0x7FEFFFFFFFFFFFFF, "1.8e308"},
      {kDouble, "1e308", 0x7FE1CCF385EBC8A0, "1e99999999999999999999"},
      {kFloat8E8M0, "1.7e38", 254, "2.6e38"},
      {kFloat8E8M0, "5.877471754111438e-39", 0, "0"},
      {kFloat8E8M0, "1", 127, "-1"},
      {kInt4, "bits(0xf)", 15, "bits(0x10)"},
      {kDouble, "bits(0xffffffffffffffff)", ~uint64_t{0}, "bits(0x10000000000000000)"},
  };
  for (const Row& row : rows) {
    auto good = ParseElement(row.type, row.good);
    ASSERT_TRUE(good.has_value()) << good.error().Format();
    EXPECT_EQ(*good, row.code) << Name(row.type) << " " << row.good;
    auto bad = ParseElement(row.type, row.bad);
    ASSERT_FALSE(bad.has_value()) << Name(row.type) << " " << row.bad << " gave " << *bad;
    EXPECT_EQ(bad.error().code, ErrorCode::kLiteral);
  }
}

TEST(ParseElement, OtherTexts) {
  for (const char* text : {"",         " ",      "-",        "+",        ".",        "e5",       "1e",        "1e+",
                           "1.2.3",    "1 2",    "--1",      "0x",       "0xg",      "1f",       "nano",      "Inf",
                           "infinity", "bits()", "bits(12)", "bits(0x)", "bits(0x1", "bits 0x1", "bits(0x-1)"}) {
    for (ElementType type : {kInt8, kFloat, kFloat8E4M3FN, kBool, kUint64}) {
      auto code = ParseElement(type, text);
      ASSERT_FALSE(code.has_value()) << Name(type) << " '" << text << "' gave " << *code;
      EXPECT_EQ(code.error().code, ErrorCode::kLiteral);
    }
  }
  for (const char* text : {"1.0", "1e2", "nan", "true"}) EXPECT_FALSE(ParseElement(kInt32, text).has_value()) << text;
  for (ElementType type : {kUndefined, kString, kComplex64, kComplex128})
    EXPECT_FALSE(ParseElement(type, "1").has_value());
}

TEST(ParseElement, ErrorsSayWhatWouldBeRight) {
  EXPECT_EQ(ParseElement(kInt4, "8").error().Format(), "'8' is out of range for INT4 (the range is -8 to 7) [literal]");
  EXPECT_EQ(ParseElement(kFloat8E4M3FN, "1e3").error().Format(),
            "'1e3' is out of range for FLOAT8E4M3FN (finite values go from -448.0 to 448.0) [literal]");
  EXPECT_EQ(ParseElement(kFloat8E8M0, "0").error().Format(),
            "'0' is out of range for FLOAT8E8M0 (finite values go from 5.877472e-39 to 1.7014118e+38) [literal]");
}

}  // namespace
}  // namespace tessera
