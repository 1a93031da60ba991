// Decoding against what ggml decoded, bit for bit, and checks that those blocks show every code of every type.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tessera/base/digest.h"
#include "tessera/formats/ggml/block_type.h"
#include "tessera/formats/testing/ggml_goldens.h"
#include "tessera/types/element_value.h"

namespace tessera::ggml {
namespace {

// Types that ggml does not decode to floats, for which there are no goldens.
const std::set<std::string> kWithoutGoldens = {"I8", "I16", "I32", "I64", "F64"};

TEST(Decode, BitsOfGgml) {
  size_t types = 0;
  for (const BlockType& type : AllBlockTypes()) {
    const std::string name = GoldenName(type);
    if (kWithoutGoldens.contains(name)) {
      EXPECT_FALSE(HasGolden(name + ".bin")) << name;
      continue;
    }
    ++types;
    for (const char* set : {"", ".fuzz"}) {
      const std::vector<float> expected = GoldenFloats(name + set + ".f32");
      EXPECT_GE(expected.size(), 2048U);
      EXPECT_EQ(FirstDifference(Decoded(type, GoldenBytes(name + set + ".bin")), expected), "") << name << set;
    }
  }
  EXPECT_EQ(types, AllBlockTypes().size() - kWithoutGoldens.size());
}

TEST(Decode, EveryCodeOfTheHalfFloats) {
  std::vector<uint8_t> codes(2 * 65536);
  for (uint32_t code = 0; code < 65536; ++code) StoreU16(codes.data() + 2 * code, static_cast<uint16_t>(code));
  for (const char* name : {"F16", "BF16"}) {
    const auto expected = GoldenFloats(std::string(name) + ".allcodes.f32");
    EXPECT_EQ(FirstDifference(Decoded(*FindBlockType(name), codes), expected), "") << name;
  }
}

TEST(Decode, WorkedExamples) {
  size_t found = 0;
  for (const auto& line : GoldenTable("worked_examples.txt")) {
    ASSERT_EQ(line.size(), 3U);
    const auto all = AllBlockTypes();
    const auto type =
        std::find_if(all.begin(), all.end(), [&](const BlockType& t) { return GoldenName(t) == line[0]; });
    if (type == all.end()) continue;
    ++found;
    std::vector<uint8_t> block;
    for (size_t i = 0; i < line[1].size(); i += 2) {
      block.push_back(static_cast<uint8_t>(std::stoi(line[1].substr(i, 2), nullptr, 16)));
    }
    ASSERT_EQ(block.size(), static_cast<size_t>(type->block_bytes)) << line[0];
    const std::vector<float> values = Decoded(*type, block);
    std::vector<uint8_t> bytes(4 * values.size());
    for (size_t i = 0; i < values.size(); ++i) StoreF32(bytes.data() + 4 * i, values[i]);
    Sha256 digest;
    digest.Update(bytes);
    EXPECT_EQ(digest.HexDigest(), line[2]) << line[0];
  }
  EXPECT_EQ(found, AllBlockTypes().size() - kWithoutGoldens.size());
}

TEST(Decode, IntegersAndDoubles) {
  struct Sample {
    const char* type;
    std::vector<uint8_t> bytes;
    float value;
  };
  const std::vector<Sample> samples = {
      {"i8", {0x80}, -128},
      {"i8", {0x7F}, 127},
      {"i16", {0x01, 0x80}, -32767},
      {"i16", {0x34, 0x12}, 0x1234},
      {"i32", {0x00, 0x00, 0x00, 0x80}, -0x1p31F},
      {"i32", {0x01, 0x00, 0x00, 0x01}, 0x1p24F},      // 2^24 + 1: a tie, to even
      {"i32", {0x03, 0x00, 0x00, 0x01}, 0x1p24F + 4},  // 2^24 + 3: the other way
      {"i64", {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F}, 0x1p63F},
      {"i64", {0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, -2},
      {"f64", {0, 0, 0, 0, 0, 0, 0xF8, 0xBF}, -1.5F},
      {"f64", {0, 0, 0, 0x10, 0, 0, 0xF0, 0x3F}, 1},  // 1 + 2^-24: a tie, to even
      {"f64", {0, 0, 0, 0, 0, 0, 0, 0x80}, -0.0F},
  };
  for (const Sample& s : samples) {
    EXPECT_EQ(FirstDifference(Decoded(*FindBlockType(s.type), s.bytes), {s.value}), "") << s.type << " " << s.value;
  }
}

// One part of a block's codes, laid bare: with these bytes written over a block the values are the codes themselves.
struct Bare {
  const char* type;
  const char* part;
  std::vector<std::pair<size_t, std::vector<uint8_t>>> over;
  float lowest, highest;
  float step = 1;
  size_t missing = 0;  // 64 blocks of 16 signed bytes do not hold all 256
};

std::vector<uint8_t> Times(size_t count, uint8_t byte) { return std::vector<uint8_t>(count, byte); }
const std::vector<uint8_t> kOne = {0x00, 0x3C}, kMinusOne = {0x00, 0xBC}, kZero = {0x00, 0x00};

std::vector<Bare> BareParts() {
  return {
      {"q4_0", "codes", {{0, kOne}}, -8, 7},
      {"q4_1", "codes", {{0, kOne}, {2, kZero}}, 0, 15},
      {"q5_0", "codes", {{0, kOne}}, -16, 15},
      {"q5_1", "codes", {{0, kOne}, {2, kZero}}, 0, 31},
      {"q8_0", "codes", {{0, kOne}}, -128, 127},
      {"q8_1", "codes", {{0, kOne}}, -128, 127},
      {"q2_k", "codes", {{0, Times(16, 1)}, {80, kOne}, {82, kZero}}, 0, 3},
      {"q2_k", "scales", {{16, Times(64, 0x55)}, {80, kOne}, {82, kZero}}, 0, 15},
      {"q2_k", "offsets", {{80, kZero}, {82, kMinusOne}}, 0, 15},
      {"q3_k", "codes", {{96, Times(8, 0x11)}, {104, Times(4, 0xAA)}, {108, kOne}}, -4, 3},
      {"q3_k", "scales", {{0, Times(32, 0xFF)}, {32, Times(64, 0x55)}, {108, kOne}}, -32, 31},
      {"q4_k", "codes", {{0, kOne}, {2, kZero}, {4, Times(4, 1)}, {8, Times(4, 0)}, {12, Times(4, 1)}}, 0, 15},
      {"q4_k", "scales", {{0, kOne}, {2, kZero}, {16, Times(128, 0x11)}}, 0, 63},
      {"q4_k", "offsets", {{0, kZero}, {2, kMinusOne}}, 0, 63},
      {"q5_k", "codes", {{0, kOne}, {2, kZero}, {4, Times(4, 1)}, {8, Times(4, 0)}, {12, Times(4, 1)}}, 0, 31},
      {"q5_k", "scales", {{0, kOne}, {2, kZero}, {16, Times(32, 0)}, {48, Times(128, 0x11)}}, 0, 63},
      {"q5_k", "offsets", {{0, kZero}, {2, kMinusOne}}, 0, 63},
      {"q6_k", "codes", {{192, Times(16, 1)}, {208, kOne}}, -32, 31},
      {"q6_k", "scales", {{0, Times(128, 0x11)}, {128, Times(64, 0xAA)}, {208, kOne}}, -128, 127, 1, 7},
      {"q8_k", "codes", {{0, {0x00, 0x00, 0x80, 0x3F}}}, -128, 127},
      {"tq1_0", "codes", {{52, kOne}}, -1, 1},
      {"tq2_0", "codes", {{64, kOne}}, -1, 2},
      {"q1_0", "codes", {{0, kOne}}, -1, 1, 2},
      {"q2_0", "codes", {{0, kOne}}, -1, 2},
  };
}

TEST(Decode, RandomBlocksShowEveryCode) {
  for (const Bare& bare : BareParts()) {
    const BlockType& type = *FindBlockType(bare.type);
    std::vector<uint8_t> blocks = GoldenBytes(GoldenName(type) + ".fuzz.bin");
    for (size_t at = 0; at < blocks.size(); at += static_cast<size_t>(type.block_bytes)) {
      for (const auto& [offset, bytes] : bare.over) {
        std::copy(bytes.begin(), bytes.end(), blocks.begin() + static_cast<ptrdiff_t>(at + offset));
      }
    }
    std::set<float> expected, actual;
    for (float code = bare.lowest; code <= bare.highest; code += bare.step) expected.insert(code);
    for (float value : Decoded(type, blocks)) actual.insert(value);
    EXPECT_TRUE(std::includes(expected.begin(), expected.end(), actual.begin(), actual.end())) << bare.type;
    EXPECT_EQ(actual.size() + bare.missing, expected.size()) << bare.type << " " << bare.part;
  }
}

TEST(Decode, RandomBlocksShowEveryMicroFloat) {
  const std::set<float> levels = {0, 1, 2, 3, 4, 6, 8, 12, -1, -2, -3, -4, -6, -8, -12};
  std::vector<uint8_t> blocks = GoldenBytes("MXFP4.fuzz.bin");
  for (size_t at = 0; at < blocks.size(); at += 17) blocks[at] = 128;  // half of 2
  const std::vector<float> mx = Decoded(*FindBlockType("ggml_mxfp4"), blocks);
  EXPECT_EQ(std::set<float>(mx.begin(), mx.end()), levels);
  blocks = GoldenBytes("NVFP4.fuzz.bin");
  for (size_t at = 0; at < blocks.size(); at += 36)
    std::fill_n(blocks.begin() + static_cast<ptrdiff_t>(at), 4, 0x40);  // 2, halved
  const std::vector<float> nv = Decoded(*FindBlockType("ggml_nvfp4"), blocks);
  EXPECT_EQ(std::set<float>(nv.begin(), nv.end()), levels);
}

// Every scale of MXFP4 by its formula; the goldens leave out the three largest.
TEST(Decode, EveryScaleOfMxfp4) {
  for (int e = 0; e < 256; ++e) {
    std::vector<uint8_t> block(17, 0x72);  // low nibbles 2: level 1; high nibbles 7: level 6
    block[0] = static_cast<uint8_t>(e);
    const std::vector<float> values = Decoded(*FindBlockType("ggml_mxfp4"), block);
    EXPECT_EQ(values[0], static_cast<float>(std::ldexp(2.0, e - 128))) << e;
    EXPECT_EQ(values[16], static_cast<float>(std::ldexp(12.0, e - 128))) << e;
  }
}

// By the float8 of element_value.h, which has no bit 7 here, and NaN where ggml has 0.
TEST(Decode, EveryScaleOfNvfp4) {
  for (int scale = 0; scale < 256; ++scale) {
    std::vector<uint8_t> block(36, 0x42);  // low nibbles 2: level 1; high nibbles 4: level 2
    block[2] = static_cast<uint8_t>(scale);
    const std::vector<float> values = Decoded(*FindBlockType("ggml_nvfp4"), block);
    float expected = DecodeToFloat(ElementType::kFloat8E4M3FN, static_cast<uint64_t>(scale & 0x7F));
    if (scale == 0x7F) expected = 0;
    if (scale == 0xFF) expected = 480;  // 15 * 2^5
    EXPECT_EQ(values[32], expected) << scale;
    EXPECT_EQ(values[40], 2 * expected) << scale;
  }
}

// Bits that decoding does not read, as ranges of bits of a block.
std::set<size_t> UnreadBits(std::string_view type) {
  std::set<size_t> bits;
  auto add = [&](size_t from, size_t to) {
    for (size_t bit = from; bit < to; ++bit) bits.insert(bit);
  };
  if (type == "q8_1") add(16, 32);            // the sum
  if (type == "q8_k") add(8 * 260, 8 * 292);  // the sums
  // Bit 7 of a scale counts in 0xFF only, where it makes 240 of 0.
  return bits;
}

TEST(Decode, EveryOtherBitOfABlockMatters) {
  for (const BlockType& type : AllBlockTypes()) {
    const std::string name = GoldenName(type);
    if (kWithoutGoldens.contains(name)) continue;
    const size_t bytes = static_cast<size_t>(type.block_bytes);
    const std::vector<uint8_t> blocks = GoldenBytes(name + ".fuzz.bin");
    const std::set<size_t> unread = UnreadBits(type.name);
    for (size_t bit = 0; bit < 8 * bytes; ++bit) {
      // With the bit set and clear in every block; NVFP4's bit 7 shows in 2 of 256 scales only.
      bool matters = false;
      for (size_t at = 0; at < blocks.size() && !matters; at += bytes) {
        std::vector<uint8_t> block(blocks.begin() + static_cast<ptrdiff_t>(at),
                                   blocks.begin() + static_cast<ptrdiff_t>(at + bytes));
        if (name == "NVFP4" && bit < 32 && bit % 8 == 7) block[bit / 8] = 0x7F;
        const std::vector<float> before = Decoded(type, block);
        block[bit / 8] = static_cast<uint8_t>(block[bit / 8] ^ 1 << bit % 8);
        matters = !FirstDifference(Decoded(type, block), before).empty();
      }
      EXPECT_EQ(matters, !unread.contains(bit)) << name << " bit " << bit % 8 << " of byte " << bit / 8;
    }
  }
}

}  // namespace
}  // namespace tessera::ggml
