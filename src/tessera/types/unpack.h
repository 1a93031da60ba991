// Unpacking of elements of any bit width to whole bytes, the inner loop of LeafView.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tessera {

// Elements of a run: `count` elements of `bits` bits (1..64), the first at bit `bit_offset` of `src`, each `bit_stride`
// bits after the one before. Writes each to `out_bytes` bytes (1, 2, 4 or 8; 8 * out_bytes >= bits), little-endian,
// sign-extended if `sign_extend`. The same result on every processor.
// REQUIRES: all bits of the run lie inside `src`; dst has count * out_bytes bytes and does not overlap `src`.
struct BitRun {
  std::span<const uint8_t> src;
  uint64_t bit_offset = 0;
  uint64_t bit_stride = 0;
  uint64_t count = 0;
  uint32_t bits = 0;
};
void UnpackBits(const BitRun& run, uint32_t out_bytes, bool sign_extend, uint8_t* dst);

// The inverse for contiguous elements: packs the low `bits` bits (1..8) of `count` bytes into ceil(count * bits / 8)
// bytes at dst; unused bits of the last byte are 0.
void PackBits(std::span<const uint8_t> src, uint32_t bits, uint8_t* dst);

// The SIMD target (a name of base/cpu.h) that UnpackBits runs on, for tests and reports.
std::string UnpackTarget();

}  // namespace tessera
