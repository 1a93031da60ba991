// The checker of whole files: struct types, struct values and containers, tensors and their data. It works on every
// ONNX file; what stock tools check already (operators, shapes, topology) it leaves to them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "onnx_struct.pb.h"
#include "tessera/base/error.h"
#include "tessera/onnx/model.h"
#include "tessera/types/limits.h"
#include "tessera/types/type_table.h"

namespace tessera {

struct CheckOptions {
  Limits limits;
  bool data_files = true;  // also resolve external data and look for orphaned bytes
};

// Key of ValueInfoProto.metadata_props that restricts an `any struct` to a set: names of declarations, separated by
// commas. Stands for the founding document's allowed_quantized_type.
inline constexpr std::string_view kAllowedTypesKey = "tessera.allowed_struct_types";

// Domain and operator of the node that decodes a struct value in the structured form of a model.
inline constexpr std::string_view kTesseraDomain = "tessera";
inline constexpr std::string_view kDecodeStructOp = "DecodeStruct";

// ModelProto.struct_types, converted and checked. Problems have paths below `struct_types[i]`.
TypeTable BuildTypeTable(const ir::ModelProto& model, const Limits& limits, Problems* problems);

// The type of a value, checked; nullptr where something was reported.
std::shared_ptr<const CheckedType> TypeOf(const ir::StructProto& value, const TypeTable& table, const Path& path,
                                          Problems* problems);

// A view of a value of `model`. Errors: those of TypeOf, Model::Bytes and StructView::Create.
Result<StructView> ViewOf(const Model& model, const TypeTable& table, const ir::StructProto& value,
                          std::string_view where);

// Everything that is wrong with the file.
void CheckModel(const Model& model, const CheckOptions& options, Problems* problems);

// Checks values that stand beside a model, as inputs or outputs of its main graph of that name.
// A problem's path starts with `name`.
void CheckValue(const Model& model, std::string_view name, const ir::SequenceProto& value, const CheckOptions& options,
                Problems* problems);
void CheckValue(const Model& model, std::string_view name, const ir::MapProto& value, const CheckOptions& options,
                Problems* problems);
void CheckValue(const Model& model, std::string_view name, const ir::OptionalProto& value, const CheckOptions& options,
                Problems* problems);
void CheckValue(const Model& model, std::string_view name, const ir::StructProto& value, const CheckOptions& options,
                Problems* problems);

}  // namespace tessera
