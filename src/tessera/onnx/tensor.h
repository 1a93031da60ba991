// What a TensorProto holds: its size from type and dimensions, whether its data has that size, and its canonical bytes
// (those of raw_data) whichever member holds them.
// Source: the comments of TensorProto in onnx.proto 1.23.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "onnx_struct.pb.h"
#include "tessera/base/error.h"
#include "tessera/types/element_type.h"

namespace tessera {

struct TensorFacts {
  ElementType type = ElementType::kUndefined;
  uint64_t count = 0;  // elements
  uint64_t bytes = 0;  // packed; 0 for STRING
};

// Errors: kTensorType, kTensorDims. `where` names the tensor in them.
Result<TensorFacts> FactsOf(const ir::TensorProto& tensor, std::string_view where);

// Checks that exactly the member that the type uses holds data, and exactly as much as the dimensions need.
// `raw_bytes` is the size of raw_data, which may stand in a mapped file instead of the message. External data is not
// looked at. Errors: kTensor*.
Result<void> CheckTensorData(const ir::TensorProto& tensor, uint64_t raw_bytes, std::string_view where);

// The canonical bytes of a tensor without external data. `raw` are those of raw_data, empty if there are none.
// Errors: kTensor*; STRING has no canonical bytes.
Result<std::vector<uint8_t>> CanonicalBytes(const ir::TensorProto& tensor, std::span<const uint8_t> raw,
                                            std::string_view where);

// Puts canonical bytes into the typed member of `tensor` (float_data, int32_data, ...) that its type uses.
// REQUIRES: `bytes` has the size that type and dimensions need.
void SetTypedData(std::span<const uint8_t> bytes, ElementType type, uint64_t count, ir::TensorProto* tensor);

inline bool IsExternal(const ir::TensorProto& tensor) { return tensor.data_location() == ir::TensorProto::EXTERNAL; }

}  // namespace tessera
