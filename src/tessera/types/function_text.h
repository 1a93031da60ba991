// Functions in ONNX's text syntax, as the notation embeds them. ParseFunctionText and PrintFunctionText in notation.h
// are for a function that stands alone.
//
// What ONNX's syntax cannot say stands in angle brackets behind the thing it belongs to, and is written only where it
// is needed: `y = Add (a, b) <doc_string: "...", metadata_props: ["k": "v"], domain: "">`, `float[2] {0.5, 1.0}
// <storage: raw, name: "t">`, `float[4] Y <doc_string: "...">`. Without these a node's domain is absent and a tensor's
// data is in its typed member. Source: ONNX's docs/Syntax.md, and onnx.parser 1.23 for what the page leaves open.
#pragma once

#include "tessera/base/error.h"
#include "tessera/types/expression.h"
#include "tessera/types/function.h"
#include "tessera/types/lexer.h"

namespace tessera {

// `{ <...> name (inputs) => (outputs) <value infos> { nodes } }`, or the founding document's descriptive form
// `{ output: "Y" value_info: { ... } body: { nodes } }`. `{` is the next token.
Result<Function> ParseFunctionBlock(Lexer* lexer, ParameterScope* parameters);

}  // namespace tessera
