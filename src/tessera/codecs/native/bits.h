// Single codes in a payload, by the number of their first bit. Private to codecs/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace tessera::native {

// REQUIRES: the bits lie inside `bytes`; 0 < bits <= 64.
inline uint64_t ReadBits(std::span<const uint8_t> bytes, uint64_t bit, uint32_t bits) {
  uint64_t code = 0;
  for (uint32_t got = 0; got < bits;) {
    const auto low = static_cast<uint32_t>((bit + got) % 8);
    const uint32_t taken = std::min(8 - low, bits - got);
    const uint64_t piece = (bytes[(bit + got) / 8] >> low) & ((1U << taken) - 1);
    code |= piece << got;
    got += taken;
  }
  return code;
}

// The other bits of the bytes stay as they are.
inline void WriteBits(std::span<uint8_t> bytes, uint64_t bit, uint32_t bits, uint64_t code) {
  for (uint32_t put = 0; put < bits;) {
    const auto low = static_cast<uint32_t>((bit + put) % 8);
    const uint32_t taken = std::min(8 - low, bits - put);
    const auto mask = static_cast<uint8_t>(((1U << taken) - 1) << low);
    uint8_t& byte = bytes[(bit + put) / 8];
    byte = static_cast<uint8_t>((byte & ~mask) | (static_cast<uint8_t>((code >> put) << low) & mask));
    put += taken;
  }
}

}  // namespace tessera::native
