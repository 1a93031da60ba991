// Between the values of quant/quantized_tensor.h and the messages of a model: a quantized tensor becomes a
// struct_initializer of the main graph, and back.
#pragma once

#include <span>
#include <string_view>

#include "onnx_struct.pb.h"
#include "tessera/base/error.h"
#include "tessera/onnx/model.h"
#include "tessera/quant/quantized_tensor.h"
#include "tessera/types/limits.h"
#include "tessera/types/type_table.h"

namespace tessera {

// Adds the value, whose bytes the model takes over, to the main graph's struct_initializer, and its declarations to
// struct_types. On an error the model is as it was.
// Errors: those of AddStructInitializer (edit.h); a value without a name is kValueName.
Result<ir::StructProto*> AddStructValue(Model* model, StructValue value, const Limits& limits = {});

// A value of `model`, whose struct_types are `table`, with its declarations as a list of their own and its bytes in one
// piece, copied wherever they lie. `where` names it in errors.
// Errors: those of TypeOf (check_model.h), Model::Bytes, kSizeBits, kPayloadSize.
Result<StructValue> StructValueOf(const Model& model, const TypeTable& table, const ir::StructProto& value,
                                  std::string_view where);

// Both steps at once. A type whose name by rule another type of the model has is called as the tensor. Errors: those of
// ToStructValue and AddStructValue; of StructValueOf and ToQuantizedTensor.
Result<ir::StructProto*> AddQuantizedTensor(Model* model, const QuantizedTensor& tensor,
                                            std::span<const Profile> quantizations,
                                            const TranslateOptions& options = {});
Result<QuantizedTensor> QuantizedTensorOf(const Model& model, const TypeTable& table, const ir::StructProto& value,
                                          std::string_view where, const Limits& limits = {});

}  // namespace tessera
