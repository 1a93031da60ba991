// Layouts of bitsandbytes (bitsandbytes-foundation/bitsandbytes at 95f9af3: bitsandbytes/functional.py,
// bitsandbytes/backends/default/ops.py): four-bit levels with a scale for each block of the flattened tensor, the
// scales as FLOAT or quantized themselves, and LLM.int8. Their arrays follow each other.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/codecs/checkpoints/layout.h"

namespace tessera::checkpoints {
namespace {

constexpr std::array<float, 16> kNf4 = {-1.0F,
                                        -0.6961928009986877F,
                                        -0.5250730514526367F,
                                        -0.39491748809814453F,
                                        -0.28444138169288635F,
                                        -0.18477343022823334F,
                                        -0.09105003625154495F,
                                        0.0F,
                                        0.07958029955625534F,
                                        0.16093020141124725F,
                                        0.24611230194568634F,
                                        0.33791524171829224F,
                                        0.44070982933044434F,
                                        0.5626170039176941F,
                                        0.7229568362236023F,
                                        1.0F};
// Magnitudes are a twelfth of 0, 1/16, 8, 12, 4, 6, 2, 3. The second zero has no sign.
constexpr std::array<float, 16> kFp4 = {0.0F, 1.0F / 192,  2.0F / 3,  1.0F,  1.0F / 3,  0.5F,  1.0F / 6,  0.25F,
                                        0.0F, -1.0F / 192, -2.0F / 3, -1.0F, -1.0F / 3, -0.5F, -1.0F / 6, -0.25F};

constexpr uint64_t kGroup = 256;  // scales that share one of their own
constexpr uint64_t kMapCodes = 256;

uint64_t Blocks(const Extent& extent) { return CeilDiv(extent.elements, extent.block); }

// Where the arrays begin, in bytes.
struct Places {
  explicit Places(const Layout& layout, const Extent& extent)
      : scales(CeilDiv(extent.elements, 2)),
        group_scales(scales + Blocks(extent) * (layout.nested ? 1 : 4)),
        map(group_scales + (layout.nested ? 4 * CeilDiv(Blocks(extent), kGroup) : 0)),
        offset(map + (layout.nested ? 4 * kMapCodes : 0)),
        end(offset + (layout.nested ? 4 : 0)) {}

