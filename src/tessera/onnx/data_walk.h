// Finds every value with data in a message: tensors and struct values, wherever the schema nests them.
#pragma once

#include <functional>

#include "onnx_struct.pb.h"

namespace tessera {

enum class DataPlace : uint8_t {
  kInitializer,  // of a graph, enclosed graphs included: data that may move between the model file and a data file
  kElsewhere,    // attributes, sparse tensors, compiled tensors, constants of types: readers expect it where it is
};

struct DataVisitor {
  std::function<void(ir::TensorProto*, DataPlace)> tensor;
  std::function<void(ir::StructProto*, DataPlace)> value;
};

// Calls the visitor for all values, in the order of field numbers. Inside a StructTypeProto every place is kElsewhere.
// The visitor may change the values, but not what is around them.
void VisitData(google::protobuf::Message* message, const DataVisitor& visitor);

}  // namespace tessera
