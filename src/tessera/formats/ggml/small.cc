// Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1: 32 values with one float16 scale and perhaps an offset.
//
// Four bits of elements 0 .. 15 are the low nibbles of 16 bytes, those of elements 16 .. 31 the high nibbles of the
// same bytes. A fifth bit of element i is bit i of a 32-bit word.
//
//   byte  0      2          18
// Q4_0    | d    | nibbles  |
// Q4_1    | d    | m    4   | nibbles  20 |
// Q5_0    | d    | bits 6   | nibbles  22 |
// Q5_1    | d    | m    4   | bits   8 | nibbles  24 |
// Q8_0    | d    | 32 signed bytes  34 |
// Q8_1    | d    | s    4   | 32 signed bytes  36 |       s = d * sum of codes, for products; decoding ignores it
#include <algorithm>
#include <array>
#include <cmath>

#include "tessera/formats/ggml/block_types_internal.h"
#include "tessera/formats/ggml/numbers.h"
#include "tessera/formats/ggml/search.h"

namespace tessera::ggml {
namespace {

constexpr size_t kCount = 32;
using Codes = std::array<uint8_t, kCount>;

// Codes of four bits, or of five where there is a word for the fifth.
Codes LoadCodes(const uint8_t* nibbles, const uint8_t* fifth_bits) {
  const uint32_t fifth = fifth_bits == nullptr ? 0 : LoadU32(fifth_bits);
  Codes codes;
  for (size_t i = 0; i < kCount; ++i) {
    const uint32_t low = nibbles[i % 16] >> (i < 16 ? 0 : 4) & 15;
    codes[i] = static_cast<uint8_t>(low | (fifth >> i & 1) << 4);
  }
  return codes;
}
void StoreCodes(const Codes& codes, uint8_t* nibbles, uint8_t* fifth_bits) {
  uint32_t fifth = 0;
  for (size_t i = 0; i < 16; ++i) nibbles[i] = static_cast<uint8_t>((codes[i] & 15) | (codes[i + 16] & 15) << 4);
  for (size_t i = 0; i < kCount; ++i) fifth |= static_cast<uint32_t>(codes[i] >> 4 & 1) << i;
  if (fifth_bits != nullptr) StoreU32(fifth_bits, fifth);
}

// An importance that also counts how large a value is beside the rest of its row.
std::array<float, kCount> SearchWeights(const BlockInput& in) {
  std::array<float, kCount> w;
  for (size_t i = 0; i < kCount; ++i) {
    w[i] = in.weights[i] * std::sqrt(in.row_mean_square + in.values[i] * in.values[i]);
  }
  return w;
}

// Q4_0 and Q5_0: code - half, times d.
template <int kBits>
struct Symmetric {
  static constexpr int kHalf = 1 << (kBits - 1);
  static constexpr int64_t kNibbles = kBits == 4 ? 2 : 6;
  static constexpr int64_t kValues = kCount, kBytes = kNibbles + 16;
  static constexpr Weights kWeights = Weights::kUsed;
  static constexpr float kLargest = kHalf * kLargestHalf;

  template <typename Byte>
  static Byte* FifthBits(Byte* block) {
    return kBits == 4 ? nullptr : block + 2;
  }

  static void Decode(const uint8_t* block, float* values) {
    const float d = LoadHalf(block);
    const Codes codes = LoadCodes(block + kNibbles, FifthBits(block));
    for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(codes[i] - kHalf) * d;
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    Codes codes;
    float d;
    if (in.weights.empty()) {
      d = LimitedToHalf(LargestSigned(in.values) / -static_cast<float>(kHalf));
      const float inverse = Inverse(d);
      for (size_t i = 0; i < kCount; ++i) {
        codes[i] = static_cast<uint8_t>(Truncate(in.values[i] * inverse + (kHalf + 0.5F), 0, 2 * kHalf - 1));
      }
    } else {
      d = FitSymmetric(in.values, SearchWeights(in), kHalf, codes);
    }
    StoreHalf(block, d);
    StoreCodes(codes, block + kNibbles, FifthBits(block));
  }
};

// Q4_1 and Q5_1: code times d, plus m.
template <int kBits>
struct WithOffset {
  static constexpr int kHighest = (1 << kBits) - 1;
  static constexpr int64_t kNibbles = kBits == 4 ? 4 : 8;
  static constexpr int64_t kValues = kCount, kBytes = kNibbles + 16;
  static constexpr Weights kWeights = Weights::kUsed;
  static constexpr float kLargest = (kHighest + 1) * kLargestHalf;

