// Unpacking of elements of any bit width to whole bytes, the inner loop of LeafView. One portable path of 64-bit
// arithmetic; the same result on every processor.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace tessera {

// Unpacks runs of elements of `bits` bits (1..64), each `bit_stride` bits after the one before, to `out_bytes` bytes
// each (1, 2, 4 or 8; 8 * out_bytes >= bits), little-endian, sign-extended if `sign_extend`. Made once for many runs.
class BitUnpacker {
 public:
  BitUnpacker(uint32_t bits, uint64_t bit_stride, uint32_t out_bytes, bool sign_extend);

  // `count` elements, the first at bit `bit_offset` of `src`, to `dst`.
  // REQUIRES: all bits of the run lie inside `src`; dst has count * out_bytes bytes and does not overlap `src`.
  void Run(std::span<const uint8_t> src, uint64_t bit_offset, uint64_t count, uint8_t* dst) const;

 private:
  struct Step {
    uint64_t low = 0;    // mask of what stays
    uint64_t high = 0;   // mask of what moves
    uint32_t shift = 0;  // by how much
  };

  uint64_t Spread(uint64_t window) const;
  uint64_t LoadOne(std::span<const uint8_t> src, uint64_t bit) const;

  uint32_t bits_;
  uint64_t stride_;
  uint32_t out_bytes_;
  // Eight, four or two elements that lie within 64 bits are spread to lanes of out_bytes in up to three steps, each of
  // which moves the upper half of every lane group up.
  bool grouped_ = false;
  uint32_t group_ = 1;  // elements in 64 bits of output
  uint32_t steps_ = 0;
  std::array<Step, 3> step_{};
  uint64_t keep_ = 0;  // the low `bits` bits of each lane
  uint64_t sign_ = 0;  // the sign bit of each lane; 0 without sign extension
  uint64_t top_ = 0;   // the top bit of each lane
};

// Packs the low `bits` bits (1..8) of each byte of `src` one after the other into ceil(src.size() * bits / 8) bytes at
// dst; unused bits of the last byte are 0.
void PackBits(std::span<const uint8_t> src, uint32_t bits, uint8_t* dst);

}  // namespace tessera
