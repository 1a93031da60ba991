// The ONNX element types of IR 14 (TensorProto.DataType), one row of facts each. Code that needs a fact about a type
// asks the row; nothing else switches over the enum.
// Source: onnx.proto 1.23 (numbers), the ONNX float8/float4 pages, OCP 8-bit Floating Point Specification 1.0, OCP
// Microscaling Formats 1.0 (FLOAT4E2M1, FLOAT6, FLOAT8E8M0).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace tessera {

// Values are the numbers of TensorProto.DataType. A number from a file becomes an ElementType only through
// ElementTypeFromNumber().
enum class ElementType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};

enum class ElementKind : uint8_t { kNone, kString, kBool, kUnsigned, kSigned, kFloat, kComplex };

// Where a float type keeps its exceptional values.
enum class FloatSpecials : uint8_t {
  kNone,               // every code is finite (FLOAT4E2M1, FLOAT6)
  kIeee,               // top exponent: mantissa 0 is infinity, others NaN (FLOAT16, FLOAT8E5M2, ...)
  kNanOnly,            // all exponent and mantissa bits set is NaN, no infinity (FLOAT8E4M3FN)
  kNanIsNegativeZero,  // the code of -0 is the only NaN, no infinity, no -0 (the FNUZ kinds)
  kExponentOnly,       // FLOAT8E8M0: 2^(code-127), 255 is NaN, no sign, no zero
};

struct FloatFormat {
  uint8_t sign_bits = 0;
  uint8_t exponent_bits = 0;
  uint8_t mantissa_bits = 0;
  int16_t exponent_bias = 0;
  FloatSpecials specials = FloatSpecials::kNone;
};

struct ElementInfo {
  ElementType type;
  std::string_view name;  // as in TensorProto.DataType: "FLOAT8E4M3FN"
  uint8_t bits;           // of one element in packed storage; 0 for UNDEFINED and STRING
  ElementKind kind;
  FloatFormat format;  // of the element, or of each half of a complex one; all 0 for the other kinds
};

// All rows in the order of their numbers, UNDEFINED included.
std::span<const ElementInfo> AllElementTypes();
// REQUIRES: `type` is a value of the enum.
const ElementInfo& Info(ElementType type);

std::optional<ElementType> ElementTypeFromNumber(int64_t number);
std::optional<ElementType> ElementTypeFromName(std::string_view name);

inline std::string_view Name(ElementType type) { return Info(type).name; }
inline uint32_t BitWidth(ElementType type) { return Info(type).bits; }
// True for the types that a leaf may have: fixed width, so neither UNDEFINED nor STRING.
inline bool IsFixedWidth(ElementType type) { return Info(type).bits != 0; }
// Bytes of one element when elements are unpacked, one to a slot: 1 for everything up to 8 bits.
inline uint32_t UnpackedBytes(ElementType type) { return (Info(type).bits + 7) / 8; }

}  // namespace tessera
