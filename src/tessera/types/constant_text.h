// Constants in text, in the two spellings that the notation and ONNX's function syntax share:
//   tensor(FLOAT, [2, 2], [0.5, 1.0, -0.0, nan])        float[2, 2] {0.5, 1.0, -0.0, nan}
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/types/constant.h"
#include "tessera/types/expression.h"
#include "tessera/types/lexer.h"

namespace tessera {

// ONNX's syntax differs from the notation in what stands for an element: BOOL is 0 or 1, and floats of up to 16 bits are
// written as the integer that their bits are.
enum class ElementStyle : uint8_t { kNotation, kOnnx };

// Appends the elements of a list between `open` and `close` (already taken if `opened`), or one element, to
// constant->bytes. Lists may be nested; they are flat. A parameter stands for an integer or for data of its own.
// REQUIRES: constant->type is a fixed-width type.
Result<void> ParseElements(Lexer* lexer, ParameterScope* parameters, std::string_view open, std::string_view close,
                           ElementStyle style, Constant* constant, uint64_t* count);

// Hexadecimal bytes, as in raw="00ff".
Result<std::vector<uint8_t>> ParseHexBytes(Lexer* lexer);
std::string HexBytes(const std::vector<uint8_t>& bytes);

// `element, element, ...`, wrapped at about 100 columns with `indent` spaces in front of further lines. REQUIRES:
// HasWholeData(constant).
std::string ElementList(const Constant& constant, ElementStyle style, int indent);
// True if the type has literals and the bytes are what type and dims need, with unused bits zero.
bool HasWholeData(const Constant& constant);

}  // namespace tessera
