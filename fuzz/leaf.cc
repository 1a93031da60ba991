// Fuzz target: reading leaves of any type over any bytes. Every leaf is read whole, in pieces, and where it is
// contiguous also in place; all must agree with reading bit by bit.
//
// Input: one byte for the number of segments, then the text of a type up to a NUL, then the payload, which is cut or
// repeated to the size that the type needs.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/types/notation.h"
#include "tessera/types/struct_view.h"
#include "tessera/types/type_table.h"
#include "tessera/types/unpack.h"

namespace {

using namespace tessera;

constexpr uint64_t kMaxBytes = 1 << 16;

uint64_t SlowCode(std::span<const uint8_t> bytes, uint64_t bit, uint32_t bits) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < std::min(bits, 64u); ++i)
    value |= static_cast<uint64_t>(bytes[(bit + i) / 8] >> (bit + i) % 8 & 1) << i;
  return value;
}

void Check(bool holds) {
  if (!holds) __builtin_trap();
}

void ReadLeaf(const LeafView& view, std::span<const uint8_t> payload) {
  const Leaf& leaf = view.leaf();
  const uint64_t count = view.count();
  if (count > kMaxBytes) return;
  const uint32_t width = UnpackedBytes(leaf.type);
  std::vector<uint8_t> whole(count * width);
  Check(view.Unpack(0, count, whole).has_value());
  Check(!view.Unpack(0, count + 1, whole) && !view.Unpack(count + 1, 0, {}));

  std::vector<uint8_t> piece;
  for (uint64_t first = 0; first < count; first += 1 + first / 2) {
    const uint64_t n = std::min<uint64_t>(count - first, 1 + first % 37);
    piece.resize(n * width);
    Check(view.Unpack(first, n, piece).has_value());
    Check(std::equal(piece.begin(), piece.end(), whole.begin() + static_cast<std::ptrdiff_t>(first * width)));
  }

  // Element by element, from the leaf's offset and strides.
  std::span<const uint8_t> source = leaf.constant != nullptr ? std::span<const uint8_t>(leaf.constant->bytes) : payload;
  for (uint64_t i = 0; i < std::min<uint64_t>(count, 512); ++i) {
    uint64_t bit = leaf.bit_offset;
    uint64_t rest = i;
    for (size_t d = leaf.dims.size(); d-- > 0; rest /= leaf.dims[d]) bit += rest % leaf.dims[d] * leaf.bit_strides[d];
    uint64_t got = 0;
    std::memcpy(&got, whole.data() + i * width, std::min(width, 8u));
    const uint32_t bits = std::min(leaf.bits, 64u);
    const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    Check((got & mask) == SlowCode(source, bit, bits));
  }
  std::optional<std::span<const uint8_t>> bytes = view.Contiguous();
  if (!bytes || count == 0) return;
  if (leaf.bits % 8 == 0) {
    Check(bytes->size() == whole.size() && std::equal(bytes->begin(), bytes->end(), whole.begin()));
  } else if (leaf.bits < 8) {
    // Packed again they are the bytes in place, but for the unused bits of the last one.
    std::vector<uint8_t> packed(bytes->size());
    PackBits(whole, leaf.bits, packed.data());
    Check(std::equal(packed.begin(), packed.end() - 1, bytes->begin()));
    const uint32_t used = (count * leaf.bits - 1) % 8 + 1;
    Check(((packed.back() ^ bytes->back()) & ((1u << used) - 1)) == 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t nul = std::min(input.find('\0', 1), size);
  NotationOptions options;
  options.shape = {{3, 64}};
  Result<NotationResult> parsed = ParseNotation(input.substr(1, nul - 1), options);
  if (!parsed || !parsed->unbound.empty()) return 0;
  Problems problems;
  Limits limits;
  limits.leaves = 256;
  limits.total_leaves = 1024;
  TypeTable table = TypeTable::Build(std::move(parsed->types), limits, &problems);
  const std::string_view seed = nul < size ? input.substr(nul + 1) : std::string_view("\x01");
  for (size_t t = 0; t < std::min<size_t>(table.size(), 8); ++t) {
    std::shared_ptr<const CheckedType> type = table.Get(static_cast<int64_t>(t));
    if (type == nullptr || type->size_bits / 8 > kMaxBytes) continue;
    std::vector<uint8_t> payload(type->size_bits / 8);
    for (size_t i = 0; i < payload.size(); ++i)
      payload[i] = static_cast<uint8_t>(seed.empty() ? i * 37 : seed[i % seed.size()] + i / seed.size());
    // Segments of equal size, the rest in the last.
    const size_t segments = 1 + data[0] % 3;
    Payload pieces;
    for (size_t i = 0; i < segments; ++i) {
      size_t begin = payload.size() / segments * i;
      size_t end = i + 1 == segments ? payload.size() : payload.size() / segments * (i + 1);
      pieces.emplace_back(payload.data() + begin, end - begin);
    }
    Result<StructView> view = StructView::Create(type, pieces, "value");
    if (!view) continue;
    Check(!view->leaf("no such leaf, with spaces in its name"));
    for (size_t i = 0; i < view->leaf_count(); ++i) ReadLeaf(view->leaf(i), payload);
  }
  return 0;
}
