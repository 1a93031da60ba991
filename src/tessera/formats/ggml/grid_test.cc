// Grids against the tables they were made from, and searches in them against searches without lists.
#include "tessera/formats/ggml/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tessera/base/digest.h"
#include "tessera/formats/testing/ggml_tables.h"

namespace tessera::ggml {
namespace {

using ::testing::ElementsAreArray;
using Words = std::vector<std::vector<uint8_t>>;

Words WordsOf(const Grid& grid) {
  Words words;
  for (size_t i = 0; i < grid.size(); ++i) words.emplace_back(grid.Point(i), grid.Point(i) + grid.elements());
  return words;
}

Words WordsOfSigns() {
  Words words;
  for (uint32_t bits = 0; bits < 128; ++bits) words.push_back({SignsOfSevenBits(bits)});
  return words;
}

// Signs of a group of which only the sign of element k is to be stored, as the values of a block show them.
Words WordsOfSignBits() {
  const BlockType& type = *FindBlockType("iq2_s");
  Words words;
  for (size_t k = 0; k < 8; ++k) {
    std::vector<uint8_t> block(82);
    StoreU16(block.data(), 0x3C00);
    block[34] = static_cast<uint8_t>(1 << k);
    const std::vector<float> values = Decoded(type, block);
    uint32_t signs = 0;
    for (size_t i = 0; i < 8; ++i) signs |= (values[i] < 0 ? 1U : 0U) << i;
    words.push_back({static_cast<uint8_t>(signs)});
  }
  return words;
}

Words WordsOfIq4Levels() {
  Words words;
  for (int8_t level : kIq4nlLevels) words.push_back({static_cast<uint8_t>(level)});
  return words;
}

Words WordsOfMxfp4Levels() {
  std::vector<uint8_t> block(17);
  block[0] = 128;  // a scale of 1
  for (size_t i = 0; i < 16; ++i) block[1 + i] = static_cast<uint8_t>(i);
  Words words;
  const std::vector<float> values = Decoded(*FindBlockType("ggml_mxfp4"), block);
  for (size_t i = 0; i < 16; ++i) words.push_back({static_cast<uint8_t>(static_cast<int>(values[i]))});
  return words;
}

const std::map<std::string, std::function<Words()>>& WordsInUse() {
  static const auto& words = *new std::map<std::string, std::function<Words()>>{
      {"iq1s_grid", [] { return WordsOf(GridOf<kIq1sTable>()); }},
      {"iq2xxs_grid", [] { return WordsOf(GridOf<kIq2xxsTable>()); }},
      {"iq2xs_grid", [] { return WordsOf(GridOf<kIq2xsTable>()); }},
      {"iq2s_grid", [] { return WordsOf(GridOf<kIq2sTable>()); }},
      {"iq3xxs_grid", [] { return WordsOf(GridOf<kIq3xxsTable>()); }},
      {"iq3s_grid", [] { return WordsOf(GridOf<kIq3sTable>()); }},
      {"ksigns_iq2xs", WordsOfSigns},
      {"kmask_iq2xs", WordsOfSignBits},
      {"kvalues_iq4nl", WordsOfIq4Levels},
      {"kvalues_mxfp4", WordsOfMxfp4Levels},
  };
  return words;
}

std::string DigestAsTable(const std::string& head, const Words& words) {
  std::string text = head + "\n";
  for (const auto& word : words) {
    for (size_t k = word.size(); k-- > 0;) {
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", word[k]);
      text += digits;
    }
    text += "\n";
  }
  Sha256 digest;
  digest.Update(std::vector<uint8_t>(text.begin(), text.end()));
  return digest.HexDigest();
}

// What codecs work with, written out as a table, has the checksum that the facts sheet gives for the table. One wrong
// byte gives another.
TEST(Cases, C14Checksums) {
  size_t tables = 0;
  for (const auto& line : GoldenTable("tables/sha256.txt")) {
    ASSERT_EQ(line.size(), 2U);
    const std::string name = line[1].substr(0, line[1].size() - 4);
    ASSERT_TRUE(WordsInUse().contains(name)) << name;
    const std::string head = ReadWords(name).head;
    Words words = WordsInUse().at(name)();
    EXPECT_EQ(DigestAsTable(head, words), line[0]) << name;
    words[words.size() / 2][0] ^= 1;
    EXPECT_NE(DigestAsTable(head, words), line[0]) << name;
    ++tables;
  }
  EXPECT_EQ(tables, WordsInUse().size());
}

TEST(Grid, LevelsAreTheNumbersOfAPoint) {
  const Grid& grid = GridOf<kIq3xxsTable>();
  ASSERT_EQ(grid.level_count(), 8U);
  for (size_t i = 0; i < grid.size(); ++i) {
    for (size_t k = 0; k < 4; ++k) {
      const int level = grid.Levels(i)[k];
      EXPECT_EQ(grid.Point(i)[k], level == 7 ? 62 : 4 + 8 * level) << i;
    }
  }
}

struct Search {
  const char* name;
  const GridSearch& search;
  size_t distances;
};

std::vector<Search> Searches() {
  return {
      {"iq1s", SearchOf<kIq1sTable, 3>(), 3},     {"iq2xxs", SearchOf<kIq2xxsTable, 2>(), 2},
      {"iq2xs", SearchOf<kIq2xsTable, 2>(), 2},   {"iq2s", SearchOf<kIq2sTable, 1>(), 1},
      {"iq3xxs", SearchOf<kIq3xxsTable, 2>(), 2}, {"iq3s", SearchOf<kIq3sTable, 3>(), 3},
  };
}

using Levels = std::vector<uint8_t>;

Levels LevelsOf(const Grid& grid, size_t index) { return {grid.Levels(index), grid.Levels(index) + grid.elements()}; }

// Every combination of levels that the grid lacks, in the order of keys, by odometer.
std::vector<Levels> Lacking(const Grid& grid) {
  std::set<Levels> points;
  for (size_t i = 0; i < grid.size(); ++i) points.insert(LevelsOf(grid, i));
  EXPECT_EQ(points.size(), grid.size());
  std::vector<Levels> lacking;
  Levels levels(grid.elements(), 0);
  while (true) {
    if (!points.contains(levels)) lacking.push_back(levels);
    size_t k = 0;
    while (k < levels.size() && ++levels[k] == grid.level_count()) levels[k++] = 0;
    if (k == levels.size()) return lacking;
  }
}

size_t KeyOf(const Grid& grid, const Levels& levels) {
  size_t key = 0;
  for (size_t k = levels.size(); k-- > 0;) key = (key << (grid.elements() == 8 ? 2 : 3)) + levels[k];
  return key;
}

// All points in the order of the definition: by distance between odd numbers, then by index; cut after so many
// distances.
std::vector<uint16_t> NeighborsByDefinition(const Grid& grid, const Levels& levels, size_t distances) {
  std::vector<std::pair<int, uint16_t>> order;
  for (size_t i = 0; i < grid.size(); ++i) {
    int sum = 0;
    for (size_t k = 0; k < levels.size(); ++k) {
      const int step = (2 * levels[k] + 1) - (2 * grid.Levels(i)[k] + 1);
      sum += step * step;
    }
    order.emplace_back(sum, static_cast<uint16_t>(i));
  }
  std::sort(order.begin(), order.end());
  std::vector<uint16_t> neighbors;
  int last = -1;
  for (const auto& [distance, index] : order) {
    if (distance != last && distances-- == 0) break;
    last = distance;
    neighbors.push_back(index);
  }
  return neighbors;
}

TEST(GridSearch, NeighborsAreThoseOfTheDefinition) {
  std::mt19937 random(1);
  for (const Search& s : Searches()) {
    const Grid& grid = s.search.grid();
    std::vector<Levels> lacking = Lacking(grid);
    EXPECT_EQ(lacking.size() + grid.size(),
              static_cast<size_t>(std::lround(std::pow(grid.level_count(), grid.elements()))));
    std::shuffle(lacking.begin(), lacking.end(), random);
    lacking.resize(std::min<size_t>(lacking.size(), 200));
    for (const Levels& levels : lacking) {
      EXPECT_THAT(s.search.Neighbors(KeyOf(grid, levels)),
                  ElementsAreArray(NeighborsByDefinition(grid, levels, s.distances)))
          << s.name;
    }
    for (size_t i = 0; i < grid.size(); ++i) {
      EXPECT_TRUE(s.search.Neighbors(KeyOf(grid, LevelsOf(grid, i))).empty()) << s.name;
    }
    EXPECT_TRUE(s.search.Neighbors(0xFFFF).empty());
  }
}

TEST(GridSearch, FindsPointsOfTheGrid) {
  for (const Search& s : Searches()) {
    const Grid& grid = s.search.grid();
    // What the levels are to mean does not matter then.
    const std::vector<float> anything(8, 3.5F);
    for (size_t i = 0; i < grid.size(); ++i) {
      const auto found = s.search.Find(grid.Levels(i), anything.data(), anything.data(), anything.data());
      EXPECT_TRUE(found.on_grid);
      EXPECT_EQ(found.index, i);
    }
  }
}

TEST(GridSearch, FindsTheBestNeighbor) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> uniform(0, 4);
  for (const Search& s : Searches()) {
    const Grid& grid = s.search.grid();
    std::vector<Levels> lacking = Lacking(grid);
    std::shuffle(lacking.begin(), lacking.end(), random);
    lacking.resize(std::min<size_t>(lacking.size(), 300));
    size_t later = 0;
    for (const Levels& levels : lacking) {
      std::vector<float> meaning(grid.level_count()), values(grid.elements()), weights(grid.elements());
      for (size_t l = 0; l < meaning.size(); ++l) meaning[l] = static_cast<float>(l) + uniform(random) / 8;
      for (size_t k = 0; k < values.size(); ++k) {
        values[k] = static_cast<float>(levels[k]) + uniform(random) / 4 - 0.5F;
        weights[k] = uniform(random);
      }
      auto error = [&](size_t index) {
        double sum = 0;
        for (size_t k = 0; k < values.size(); ++k) {
          sum += double{weights[k]} * std::pow(double{meaning[grid.Levels(index)[k]]} - double{values[k]}, 2);
        }
        return sum;
      };
      const auto found = s.search.Find(levels.data(), meaning.data(), values.data(), weights.data());
      EXPECT_FALSE(found.on_grid);
      const auto neighbors = NeighborsByDefinition(grid, levels, s.distances);
      EXPECT_THAT(neighbors, ::testing::Contains(found.index));
      for (uint16_t other : neighbors) EXPECT_LE(error(found.index), error(other) * 1.00001) << s.name;
      later += found.index != neighbors[0];
      // Without weights all are as good: the first.
      const std::vector<float> none(grid.elements(), 0.0F);
      EXPECT_EQ(s.search.Find(levels.data(), meaning.data(), values.data(), none.data()).index, neighbors[0]);
    }
    EXPECT_GT(later, 10U) << s.name;
  }
}

}  // namespace
}  // namespace tessera::ggml
