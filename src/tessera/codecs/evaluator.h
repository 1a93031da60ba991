// Runs decoder and encoder functions: every operator of the table in types/operators.h at every opset, one element
// after the other, in the plain terms of ONNX's specification. It is the meaning that faster code is compared with, and
// what decodes a type that nothing else knows. docs/evaluator.md has the rules of arithmetic.
//
// Nothing is shared or kept between calls: any number of threads may evaluate at once.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/codecs/tensor.h"
#include "tessera/types/function.h"
#include "tessera/types/struct_view.h"

namespace tessera {

// What a function may use. A function that needs more is refused before the memory is taken or the time is spent.
struct EvaluatorOptions {
  uint64_t max_elements = uint64_t{1} << 28;     // of one value
  uint64_t max_total_bytes = uint64_t{1} << 33;  // of all values alive at one time; elements are unpacked
  uint64_t max_nodes = 65'536;
  uint64_t max_steps = uint64_t{1} << 40;  // elements written, and products formed by MatMul, in all nodes
  uint32_t max_rank = 64;
};

// The one output of `function` for these inputs, which come in the order of function.inputs.
// Errors: those of the checker (types/function_check.h) for a function that is not in order for the inputs' types;
// kEvaluate where an operator cannot be carried out on its inputs; kEvaluateLimit. `where` names the node by number,
// operator and first output: `node[3] Gather 'y'`.
Result<Tensor> EvaluateFunction(const Function& function, std::vector<Tensor> inputs, const EvaluatorOptions& options);

// What the type's own decoder makes of the value: a tensor of the type and shape that its value_info declares.
// Errors: as above, and kUnsupported for a type without a decoder.
Result<Tensor> DecodeWithDeclaration(const StructView& value, const EvaluatorOptions& options);

}  // namespace tessera
