// Arithmetic on numbers from outside: every operation says whether the result fits.
#pragma once

#include <cstdint>
#include <optional>

namespace tessera {

inline std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t r;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}
inline std::optional<uint64_t> CheckedMul(uint64_t a, uint64_t b) {
  uint64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}
// ceil(a / b); REQUIRES: b > 0. Cannot overflow.
constexpr uint64_t CeilDiv(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }
// The smallest multiple of `alignment` that is at least `a`.
inline std::optional<uint64_t> CheckedAlign(uint64_t a, uint64_t alignment) {
  return CheckedMul(CeilDiv(a, alignment), alignment);
}
// The product of all dimensions, 1 for none; a 0 anywhere makes it 0, whatever the others.
template <typename Range>
std::optional<uint64_t> CheckedProduct(const Range& dims) {
  std::optional<uint64_t> product = 1;
  for (uint64_t d : dims) {
    if (d == 0) return 0;
    if (product) product = CheckedMul(*product, d);
  }
  return product;
}

}  // namespace tessera
