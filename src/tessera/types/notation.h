// The text notation of the founding document as a language: StructTypeProto declarations, alone or in a
// `ModelProto { struct_types: [...] }`, with template parameters.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/types/function.h"
#include "tessera/types/limits.h"
#include "tessera/types/struct_type.h"

namespace tessera {

// The value of a template parameter: an integer, the data of a constant, or a literal as it would stand in the text
// (`0.02`, `true`, `nan`), read as the element type that its place asks for.
using ParameterValue = std::variant<int64_t, Constant, std::string>;

struct NotationOptions {
  std::map<std::string, ParameterValue, std::less<>> parameters;
  // The logical shape; binds `shape` (the list of its dimensions), `elements` (product of all), `cols` (the last) and
  // `rows` (product of the others), which a parameter of the same name overrides.
  std::optional<std::vector<int64_t>> shape;
  Limits limits;
  std::string file_name;  // for error positions, `file:line:column`
};

struct UnboundParameter {
  std::string name;
  uint32_t line = 0;  // of its first use
  uint32_t column = 0;
  std::string use;  // "dimension", "value", "data of FLOAT[2, 256, 8]"
};

struct NotationResult {
  std::vector<StructType> types;          // in file order: what struct_types would be
  std::vector<UnboundParameter> unbound;  // by name; where it is not empty, the types hold 0 or no data there

  // The types, or kUnbound with every name that has no value.
  Result<std::vector<StructType>> Concrete() &&;
};

// Errors: kSyntax, kExpression, kLiteral, kParameterData, kLimitDepth, kLimitConstant with line, column and what was
// expected; kArgument for a shape with a negative dimension or more than 2^63 - 1 elements.
Result<NotationResult> ParseNotation(std::string_view text, const NotationOptions& options);

// Prints types so that ParseNotation gives equal ones: one alone as `StructTypeProto { ... }`, several (or none) as
// `ModelProto { struct_types: [ ... ] }`.
std::string PrintNotation(const std::vector<StructType>& types);
std::string PrintNotation(const StructType& type);

// A physical type on one line, as it stands behind `type:`: `array(UINT8, dimension=24)`.
std::string PrintPhysicalType(const PhysicalType& type);

// A function in ONNX's own text syntax: `<opset_import: ["" : 21]> name (a, b) => (y) <float[4] y> { ... }`.
// Source: the grammar in ONNX's docs/Syntax.md.
Result<Function> ParseFunctionText(std::string_view text, const Limits& limits);
std::string PrintFunctionText(const Function& function, int indent);

}  // namespace tessera
