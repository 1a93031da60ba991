// FLOAT8E4M3FN with a FLOAT scale for each square of rows and columns: deepseek-ai/DeepSeek-V3 at 9b4e978,
// README_WEIGHTS.md and inference/fp8_cast_bf16.py. First the codes, row by row, then the scales.
#include <algorithm>
#include <cmath>

#include "tessera/codecs/checkpoints/layout.h"
#include "tessera/types/element_value.h"

namespace tessera::checkpoints {
namespace {

constexpr ElementType kCode = ElementType::kFloat8E4M3FN;

std::optional<uint64_t> Size(const Layout&, const Extent& extent) {
  return Sum<2>({extent.elements,
                 CheckedProduct(std::array{CeilDiv(extent.rows, extent.block), extent.BlocksInRow(), uint64_t{4}})});
}

void Decode(const Layout&, const Extent& extent, std::span<const uint8_t> payload, std::span<float> values) {
  const std::span<const uint8_t> scales = payload.subspan(extent.elements);
  for (uint64_t i = 0; i < extent.elements; ++i) {
    const uint64_t row = i / extent.cols / extent.block;
    const uint64_t column = i % extent.cols / extent.block;
    values[i] = DecodeToFloat(kCode, payload[i]) * ReadFloat(scales, row * extent.BlocksInRow() + column);
  }
}

// The largest magnitude of a block becomes the largest number.
void Encode(const Layout&, const Extent& extent, std::span<const float> values, std::span<uint8_t> payload) {
  const std::span<uint8_t> scales = payload.subspan(extent.elements);
  const float most = DecodeToFloat(kCode, LargestFinite(kCode));
  for (uint64_t top = 0; top < extent.rows; top += extent.block) {
    for (uint64_t left = 0; left < extent.cols; left += extent.block) {
      const uint64_t bottom = std::min(extent.rows, top + extent.block);
      const uint64_t right = std::min(extent.cols, left + extent.block);
      float magnitude = 0;
      for (uint64_t row = top; row < bottom; ++row) {
        for (uint64_t col = left; col < right; ++col) {
          magnitude = std::max(magnitude, std::abs(Encodable(values[row * extent.cols + col])));
        }
      }
      const float scale = magnitude / most;
      WriteFloat(scales, top / extent.block * extent.BlocksInRow() + left / extent.block, scale);
      for (uint64_t row = top; row < bottom; ++row) {
        for (uint64_t col = left; col < right; ++col) {
          const float value = values[row * extent.cols + col];
          const float number = std::isnan(value) || scale > 0 ? value / scale : 0;
          payload[row * extent.cols + col] = static_cast<uint8_t>(EncodeFloat(kCode, number, Overflow::kSaturate));
        }
      }
    }
  }
}

constexpr Layout kLayouts[] = {
    {.name = "fp8_block128x128", .size = Size, .decode = Decode, .encode = Encode},
};

}  // namespace

std::span<const Layout> Float8BlockLayouts() { return kLayouts; }

}  // namespace tessera::checkpoints
