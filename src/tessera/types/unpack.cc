// Four ways, from fast to general; each does what it can of a run and the next takes the rest:
//   memcpy      whole bytes, contiguous
//   SIMD        one element every 2 or 4 bits, to bytes
//   groups      one element every 1..8 bits, to bytes: eight elements in one 64-bit word
//   elements    everything else: one 64-bit load an element; the last few, near the end of `src`, byte by byte
#include "tessera/types/unpack.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/types/unpack.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef TESSERA_TYPES_UNPACK_RUN
#define TESSERA_TYPES_UNPACK_RUN
namespace tessera {
namespace {

// One run and how its elements lie; what is done moves on to the rest.
struct BitRun {
  std::span<const uint8_t> src;
  uint64_t bit_offset;
  uint64_t bit_stride;
  uint64_t count;
  uint32_t bits;
};

}  // namespace
}  // namespace tessera
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The target this copy of the file is compiled for, so that a test can tell which one ran.
int64_t ThisTarget() { return HWY_TARGET; }

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
uint64_t UnpackRows(const BitRun&, uint64_t, uint64_t, bool, uint8_t*) { return 0; }
uint64_t UnpackWide(const BitRun&, bool, uint8_t*) { return 0; }
#else

// Spreads the elements in the lowest byte of each 16-bit (kStride 4) or 32-bit (kStride 2) lane over the lane's bytes.
// Bits of a byte above the stride are not cleared.
template <int kStride, class D, class V = hn::Vec<D>>
V Spread(D d, V v) {
  if constexpr (kStride == 4) {
    return hn::Or(v, hn::ShiftLeft<4>(v));
  } else {
    v = hn::And(hn::Or(v, hn::ShiftLeft<12>(v)), hn::Set(d, 0x000F000Fu));
    return hn::Or(v, hn::ShiftLeft<6>(v));
  }
}

// The first elements of a run with one element every kStride bits, as many as whole vectors inside `src` give.
template <int kStride, bool kShifted>
uint64_t UnpackStride(const BitRun& run, bool sign_extend, uint8_t* HWY_RESTRICT dst) {
  using Lane = std::conditional_t<kStride == 4, uint16_t, uint32_t>;
  const hn::ScalableTag<Lane> d;
  const hn::Rebind<uint8_t, decltype(d)> d_src;
  const hn::Repartition<uint8_t, decltype(d)> d_out;
  const size_t lanes = hn::Lanes(d);  // bytes of `src` for one vector of results
  const uint64_t per_vector = lanes * sizeof(Lane);

  const uint8_t* HWY_RESTRICT p = run.src.data() + run.bit_offset / 8;
  const uint64_t available = run.src.size() - run.bit_offset / 8 - (kShifted ? 1 : 0);
  const uint64_t vectors = std::min(run.count / per_vector, available / lanes);
  const int shift = static_cast<int>(run.bit_offset % 8);

  const auto mask = hn::Set(d_out, static_cast<uint8_t>((1u << run.bits) - 1));
  const auto sign = hn::Set(d_out, static_cast<uint8_t>(sign_extend ? 1u << (run.bits - 1) : 0));
  for (uint64_t i = 0; i < vectors; ++i, p += lanes, dst += per_vector) {
    auto v = hn::PromoteTo(d, hn::LoadU(d_src, p));
    if constexpr (kShifted) {
      v = hn::Or(v, hn::ShiftLeft<8>(hn::PromoteTo(d, hn::LoadU(d_src, p + 1))));
      v = hn::And(hn::ShiftRightSame(v, shift), hn::Set(d, Lane{0xFF}));
    }
    const auto codes = hn::And(hn::BitCast(d_out, Spread<kStride>(d, v)), mask);
    hn::StoreU(hn::Sub(hn::Xor(codes, sign), sign), d_out, dst);
  }
  return vectors * per_vector;
}

