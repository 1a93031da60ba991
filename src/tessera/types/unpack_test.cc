#include "tessera/types/unpack.h"

#include <gtest/gtest.h>
#include <cstring>
#include <random>
#include <vector>

namespace tessera {
namespace {

// Bit by bit, to be read next to the contract: bit 0 is the least significant bit of byte 0.
uint64_t SlowBits(const std::vector<uint8_t>& bytes, uint64_t bit, uint32_t bits, bool sign_extend) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < bits; ++i) {
    uint64_t at = bit + i;
    value |= static_cast<uint64_t>(bytes[at / 8] >> at % 8 & 1) << i;
  }
  if (sign_extend && bits < 64 && (value >> (bits - 1) & 1) != 0) value |= ~uint64_t{0} << bits;
  return value;
}

std::vector<uint8_t> RandomBytes(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(n);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
  return bytes;
}

uint32_t OutBytes(uint32_t bits) { return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8; }

// Every width, with strides equal to it, a little larger, and far larger; every bit offset; counts around the group of
// eight; signed and unsigned. The source has exactly the bytes that the run needs (ASan sees one read too many), the
// destination has guard bytes.
TEST(BitUnpacker, EqualsBitByBitReading) {
  for (uint32_t bits = 1; bits <= 64; ++bits) {
    for (uint64_t stride : {uint64_t{bits}, uint64_t{bits} + 1, uint64_t{bits} + 5, uint64_t{144}, uint64_t{8} * bits}) {
      for (uint64_t offset : {0, 1, 3, 4, 7, 8, 13, 64}) {
        for (uint64_t count : {1, 2, 7, 8, 9, 16, 23, 40}) {
          for (bool sign : {false, true}) {
            const uint64_t end_bit = offset + (count - 1) * stride + bits;
            std::vector<uint8_t> src = RandomBytes((end_bit + 7) / 8, bits * 1000 + static_cast<uint32_t>(count));
            const uint32_t out_bytes = OutBytes(bits);
            std::vector<uint8_t> dst(count * out_bytes + 16, 0xA5);
            BitUnpacker(bits, stride, out_bytes, sign).Run(src, offset, count, dst.data() + 8);
            for (uint64_t i = 0; i < count; ++i) {
              uint64_t value = 0;
              std::memcpy(&value, dst.data() + 8 + i * out_bytes, out_bytes);
              uint64_t expected = SlowBits(src, offset + i * stride, bits, sign);
              if (out_bytes < 8) expected &= (uint64_t{1} << (8 * out_bytes)) - 1;
              ASSERT_EQ(value, expected) << "bits " << bits << " stride " << stride << " offset " << offset << " element "
                                         << i << " of " << count << (sign ? " signed" : "");
            }
            for (int i = 0; i < 8; ++i) {
              ASSERT_EQ(dst[i], 0xA5);
              ASSERT_EQ(dst[dst.size() - 1 - i], 0xA5);
            }
          }
        }
      }
    }
  }
}

// A component may be read into more bytes than its width needs.
TEST(BitUnpacker, WiderLanesThanNeeded) {
  std::vector<uint8_t> src = RandomBytes(64, 7);
  for (uint32_t out_bytes : {1u, 2u, 4u, 8u}) {
    std::vector<uint8_t> dst(21 * out_bytes);
    BitUnpacker(5, 5, out_bytes, true).Run(src, 2, 21, dst.data());
    for (uint64_t i = 0; i < 21; ++i) {
      uint64_t value = 0;
      std::memcpy(&value, dst.data() + i * out_bytes, out_bytes);
      uint64_t expected = SlowBits(src, 2 + i * 5, 5, true);
      if (out_bytes < 8) expected &= (uint64_t{1} << (8 * out_bytes)) - 1;
      ASSERT_EQ(value, expected);
    }
  }
}

TEST(PackBits, IsTheInverse) {
  for (uint32_t bits = 1; bits <= 8; ++bits) {
    for (size_t count : {0, 1, 3, 8, 17, 64}) {
      std::vector<uint8_t> values = RandomBytes(count, bits);
      for (uint8_t& v : values) v &= static_cast<uint8_t>((1u << bits) - 1);
      std::vector<uint8_t> packed((count * bits + 7) / 8 + 1, 0xA5);
      PackBits(values, bits, packed.data());
      ASSERT_EQ(packed.back(), 0xA5);
      packed.pop_back();
      std::vector<uint8_t> back(count);
      if (count > 0) BitUnpacker(bits, bits, 1, false).Run(packed, 0, count, back.data());
      ASSERT_EQ(back, values) << bits;
      if (count * bits % 8 != 0) { EXPECT_EQ(packed.back() >> (count * bits % 8), 0); }
    }
  }
}

}  // namespace
}  // namespace tessera
