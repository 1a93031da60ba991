// F32, F16, BF16, F64 and the integers: one value a block, its bytes as they are.
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tessera/formats/ggml/block_types_internal.h"
#include "tessera/formats/ggml/numbers.h"

namespace tessera::ggml {
namespace {

// Little-endian bits of `T`.
template <typename T>
T Load(const uint8_t* at) {
  std::array<uint8_t, sizeof(T)> bytes;
  for (size_t i = 0; i < sizeof(T); ++i)
    bytes[std::endian::native == std::endian::little ? i : sizeof(T) - 1 - i] = at[i];
  return std::bit_cast<T>(bytes);
}
template <typename T>
void Store(uint8_t* at, T value) {
  const auto bytes = std::bit_cast<std::array<uint8_t, sizeof(T)>>(value);
  for (size_t i = 0; i < sizeof(T); ++i)
    at[i] = bytes[std::endian::native == std::endian::little ? i : sizeof(T) - 1 - i];
}

float ReadF16(const uint8_t* at) { return LoadHalf(at); }
void WriteF16(float value, uint8_t* at) { StoreU16(at, FloatToHalf(value)); }

float ReadBf16(const uint8_t* at) { return std::bit_cast<float>(static_cast<uint32_t>(LoadU16(at)) << 16); }
// To nearest, ties to even; a NaN keeps its sign and upper payload and becomes quiet.
void WriteBf16(float value, uint8_t* at) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t top = bits >> 16;
  StoreU16(at, static_cast<uint16_t>(std::isnan(value) ? top | 0x40 : (bits + 0x7FFF + (top & 1)) >> 16));
}

template <typename T>
float Read(const uint8_t* at) {
  return static_cast<float>(Load<T>(at));  // F64 and wide integers: rounded to nearest, ties to even
}
template <typename T>
void Write(float value, uint8_t* at) {
  if constexpr (std::is_floating_point_v<T>) {
    Store<T>(at, value);
  } else {
    // From 2^23 on every float is an integer.
    const float rounded = std::abs(value) < 0x1p22F ? value + 0x1.8p23F - 0x1.8p23F : std::nearbyint(value);
    // One more than the highest integer; its negative is the lowest.
    constexpr float kEnd = static_cast<float>(uint64_t{1} << (sizeof(T) * 8 - 1));
    T code = 0;
    if (rounded >= kEnd) {
      code = std::numeric_limits<T>::max();
    } else if (rounded < -kEnd) {
      code = std::numeric_limits<T>::min();
    } else if (!std::isnan(rounded)) {
      code = static_cast<T>(rounded);
    }
    Store<T>(at, code);
  }
}

template <float (*kRead)(const uint8_t*), void (*kWrite)(float, uint8_t*), int64_t kBytes>
BlockType Plain(std::string_view name, int32_t id, bool has_specials) {
  return {name,
          id,
          1,
          kBytes,
          Weights::kIgnored,
          has_specials,
          [](std::span<const uint8_t> row, std::span<float> values) {
            for (size_t i = 0; i < values.size(); ++i) values[i] = kRead(row.data() + i * kBytes);
          },
          [](std::span<const float> row, std::span<const float>, std::span<uint8_t> bytes) {
            for (size_t i = 0; i < row.size(); ++i) kWrite(row[i], bytes.data() + i * kBytes);
          }};
}
template <typename T>
BlockType Plain(std::string_view name, int32_t id) {
  return Plain<Read<T>, Write<T>, sizeof(T)>(name, id, std::is_floating_point_v<T>);
}

}  // namespace

std::vector<BlockType> PlainTypes() {
  return {
      Plain<float>("f32", 0),    Plain<ReadF16, WriteF16, 2>("f16", 1, true),
      Plain<int8_t>("i8", 24),   Plain<int16_t>("i16", 25),
      Plain<int32_t>("i32", 26), Plain<int64_t>("i64", 27),
      Plain<double>("f64", 28),  Plain<ReadBf16, WriteBf16, 2>("bf16", 30, true),
  };
}

}  // namespace tessera::ggml
