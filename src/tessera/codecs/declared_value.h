// What a value means by nothing but its declaration.
#pragma once

#include <span>

#include "tessera/base/error.h"
#include "tessera/codecs/tensor.h"
#include "tessera/types/limits.h"
#include "tessera/types/struct_type.h"
#include "tessera/types/struct_view.h"

namespace tessera {

// The tensor that a value of the last of `types` stands for, in the evaluator: by the type's own decoder, and where it
// has none by that of the profile that the type is a translation of; from the leaves, or from the bytes where no opset
// converts their types. Errors: those of RecoverProfile, BuildDecoder and EvaluateFunction.
Result<Tensor> DecodeDeclared(std::span<const StructType> types, const StructView& value, const Limits& limits = {});

}  // namespace tessera
