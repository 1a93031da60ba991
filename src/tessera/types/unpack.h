// Unpacking of elements of any bit width to whole bytes, the inner loop of LeafView, and its inverse. The same result on
// every processor; base/cpu.h says which SIMD level runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tessera {

// Unpacks runs of elements of `bits` bits (1..64), each `bit_stride` bits after the one before, to `out_bytes` bytes
// each (1, 2, 4 or 8; 8 * out_bytes >= bits), little-endian, sign-extended if `sign_extend`. Made once for many runs;
// a value, may be used from many threads.
class BitUnpacker {
 public:
  BitUnpacker(uint32_t bits, uint64_t bit_stride, uint32_t out_bytes, bool sign_extend);

  // `count` elements, the first at bit `bit_offset` of `src`, to `dst`. Reads nothing outside `src`.
  // REQUIRES: all bits of the run lie inside `src`; dst has count * out_bytes bytes and does not overlap `src`.
  void Run(std::span<const uint8_t> src, uint64_t bit_offset, uint64_t count, uint8_t* dst) const;

  // `rows` runs of `count` elements, `row_stride_bits` from the first element of one to that of the next: the codes of
  // blocked formats, with a scale between them. REQUIRES: as for Run, for all rows.
  void RunRows(std::span<const uint8_t> src, uint64_t bit_offset, uint64_t row_stride_bits, uint64_t rows, uint64_t count,
               uint8_t* dst) const;

 private:
  uint32_t bits_;
  uint64_t bit_stride_;
  uint32_t out_bytes_;
  bool sign_extend_;
};

// Packs the low `bits` bits (1..8) of each byte of `src` one after the other into ceil(src.size() * bits / 8) bytes at
// dst; unused bits of the last byte are 0.
void PackBits(std::span<const uint8_t> src, uint32_t bits, uint8_t* dst);

// The SIMD target (a name of base/cpu.h) that runs now, for tests and reports.
std::string UnpackTarget();

}  // namespace tessera
