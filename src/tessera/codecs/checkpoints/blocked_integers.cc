// Integers in blocks along the last axis, with a scale and a zero point each: ONNX's DequantizeLinear (onnx/onnx at
// f7546912, onnx/defs/quantization/defs.cc; raw_data in onnx/onnx.in.proto) and onnxruntime's MatMulNBits
// (docs/ContribOperators.md). Codes, scales and zero points follow each other.
#include <algorithm>
#include <cmath>

#include "tessera/codecs/checkpoints/layout.h"
#include "tessera/codecs/native/bits.h"

namespace tessera::checkpoints {
namespace {

// Where the three arrays begin, and single fields in them.
class Places {
 public:
  Places(const Layout& layout, const Extent& extent)
      : bits_(layout.bits),
        whole_(layout.whole_blocks),
        extent_(extent),
        blocks_(extent.BlocksInRow()),
        scales_(CodeBytes(layout, extent).value_or(0)),
        zero_points_(scales_ + 4 * extent.rows * blocks_) {}

  static std::optional<uint64_t> CodeBytes(const Layout& layout, const Extent& extent) {
    const uint64_t in_byte = 8 / layout.bits;
    if (!layout.whole_blocks) return CeilDiv(extent.elements, in_byte);
    if (extent.block % in_byte != 0) return std::nullopt;
    const std::optional<uint64_t> row = CheckedMul(extent.BlocksInRow(), extent.block / in_byte);
    return row ? CheckedMul(extent.rows, *row) : std::nullopt;
  }
  static std::optional<uint64_t> ZeroPointBytes(const Layout& layout, const Extent& extent) {
    const uint64_t in_byte = 8 / layout.bits;
    if (layout.whole_blocks) return CheckedMul(extent.rows, CeilDiv(extent.BlocksInRow(), in_byte));
    const std::optional<uint64_t> count = CheckedMul(extent.rows, extent.BlocksInRow());
    return count ? std::optional(CeilDiv(*count, in_byte)) : std::nullopt;
  }

  // The first bit of the code of a value, in the payload.
  uint64_t Code(uint64_t row, uint64_t col) const {
    return bits_ * (whole_ ? row * blocks_ * extent_.block + col : row * extent_.cols + col);
  }
  uint64_t ZeroPoint(uint64_t row, uint64_t block) const {
    const uint64_t row_bits = whole_ ? 8 * CeilDiv(bits_ * blocks_, 8) : bits_ * blocks_;
    return 8 * zero_points_ + row * row_bits + bits_ * block;
  }
  uint64_t Scales() const { return scales_; }
  uint64_t ScaleIndex(uint64_t row, uint64_t block) const { return row * blocks_ + block; }

 private:
  uint64_t bits_;
  bool whole_;
  Extent extent_;
  uint64_t blocks_;
  uint64_t scales_;
  uint64_t zero_points_;
};

int32_t Least(const Layout& layout) { return layout.is_signed ? -(1 << (layout.bits - 1)) : 0; }
int32_t Most(const Layout& layout) { return Least(layout) + (1 << layout.bits) - 1; }

int32_t IntegerOf(const Layout& layout, uint64_t code) {
  const auto integer = static_cast<int32_t>(code);
  return integer > Most(layout) ? integer - (1 << layout.bits) : integer;
}

uint64_t CodeOf(const Layout& layout, int32_t integer) {
  return static_cast<uint32_t>(integer) & ((1U << layout.bits) - 1);
}

std::optional<uint64_t> Size(const Layout& layout, const Extent& extent) {
  const std::optional<uint64_t> scales = CheckedProduct(std::array{extent.rows, extent.BlocksInRow(), uint64_t{4}});
  return Sum<3>({Places::CodeBytes(layout, extent), scales, Places::ZeroPointBytes(layout, extent)});
}

void Decode(const Layout& layout, const Extent& extent, std::span<const uint8_t> payload, std::span<float> values) {
  const Places places(layout, extent);
  const std::span<const uint8_t> scales = payload.subspan(places.Scales());
  for (uint64_t row = 0; row < extent.rows; ++row) {
    for (uint64_t col = 0; col < extent.cols; ++col) {
      const uint64_t block = col / extent.block;
      const int32_t code = IntegerOf(layout, native::ReadBits(payload, places.Code(row, col), layout.bits));
      const int32_t zero_point =
          IntegerOf(layout, native::ReadBits(payload, places.ZeroPoint(row, block), layout.bits));
      const float scale = ReadFloat(scales, places.ScaleIndex(row, block));
      values[row * extent.cols + col] = static_cast<float>(code - zero_point) * scale;
    }
  }
}

// The range of a block, with 0, is divided evenly; scale and zero point are those of ONNX's DynamicQuantizeLinear.
void Encode(const Layout& layout, const Extent& extent, std::span<const float> values, std::span<uint8_t> payload) {
  const Places places(layout, extent);
  const std::span<uint8_t> scales = payload.subspan(places.Scales());
  const auto least = static_cast<float>(Least(layout));
  const auto most = static_cast<float>(Most(layout));
  for (uint64_t row = 0; row < extent.rows; ++row) {
    for (uint64_t block = 0; block < extent.BlocksInRow(); ++block) {
      const uint64_t first = block * extent.block;
      const uint64_t count = std::min(extent.block, extent.cols - first);
      const std::span<const float> own = values.subspan(row * extent.cols + first, count);
      float low = 0;
      float high = 0;
      for (const float value : own) {
        low = std::min(low, Encodable(value));
        high = std::max(high, Encodable(value));
      }
      // The difference of two floats may be beyond all of them, the scale is not.
      const auto scale = static_cast<float>((static_cast<double>(high) - static_cast<double>(low)) /
                                            static_cast<double>(most - least));
      const float zero = scale > 0 ? std::clamp(std::nearbyint(least - low / scale), least, most) : least;
      WriteFloat(scales, places.ScaleIndex(row, block), scale);
      native::WriteBits(payload, places.ZeroPoint(row, block), layout.bits, CodeOf(layout, static_cast<int32_t>(zero)));
      // Values that are not there mean 0.
      const uint64_t stored = layout.whole_blocks ? extent.block : count;
      for (uint64_t i = 0; i < stored; ++i) {
        const float steps = i < count && scale > 0 ? std::nearbyint(Encodable(own[i]) / scale) : 0;
        const float code = std::clamp(steps + zero, least, most);
        native::WriteBits(payload, places.Code(row, first + i), layout.bits,
                          CodeOf(layout, static_cast<int32_t>(code)));
      }
    }
  }
}

constexpr Layout Integers(std::string_view name, uint32_t bits, bool is_signed, bool whole_blocks) {
  Layout layout{.name = name, .size = Size, .decode = Decode, .encode = Encode};
  layout.bits = bits;
  layout.is_signed = is_signed;
  layout.whole_blocks = whole_blocks;
  return layout;
}

constexpr Layout kLayouts[] = {
    Integers("onnx_int2", 2, true, false),    Integers("onnx_int4", 4, true, false),
    Integers("onnx_int8", 8, true, false),    Integers("onnx_uint2", 2, false, false),
    Integers("onnx_uint4", 4, false, false),  Integers("onnx_uint8", 8, false, false),
    Integers("matmulnbits2", 2, false, true), Integers("matmulnbits", 4, false, true),
    Integers("matmulnbits8", 8, false, true),
};

}  // namespace

std::span<const Layout> BlockedIntegerLayouts() { return kLayouts; }

}  // namespace tessera::checkpoints
