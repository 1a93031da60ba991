// The values behind the codes of element_type.h: exact conversions, and elements in canonical packed bytes (the rules
// of TensorProto.raw_data: little-endian, elements of less than a byte packed from the least significant bit).
//
// A *code* is the bit pattern of one element in the low bits of an integer; the halves of a complex element are codes
// of HalfOf(type). Everything here is a pure function of a
// row of AllElementTypes(); nothing switches over the types. Conversions are exact or rounded once. The caller owns
// all memory; every function may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tessera/types/element_type.h"

namespace tessera {

// --- Floating point. REQUIRES for all: the type's kind is kFloat, and the code has no bits above the type's width.

// The value of a code, exact for every type. A NaN keeps its sign (where its format has one) but not its payload.
double DecodeFloat(ElementType type, uint64_t code);
// The same as a float: exact for every type but DOUBLE, which is rounded to nearest even.
float DecodeToFloat(ElementType type, uint64_t code);

// How FLOAT8E8M0 takes a value between two powers of two: attribute `round_mode` of ONNX Cast-24, "up" by default.
// kNearest sends the middle (1.5 * 2^n) up, as ONNX does.
enum class ScaleRounding : uint8_t { kUp, kDown, kNearest };

// What becomes of a value beyond the largest finite one: `saturate` of ONNX Cast.
enum class Overflow : uint8_t {
  kSaturate,  // the largest finite value, for infinities too
  kOverflow,  // infinity if the type has one, else NaN
};

// The code nearest to `value`, ties to even: ONNX Cast-25, table for table.
//   beyond the range, and infinities: as `overflow` says
//   FLOAT16, BFLOAT16, FLOAT, DOUBLE: infinity whatever `overflow` says (Cast saturates 8-bit floats only)
//   FLOAT4E2M1, the FLOAT6 kinds:     always the largest finite value, for there is neither infinity nor NaN
//   NaN:                              CanonicalNan(type) with the sign of `value`; FLOAT4E2M1 and the FLOAT6 kinds:
//                                     the largest value (6 for FLOAT4E2M1 stands in ONNX's page on float4)
//   -0:                               -0, or 0 where the format has no -0
//   FLOAT8E8M0:                       rounded as `scale_rounding` says. 0 and what lies below 2^-127 give 2^-127 if
//                                     saturating, else NaN; negative values, which Cast leaves open, give NaN.
uint64_t EncodeFloat(ElementType type, double value, Overflow overflow,
                     ScaleRounding scale_rounding = ScaleRounding::kUp);

// The code nearest to a finite value, ties to even (FLOAT8E8M0: kNearest), or nullopt where that is no finite value of
// the type: beyond the largest, or for FLOAT8E8M0 also 0, negative, or nearer to 2^-128 than to 2^-127.
std::optional<uint64_t> EncodeFinite(ElementType type, double value);

bool IsNan(ElementType type, uint64_t code);
bool IsInfinite(ElementType type, uint64_t code);
// The quiet NaN with positive sign and no payload; nullopt for a type without NaN.
std::optional<uint64_t> CanonicalNan(ElementType type);
// The code of the largest finite value.
uint64_t LargestFinite(ElementType type);

// --- Integers and BOOL. REQUIRES: the type's kind is kUnsigned, kSigned or kBool.

// The value of a code, sign-extended for signed types. For UINT64 the bits of the value: cast back to uint64_t.
// A BOOL is 0 or 1: any code but 0 is true.
int64_t DecodeInteger(ElementType type, uint64_t code);
int64_t MinInteger(ElementType type);
uint64_t MaxInteger(ElementType type);
bool FitsInteger(ElementType type, int64_t value);
// The code of a value that fits.
uint64_t EncodeInteger(ElementType type, int64_t value);

// --- Elements in canonical packed bytes. REQUIRES: IsFixedWidth(type).

// The type of each half of a complex type; any other type is its own.
ElementType HalfOf(ElementType type);

// Bytes that `count` elements take: ceil(count * bits / 8), or nullopt where that passes 64 bits.
std::optional<uint64_t> PackedBytes(ElementType type, uint64_t count);

// Element `index`, which lies inside `bytes`. A COMPLEX128 is read and written in halves: index 2 * i is the real, 2 *
// i
// + 1 the imaginary part of element i. A store touches the element's own bits only.
uint64_t LoadCode(std::span<const uint8_t> bytes, ElementType type, uint64_t index);
void StoreCode(std::span<uint8_t> bytes, ElementType type, uint64_t index, uint64_t code);

}  // namespace tessera
