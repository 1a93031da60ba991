#include "tessera/onnx/quantized_tensor.h"

#include <memory>
#include <utility>

#include "tessera/onnx/check_model.h"
#include "tessera/onnx/edit.h"
#include "tessera/types/closure.h"
#include "tessera/types/struct_view.h"

namespace tessera {

Result<ir::StructProto*> AddStructValue(Model* model, StructValue value, const Limits& limits) {
  TESSERA_ASSIGN(ir::StructProto * proto,
                 AddStructInitializer(model, value.name.value_or(""), value.types, std::move(value.raw_data), limits));
  if (value.doc_string) proto->set_doc_string(*std::move(value.doc_string));
  return proto;
}

Result<StructValue> StructValueOf(const Model& model, const TypeTable& table, const ir::StructProto& value,
                                  std::string_view where) {
  Problems problems;
  const std::shared_ptr<const CheckedType> type = TypeOf(value, table, Path(where), &problems);
  if (type == nullptr) return tl::unexpected<Error>(problems.list().front());
  TESSERA_ASSIGN(const Payload payload, model.Bytes(value, where));
  uint64_t bytes = 0;  // of segments that are mapped, so that their sum is no address space's end
  for (std::span<const uint8_t> segment : payload) bytes += segment.size();
  // Only the sum counts: in one piece, a leaf may lie across what was the end of a file.
  TESSERA_TRY(CheckPayload(*type, std::span(&bytes, 1), where));
  StructValue result;
  result.types = Closure(type->declaration, table.declarations());
  result.raw_data.reserve(bytes);
  for (std::span<const uint8_t> segment : payload)
    result.raw_data.insert(result.raw_data.end(), segment.begin(), segment.end());
  if (value.has_name()) result.name = value.name();
  if (value.has_doc_string()) result.doc_string = value.doc_string();
  return result;
}

Result<ir::StructProto*> AddQuantizedTensor(Model* model, const QuantizedTensor& tensor,
                                            std::span<const Profile> quantizations, const TranslateOptions& options) {
  TESSERA_ASSIGN(StructValue value, ToStructValue(tensor, quantizations, options));
  if (!options.spelling.name.empty() || !tensor.name) return AddStructValue(model, std::move(value), options.limits);
  // The name by rule is that of the family and the shape, which another type of the model may have.
  Result<ir::StructProto*> added = AddStructValue(model, value, options.limits);
  if (added || added.error().code != ErrorCode::kTypeName) return added;
  TranslateOptions named = options;
  named.spelling.name = *tensor.name;
  TESSERA_ASSIGN(value, ToStructValue(tensor, quantizations, named));
  return AddStructValue(model, std::move(value), options.limits);
}

Result<QuantizedTensor> QuantizedTensorOf(const Model& model, const TypeTable& table, const ir::StructProto& value,
                                          std::string_view where, const Limits& limits) {
  TESSERA_ASSIGN(const StructValue struct_value, StructValueOf(model, table, value, where));
  return ToQuantizedTensor(struct_value, limits);
}

}  // namespace tessera
