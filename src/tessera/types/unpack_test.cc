#include "tessera/types/unpack.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <iostream>
#include <random>
#include <vector>

#include "tessera/base/cpu.h"

namespace tessera {
namespace {

// Bit by bit, to be read next to the contract: bit 0 is the least significant bit of byte 0.
uint64_t SlowBits(const std::vector<uint8_t>& bytes, uint64_t bit, uint32_t bits, bool sign_extend) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < bits; ++i) {
    const uint64_t at = bit + i;
    value |= static_cast<uint64_t>(bytes[at / 8] >> at % 8 & 1) << i;
  }
  if (sign_extend && bits < 64 && (value >> (bits - 1) & 1) != 0) value |= ~uint64_t{0} << bits;
  return value;
}

std::vector<uint8_t> RandomBytes(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> bytes(n);
  for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
  return bytes;
}

uint32_t OutBytes(uint32_t bits) { return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8; }

struct Shape {
  uint32_t bits;
  uint64_t stride;
  uint64_t offset;
  uint64_t count;
  uint32_t out_bytes;
};

// One run, signed and not. The source ends with the run's last byte, or some bytes later, so that ASan sees one read too
// many whichever way takes the last elements; the destination has guard bytes.
void CheckRun(const Shape& s) {
  const uint64_t end_bit = s.offset + (s.count - 1) * s.stride + s.bits;
  for (uint64_t spare : {0, 1, 40}) {
    std::vector<uint8_t> src = RandomBytes((end_bit + 7) / 8 + spare, s.bits * 1000 + s.count);
    src.shrink_to_fit();
    for (bool sign : {false, true}) {
      std::vector<uint8_t> expected(s.count * s.out_bytes + 16, 0xA5);
      std::vector<uint8_t> dst = expected;
      for (uint64_t i = 0; i < s.count; ++i) {
        const uint64_t value = SlowBits(src, s.offset + i * s.stride, s.bits, sign);
        std::memcpy(expected.data() + 8 + i * s.out_bytes, &value, s.out_bytes);
      }
      BitUnpacker(s.bits, s.stride, s.out_bytes, sign).Run(src, s.offset, s.count, dst.data() + 8);
      ASSERT_EQ(dst, expected) << "bits " << s.bits << " stride " << s.stride << " offset " << s.offset << " count "
                               << s.count << " spare " << spare << (sign ? " signed" : "");
    }
  }
}

// Every width, with strides equal to it, a little larger, whole bytes and far larger; counts around the group of eight.
TEST(BitUnpacker, EqualsBitByBitReading) {
  for (uint32_t bits = 1; bits <= 64; ++bits) {
    for (uint64_t stride : {uint64_t{bits}, uint64_t{bits} + 1, uint64_t{bits + 7} / 8 * 8, uint64_t{144}, uint64_t{1001}}) {
      for (uint64_t offset : {0, 1, 3, 4, 7, 8, 77}) {
        for (uint64_t count : {1, 7, 8, 9, 16, 23}) CheckRun({bits, stride, offset, count, OutBytes(bits)});
      }
    }
  }
}

// Every stride up to a byte with every width in it: the components of a bit packing.
TEST(BitUnpacker, ComponentsOfSmallElements) {
  for (uint64_t stride = 1; stride <= 8; ++stride) {
    for (uint32_t bits = 1; bits <= stride; ++bits) {
      for (uint64_t offset = 0; offset < 8; ++offset) {
        for (uint64_t count : {1, 8, 40, 71}) CheckRun({bits, stride, offset, count, 1});
      }
    }
  }
}

// Strides below the width (elements that overlap) and 0 (one element, repeated) are runs like all others.
TEST(BitUnpacker, OverlappingElements) {
  for (uint32_t bits : {2u, 8u, 13u, 64u}) {
    for (uint64_t stride : {0, 1, 2, 7}) {
      for (uint64_t count : {1, 9, 33}) CheckRun({bits, stride, 3, count, OutBytes(bits)});
    }
  }
}

TEST(BitUnpacker, MoreOutputBytesThanNeeded) {
  for (uint32_t out_bytes : {2u, 4u, 8u}) {
    for (uint32_t bits : {1u, 2u, 4u, 5u, 8u, 16u}) CheckRun({bits, bits, 2, 41, out_bytes});
  }
}

