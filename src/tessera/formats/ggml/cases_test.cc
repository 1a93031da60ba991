// Defects that other readers of these formats had. Each test names its case; each decodes the block a second time in
// the order in which the bytes lie, once right and once with the defect, so that a block that could not tell the two
// apart fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <vector>

#include "tessera/formats/testing/ggml_goldens.h"

namespace tessera::ggml {
namespace {

size_t Differing(const std::vector<float>& a, const std::vector<float>& b) {
  size_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
  return count;
}

std::vector<uint8_t> RandomBytes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
  return bytes;
}

// Q2_K: the scales of 16 values each went to the wrong two-bit lanes.
TEST(Cases, C11) {
  std::vector<uint8_t> block = RandomBytes(84, 11);
  std::array<uint8_t, 16> scales, offsets;
  std::iota(scales.begin(), scales.end(), uint8_t{0});
  std::iota(offsets.begin(), offsets.end(), uint8_t{0});
  std::mt19937 random(11);
  std::shuffle(scales.begin(), scales.end(), random);
  std::shuffle(offsets.begin(), offsets.end(), random);
  for (size_t s = 0; s < 16; ++s) block[s] = static_cast<uint8_t>(scales[s] | offsets[s] << 4);
  StoreU16(block.data() + 80, 0x3C00);  // d = 1
  StoreU16(block.data() + 82, 0x3800);  // dmin = 0.5

  // A byte of codes serves one value in each of four lanes of 32.
  auto by_byte = [&](auto scale_of) {
    std::vector<float> values(256);
    for (size_t byte = 0; byte < 64; ++byte) {
      for (size_t lane = 0; lane < 4; ++lane) {
        const size_t half = byte / 32, column = byte % 32;
        const int code = block[16 + byte] >> 2 * lane & 3;
        const size_t s = scale_of(half, lane, column);
        values[128 * half + 32 * lane + column] =
            static_cast<float>(scales[s] * code) - 0.5F * static_cast<float>(offsets[s]);
      }
    }
    return values;
  };
  const auto right = by_byte([](size_t half, size_t lane, size_t column) { return 8 * half + 2 * lane + column / 16; });
  const auto wrong =
      by_byte([](size_t half, size_t lane, size_t column) { return 8 * half + lane + 4 * (column / 16); });
  EXPECT_EQ(FirstDifference(Decoded(*FindBlockType("q2_k"), block), right), "");
  EXPECT_GT(Differing(right, wrong), 128U);
}

// Q3_K: scales of six bits were read as four.
TEST(Cases, C12) {
  const std::array<int, 16> scales = {-32, 31, -17, 5, -1, 1, 16, -16, 30, -31, 9, -9, 24, -24, 12, -5};
  std::vector<uint8_t> block = RandomBytes(110, 12);
  std::fill(block.begin() + 96, block.begin() + 108, uint8_t{0});
  for (size_t s = 0; s < 16; ++s) {
    const int code = scales[s] + 32;
    block[96 + s % 8] = static_cast<uint8_t>(block[96 + s % 8] + ((code % 16) << (s < 8 ? 0 : 4)));
    block[104 + s % 4] = static_cast<uint8_t>(block[104 + s % 4] + ((code / 16) << (s / 4 * 2)));
  }
  StoreU16(block.data() + 108, 0x3C00);  // d = 1

  auto by_byte = [&](int kept_bits) {
    std::vector<float> values(256);
    for (size_t byte = 0; byte < 64; ++byte) {
      for (size_t lane = 0; lane < 4; ++lane) {
        const size_t half = byte / 32, column = byte % 32;
        int code = block[32 + byte] >> 2 * lane & 3;
        if ((block[column] >> (4 * half + lane) & 1) == 0) code -= 4;
        const int scale = (scales[8 * half + 2 * lane + column / 16] + 32) & ((1 << kept_bits) - 1);
        // A product of integers has no -0; the format's does.
        values[128 * half + 32 * lane + column] = static_cast<float>(scale - 32) * static_cast<float>(code);
      }
    }
    return values;
  };
  EXPECT_EQ(FirstDifference(Decoded(*FindBlockType("q3_k"), block), by_byte(6)), "");
  EXPECT_GT(Differing(by_byte(6), by_byte(4)), 100U);
}

// MXFP4 of ggml: halves of a block in the nibbles, not neighbours as in OCP's packing.
TEST(Cases, C15) {
  constexpr std::array<float, 16> kLevels = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, 0, -0.5F, -1, -1.5F, -2, -3, -4, -6};
  std::vector<uint8_t> block(17);
  block[0] = 127;
  for (size_t i = 0; i < 16; ++i) block[1 + i] = static_cast<uint8_t>(i | (15 - i) << 4);
  std::vector<float> split(32), linear(32);
  for (size_t i = 0; i < 16; ++i) {
    split[i] = kLevels[i];
    split[16 + i] = kLevels[15 - i];
    linear[2 * i] = kLevels[i];
    linear[2 * i + 1] = kLevels[15 - i];
  }
  EXPECT_EQ(FirstDifference(Decoded(*FindBlockType("ggml_mxfp4"), block), split), "");
  EXPECT_GT(Differing(split, linear), 16U);
}

}  // namespace
}  // namespace tessera::ggml