// Rows of whole vectors, one call for all: a call for each of many short rows would cost more than its work. Returns how
// many rows are done.
template <int kStride, bool kShifted>
uint64_t UnpackStrideRows(BitRun run, uint64_t row_bytes, uint64_t rows, bool sign_extend, uint8_t* HWY_RESTRICT dst) {
  using Lane = std::conditional_t<kStride == 4, uint16_t, uint32_t>;
  const size_t lanes = hn::Lanes(hn::ScalableTag<Lane>());
  if (run.count % (lanes * sizeof(Lane)) != 0) return 0;
  uint64_t done = 0;
  while (done < rows && UnpackStride<kStride, kShifted>(run, sign_extend, dst) == run.count) {
    ++done;
    dst += run.count;
    if (done < rows) run.bit_offset += row_bytes * 8;
  }
  return done;
}

uint64_t UnpackRows(const BitRun& run, uint64_t row_bytes, uint64_t rows, bool sign_extend, uint8_t* dst) {
  const bool shifted = run.bit_offset % 8 != 0;
  if (run.bit_stride == 2) {
    return shifted ? UnpackStrideRows<2, true>(run, row_bytes, rows, sign_extend, dst)
                   : UnpackStrideRows<2, false>(run, row_bytes, rows, sign_extend, dst);
  }
  return shifted ? UnpackStrideRows<4, true>(run, row_bytes, rows, sign_extend, dst)
                 : UnpackStrideRows<4, false>(run, row_bytes, rows, sign_extend, dst);
}

// REQUIRES: bits <= bit_stride, and bit_stride is 2 or 4. Returns how many elements are done.
uint64_t UnpackWide(const BitRun& run, bool sign_extend, uint8_t* dst) {
  const bool shifted = run.bit_offset % 8 != 0;
  if (run.bit_stride == 2) {
    return shifted ? UnpackStride<2, true>(run, sign_extend, dst) : UnpackStride<2, false>(run, sign_extend, dst);
  }
  return shifted ? UnpackStride<4, true>(run, sign_extend, dst) : UnpackStride<4, false>(run, sign_extend, dst);
}
#endif

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace tessera
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "tessera/base/cpu.h"

