// From the bits of codes to numbers, in standard operators.
#pragma once

#include <cstdint>

#include "tessera/quant/profile.h"
#include "tessera/types/element_type.h"
#include "tessera/types/function_builder.h"

namespace tessera::decoders {

// Whole numbers of at most so many bits are exact as FLOAT.
inline constexpr uint32_t kFloatBits = 24;

// The parts of a float type, and which of infinity and NaN its top exponent holds; the kinds whose NaN stands elsewhere
// have neither.
FloatingPointProfile FormatOf(ElementType type);

struct FloatParts {
  Value sign;      // name empty: none
  Value exponent;  // INT32
  Value mantissa;  // INT32; name empty: none
};

// The exact values of float codes in `compute`, FLOAT or DOUBLE, which has to hold them; `bias` is a scalar of INT32.
Value FloatFromParts(FunctionBuilder* builder, ElementType compute, const FloatParts& parts,
                     const FloatingPointProfile& format, const Value& bias);
// The same of whole codes, unsigned numbers of any type, of at most 32 bits.
Value FloatFromCodes(FunctionBuilder* builder, ElementType compute, const Value& codes,
                     const FloatingPointProfile& format, const Value& bias);
// The same of codes of an ONNX type. REQUIRES: a float type of at most 32 bits.
Value FloatOfType(FunctionBuilder* builder, ElementType compute, const Value& codes, ElementType type);

// Two's complement of unsigned numbers of that many bits, in their own type: INT32, INT64, FLOAT or DOUBLE.
Value Signed(FunctionBuilder* builder, const Value& numbers, uint32_t bits);

}  // namespace tessera::decoders
