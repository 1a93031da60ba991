// Exact conversions between the codes of an element type and numbers, driven by the facts in element_type.h.
// A code is the element's bits, zero-extended.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tessera/types/element_type.h"

namespace tessera {

// What becomes of a value beyond the largest finite one when a float is narrowed.
//   kSaturate: the largest finite value of its sign, infinities too (ONNX Cast with saturate=1)
//   kOverflow: infinity where the type has one, else NaN (ONNX Cast with saturate=0)
// FLOAT4E2M1 and the FLOAT6 kinds have neither: they always saturate.
enum class Overflow : uint8_t { kSaturate, kOverflow };

// The value of a code of a float type; exact, as every such value is a double. NaN codes give a quiet NaN.
// REQUIRES: Info(type).kind is kFloat.
double DecodeFloat(ElementType type, uint64_t code);

// The code nearest to `value`, ties to the even code. -0 keeps its sign where the type has one. NaN becomes the type's
// canonical NaN with the sign of `value` (where the type has one); FLOAT4E2M1 and FLOAT6, which have none, take the largest finite value of its sign (what ml_dtypes and
// ONNX leave open, decided here). FLOAT8E8M0, which has only powers of two, rounds to the nearer one, ties upwards (the
// even mantissa of the two is always the larger power), its smallest code for everything below and its NaN for
// negative values.
// REQUIRES: Info(type).kind is kFloat.
// Source: ONNX Cast, table "float to float8", and the OCP formats.
uint64_t EncodeFloat(ElementType type, double value, Overflow overflow);

// The value of a code of a signed, unsigned (up to 63 bits used) or BOOL type; UINT64 is reinterpreted.
int64_t DecodeInteger(ElementType type, uint64_t code);
// Smallest and largest value of an integer type, BOOL included; UINT64's maximum is given as UINT64_MAX.
int64_t MinInteger(ElementType type);
uint64_t MaxInteger(ElementType type);

// Bytes of `count` packed elements: ceil(count * bits / 8). nullopt if the product overflows.
std::optional<uint64_t> PackedBytes(ElementType type, uint64_t count);

// The code of element `index` in canonical packed bytes, and its inverse. Types over 64 bits are read in halves: index
// 2 * i is the real, 2 * i + 1 the imaginary part of element i of COMPLEX128.
// REQUIRES: the element lies inside `bytes`.
uint64_t LoadCode(std::span<const uint8_t> bytes, ElementType type, uint64_t index);
void StoreCode(std::span<uint8_t> bytes, ElementType type, uint64_t index, uint64_t code);

}  // namespace tessera
