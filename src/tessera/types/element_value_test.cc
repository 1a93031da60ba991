// Against three independent sources: files made by ml_dtypes and onnx (testdata/elements), the processor's own float
// and double conversions, and the tables of ONNX's documentation, written out by hand where the reference code differs.
#include "tessera/types/element_value.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace tessera {
namespace {

using enum ElementType;
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<ElementType> TypesOfKind(ElementKind kind) {
  std::vector<ElementType> types;
  for (const ElementInfo& row : AllElementTypes()) {
    if (row.kind == kind) types.push_back(row.type);
  }
  return types;
}

uint64_t CodeCount(ElementType type) { return uint64_t{1} << BitWidth(type); }

// The lines of a golden file, each a list of hexadecimal numbers.
std::vector<std::vector<uint32_t>> Golden(ElementType type, const std::string& what) {
  const std::string path = std::string(TESSERA_SOURCE_DIR "/testdata/elements/") + std::string(Name(type)) + what;
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  std::vector<std::vector<uint32_t>> lines;
  for (std::string line; std::getline(file, line);) {
    std::istringstream numbers(line);
    lines.emplace_back();
    for (uint32_t n; numbers >> std::hex >> n;) lines.back().push_back(n);
  }
  return lines;
}

bool SameValue(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST(DecodeFloat, EveryCodeOfTheSmallTypesAsMlDtypes) {
  size_t types = 0;
  for (ElementType type : TypesOfKind(ElementKind::kFloat)) {
    if (BitWidth(type) > 8) continue;
    ++types;
    auto golden = Golden(type, ".decode.txt");
    ASSERT_EQ(golden.size(), CodeCount(type)) << Name(type);
    for (uint64_t code = 0; code < golden.size(); ++code) {
      const float expected = std::bit_cast<float>(golden[code].at(0));
      EXPECT_TRUE(SameValue(DecodeFloat(type, code), expected)) << Name(type) << " code " << code;
      EXPECT_TRUE(SameValue(DecodeToFloat(type, code), expected)) << Name(type) << " code " << code;
      EXPECT_EQ(IsNan(type, code), std::isnan(expected)) << Name(type) << " code " << code;
      EXPECT_EQ(IsInfinite(type, code), std::isinf(expected)) << Name(type) << " code " << code;
    }
  }
  EXPECT_EQ(types, 8u);
}

// bfloat16 is the upper half of a float; a half with its exponent field moved into a float's is 2^112 times too small.
TEST(DecodeFloat, EveryCodeOfTheSixteenBitTypesByBitMoves) {
  for (uint32_t code = 0; code < 65536; ++code) {
    ASSERT_TRUE(SameValue(DecodeFloat(kBfloat16, code), std::bit_cast<float>(code << 16))) << code;
    const uint32_t sign = (code & 0x8000) << 16;
    float half = std::bit_cast<float>((code & 0x7FFF) << 13) * 0x1p112f;
    if ((code & 0x7C00) == 0x7C00) half = std::bit_cast<float>(0x7F800000 | (code & 0x3FF) << 13);
    half = std::bit_cast<float>(std::bit_cast<uint32_t>(half) | sign);
    ASSERT_TRUE(SameValue(DecodeFloat(kFloat16, code), half)) << code;
  }
}

// Codes of FLOAT and DOUBLE around every exponent, with mantissas at the ends and random ones.
std::vector<uint64_t> EdgeCodes(int exponent_bits, int mantissa_bits) {
  std::mt19937_64 random(5);
  std::vector<uint64_t> codes;
  for (uint64_t sign : {0, 1}) {
    for (uint64_t exponent = 0; exponent < uint64_t{1} << exponent_bits; ++exponent) {
      const uint64_t base = (sign << exponent_bits | exponent) << mantissa_bits;
      const uint64_t mask = (uint64_t{1} << mantissa_bits) - 1;
      for (uint64_t mantissa : {uint64_t{0}, uint64_t{1}, mask, mask - 1, mask / 2, mask / 2 + 1, mask / 2 + 2,
                                random() & mask, random() & mask, random() & mask}) {
        codes.push_back(base | mantissa);
      }
    }
  }
  return codes;
}

TEST(DecodeFloat, FloatAndDoubleAsTheProcessor) {
  for (uint64_t code : EdgeCodes(8, 23)) {
    ASSERT_TRUE(SameValue(DecodeFloat(kFloat, code), std::bit_cast<float>(static_cast<uint32_t>(code)))) << code;
  }
  for (uint64_t code : EdgeCodes(11, 52)) {
    ASSERT_TRUE(SameValue(DecodeFloat(kDouble, code), std::bit_cast<double>(code))) << code;
    ASSERT_TRUE(SameValue(DecodeToFloat(kDouble, code), static_cast<float>(std::bit_cast<double>(code)))) << code;
  }
}

TEST(EncodeFloat, IsTheInverseForEveryCode) {
  for (ElementType type : TypesOfKind(ElementKind::kFloat)) {
    std::vector<uint64_t> codes;
    if (BitWidth(type) == 32)
      codes = EdgeCodes(8, 23);
    else if (BitWidth(type) == 64)
      codes = EdgeCodes(11, 52);
    else
      for (uint64_t code = 0; code < CodeCount(type); ++code) codes.push_back(code);
    for (uint64_t code : codes) {
      const double value = DecodeFloat(type, code);
      const uint64_t back = EncodeFloat(type, value, Overflow::kOverflow);
      if (IsNan(type, code)) {
        ASSERT_TRUE(IsNan(type, back)) << Name(type) << " code " << code;
        ASSERT_EQ(EncodeFinite(type, value), std::nullopt);
      } else {
        ASSERT_EQ(back, code) << Name(type);
        ASSERT_EQ(EncodeFinite(type, value), IsInfinite(type, code) ? std::nullopt : std::optional(code)) << Name(type);
        if (!IsInfinite(type, code)) {
          ASSERT_EQ(EncodeFloat(type, value, Overflow::kSaturate), code) << Name(type);
        }
      }
    }
  }
}

TEST(EncodeFloat, AsCastOfOnnx) {
  for (ElementType type : TypesOfKind(ElementKind::kFloat)) {
    if (BitWidth(type) > 8 || type == kFloat8E8M0) continue;
    auto golden = Golden(type, ".encode.txt");
    ASSERT_GT(golden.size(), 500u) << Name(type);
    for (const auto& line : golden) {
      const double value = std::bit_cast<float>(line.at(0));
      EXPECT_EQ(EncodeFloat(type, value, Overflow::kSaturate), line.at(1)) << Name(type) << " of " << value;
      EXPECT_EQ(EncodeFloat(type, value, Overflow::kOverflow), line.at(2)) << Name(type) << " of " << value;
    }
  }
}

// cases.tsv C35: the table of ONNX Cast-25, written out. Codes of 448, 240, 57344, their NaN and infinities.
TEST(EncodeFloat, C35OverflowOfFloat8) {
  struct Row {
    ElementType type;
    Overflow overflow;
    uint64_t codes[6];  // of 464, 465, 1000, inf, -inf, nan
  };
  const Row rows[] = {
      {kFloat8E4M3FN, Overflow::kSaturate, {0x7E, 0x7E, 0x7E, 0x7E, 0xFE, 0x7F}},
      {kFloat8E4M3FN, Overflow::kOverflow, {0x7E, 0x7F, 0x7F, 0x7F, 0xFF, 0x7F}},
      {kFloat8E4M3FNUZ, Overflow::kSaturate, {0x7F, 0x7F, 0x7F, 0x7F, 0xFF, 0x80}},
      {kFloat8E4M3FNUZ, Overflow::kOverflow, {0x80, 0x80, 0x80, 0x80, 0x80, 0x80}},
      {kFloat8E5M2, Overflow::kSaturate, {0x5F, 0x5F, 0x64, 0x7B, 0xFB, 0x7E}},
      {kFloat8E5M2, Overflow::kOverflow, {0x5F, 0x5F, 0x64, 0x7C, 0xFC, 0x7E}},
      {kFloat8E5M2FNUZ, Overflow::kSaturate, {0x63, 0x63, 0x68, 0x7F, 0xFF, 0x80}},
      {kFloat8E5M2FNUZ, Overflow::kOverflow, {0x63, 0x63, 0x68, 0x80, 0x80, 0x80}},
  };
  const double values[] = {464, 465, 1000, kInf, -kInf, kNan};
  for (const Row& row : rows) {
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(EncodeFloat(row.type, values[i], row.overflow), row.codes[i]) << Name(row.type) << " of " << values[i];
    }
  }
}

TEST(EncodeFloat, NanAndInfinityWithoutACode) {
  for (Overflow overflow : {Overflow::kSaturate, Overflow::kOverflow}) {
    EXPECT_EQ(EncodeFloat(kFloat4E2M1, kNan, overflow), 0x7u);  // ONNX's page on float4: 6
    EXPECT_EQ(EncodeFloat(kFloat4E2M1, -kNan, overflow), 0x7u);
    EXPECT_EQ(EncodeFloat(kFloat6E2M3, kNan, overflow), 0x1Fu);
    EXPECT_EQ(EncodeFloat(kFloat6E3M2, -kInf, overflow), 0x3Fu);
    EXPECT_EQ(EncodeFloat(kFloat16, 65520, overflow), 0x7C00u);  // Cast saturates 8-bit types only
    EXPECT_EQ(EncodeFloat(kFloat16, 65519.99, overflow), 0x7BFFu);
  }
}

TEST(EncodeFloat, FloatAndBfloat16AsTheProcessor) {
  std::vector<uint64_t> codes = EdgeCodes(11, 52);
  // Doubles close to the middles between floats: a float's code and half a unit, give or take the last bit.
  for (uint64_t code : EdgeCodes(8, 23)) {
    const uint64_t wide =
        std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(code))));
    const uint64_t half = uint64_t{1} << 28;
    for (uint64_t c : {wide + half - 1, wide + half, wide + half + 1}) codes.push_back(c);
  }
  for (uint64_t code : codes) {
    const double value = std::bit_cast<double>(code);
    if (std::isnan(value)) continue;
    const float expected = static_cast<float>(value);
    ASSERT_EQ(EncodeFloat(kFloat, value, Overflow::kOverflow), std::bit_cast<uint32_t>(expected)) << value;
    ASSERT_EQ(EncodeFloat(kDouble, value, Overflow::kOverflow), code);
    // From a float, bfloat16 is an integer rounding of the bits.
    if (std::isfinite(expected)) {
      const uint32_t bits = std::bit_cast<uint32_t>(expected);
      ASSERT_EQ(EncodeFloat(kBfloat16, expected, Overflow::kOverflow), (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)
          << expected;
    }
  }
}

