// The table of operators that a decoder or encoder may use: deterministic, elementwise, data-movement and integer
// operators of the ai.onnx domain, opsets 13 to 26. Checker, decoder builder and evaluator share it.
// Source: the operator schemas of onnx 1.23; python/tests/test_operators.py compares every row with them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/types/element_type.h"

namespace tessera {

inline constexpr int64_t kMinOpset = 13;
inline constexpr int64_t kMaxOpset = 26;

// A set of element types: bit n stands for the type with number n.
using TypeMask = uint32_t;
constexpr TypeMask MaskOf(ElementType type) { return TypeMask{1} << static_cast<int32_t>(type); }

// Which types an operator takes. The sets that grow take up the types that ONNX added, at the opset that added them;
// INT4 and INT2 stand for the unsigned ones too. docs/operators.md quotes these comments.
enum class TypeFamily : uint8_t {
  kBool,           // BOOL
  kFloats,         // FLOAT, DOUBLE, FLOAT16, BFLOAT16
  kNumbers,        // integers of 8 bits and more, and floats of 16 bits and more
  kNumbersFrom14,  // numbers; at opset 13 without the integers of 8 and 16 bits
  kNumbersFrom15,  // numbers; below opset 15 without BFLOAT16
  kNumbersFrom16,  // numbers; below opset 16 without BFLOAT16
  kWideNumbers,    // integers of 32 and 64 bits, and floats of 16 bits and more
  kSignedNumbers,  // signed integers of 8 bits and more, and floats of 16 bits and more
  kIntegers,       // integers of 8 bits and more
  kUnsigned,       // unsigned integers of 8 bits and more
  kPowBases,       // INT32, INT64, and floats of 16 bits and more
  kRangeTypes,     // FLOAT, DOUBLE, INT16, INT32, INT64
  kRoundTypes,     // FLOAT, DOUBLE, FLOAT16; BFLOAT16 from 22
  kNanTypes,       // floats of 16 bits and more; float8 from 20
  kInfTypes,       // FLOAT, DOUBLE; other floats of 16 bits and float8 from 20
  kComparable,     // numbers and BOOL
  kPlain,          // numbers, BOOL and complex types
  kPlainFrom16,    // numbers, BOOL and complex types; below opset 16 without BFLOAT16
  kGrowingFrom19,  // numbers, BOOL, complex types; float8 from 19, INT4 21, FLOAT4E2M1 23, FLOAT8E8M0 24, INT2 25
  kGrowingFrom21,  // numbers, BOOL, complex types; float8, INT4 from 21, FLOAT4E2M1 23, FLOAT8E8M0 24, INT2 25
  kFilled,         // numbers, BOOL; BFLOAT16, float8 from 20, INT4 21, FLOAT4E2M1 23, FLOAT8E8M0 24, INT2 25
  kCast,           // numbers, BOOL; float8 from 19, INT4 21, FLOAT4E2M1 23, FLOAT8E8M0 24, INT2 25
  kBitCast,        // everything but STRING and the FLOAT6 kinds
};

struct Operator {
  std::string_view name;
  int64_t since;     // the first opset, 13 or later, in which a decoder may use it
  TypeFamily types;  // of T in the signature
  // Inputs and result in letters: T as above, B BOOL, L INT64, I INT32 or INT64, N any of kNumbersFrom15. `?` marks an
  // optional input, `?@18` one that exists from opset 18, `...` one or more. Result `to`: the type that attribute `to`
  // names; `value`: that of the attribute that holds the value (of ConstantOfShape FLOAT if there is none).
  std::string_view signature;
  std::string_view attributes;  // names; `saturate@19` exists from opset 19
  int max_outputs = 1;
};

// Rows by name. All have domain ai.onnx and max_outputs results of one type.
std::span<const Operator> AllOperators();
const Operator* FindOperator(std::string_view name);

// The types that a family holds at an opset.
TypeMask Types(TypeFamily family, int64_t opset);

// A signature in parts.
struct OperatorInput {
  char letter = 'T';
  bool optional = false;
  bool variadic = false;
  int64_t since = 0;
};
std::vector<OperatorInput> Inputs(const Operator& op);
std::string_view ResultOf(const Operator& op);
// True if the operator has that attribute at that opset.
bool HasAttribute(const Operator& op, std::string_view attribute, int64_t opset);

}  // namespace tessera
