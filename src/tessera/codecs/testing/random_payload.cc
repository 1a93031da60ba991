#include "tessera/codecs/testing/random_payload.h"

#include <algorithm>
#include <cstring>

#include "tessera/types/element_value.h"

namespace tessera {

std::vector<uint8_t> RandomPayload(RandomSource* random, const CheckedType& type, uint64_t fewest_values) {
  std::vector<uint8_t> payload(type.size_bits / 8);
  for (uint8_t& byte : payload) byte = static_cast<uint8_t>(random->Next());
  for (const Leaf& leaf : type.leaves) {
    if (!leaf.path.ends_with("outlier_indices") || leaf.constant != nullptr || leaf.Count() == 0) continue;
    const uint64_t own = leaf.dims.back();
    for (uint64_t i = 0; i < leaf.Count(); ++i) {
      uint64_t bit = leaf.bit_offset;
      uint64_t rest = i;
      for (size_t k = leaf.dims.size(); k-- > 0; rest /= leaf.dims[k]) bit += rest % leaf.dims[k] * leaf.bit_strides[k];
      const uint64_t position = (i % own * 7 + 3) % std::max<uint64_t>(1, fewest_values);
      for (uint64_t k = 0; k < 64; ++k) {
        uint8_t& byte = payload[(bit + k) / 8];
        const auto mask = static_cast<uint8_t>(1U << ((bit + k) % 8));
        byte = static_cast<uint8_t>((position >> k & 1) != 0 ? byte | mask : byte & ~mask);
      }
    }
  }
  return payload;
}

bool SameValues(const Tensor& a, const Tensor& b) {
  if (a.type != b.type || a.dims != b.dims) return false;
  for (uint64_t i = 0; i < a.Count(); ++i) {
    if (a.Code(i) == b.Code(i)) continue;
    const bool nan = Info(a.type).kind == ElementKind::kFloat && IsNan(a.type, a.Code(i)) && IsNan(a.type, b.Code(i));
    if (!nan) return false;
  }
  return true;
}

}  // namespace tessera
