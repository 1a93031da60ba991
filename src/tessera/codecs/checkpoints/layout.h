// Layouts that no profile can say: codes, scales and more as they stand in the tensors of a checkpoint, one array
// behind the other. A row a layout; its name is what a format calls its codec. Scalar and exact; shares no arithmetic
// with the decoders in the files of the catalogue, which it is compared with. Private to codecs/.
//
// Pure functions; the caller owns all memory.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "tessera/base/checked.h"

namespace tessera::checkpoints {

// The tensor: rows * cols = elements fits.
struct Extent {
  uint64_t rows = 0;  // of all axes but the last
  uint64_t cols = 0;
  uint64_t elements = 0;
  uint64_t block = 1;

  uint64_t BlocksInRow() const { return CeilDiv(cols, block); }
};

struct Layout {
  std::string_view name;
  // Bytes of the payload; nullopt where there is no such payload.
  std::optional<uint64_t> (*size)(const Layout& layout, const Extent& extent);
  // REQUIRES for both: as many bytes as size() says, as many values as the tensor has.
  void (*decode)(const Layout& layout, const Extent& extent, std::span<const uint8_t> payload, std::span<float> values);
  // `payload` is zeroed.
  void (*encode)(const Layout& layout, const Extent& extent, std::span<const float> values, std::span<uint8_t> payload);

  uint32_t bits = 8;
  bool is_signed = false;     // integers
  bool whole_blocks = false;  // the codes of a row's last block are all there, and its zero points begin in a byte
  bool nested = false;        // scales are quantized once more
  std::span<const float> levels = {};  // what codes mean, where they are no integers
};

// One function a file of layouts.
std::span<const Layout> BitsandbytesLayouts();
std::span<const Layout> BlockedIntegerLayouts();
std::span<const Layout> Float8BlockLayouts();

// ---- What they share

inline float ReadFloat(std::span<const uint8_t> bytes, uint64_t index) {
  uint32_t code = 0;
  for (uint32_t i = 0; i < 4; ++i) code |= static_cast<uint32_t>(bytes[4 * index + i]) << (8 * i);
  return std::bit_cast<float>(code);
}

inline void WriteFloat(std::span<uint8_t> bytes, uint64_t index, float value) {
  const auto code = std::bit_cast<uint32_t>(value);
  for (uint32_t i = 0; i < 4; ++i) bytes[4 * index + i] = static_cast<uint8_t>(code >> (8 * i));
}

// What is encoded in place of a value: the largest number for infinity, 0 for NaN.
inline float Encodable(float value) {
  constexpr float kMost = std::numeric_limits<float>::max();
  if (std::isnan(value)) return 0;
  return value < -kMost ? -kMost : value > kMost ? kMost : value;
}

// The sum, or nullopt.
template <size_t N>
std::optional<uint64_t> Sum(const std::array<std::optional<uint64_t>, N>& parts) {
  std::optional<uint64_t> sum = 0;
  for (const std::optional<uint64_t>& part : parts) {
    if (!part) return std::nullopt;
    sum = CheckedAdd(*sum, *part);
    if (!sum) return std::nullopt;
  }
  return sum;
}

}  // namespace tessera::checkpoints
