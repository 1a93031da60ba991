// Two bits for each of 256 elements in 64 bytes, as Q2_K, Q3_K and TQ2_0 lay them out: 32 bytes hold 128 elements, bits
// 0..1 those of elements 0 .. 31, bits 2..3 those of elements 32 .. 63, and so on.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera::ggml {

constexpr size_t TwoBitsByte(size_t i) { return i / 128 * 32 + i % 32; }
constexpr size_t TwoBitsShift(size_t i) { return i % 128 / 32 * 2; }

inline int LoadTwoBits(const uint8_t* plane, size_t i) { return plane[TwoBitsByte(i)] >> TwoBitsShift(i) & 3; }
// REQUIRES: the bits are 0.
inline void AddTwoBits(uint8_t* plane, size_t i, int code) {
  uint8_t& byte = plane[TwoBitsByte(i)];
  byte = static_cast<uint8_t>(byte | code << TwoBitsShift(i));
}

}  // namespace tessera::ggml
