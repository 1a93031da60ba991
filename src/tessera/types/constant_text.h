// Constants in text, in the two spellings that the notation and ONNX's function syntax share:
//   tensor(FLOAT, [2, 2], [0.5, 1.0, -0.0, nan])        float[2, 2] {0.5, 1.0, -0.0, nan}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/types/constant.h"
#include "tessera/types/expression.h"
#include "tessera/types/lexer.h"

namespace tessera {

// ONNX's syntax differs from the notation in what stands for an element: BOOL is 0 or 1, floats of up to 16 bits are
// written as the integer that their bits are, and a complex element is two numbers, not `complex(re, im)`. Both
// spellings of a complex element are read in either style's place.
enum class ElementStyle : uint8_t { kNotation, kOnnx };

// True for names that stand for an element or begin one, and so are no parameters: true, nan, bits, INT4, ...
bool IsLiteralName(std::string_view name);

// What a list of elements may hold.
struct ElementBounds {
  std::optional<uint64_t> count;  // what the dimensions make; nullopt where these are not known
  bool or_none = false;           // an empty list is right too: the data may come in another way
  uint64_t bytes = UINT64_MAX;    // the most that a constant may take
};

// Reads the elements of a list between `open` and `close`, or one element, into constant->bytes. Lists may be nested;
// the nesting does not matter. A parameter stands for one element, or for all data. Errors: kSyntax, kLiteral,
// kExpression, kParameterData, kLimitConstant, and kLiteral where there are more or fewer than bounds.count. REQUIRES:
// constant->type is a fixed-width type, constant->bytes is empty, and type and dims are set.
Result<void> ParseElements(Lexer* lexer, ParameterScope* parameters, std::string_view open, std::string_view close,
                           ElementStyle style, const ElementBounds& bounds, Constant* constant);

// Hexadecimal bytes, as in raw="00ff".
Result<std::vector<uint8_t>> ParseHexBytes(Lexer* lexer);
std::string HexBytes(const std::vector<uint8_t>& bytes);

// `element, element, ...`, wrapped at about 100 columns with `indent` spaces in front of further lines. REQUIRES:
// HasWholeData(constant).
std::string ElementList(const Constant& constant, ElementStyle style, int indent);
// The product of the dimensions; nullopt if one is negative or the product passes 64 bits.
std::optional<uint64_t> ElementCount(const std::vector<int64_t>& dims);
// True if the type has literals and the bytes are what type and dims need, with unused bits zero.
bool HasWholeData(const Constant& constant);

}  // namespace tessera