namespace tessera {
namespace {

HWY_EXPORT(UnpackRows);
HWY_EXPORT(UnpackWide);
HWY_EXPORT(ThisTarget);

constexpr uint64_t LowBits(uint32_t bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

constexpr uint64_t kEveryByte = 0x0101010101010101;

// `pattern` in the low bits of every `period` bits of a word.
constexpr uint64_t Repeated(uint64_t pattern, uint32_t period) {
  uint64_t word = 0;
  for (uint32_t bit = 0; bit < 64; bit += period) word |= pattern << bit;
  return word;
}

uint64_t Load64(const uint8_t* p) {
  uint64_t word;
  std::memcpy(&word, p, 8);
  return word;
}

void Advance(BitRun& run, uint64_t elements) {
  run.bit_offset += elements * run.bit_stride;
  run.count -= elements;
}

// --- Groups: eight elements of kStride bits <-> the eight bytes of a word. Three steps, each halving the pieces:
//   | 8 elements | -> | 4 | 4 | -> | 2 | 2 | 2 | 2 | -> one element a byte
template <uint32_t kStride>
constexpr uint64_t SpreadGroup(uint64_t x) {
  constexpr uint64_t kFour = LowBits(4 * kStride);
  constexpr uint64_t kTwo = Repeated(LowBits(2 * kStride), 32);
  constexpr uint64_t kOne = Repeated(LowBits(kStride), 16);
  x = (x & kFour) | (x >> (4 * kStride) & kFour) << 32;
  x = (x & kTwo) | (x >> (2 * kStride) & kTwo) << 16;
  return (x & kOne) | (x >> kStride & kOne) << 8;
}

template <uint32_t kBits>
constexpr uint64_t GatherGroup(uint64_t x) {
  constexpr uint64_t kOne = Repeated(LowBits(kBits), 16);
  constexpr uint64_t kTwo = Repeated(LowBits(2 * kBits), 32);
  constexpr uint64_t kFour = LowBits(4 * kBits);
  x = (x & kOne) | (x >> 8 & kOne) << kBits;
  x = (x & kTwo) | (x >> 16 & kTwo) << (2 * kBits);
  return (x & kFour) | (x >> 32 & kFour) << (4 * kBits);
}

// As many whole groups as can be loaded inside `src`. REQUIRES: bits <= kStride; for kStride 8 also that no element
// crosses a byte. Returns how many elements are done.
template <uint32_t kStride>
uint64_t UnpackGroups(const BitRun& run, bool sign_extend, uint8_t* dst) {
  const uint8_t* p = run.src.data() + run.bit_offset / 8;
  const uint64_t available = run.src.size() - run.bit_offset / 8;
  const uint64_t groups = available < 8 ? 0 : std::min(run.count / 8, (available - 8) / kStride + 1);
  const uint32_t shift = run.bit_offset % 8;  // with it a group still fits: 7 * 8 + 7 < 64
  const uint64_t mask = LowBits(run.bits) * kEveryByte;
  // A set sign bit, moved to bit 0 of its byte, times `fill` sets all bits above the element.
  const uint64_t fill = sign_extend ? 0xFF & ~LowBits(run.bits) : 0;
  const uint32_t to_bit_0 = run.bits - 1;
  for (uint64_t i = 0; i < groups; ++i) {
    uint64_t x = SpreadGroup<kStride>(Load64(p + i * kStride) >> shift) & mask;
    x |= (x >> to_bit_0 & kEveryByte) * fill;
    std::memcpy(dst + i * 8, &x, 8);
  }
  return groups * 8;
}

template <uint32_t kBits>
uint64_t PackGroups(std::span<const uint8_t> src, uint8_t* dst) {
  const uint64_t groups = src.size() / 8;
  for (uint64_t i = 0; i < groups; ++i) {
    uint64_t x = GatherGroup<kBits>(Load64(src.data() + i * 8));
    std::memcpy(dst + i * kBits, &x, kBits);
  }
  return groups * 8;
}

// Row i of each is for i + 1 bits.
template <size_t... kIndex>
constexpr auto UnpackGroupsTable(std::index_sequence<kIndex...>) {
  return std::array{&UnpackGroups<kIndex + 1>...};
}
template <size_t... kIndex>
constexpr auto PackGroupsTable(std::index_sequence<kIndex...>) {
  return std::array{&PackGroups<kIndex + 1>...};
}
constexpr auto kUnpackGroups = UnpackGroupsTable(std::make_index_sequence<8>());
constexpr auto kPackGroups = PackGroupsTable(std::make_index_sequence<8>());

// --- Elements, one at a time.

// `bits` bits at `bit` of `src`, touching only the bytes that hold them.
uint64_t LoadBits(std::span<const uint8_t> src, uint64_t bit, uint32_t bits) {
  const uint8_t* p = src.data() + bit / 8;
  const uint32_t shift = bit % 8;
  const uint32_t bytes = (shift + bits + 7) / 8;  // up to 9
  uint64_t word = 0;
  std::memcpy(&word, p, std::min(bytes, 8u));
  word >>= shift;
  if (bytes == 9) word |= uint64_t{p[8]} << (64 - shift);
  return word & LowBits(bits);
}

template <typename Out>
void UnpackElements(const BitRun& run, bool sign_extend, uint8_t* dst) {
  const uint64_t mask = LowBits(run.bits);
  const uint64_t sign = sign_extend ? uint64_t{1} << (run.bits - 1) : 0;
  auto store = [&](uint64_t i, uint64_t code) {
    const Out value = static_cast<Out>((code ^ sign) - sign);
    std::memcpy(dst + i * sizeof(Out), &value, sizeof(Out));
  };
  // Elements whose eight bytes from the first one on lie inside `src`; for widths up to 57 these hold the element.
  const uint64_t last_start = run.src.size() < 8 || run.bits > 57 ? 0 : (run.src.size() - 8) * 8 + 7;
  uint64_t quick = 0;
  if (run.src.size() >= 8 && run.bits <= 57 && run.bit_offset <= last_start) {
    quick = run.bit_stride == 0 ? run.count : std::min(run.count, (last_start - run.bit_offset) / run.bit_stride + 1);
  }
  const uint8_t* src = run.src.data();
  if (run.bit_offset % 8 == 0 && run.bit_stride % 8 == 0) {
    const uint8_t* p = src + run.bit_offset / 8;
    for (uint64_t i = 0; i < quick; ++i) store(i, Load64(p + i * (run.bit_stride / 8)) & mask);
  } else {
    uint64_t bit = run.bit_offset;
    for (uint64_t i = 0; i < quick; ++i, bit += run.bit_stride) store(i, Load64(src + bit / 8) >> (bit % 8) & mask);
  }
  for (uint64_t i = quick; i < run.count; ++i) {
    store(i, LoadBits(run.src, run.bit_offset + i * run.bit_stride, run.bits));
  }
}

}  // namespace

BitUnpacker::BitUnpacker(uint32_t bits, uint64_t bit_stride, uint32_t out_bytes, bool sign_extend)
    : bits_(bits), bit_stride_(bit_stride), out_bytes_(out_bytes), sign_extend_(sign_extend) {
  CpuInit();
}

void BitUnpacker::Run(std::span<const uint8_t> src, uint64_t bit_offset, uint64_t count, uint8_t* dst) const {
  if (count == 0) return;
  if (bits_ == 8 * out_bytes_ && bit_stride_ == bits_ && bit_offset % 8 == 0) {
    std::memcpy(dst, src.data() + bit_offset / 8, count * out_bytes_);
    return;
  }
  BitRun run = {src, bit_offset, bit_stride_, count, bits_};
  if (out_bytes_ == 1 && bit_stride_ >= bits_ && bit_stride_ <= 8) {
    if (bit_stride_ == 2 || bit_stride_ == 4) {
      const uint64_t done = HWY_DYNAMIC_DISPATCH(UnpackWide)(run, sign_extend_, dst);
      if (done == count) return;  // worth it for the many short runs of blocked formats: 32 codes a block
      Advance(run, done);
      dst += done;
    }
    if (bit_stride_ < 8 || bit_offset % 8 + bits_ <= 8) {
      const uint64_t done = kUnpackGroups[bit_stride_ - 1](run, sign_extend_, dst);
      if (done == run.count) return;
      Advance(run, done);
      dst += done;
    }
  }
  switch (out_bytes_) {
    case 1:
      return UnpackElements<uint8_t>(run, sign_extend_, dst);
    case 2:
      return UnpackElements<uint16_t>(run, sign_extend_, dst);
    case 4:
      return UnpackElements<uint32_t>(run, sign_extend_, dst);
    default:
      return UnpackElements<uint64_t>(run, sign_extend_, dst);
  }
}

void BitUnpacker::RunRows(std::span<const uint8_t> src, uint64_t bit_offset, uint64_t row_stride_bits, uint64_t rows,
                          uint64_t count, uint8_t* dst) const {
  uint64_t row = 0;
  if (out_bytes_ == 1 && bit_stride_ >= bits_ && (bit_stride_ == 2 || bit_stride_ == 4) && row_stride_bits % 8 == 0) {
    const BitRun run = {src, bit_offset, bit_stride_, count, bits_};
    row = HWY_DYNAMIC_DISPATCH(UnpackRows)(run, row_stride_bits / 8, rows, sign_extend_, dst);
  }
  for (; row < rows; ++row) Run(src, bit_offset + row * row_stride_bits, count, dst + row * count * out_bytes_);
}

void PackBits(std::span<const uint8_t> src, uint32_t bits, uint8_t* dst) {
  const uint64_t done = kPackGroups[bits - 1](src, dst);
  dst += done / 8 * bits;
  uint64_t word = 0;
  uint32_t used = 0;
  for (uint64_t i = done; i < src.size(); ++i, used += bits) word |= (src[i] & LowBits(bits)) << used;
  if (used != 0) std::memcpy(dst, &word, (used + 7) / 8);
}

std::string UnpackTarget() {
  CpuInit();
  return CpuTargetName(HWY_DYNAMIC_DISPATCH(ThisTarget)());
}

}  // namespace tessera
#endif  // HWY_ONCE
