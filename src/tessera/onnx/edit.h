// Additions to a model in memory: struct types and struct values. What is added is checked first; on an error the model
// is as it was.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "onnx_struct.pb.h"
#include "tessera/base/error.h"
#include "tessera/onnx/model.h"
#include "tessera/types/limits.h"
#include "tessera/types/struct_type.h"

namespace tessera {

// Puts the last of `types` into ModelProto.struct_types, with those that it refers to; returns its index. `types` is a
// list of its own as Closure() makes it: references are positions in it. A declaration that the model has already,
// equal in everything, is not added again. Errors: kTypeName for a name that the model uses for another declaration,
// and the first problem of the checker.
Result<int32_t> AddStructType(Model* model, const std::vector<StructType>& types, const Limits& limits = {});

// Adds a value to the main graph's struct_initializer. Its type is the last of `types`, as above; one without a name
// stands inline in the value, and only what it refers to goes into struct_types.
// Errors: those of AddStructType, kValueName, kPayloadSize.
Result<ir::StructProto*> AddStructInitializer(Model* model, const std::string& name,
                                              const std::vector<StructType>& types, std::vector<uint8_t> bytes,
                                              const Limits& limits = {});

// The same for a type that the model has. Errors: also kTypeIndex, and the first problem of that type.
Result<ir::StructProto*> AddStructInitializer(Model* model, const std::string& name, int64_t type_index,
                                              std::vector<uint8_t> bytes, const Limits& limits = {});

}  // namespace tessera
