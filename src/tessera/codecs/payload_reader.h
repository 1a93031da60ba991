// The leaves of a value out of its bytes, in standard operators: what comes before a decoder in a model that holds the
// payload as a UINT8 tensor.
#pragma once

#include <span>

#include "tessera/base/error.h"
#include "tessera/types/function_builder.h"
#include "tessera/types/type_table.h"

namespace tessera {

// The elements of a leaf from the segment of the payload that it lies in, [bytes] of UINT8, which begins
// `segment_byte` bytes behind the payload's start. The result has the leaf's shape and numbers, not always its type: it
// is one that every opset and onnxruntime have operators for: UINT8, INT8, INT32, INT64, UINT64, FLOAT or DOUBLE, BOOL
// for BOOL. A constant is a constant.
// Errors: kNoDecoder for types without numbers (complex ones).
Result<Value> ReadLeaf(FunctionBuilder* builder, const Value& segment, uint64_t segment_byte, const Leaf& leaf);

}  // namespace tessera