  template <typename Byte>
  static Byte* FifthBits(Byte* block) {
    return kBits == 4 ? nullptr : block + 4;
  }

  static void Decode(const uint8_t* block, float* values) {
    const float d = LoadHalf(block), m = LoadHalf(block + 2);
    const Codes codes = LoadCodes(block + kNibbles, FifthBits(block));
    for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(codes[i]) * d + m;
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    Codes codes;
    float d, m;
    bool recode = true;
    if (in.weights.empty()) {
      const auto [low, high] = std::minmax_element(in.values.begin(), in.values.end());
      d = (*high - *low) / static_cast<float>(kHighest);
      m = *low;
    } else {
      constexpr AffineTrials kTrials = {-0.9F, 0.05F, 36, AffineTrials::Error::kSquare};
      const Affine fit = FitAffine(in.values, SearchWeights(in), kHighest, kTrials, codes);
      d = fit.scale;
      m = -fit.depth;
      // The codes belong to scale and offset as they were found.
      recode = d != LimitedToHalf(d) || m != LimitedToHalf(m);
    }
    d = LimitedToHalf(d);
    m = LimitedToHalf(m);
    const float inverse = Inverse(d);
    for (size_t i = 0; i < kCount && recode; ++i) {
      codes[i] = static_cast<uint8_t>(Truncate((in.values[i] - m) * inverse + 0.5F, 0, kHighest));
    }
    StoreHalf(block, d);
    StoreHalf(block + 2, m);
    StoreCodes(codes, block + kNibbles, FifthBits(block));
  }
};

// Q8_0 and Q8_1: signed bytes times d.
template <bool kWithSum>
struct Bytes {
  static constexpr int64_t kCodes = kWithSum ? 4 : 2;
  static constexpr int64_t kValues = kCount, kBytes = kCodes + 32;
  static constexpr Weights kWeights = Weights::kIgnored;
  static constexpr float kLargest = 127 * kLargestHalf;

  static void Decode(const uint8_t* block, float* values) {
    const float d = LoadHalf(block);
    for (size_t i = 0; i < kCount; ++i) values[i] = static_cast<float>(static_cast<int8_t>(block[kCodes + i])) * d;
  }

  static void Encode(const BlockInput& in, uint8_t* block) {
    const float d = LimitedToHalf(std::abs(LargestSigned(in.values)) / 127);
    const float inverse = Inverse(d);
    int sum = 0;
    for (size_t i = 0; i < kCount; ++i) {
      const int code = RoundAway(in.values[i] * inverse, -127, 127);
      block[kCodes + i] = static_cast<uint8_t>(code);
      sum += code;
    }
    StoreHalf(block, d);
    if (kWithSum) StoreHalf(block + 2, static_cast<float>(sum) * d);
  }
};

}  // namespace

std::vector<BlockType> SmallTypes() {
  return {
      RowOf<Symmetric<4>>("q4_0", 2),  RowOf<WithOffset<4>>("q4_1", 3), RowOf<Symmetric<5>>("q5_0", 6),
      RowOf<WithOffset<5>>("q5_1", 7), RowOf<Bytes<false>>("q8_0", 8),  RowOf<Bytes<true>>("q8_1", 9),
  };
}

}  // namespace tessera::ggml
