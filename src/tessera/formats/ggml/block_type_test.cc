// The table of block types against the sheet's list of numbers, and the checked entry points.
#include "tessera/formats/ggml/block_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tessera/formats/testing/ggml_goldens.h"

namespace tessera::ggml {
namespace {

using ::testing::HasSubstr;

// Numbers of ggml that have a layout, but no row yet. Empty when all have one.
const std::set<std::string> kWithoutRow = {};

TEST(BlockTypes, EveryNumberOfGgmlIsARowOrRemoved) {
  std::map<int32_t, const RemovedBlockType*> removed;
  for (const RemovedBlockType& row : RemovedBlockTypes()) removed[row.id] = &row;
  size_t rows = 0, absent = 0;
  for (const auto& line : GoldenTable("block_types.txt")) {
    ASSERT_EQ(line.size(), 4U);
    const int32_t id = std::stoi(line[0]);
    const std::string& name = line[1];
    const BlockType* row = FindBlockType(id);
    if (line[2] == "0") {
      EXPECT_EQ(row, nullptr) << name;
      ASSERT_TRUE(removed.contains(id)) << name;
      EXPECT_EQ(name, GoldenName({removed[id]->name, id, 0, 0, Weights::kIgnored, false, nullptr, nullptr}));
      EXPECT_FALSE(removed[id]->reason.empty());
      removed.erase(id);
    } else if (kWithoutRow.contains(name)) {
      EXPECT_EQ(row, nullptr) << name << " has a row: take it off the list of those without";
      ++absent;
    } else {
      ASSERT_NE(row, nullptr) << name;
      EXPECT_EQ(GoldenName(*row), name);
      EXPECT_EQ(std::to_string(row->block_values), line[2]) << name;
      EXPECT_EQ(std::to_string(row->block_bytes), line[3]) << name;
      EXPECT_FALSE(removed.contains(id)) << name;
      ++rows;
    }
  }
  EXPECT_EQ(rows, AllBlockTypes().size());
  EXPECT_EQ(absent, kWithoutRow.size());
  EXPECT_TRUE(removed.empty());
}

TEST(BlockTypes, NamesAndNumbersAreUniqueAndFound) {
  for (const BlockType& type : AllBlockTypes()) {
    EXPECT_EQ(FindBlockType(type.name), &type);
    EXPECT_EQ(FindBlockType(GoldenName(type)) == &type, !type.name.starts_with("ggml_")) << type.name;
    EXPECT_EQ(FindBlockType(type.id), &type);
  }
  EXPECT_EQ(FindBlockType("mxfp4"), nullptr);  // OCP's
  EXPECT_EQ(FindBlockType("q4_"), nullptr);
  EXPECT_EQ(FindBlockType("q4_00"), nullptr);
  EXPECT_EQ(FindBlockType(""), nullptr);
  EXPECT_EQ(FindBlockType(43), nullptr);
  EXPECT_EQ(FindBlockType(-1), nullptr);
}

TEST(BlocksSize, WholeBlocksOnly) {
  const BlockType& type = *FindBlockType("q4_k");
  EXPECT_EQ(BlocksSize(type, 0).value(), 0U);
  EXPECT_EQ(BlocksSize(type, 1024).value(), 576U);
  const auto short_row = BlocksSize(type, 1020);
  ASSERT_FALSE(short_row);
  EXPECT_EQ(short_row.error().code, ErrorCode::kArgument);
  EXPECT_THAT(short_row.error().Format(), HasSubstr("768 or 1024"));
  EXPECT_FALSE(BlocksSize(type, std::numeric_limits<uint64_t>::max()));
  const auto last = std::numeric_limits<uint64_t>::max() / 256 * 256;
  EXPECT_TRUE(BlocksSize(type, last));
  const auto wide = BlocksSize(*FindBlockType("i64"), last);
  ASSERT_FALSE(wide);
  EXPECT_THAT(wide.error().what, HasSubstr("64 bits"));
}

TEST(DecodeBlocks, SizesMustFit) {
  const BlockType& type = *FindBlockType("q8_0");
  std::vector<float> values(64);
  EXPECT_TRUE(DecodeBlocks(type, std::vector<uint8_t>(68), values));
  for (size_t size : {0, 34, 67, 69, 102}) {
    const auto done = DecodeBlocks(type, std::vector<uint8_t>(size), values);
    ASSERT_FALSE(done) << size;
    EXPECT_EQ(done.error().code, ErrorCode::kPayloadSize);
    EXPECT_THAT(done.error().Format(), HasSubstr("64 values take 68"));
  }
  values.resize(63);
  EXPECT_EQ(DecodeBlocks(type, std::vector<uint8_t>(68), values).error().code, ErrorCode::kArgument);
  EXPECT_TRUE(DecodeBlocks(type, {}, {}));
}

TEST(EncodeBlocks, SizesMustFit) {
  const BlockType& type = *FindBlockType("q4_0");
  const std::vector<float> values(128, 1.0F);
  std::vector<uint8_t> bytes(72);
  const std::vector<float> weights(64, 1.0F);
  EXPECT_TRUE(EncodeBlocks(type, values, 64, weights, bytes));
  EXPECT_TRUE(EncodeBlocks(type, values, 64, {}, bytes));
  EXPECT_TRUE(EncodeBlocks(type, {}, 64, weights, {}));
  EXPECT_TRUE(EncodeBlocks(type, {}, 0, {}, {}));
  struct Bad {
    size_t values, row, weights, bytes;
    const char* says;
  };
  for (const Bad& bad : {Bad{128, 48, 0, 72, "nearest sizes are 32 or 64"}, Bad{128, 96, 0, 72, "whole rows of 96"},
                         Bad{128, 0, 0, 72, "whole rows of 0"}, Bad{128, 64, 63, 72, "63 weights for rows of 64"},
                         Bad{128, 64, 128, 72, "128 weights for rows of 64"}, Bad{128, 64, 64, 71, "room for 71"},
                         Bad{128, 64, 64, 73, "128 values take 72"}}) {
    std::vector<uint8_t> room(bad.bytes, 0xAB);
    const auto done =
        EncodeBlocks(type, std::vector<float>(bad.values, 1.0F), bad.row, std::vector<float>(bad.weights, 1.0F), room);
    ASSERT_FALSE(done) << bad.says;
    EXPECT_EQ(done.error().code, ErrorCode::kArgument);
    EXPECT_THAT(done.error().Format(), HasSubstr(bad.says));
    EXPECT_EQ(room, std::vector<uint8_t>(bad.bytes, 0xAB));
  }
}

TEST(EncodeBlocks, SpecialValuesAreRefusedWhereATypeHasNone) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::set<std::string_view> with_specials = {"f32", "f64", "f16", "bf16"};
  for (const BlockType& type : AllBlockTypes()) {
    EXPECT_EQ(type.has_specials, with_specials.contains(type.name)) << type.name;
    for (float special : {kInf, -kInf, kNan}) {
      std::vector<float> values(512, 1.0F);
      values[256 + 7] = special;
      std::vector<uint8_t> bytes(BlocksSize(type, 512).value(), 0xAB);
      const std::vector<uint8_t> untouched = bytes;
      const auto done = EncodeBlocks(type, values, 256, {}, bytes);
      EXPECT_EQ(bool{done}, type.has_specials) << type.name << " " << special;
      if (done) {
        const float back = Decoded(type, bytes)[256 + 7];
        EXPECT_TRUE(special == back || (std::isnan(special) && std::isnan(back))) << type.name;
      } else {
        EXPECT_EQ(done.error().code, ErrorCode::kEncodeValue);
        EXPECT_THAT(done.error().what, HasSubstr("value 7 of row 1"));
        EXPECT_EQ(bytes, untouched);
      }
    }
  }
}

TEST(EncodeBlocks, WeightsAreFiniteAndNotNegative) {
  const BlockType& type = *FindBlockType("q4_0");
  for (float bad : {-1.0F, -1e-30F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> weights(32, 1.0F);
    std::vector<uint8_t> bytes(18);
    EXPECT_TRUE(EncodeBlocks(type, std::vector<float>(32, 1.0F), 32, weights, bytes));
    weights[5] = bad;
    const auto done = EncodeBlocks(type, std::vector<float>(32, 1.0F), 32, weights, bytes);
    ASSERT_FALSE(done) << bad;
    EXPECT_EQ(done.error().code, ErrorCode::kEncodeValue);
    EXPECT_THAT(done.error().what, HasSubstr("weight 5"));
  }
}

}  // namespace
}  // namespace tessera::ggml