// Every half, every middle of two halves and the doubles beside it.
TEST(EncodeFloat, Float16AroundEveryMiddle) {
  for (uint64_t code = 0; code < 0x7BFF; ++code) {
    const double low = DecodeFloat(kFloat16, code);
    const double high = DecodeFloat(kFloat16, code + 1);
    const double middle = (low + high) / 2;
    ASSERT_EQ(EncodeFloat(kFloat16, middle, Overflow::kOverflow), code + (code & 1));
    ASSERT_EQ(EncodeFloat(kFloat16, std::nextafter(middle, 0.0), Overflow::kOverflow), code);
    ASSERT_EQ(EncodeFloat(kFloat16, std::nextafter(middle, kInf), Overflow::kOverflow), code + 1);
    ASSERT_EQ(EncodeFloat(kFloat16, -middle, Overflow::kOverflow), (code + (code & 1)) | 0x8000);
  }
}

TEST(EncodeFloat, ScalesAsOnnx) {
  auto golden = Golden(kFloat8E8M0, ".encode.txt");
  ASSERT_GT(golden.size(), 1000u);
  for (const auto& line : golden) {
    const double value = std::bit_cast<float>(line.at(0));
    for (Overflow overflow : {Overflow::kSaturate, Overflow::kOverflow}) {
      EXPECT_EQ(EncodeFloat(kFloat8E8M0, value, overflow), line.at(1)) << value;
      EXPECT_EQ(EncodeFloat(kFloat8E8M0, value, overflow, ScaleRounding::kDown), line.at(2)) << value;
      EXPECT_EQ(EncodeFloat(kFloat8E8M0, value, overflow, ScaleRounding::kNearest), line.at(3)) << value;
    }
  }
}