  uint64_t scales;
  uint64_t group_scales;
  uint64_t map;
  uint64_t offset;
  uint64_t end;
};

std::optional<uint64_t> Size(const Layout& layout, const Extent& extent) {
  // Within 5 bytes a value and 1032 more.
  if (extent.elements > std::numeric_limits<uint64_t>::max() / 16) return std::nullopt;
  return Places(layout, extent).end;
}

float ScaleOf(const Layout& layout, const Places& places, std::span<const uint8_t> payload, uint64_t block) {
  if (!layout.nested) return ReadFloat(payload.subspan(places.scales), block);
  const float mapped = ReadFloat(payload.subspan(places.map), payload[places.scales + block]);
  const float scaled = mapped * ReadFloat(payload.subspan(places.group_scales), block / kGroup);
  return scaled + ReadFloat(payload.subspan(places.offset), 0);
}

void Decode(const Layout& layout, const Extent& extent, std::span<const uint8_t> payload, std::span<float> values) {
  const Places places(layout, extent);
  for (uint64_t i = 0; i < extent.elements; ++i) {
    const uint8_t byte = payload[i / 2];
    const auto code = static_cast<size_t>(i % 2 == 0 ? byte >> 4 : byte & 15);
    values[i] = layout.levels[code] * ScaleOf(layout, places, payload, i / extent.block);
  }
}

// The first of the levels that comes nearest to `value` when it is scaled; with a scale of 0 the first that is 0.
size_t Nearest(std::span<const float> levels, double scale, double value) {
  size_t best = 0;
  for (size_t i = 1; i < levels.size(); ++i) {
    const double distance = std::abs(static_cast<double>(levels[i]) * scale - value);
    const double least = std::abs(static_cast<double>(levels[best]) * scale - value);
    if (distance < least || (scale == 0 && levels[i] == 0 && levels[best] != 0)) best = i;
  }
  return best;
}

// A map of signed bytes with more codes near 0, made as the library makes its own: for each power of ten from 1e-6 to 1
// twice as many steps as for the one before, the middles of even parts of 0.1 .. 1; both signs, and 0 and 1.
std::array<float, kMapCodes> DynamicMap() {
  std::array<float, kMapCodes> map{};
  size_t filled = 0;
  double power = 1e-6;
  for (uint32_t steps = 1; steps <= 64; steps *= 2, power *= 10) {
    for (uint32_t i = 0; i < steps; ++i) {
      const double middle = 0.1 + 0.9 * (i + 0.5) / steps;
      map[filled++] = static_cast<float>(middle * power);
      map[filled++] = static_cast<float>(-middle * power);
    }
  }
  map[filled++] = 0;
  map[filled++] = 1;
  std::sort(map.begin(), map.end());
  return map;
}

// Codes for magnitudes around their mean, in groups.
void EncodeScales(std::span<const float> magnitudes, const Places& places, std::span<uint8_t> payload) {
  const std::array<float, kMapCodes> map = DynamicMap();
  for (size_t i = 0; i < map.size(); ++i) WriteFloat(payload.subspan(places.map), i, map[i]);
  double sum = 0;
  for (const float magnitude : magnitudes) sum += static_cast<double>(magnitude);
  const auto offset = static_cast<float>(magnitudes.empty() ? 0 : sum / static_cast<double>(magnitudes.size()));
  WriteFloat(payload.subspan(places.offset), 0, offset);
  for (size_t begin = 0; begin < magnitudes.size(); begin += kGroup) {
    const std::span<const float> group = magnitudes.subspan(begin, std::min(kGroup, magnitudes.size() - begin));
    float most = 0;
    for (const float magnitude : group) most = std::max(most, std::abs(magnitude - offset));
    WriteFloat(payload.subspan(places.group_scales), begin / kGroup, most);
    for (size_t i = 0; i < group.size(); ++i) {
      payload[places.scales + begin + i] =
          static_cast<uint8_t>(Nearest(map, static_cast<double>(most), static_cast<double>(group[i] - offset)));
    }
  }
}

void Encode(const Layout& layout, const Extent& extent, std::span<const float> values, std::span<uint8_t> payload) {
  const Places places(layout, extent);
  std::vector<float> magnitudes(Blocks(extent));
  for (uint64_t i = 0; i < extent.elements; ++i) {
    float& magnitude = magnitudes[i / extent.block];
    magnitude = std::max(magnitude, std::abs(Encodable(values[i])));
  }
  if (layout.nested) {
    EncodeScales(magnitudes, places, payload);
  } else {
    for (size_t i = 0; i < magnitudes.size(); ++i) WriteFloat(payload.subspan(places.scales), i, magnitudes[i]);
  }
  for (uint64_t i = 0; i < extent.elements; ++i) {
    const auto scale = static_cast<double>(ScaleOf(layout, places, payload, i / extent.block));
    const size_t code = Nearest(layout.levels, scale, static_cast<double>(Encodable(values[i])));
    payload[i / 2] |= static_cast<uint8_t>(i % 2 == 0 ? code << 4 : code);
  }
}

// ---- LLM.int8: signed bytes, and the largest magnitude of each row.

constexpr float kStep = 0.007874015718698502F;  // 1/127

std::optional<uint64_t> Int8Size(const Layout&, const Extent& extent) {
  return Sum<2>({extent.elements, CheckedMul(4, extent.rows)});
}

void Int8Decode(const Layout&, const Extent& extent, std::span<const uint8_t> payload, std::span<float> values) {
  for (uint64_t i = 0; i < extent.elements; ++i) {
    const auto code = static_cast<int8_t>(payload[i]);
    const float product = static_cast<float>(code) * ReadFloat(payload.subspan(extent.elements), i / extent.cols);
    values[i] = product * kStep;
  }
}

void Int8Encode(const Layout&, const Extent& extent, std::span<const float> values, std::span<uint8_t> payload) {
  for (uint64_t row = 0; row < extent.rows; ++row) {
    const std::span<const float> own = values.subspan(row * extent.cols, extent.cols);
    float magnitude = 0;
    for (const float value : own) magnitude = std::max(magnitude, std::abs(Encodable(value)));
    WriteFloat(payload.subspan(extent.elements), row, magnitude);
    for (uint64_t col = 0; col < extent.cols; ++col) {
      const double part = magnitude > 0 ? static_cast<double>(Encodable(own[col])) / static_cast<double>(magnitude) : 0;
      payload[row * extent.cols + col] = static_cast<uint8_t>(static_cast<int8_t>(std::nearbyint(127 * part)));
    }
  }
}

constexpr Layout Levels(std::string_view name, std::span<const float> levels, bool nested) {
  Layout layout{.name = name, .size = Size, .decode = Decode, .encode = Encode, .levels = levels};
  layout.nested = nested;
  return layout;
}

constexpr Layout kLayouts[] = {
    Levels("bnb_nf4", kNf4, false),
    Levels("bnb_nf4_dq", kNf4, true),
    Levels("bnb_fp4", kFp4, false),
    Levels("bnb_fp4_dq", kFp4, true),
    {.name = "bnb_int8", .size = Int8Size, .decode = Int8Decode, .encode = Int8Encode},
};

}  // namespace

std::span<const Layout> BitsandbytesLayouts() { return kLayouts; }

}  // namespace tessera::checkpoints
