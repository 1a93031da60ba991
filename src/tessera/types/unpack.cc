#include "tessera/types/unpack.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace tessera {
namespace {

uint64_t LowBits(uint32_t bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

uint64_t Load64(const uint8_t* p) {
  uint64_t value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// `value` at every multiple of `period` bits.
uint64_t Repeat(uint64_t value, uint32_t period) {
  uint64_t all = 0;
  for (uint32_t at = 0; at < 64; at += period) all |= value << at;
  return all;
}

}  // namespace

BitUnpacker::BitUnpacker(uint32_t bits, uint64_t bit_stride, uint32_t out_bytes, bool sign_extend)
    : bits_(bits), stride_(bit_stride), out_bytes_(out_bytes) {
  const uint32_t lane = out_bytes * 8;
  keep_ = Repeat(LowBits(bits), lane);
  top_ = Repeat(uint64_t{1} << (lane - 1), lane);
  if (sign_extend && bits < lane) sign_ = Repeat(uint64_t{1} << (bits - 1), lane);
  if (bit_stride > lane || bit_stride < bits || lane == 64) return;
  grouped_ = true;
  group_ = 64 / lane;
  const uint32_t stride = static_cast<uint32_t>(bit_stride);
  // From halves of 64 bits down to lanes: n elements, n * stride bits, become two groups of n / 2.
  for (uint32_t n = group_; n > 1; n /= 2) {
    uint32_t half_bits = n / 2 * stride;
    uint32_t half_lane = n / 2 * lane;
    Step& step = step_[steps_++];
    step.low = Repeat(LowBits(half_bits), n * lane);
    step.high = Repeat(LowBits(half_bits) << half_bits, n * lane);
    step.shift = half_lane - half_bits;
  }
}

inline uint64_t BitUnpacker::Spread(uint64_t window) const {
  for (uint32_t i = 0; i < steps_; ++i) {
    window = (window & step_[i].low) | (window & step_[i].high) << step_[i].shift;
  }
  window &= keep_;
  // v - 2 * sign(v) in each lane: (v ^ s) - s, with the top bit set meanwhile so that no lane borrows from the next.
  if (sign_ != 0) window = (((window ^ sign_) | top_) - sign_) ^ top_;
  return window;
}

inline uint64_t BitUnpacker::LoadOne(std::span<const uint8_t> src, uint64_t bit) const {
  const uint64_t byte = bit / 8;
  const uint32_t shift = bit % 8;
  uint64_t value;
  if (src.size() - byte >= 9) {
    value = Load64(src.data() + byte) >> shift;
    if (shift + bits_ > 64) value |= uint64_t{src[byte + 8]} << (64 - shift);
  } else {
    value = 0;
    const uint64_t end = std::min<uint64_t>(src.size(), (bit + bits_ + 7) / 8);
    for (uint64_t i = byte; i < end; ++i) {
      int64_t at = static_cast<int64_t>(i - byte) * 8 - shift;
      value |= at < 0 ? uint64_t{src[i]} >> -at : at < 64 ? uint64_t{src[i]} << at : 0;
    }
  }
  value &= LowBits(bits_);
  if (sign_ != 0) {
    uint64_t sign = uint64_t{1} << (bits_ - 1);
    value = (value ^ sign) - sign;
  }
  return value;
}

void BitUnpacker::Run(std::span<const uint8_t> src, uint64_t bit_offset, uint64_t count, uint8_t* dst) const {
  uint64_t i = 0;
  if (grouped_) {
    // A group of 64 / lane elements takes `advance` bits of input; it is read as 8 bytes and, where it does not start
    // on a byte, one more.
    const uint64_t advance = group_ * stride_;
    uint64_t bit = bit_offset;
    for (; i + group_ <= count; i += group_, bit += advance, dst += 8) {
      const uint64_t byte = bit / 8;
      if (src.size() - byte < 9) break;
      const uint32_t shift = bit % 8;
      uint64_t window = Load64(src.data() + byte) >> shift;
      if (shift != 0) window |= uint64_t{src[byte + 8]} << (64 - shift);
      window = Spread(window);
      std::memcpy(dst, &window, 8);
    }
  } else if (bits_ == out_bytes_ * 8 && stride_ % 8 == 0 && bit_offset % 8 == 0) {
    // Whole elements at whole bytes.
    const uint8_t* from = src.data() + bit_offset / 8;
    const uint64_t step = stride_ / 8;
    auto copy = [&](auto size) {
      for (; i < count; ++i, from += step, dst += size()) std::memcpy(dst, from, size());
    };
    if (out_bytes_ == 1) copy(std::integral_constant<size_t, 1>());
    else if (out_bytes_ == 2) copy(std::integral_constant<size_t, 2>());
    else if (out_bytes_ == 4) copy(std::integral_constant<size_t, 4>());
    else copy(std::integral_constant<size_t, 8>());
  }
  for (; i < count; ++i, dst += out_bytes_) {
    uint64_t value = LoadOne(src, bit_offset + i * stride_);
    std::memcpy(dst, &value, out_bytes_);
  }
}

void PackBits(std::span<const uint8_t> src, uint32_t bits, uint8_t* dst) {
  uint64_t pending = 0;
  uint32_t pending_bits = 0;
  for (uint8_t value : src) {
    pending |= (value & LowBits(bits)) << pending_bits;
    for (pending_bits += bits; pending_bits >= 8; pending_bits -= 8, pending >>= 8) *dst++ = static_cast<uint8_t>(pending);
  }
  if (pending_bits > 0) *dst = static_cast<uint8_t>(pending);
}

}  // namespace tessera