// The table of ONNX Cast-25 for FLOAT8E8M0, and the ends of the range.
TEST(EncodeFloat, ScalesBeyondTheRange) {
  auto up = [](double v) { return EncodeFloat(kFloat8E8M0, v, Overflow::kSaturate); };
  auto nearest = [](double v) { return EncodeFloat(kFloat8E8M0, v, Overflow::kOverflow, ScaleRounding::kNearest); };
  EXPECT_EQ(up(0.0), 0u);
  EXPECT_EQ(up(kNan), 0xFFu);
  EXPECT_EQ(up(kInf), 0xFEu);
  EXPECT_EQ(up(1.5 * 0x1p127), 0xFEu);
  EXPECT_EQ(up(0x1p-200), 0u);
  EXPECT_EQ(up(0x1p-127), 0u);
  EXPECT_EQ(up(1.5 * 0x1p-127), 1u);
  EXPECT_EQ(nearest(0.0), 0xFFu);
  EXPECT_EQ(nearest(kNan), 0xFFu);
  EXPECT_EQ(nearest(kInf), 0xFFu);
  EXPECT_EQ(nearest(0x1p128), 0xFFu);
  EXPECT_EQ(nearest(1.5 * 0x1p127), 0xFFu);
  EXPECT_EQ(nearest(1.25 * 0x1p127), 0xFEu);
  EXPECT_EQ(nearest(0x1p-128), 0xFFu);
  EXPECT_EQ(nearest(1.5 * 0x1p-128), 0u);
  EXPECT_EQ(up(-1.0), 0xFFu);
  EXPECT_EQ(nearest(-1.0), 0xFFu);
  EXPECT_EQ(up(std::numeric_limits<double>::denorm_min()), 0u);
}

