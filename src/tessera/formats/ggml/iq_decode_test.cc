// Every point of every grid under every scale, shift and sign of the IQ types, in blocks that are packed here and with
// values from the tables' text: exactly.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tessera/formats/testing/ggml_tables.h"

namespace tessera::ggml {
namespace {

using Block = std::vector<uint8_t>;

void Put(uint8_t& byte, size_t value, size_t shift) { byte = static_cast<uint8_t>(byte | value << shift); }
void Put(Block& block, size_t offset, uint32_t value, size_t bytes) {
  for (size_t k = 0; k < bytes; ++k) Put(block[offset + k], value >> 8 * k & 255, 0);
}

// How a type lays out 256 values. `mark` is the sign bits of a group of eight, or the shift of one: 0 up, 1 down.
struct Layout {
  const char* type;
  const char* table;
  size_t bytes;
  size_t part;                        // values under a scale
  uint32_t scales;                    // how many there are
  uint32_t marks;                     // how many there are
  size_t mark_size;                   // values under a mark
  std::function<void(Block&)> put_d;  // 1
  std::function<void(Block&, size_t group, uint32_t index)> put_index;
  std::function<void(Block&, size_t at, uint32_t mark)> put_mark;
  std::function<void(Block&, size_t part, uint32_t scale)> put_scale;
  std::function<float(uint32_t scale)> scale;
  bool even_signs = false;
  bool shifts = false;
};

void PutFirst(Block& block) { Put(block, 0, 0x3C00, 2); }
void PutNibbles(Block& block, size_t offset, size_t p, uint32_t s) { Put(block[offset + p / 2], s, p % 2 * 4); }
float Quarters(uint32_t s) { return (0.5F + static_cast<float>(s)) / 4; }

std::vector<Layout> Layouts() {
  return {
      {"iq2_xxs", "iq2xxs_grid", 66, 32, 16, 128, 8, PutFirst,
       [](Block& b, size_t g, uint32_t index) { b[2 + g / 4 * 8 + g % 4] = static_cast<uint8_t>(index); },
       [](Block& b, size_t g, uint32_t signs) { Put(b, 2 + g / 4 * 8 + 4, signs << g % 4 * 7, 4); },
       [](Block& b, size_t p, uint32_t s) { Put(b[2 + 8 * p + 7], s, 4); }, Quarters, /*even_signs=*/true},
      {"iq2_xs", "iq2xs_grid", 74, 16, 16, 128, 8, PutFirst,
       [](Block& b, size_t g, uint32_t index) { Put(b, 2 + 2 * g, index, 2); },
       [](Block& b, size_t g, uint32_t signs) { Put(b, 2 + 2 * g, signs << 9, 2); },
       [](Block& b, size_t p, uint32_t s) { PutNibbles(b, 66, p, s); }, Quarters, /*even_signs=*/true},
      {"iq2_s", "iq2s_grid", 82, 16, 16, 256, 8, PutFirst,
       [](Block& b, size_t g, uint32_t index) {
         b[2 + g] = static_cast<uint8_t>(index);
         Put(b[66 + g / 4], index >> 8, g % 4 * 2);
       },
       [](Block& b, size_t g, uint32_t signs) { b[34 + g] = static_cast<uint8_t>(signs); },
       [](Block& b, size_t p, uint32_t s) { PutNibbles(b, 74, p, s); }, Quarters},
      {"iq3_xxs", "iq3xxs_grid", 98, 32, 16, 128, 8, PutFirst,
       [](Block& b, size_t g, uint32_t index) { b[2 + g] = static_cast<uint8_t>(index); },
       [](Block& b, size_t o, uint32_t signs) { Put(b, 66 + o / 4 * 4, signs << o % 4 * 7, 4); },
       [](Block& b, size_t p, uint32_t s) { Put(b[66 + 4 * p + 3], s, 4); },
       [](uint32_t s) { return (0.5F + static_cast<float>(s)) / 2; }, /*even_signs=*/true},
      {"iq3_s", "iq3s_grid", 110, 32, 16, 256, 8, PutFirst,
       [](Block& b, size_t g, uint32_t index) {
         b[2 + g] = static_cast<uint8_t>(index);
         Put(b[66 + g / 8], index >> 8, g % 8);
       },
       [](Block& b, size_t o, uint32_t signs) { b[74 + o] = static_cast<uint8_t>(signs); },
       [](Block& b, size_t p, uint32_t s) { PutNibbles(b, 106, p, s); },
       [](uint32_t s) { return static_cast<float>(2 * s + 1); }},
      {"iq1_s", "iq1s_grid", 50, 32, 8, 2, 32, PutFirst,
       [](Block& b, size_t g, uint32_t index) {
         b[2 + g] = static_cast<uint8_t>(index);
         Put(b, 34 + g / 4 * 2, index >> 8 << g % 4 * 3, 2);
       },
       [](Block& b, size_t p, uint32_t down) { Put(b[34 + 2 * p + 1], down, 7); },
       [](Block& b, size_t p, uint32_t s) { Put(b[34 + 2 * p + 1], s, 4); },
       [](uint32_t s) { return static_cast<float>(2 * s + 1); }, false, /*shifts=*/true},
      {"iq1_m", "iq1s_grid", 56, 16, 8, 2, 8,
       // 0x3C00, from its lowest nibble.
       [](Block& b) {
         Put(b[53], 0xC, 4);
         Put(b[55], 0x3, 4);
       },
       [](Block& b, size_t g, uint32_t index) {
         b[g] = static_cast<uint8_t>(index);
         Put(b[32 + g / 2], index >> 8, g % 2 * 4);
       },
       [](Block& b, size_t g, uint32_t down) { Put(b[32 + g / 2], down, g % 2 * 4 + 3); },
       [](Block& b, size_t p, uint32_t s) { Put(b, 48 + p / 4 * 2, s << p % 4 * 3, 2); },
       [](uint32_t s) { return static_cast<float>(2 * s + 1); }, false, /*shifts=*/true},
  };
}

struct Codes {
  std::vector<uint32_t> indices, marks, scales;
};

Block Packed(const Layout& layout, const Codes& codes) {
  Block block(layout.bytes);
  layout.put_d(block);
  for (size_t i = 0; i < codes.indices.size(); ++i) layout.put_index(block, i, codes.indices[i]);
  for (size_t i = 0; i < codes.marks.size(); ++i) layout.put_mark(block, i, codes.marks[i]);
  for (size_t i = 0; i < codes.scales.size(); ++i) layout.put_scale(block, i, codes.scales[i]);
  return block;
}

std::vector<float> Expected(const Layout& layout, const WordTable& table, const Codes& codes) {
  std::vector<float> values(256);
  const size_t group = table.words[0].size();
  for (size_t i = 0; i < 256; ++i) {
    const uint8_t byte = table.words[codes.indices[i / group]][i % group];
    const uint32_t mark = codes.marks[i / layout.mark_size];
    const float scale = layout.scale(codes.scales[i / layout.part]);
    if (layout.shifts) {
      values[i] = scale * (static_cast<float>(static_cast<int8_t>(byte)) + (mark != 0 ? -0.125F : 0.125F));
    } else {
      uint32_t ones = 0;
      for (uint32_t bit = 0; bit < 7; ++bit) ones += mark >> bit & 1;
      const bool negative = layout.even_signs && i % 8 == 7 ? ones % 2 != 0 : (mark >> i % 8 & 1) != 0;
      values[i] = scale * static_cast<float>(byte) * (negative ? -1.0F : 1.0F);
    }
  }
  return values;
}

// A block of random codes; what a test is about is then put over them.
Codes RandomCodes(const Layout& layout, const WordTable& table, std::mt19937& random) {
  auto fill = [&](size_t count, size_t below) {
    std::vector<uint32_t> numbers(count);
    for (uint32_t& n : numbers) n = static_cast<uint32_t>(random() % below);
    return numbers;
  };
  return {fill(256 / table.words[0].size(), table.words.size()), fill(256 / layout.mark_size, layout.marks),
          fill(256 / layout.part, layout.scales)};
}

void ExpectDecodes(const Layout& layout, const WordTable& table, const Codes& codes) {
  EXPECT_EQ(
      FirstDifference(Decoded(*FindBlockType(layout.type), Packed(layout, codes)), Expected(layout, table, codes)), "")
      << layout.type;
}

void TestEveryPointAndScale(const Layout& layout) {
  const WordTable table = ReadWords(layout.table);
  std::mt19937 random(14);
  for (uint32_t scale = 0; scale < layout.scales; ++scale) {
    for (size_t first = 0; first < table.words.size();) {
      Codes codes = RandomCodes(layout, table, random);
      std::fill(codes.scales.begin(), codes.scales.end(), scale);
      for (uint32_t& index : codes.indices) index = static_cast<uint32_t>(first++ % table.words.size());
      ExpectDecodes(layout, table, codes);
      if (layout.marks != 2) continue;
      for (uint32_t& mark : codes.marks) mark = 1 - mark;  // each point with each shift
      ExpectDecodes(layout, table, codes);
    }
  }
}

// All 512 points of IQ3_S under all 16 scales, to the bit. The defect: 62 where 4 * 15 belongs, in 150 places.
TEST(Cases, C14) {
  const Layout layout = Layouts()[4];
  ASSERT_STREQ(layout.type, "iq3_s");
  const WordTable table = ReadWords(layout.table);
  ASSERT_EQ(table.words.size(), 512U);
  ASSERT_EQ(layout.scales, 16U);
  TestEveryPointAndScale(layout);

  size_t highest = 0, noticed = 0;
  for (uint32_t first = 0; first < 512; first += 64) {
    Codes codes{std::vector<uint32_t>(64), std::vector<uint32_t>(32), std::vector<uint32_t>(8, 7)};
    for (uint32_t g = 0; g < 64; ++g) codes.indices[g] = first + g;
    const std::vector<float> values = Decoded(*FindBlockType("iq3_s"), Packed(layout, codes));
    for (size_t i = 0; i < 256; ++i) {
      const uint8_t byte = table.words[first + i / 4][i % 4];
      const float defective = byte == 15 ? 62.0F / 4 : byte;
      highest += byte == 15;
      noticed += values[i] != 15 * defective;
    }
  }
  EXPECT_EQ(highest, 150U);
  EXPECT_EQ(noticed, 150U);
}

TEST(IqDecode, EveryPointUnderEveryScale) {
  for (const Layout& layout : Layouts()) TestEveryPointAndScale(layout);
}

// Every place for an index, a mark and a scale, with every value there, among other random ones.
TEST(IqDecode, EveryMarkAndScaleInEveryPlace) {
  std::mt19937 random(8);
  for (const Layout& layout : Layouts()) {
    const WordTable table = ReadWords(layout.table);
    for (size_t at = 0; at < 256 / layout.mark_size; ++at) {
      for (uint32_t mark = 0; mark < layout.marks; ++mark) {
        Codes codes = RandomCodes(layout, table, random);
        codes.marks[at] = mark;
        ExpectDecodes(layout, table, codes);
      }
    }
    for (size_t at = 0; at < 256 / layout.part; ++at) {
      for (uint32_t scale = 0; scale < layout.scales; ++scale) {
        Codes codes = RandomCodes(layout, table, random);
        codes.scales[at] = scale;
        ExpectDecodes(layout, table, codes);
      }
    }
  }
}

// An even number of signs in each group of eight, whatever the seven bits.
TEST(IqDecode, SevenSignsGiveTheEighth) {
  const WordTable signs = ReadWords("ksigns_iq2xs");
  size_t types = 0;
  for (const Layout& layout : Layouts()) {
    if (!layout.even_signs) continue;
    ++types;
    const WordTable table = ReadWords(layout.table);
    std::mt19937 random(7);
    for (uint32_t mark = 0; mark < 128; ++mark) {
      Codes codes = RandomCodes(layout, table, random);
      std::fill(codes.marks.begin(), codes.marks.end(), mark);
      const std::vector<float> values = Decoded(*FindBlockType(layout.type), Packed(layout, codes));
      for (size_t i = 0; i < 256; ++i) EXPECT_EQ(values[i] < 0, (signs.words[mark][0] >> i % 8 & 1) != 0);
    }
  }
  EXPECT_EQ(types, 3U);
}

// d, under the lowest scale and over every float16 of its sign, subnormal ones too: it is read from where it stands.
TEST(IqDecode, EveryFiniteScaleOfABlock) {
  for (const Layout& layout : Layouts()) {
    const WordTable table = ReadWords(layout.table);
    const bool spread = std::string(layout.type) == "iq1_m";
    Codes codes{std::vector<uint32_t>(256 / table.words[0].size()), std::vector<uint32_t>(256 / layout.mark_size),
                std::vector<uint32_t>(256 / layout.part)};
    Block block = Packed(layout, codes);
    const float unit = Expected(layout, table, codes)[0];
    for (uint32_t half = 0; half < 0x10000; half += 7) {
      if ((half & 0x7C00) == 0x7C00) continue;
      if (spread) {
        for (size_t k = 0; k < 4; ++k) block[49 + 2 * k] = static_cast<uint8_t>((half >> 4 * k & 15) << 4);
      } else {
        StoreU16(block.data(), static_cast<uint16_t>(half));
      }
      std::vector<float> value(256);
      FindBlockType(layout.type)->decode(block, value);
      ASSERT_EQ(value[0], HalfToFloat(static_cast<uint16_t>(half)) * unit) << layout.type << " " << half;
    }
  }
}

// IQ4: every code in every place, every scale of IQ4_XS.
TEST(IqDecode, EveryLevelInEveryPlace) {
  const WordTable levels = ReadWords("kvalues_iq4nl");
  auto level = [&](size_t code) { return static_cast<float>(static_cast<int8_t>(levels.words[code][0])); };
  for (size_t turn = 0; turn < 16; ++turn) {
    Block block(18);
    PutFirst(block);
    for (size_t i = 0; i < 32; ++i) Put(block[2 + i % 16], (7 * i + turn) % 16, i / 16 * 4);
    const std::vector<float> values = Decoded(*FindBlockType("iq4_nl"), block);
    for (size_t i = 0; i < 32; ++i) EXPECT_EQ(values[i], level((7 * i + turn) % 16));
  }
  for (size_t turn = 0; turn < 64; ++turn) {
    Block block(136);
    PutFirst(block);
    for (size_t p = 0; p < 8; ++p) {
      const size_t s = (9 * p + turn) % 64;
      Put(block, 2, static_cast<uint32_t>(s / 16) << 2 * p, 2);
      PutNibbles(block, 4, p, static_cast<uint32_t>(s % 16));
    }
    for (size_t i = 0; i < 256; ++i) Put(block[8 + i / 32 * 16 + i % 16], (5 * i + turn) % 16, i % 32 / 16 * 4);
    const std::vector<float> values = Decoded(*FindBlockType("iq4_xs"), block);
    for (size_t i = 0; i < 256; ++i) {
      const float scale = static_cast<float>((9 * (i / 32) + turn) % 64) - 32;
      EXPECT_EQ(values[i], scale * level((5 * i + turn) % 16));
    }
  }
}

}  // namespace
}  // namespace tessera::ggml
