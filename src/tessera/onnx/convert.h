// Between the messages (ir::StructTypeProto, ir::FunctionProto) and the values of types/. A message that the checker
// accepts goes through in both directions unchanged; what the values cannot hold is reported here, the rest by
// TypeTable.
#pragma once

#include "onnx_struct.pb.h"
#include "tessera/base/error.h"
#include "tessera/types/struct_type.h"

namespace tessera {

// Problems: kPartKind, kPartSurplus, kLeafType, kConstant*, kDecoderAttribute, kDecoderSurplus, at paths below `path`.
StructType FromProto(const ir::StructTypeProto& proto, const Path& path, Problems* problems);
void ToProto(const StructType& type, ir::StructTypeProto* proto);

Constant FromProto(const ir::TensorProto& proto, const Path& path, Problems* problems);
void ToProto(const Constant& constant, ir::TensorProto* proto);

Function FromProto(const ir::FunctionProto& proto, const Path& path, Problems* problems);
void ToProto(const Function& function, ir::FunctionProto* proto);

}  // namespace tessera