// Rows at once are the same as row by row: of whole vectors and not, aligned and not, up to the last byte of the source.
TEST(BitUnpacker, RowsAreRuns) {
  for (uint32_t bits : {2u, 3u, 4u, 5u, 16u}) {
    for (uint64_t count : {1, 31, 32, 64, 100}) {
      for (uint64_t gap : {0, 3, 16}) {
        for (uint64_t offset : {0, 5, 16}) {
          const uint64_t rows = 7;
          const uint64_t row_stride = count * bits + gap;
          std::vector<uint8_t> src((offset + (rows - 1) * row_stride + count * bits + 7) / 8);
          for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<uint8_t>(i * 73 + bits);
          const uint32_t out_bytes = OutBytes(bits);
          const BitUnpacker unpacker(bits, bits, out_bytes, true);
          std::vector<uint8_t> at_once(rows * count * out_bytes);
          std::vector<uint8_t> one_by_one(at_once.size());
          unpacker.RunRows(src, offset, row_stride, rows, count, at_once.data());
          for (uint64_t row = 0; row < rows; ++row) {
            unpacker.Run(src, offset + row * row_stride, count, one_by_one.data() + row * count * out_bytes);
          }
          ASSERT_EQ(at_once, one_by_one) << bits << " bits, " << count << " a row, gap " << gap << ", offset " << offset;
        }
      }
    }
  }
}

TEST(BitUnpacker, NoElements) {
  uint8_t guard = 0xA5;
  for (uint32_t bits : {1u, 4u, 8u, 64u}) BitUnpacker(bits, bits, OutBytes(bits), false).Run({}, 0, 0, &guard);
  EXPECT_EQ(guard, 0xA5);
}

// The SIMD way, for each target that this machine has, with counts around one, two and three of the widest vectors.
TEST(BitUnpacker, EveryTargetOfTheMachine) {
  CpuInit();
  std::vector<int64_t> targets = hwy::SupportedAndGeneratedTargets();
  const bool has_scalar = std::any_of(targets.begin(), targets.end(), [](int64_t t) { return CpuTargetName(t) == "scalar"; });
  // Highway 1.2 and later may compile no scalar target where every machine has SIMD.
  const int64_t scalar = HWY_TARGETS & (HWY_SCALAR | HWY_EMU128);
  if (!has_scalar && scalar != 0) targets.push_back(scalar);
  ASSERT_EQ(targets.size(), CpuTargets().size()) << CpuReport();
  std::cout << "targets:";
  for (int64_t target : targets) {
    hwy::SetSupportedTargetsForTest(target);
    const std::string name = CpuTargetName(target);
    ASSERT_EQ(UnpackTarget(), name);
    std::cout << " " << name;
    for (uint64_t stride : {2, 4}) {
      for (uint32_t bits = 1; bits <= stride; ++bits) {
        for (uint64_t offset = 0; offset < 10; ++offset) {
          for (uint64_t vector : {16, 32, 64}) {
            for (uint64_t count : {vector - 1, vector, vector + 1, 2 * vector, 3 * vector + 5}) {
              CheckRun({bits, stride, offset, count, 1});
              if (HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
  std::cout << " (ran)\n";
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_EQ(UnpackTarget(), CpuTargets().front());
}

TEST(PackBits, IsTheInverse) {
  for (uint32_t bits = 1; bits <= 8; ++bits) {
    for (size_t count : {0, 1, 3, 7, 8, 9, 17, 64, 1001}) {
      std::vector<uint8_t> values = RandomBytes(count, bits);  // bits above the width are to be ignored
      std::vector<uint8_t> packed((count * bits + 7) / 8 + 1, 0xA5);
      PackBits(values, bits, packed.data());
      ASSERT_EQ(packed.back(), 0xA5);
      packed.pop_back();
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(SlowBits(packed, i * bits, bits, false), values[i] & ((1u << bits) - 1)) << bits << " element " << i;
      }
      if (count * bits % 8 != 0) { EXPECT_EQ(packed.back() >> (count * bits % 8), 0) << bits; }
    }
  }
}

}  // namespace
}  // namespace tessera