TEST(Integers, RangesAndSigns) {
  EXPECT_EQ(MinInteger(kInt2), -2);
  EXPECT_EQ(MaxInteger(kInt2), 1u);
  EXPECT_EQ(MaxInteger(kUint2), 3u);
  EXPECT_EQ(MinInteger(kInt4), -8);
  EXPECT_EQ(MaxInteger(kUint4), 15u);
  EXPECT_EQ(MinInteger(kInt64), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(MaxInteger(kInt64), uint64_t{std::numeric_limits<int64_t>::max()});
  EXPECT_EQ(MaxInteger(kUint64), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(MaxInteger(kBool), 1u);
  EXPECT_EQ(DecodeInteger(kBool, 2), 1);
  EXPECT_EQ(static_cast<uint64_t>(DecodeInteger(kUint64, ~uint64_t{0})), ~uint64_t{0});
  EXPECT_EQ(DecodeInteger(kInt64, ~uint64_t{0}), -1);
  for (ElementKind kind : {ElementKind::kSigned, ElementKind::kUnsigned}) {
    for (ElementType type : TypesOfKind(kind)) {
      if (BitWidth(type) == 64) continue;
      const int64_t max = static_cast<int64_t>(MaxInteger(type));
      EXPECT_TRUE(FitsInteger(type, max) && FitsInteger(type, MinInteger(type))) << Name(type);
      EXPECT_FALSE(FitsInteger(type, max + 1) || FitsInteger(type, MinInteger(type) - 1)) << Name(type);
      EXPECT_EQ(max - MinInteger(type) + 1, int64_t{1} << BitWidth(type)) << Name(type);
      if (BitWidth(type) > 16) continue;
      for (uint64_t code = 0; code < CodeCount(type); ++code) {
        const int64_t value = DecodeInteger(type, code);
        ASSERT_TRUE(FitsInteger(type, value)) << Name(type) << " code " << code;
        ASSERT_EQ(EncodeInteger(type, value), code) << Name(type);
      }
    }
  }
  EXPECT_FALSE(FitsInteger(kUint64, -1));
}

TEST(PackedBytes, RoundsUpAndOverflows) {
  EXPECT_EQ(PackedBytes(kInt4, 5), 3u);  // cases.tsv C34
  EXPECT_EQ(PackedBytes(kInt4, 4), 2u);
  EXPECT_EQ(PackedBytes(kFloat6E2M3, 3), 3u);
  EXPECT_EQ(PackedBytes(kFloat6E2M3, 4), 3u);
  EXPECT_EQ(PackedBytes(kUint2, 9), 3u);
  EXPECT_EQ(PackedBytes(kComplex128, 3), 48u);
  const uint64_t max = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(PackedBytes(kUint4, max), max / 2 + 1);
  EXPECT_EQ(PackedBytes(kFloat6E3M2, max), max / 8 * 6 + 6);
  EXPECT_EQ(PackedBytes(kUint8, max), max);
  EXPECT_EQ(PackedBytes(kInt16, max / 2), max - 1);
  EXPECT_EQ(PackedBytes(kInt16, max / 2 + 1), std::nullopt);
  EXPECT_EQ(PackedBytes(kComplex128, uint64_t{1} << 60), std::nullopt);
}

TEST(LoadCode, C34Int4) {
  const uint8_t bytes[] = {0x21, 0xF3, 0x08};
  const int64_t expected[] = {1, 2, 3, -1, -8};
  for (uint64_t i = 0; i < 5; ++i) EXPECT_EQ(DecodeInteger(kInt4, LoadCode(bytes, kInt4, i)), expected[i]);
}

// A store changes its own element and no other bit; an exact buffer lets ASan see one byte too many.
TEST(StoreCode, ChangesItsElementOnly) {
  std::mt19937_64 random(3);
  for (const ElementInfo& row : AllElementTypes()) {
    if (!IsFixedWidth(row.type) || row.kind == ElementKind::kComplex) continue;
    const uint64_t count = 13;
    const uint64_t mask = ~uint64_t{0} >> (64 - row.bits);
    std::vector<uint8_t> bytes(*PackedBytes(row.type, count), 0xFF);
    std::vector<uint64_t> expected(count, mask);
    for (int step = 0; step < 100; ++step) {
      const uint64_t i = random() % count;
      expected[i] = random() & mask;
      StoreCode(bytes, row.type, i, expected[i]);
      for (uint64_t k = 0; k < count; ++k) ASSERT_EQ(LoadCode(bytes, row.type, k), expected[k]) << row.name;
    }
    if (count * row.bits % 8 != 0) {
      EXPECT_EQ(bytes.back() >> count * row.bits % 8, 0xFF >> count * row.bits % 8) << row.name;
    }
  }
}

TEST(LoadCode, ComplexInHalves) {
  std::vector<uint8_t> bytes(32);
  StoreCode(bytes, kComplex128, 3, 0x0123456789ABCDEF);
  EXPECT_EQ(bytes[24], 0xEF);
  EXPECT_EQ(LoadCode(bytes, kComplex128, 3), 0x0123456789ABCDEFu);
  EXPECT_EQ(LoadCode(bytes, kDouble, 3), 0x0123456789ABCDEFu);
  EXPECT_EQ(HalfOf(kComplex128), kDouble);
  EXPECT_EQ(HalfOf(kComplex64), kFloat);
  EXPECT_EQ(HalfOf(kInt4), kInt4);
}

}  // namespace
}  // namespace tessera
