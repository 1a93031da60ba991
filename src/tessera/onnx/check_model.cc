#include "tessera/onnx/check_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/onnx/convert.h"
#include "tessera/onnx/orphans.h"
#include "tessera/onnx/tensor.h"
#include "tessera/types/function_check.h"

namespace tessera {
namespace {

std::string At(const Path& path, const std::string& name) {
  return name.empty() ? path.Str() : path.Str() + " " + Quoted(name);
}

// Adds the problems of `later` that do not repeat one of `earlier` at the same place or below it: a part that could
// not be converted leaves a hole that the next check would report again.
void AddUnlessBelow(const Problems& earlier, const Problems& later, Problems* problems) {
  std::set<std::string, std::less<>> places;
  for (const Error& error : earlier.list()) places.insert(error.where);
  auto covered = [&](std::string_view where) {
    for (;;) {
      if (places.contains(where)) return true;
      size_t dot = where.rfind('.');
      if (dot == std::string_view::npos) return false;
      where = where.substr(0, dot);
    }
  };
  for (const Error& error : later.list()) {
    if (!covered(error.where)) problems->Add(error);
  }
}

// A graph value's static type: the constraint, and the set of names that its metadata allow.
struct StaticType {
  const ir::TypeProto* type = nullptr;
  std::string allowed;
};

StaticType StaticTypeOf(const ir::ValueInfoProto& info) {
  StaticType result{&info.type(), {}};
  for (const ir::StringStringEntryProto& entry : info.metadata_props()) {
    if (entry.key() == kAllowedTypesKey) result.allowed = entry.value();
  }
  return result;
}

std::vector<std::string> SplitNames(const std::string& names) {
  std::vector<std::string> result;
  size_t start = 0;
  while (start <= names.size()) {
    size_t end = std::min(names.find(',', start), names.size());
    size_t first = names.find_first_not_of(' ', start);
    size_t last = names.find_last_not_of(' ', end == 0 ? 0 : end - 1);
    if (first < end) result.push_back(names.substr(first, last + 1 - first));
    start = end + 1;
  }
  return result;
}

class ModelChecker {
 public:
  ModelChecker(const Model& model, const CheckOptions& options, const TypeTable& table, Problems* problems)
      : model_(model), options_(options), table_(table), problems_(problems) {}

  void CheckAll() {
    const ir::ModelProto& proto = model_.proto();
    Path root;
    if (proto.has_graph()) CheckGraph(proto.graph(), root.Field("graph"));
    for (int i = 0; i < proto.training_info_size(); ++i) {
      Path at = root.Index("training_info", i);
      if (proto.training_info(i).has_initialization()) {
        CheckGraph(proto.training_info(i).initialization(), at.Field("initialization"));
      }
      if (proto.training_info(i).has_algorithm()) CheckGraph(proto.training_info(i).algorithm(), at.Field("algorithm"));
    }
    for (int i = 0; i < proto.functions_size(); ++i) {
      Path at = root.Index("functions", i);
      for (int n = 0; n < proto.functions(i).node_size(); ++n)
        CheckNode(proto.functions(i).node(n), at.Index("node", n));
      for (int a = 0; a < proto.functions(i).attribute_proto_size(); ++a) {
        CheckAttribute(proto.functions(i).attribute_proto(a), at.Index("attribute_proto", a));
      }
      for (int v = 0; v < proto.functions(i).value_info_size(); ++v) {
        CheckStaticType(proto.functions(i).value_info(v).type(), at.Index("value_info", v).Field("type"), 1);
      }
    }
    for (int i = 0; i < proto.compiled_tensors_size(); ++i) {
      CheckStructValue(proto.compiled_tensors(i).value(), root.Index("compiled_tensors", i).Field("value"), {});
    }
    if (options_.data_files) extents_.Report(model_, problems_);
  }

  // A value with the static type that a graph gives it; nullptr if it gives none.
  void CheckSequence(const ir::SequenceProto& value, const ir::TypeProto* static_type, const std::string& allowed,
                     const Path& path, uint32_t depth) {
    if (TooDeep(path, depth)) return;
    const ir::TypeProto* element = nullptr;
    if (static_type != nullptr) {
      if (!static_type->has_sequence_type()) return WrongContainer(path, "a sequence");
      element = &static_type->sequence_type().elem_type();
    }
    CheckSequenceOf(value, element, allowed, path, depth);
  }

  void CheckMap(const ir::MapProto& value, const ir::TypeProto* static_type, const std::string& allowed,
                const Path& path, uint32_t depth) {
    if (TooDeep(path, depth)) return;
    const ir::TypeProto* element = nullptr;
    if (static_type != nullptr) {
      if (!static_type->has_map_type()) return WrongContainer(path, "a map");
      if (static_type->map_type().key_type() != value.key_type()) {
        Add(ErrorCode::kValueStaticType, path.Field("key_type"), fmt::format("is {}", value.key_type()),
            fmt::format("{}, the graph's key type", static_type->map_type().key_type()));
      }
      element = &static_type->map_type().value_type();
    }
    CheckKeys(value, path);
    CheckSequenceOf(value.values(), element, allowed, path.Field("values"), depth);
  }

  void CheckOptional(const ir::OptionalProto& value, const ir::TypeProto* static_type, const std::string& allowed,
                     const Path& path, uint32_t depth) {
    if (TooDeep(path, depth)) return;
    const ir::TypeProto* element = nullptr;
    if (static_type != nullptr) {
      if (!static_type->has_optional_type()) return WrongContainer(path, "an optional");
      element = &static_type->optional_type().elem_type();
    }
    switch (value.elem_type()) {
      case ir::OptionalProto::STRUCT:
        if (value.has_tensor_value() || value.has_sparse_tensor_value() || value.has_sequence_value() ||
            value.has_map_value() || value.has_optional_value()) {
          Add(ErrorCode::kContainerElement, path, "an optional of STRUCT holds another kind of value",
              "a struct_value or nothing");
        }
        if (!CheckValueType(value.has_value_type() ? &value.value_type() : nullptr, element, path)) return;
        if (value.has_struct_value()) {
          CheckStructValue(value.struct_value(), path.Field("struct_value"), {&value.value_type(), allowed});
        }
        return;
      case ir::OptionalProto::SEQUENCE:
        if (value.has_sequence_value()) {
          CheckSequence(value.sequence_value(), element, allowed, path.Field("sequence_value"), depth + 1);
        }
        break;
      case ir::OptionalProto::MAP:
        if (value.has_map_value()) CheckMap(value.map_value(), element, allowed, path.Field("map_value"), depth + 1);
        break;
      case ir::OptionalProto::OPTIONAL:
        if (value.has_optional_value()) {
          CheckOptional(value.optional_value(), element, allowed, path.Field("optional_value"), depth + 1);
        }
        break;
      default:
        if (value.has_tensor_value()) CheckTensor(value.tensor_value(), path.Field("tensor_value"));
        if (value.has_sparse_tensor_value())
          CheckSparse(value.sparse_tensor_value(), path.Field("sparse_tensor_value"));
    }
    bool holds_container = value.has_sequence_value() || value.has_map_value() || value.has_optional_value();
    if (element != nullptr && element->has_struct_type() && !holds_container) {
      Add(ErrorCode::kValueStaticType, path.Field("elem_type"), fmt::format("is {}", value.elem_type()),
          "STRUCT, as the graph's type says");
    }
    if (value.has_struct_value()) {
      Add(ErrorCode::kContainerElement, path.Field("struct_value"), "is set, and elem_type is not STRUCT",
          "elem_type STRUCT (1200)");
    }
  }

  // The value's type, nullptr where something is wrong with it.
  std::shared_ptr<const CheckedType> CheckStructValue(const ir::StructProto& value, const Path& path,
                                                      const StaticType& static_type) {
    std::shared_ptr<const CheckedType> type = TypeOf(value, table_, path, problems_);
    const std::string where = At(path, value.name());
    if (type != nullptr) {
      CheckPayloadOf(value, *type, where);
    }
    if (static_type.type != nullptr) CheckSatisfies(value, type.get(), static_type, where);
    return type;
  }

 private:
  void Add(ErrorCode code, const Path& path, std::string what, std::string fix) {
    problems_->Add(code, path.Str(), std::move(what), std::move(fix));
  }

  bool TooDeep(const Path& path, uint32_t depth) {
    if (depth <= options_.limits.depth) return false;
    Add(ErrorCode::kLimitDepth, path, fmt::format("containers are nested {} deep", depth),
        fmt::format("at most {}", options_.limits.depth));
    return true;
  }

  void WrongContainer(const Path& path, std::string_view kind) {
    Add(ErrorCode::kValueStaticType, path, fmt::format("is {}, and the graph's type is not", kind),
        "a value of the graph's type");
  }

  // ---- graphs

  struct Scope {
    std::unordered_map<std::string_view, StaticType> types;                           // inputs, outputs, value_info
    std::unordered_map<std::string_view, std::shared_ptr<const CheckedType>> values;  // struct initializers
    std::unordered_set<std::string_view> results;                                     // of nodes
    const Scope* outer = nullptr;
  };

  void CheckGraph(const ir::GraphProto& graph, const Path& path) {
    Scope scope;
    scope.outer = scope_;
    auto add_types = [&](const auto& infos, std::string_view field) {
      for (int i = 0; i < infos.size(); ++i) {
        Path at = path.Index(field, i);
        scope.types.emplace(infos[i].name(), StaticTypeOf(infos[i]));
        CheckStaticType(infos[i].type(), at.Field("type"), 1);
        CheckAllowedNames(StaticTypeOf(infos[i]), at);
      }
    };
    add_types(graph.input(), "input");
    add_types(graph.output(), "output");
    add_types(graph.value_info(), "value_info");

    std::unordered_set<std::string_view> names;
    for (int i = 0; i < graph.initializer_size(); ++i) {
      Path at = path.Index("initializer", i);
      CheckInitializerName(graph.initializer(i).name(), ErrorCode::kTensorName, at, &names);
      CheckTensor(graph.initializer(i), at);
    }
    for (int i = 0; i < graph.sparse_initializer_size(); ++i) {
      Path at = path.Index("sparse_initializer", i);
      CheckInitializerName(graph.sparse_initializer(i).values().name(), ErrorCode::kTensorName, at, &names);
      CheckSparse(graph.sparse_initializer(i), at);
    }
    for (int i = 0; i < graph.struct_initializer_size(); ++i) {
      const ir::StructProto& value = graph.struct_initializer(i);
      Path at = path.Index("struct_initializer", i);
      CheckInitializerName(value.name(), ErrorCode::kValueName, at, &names);
      auto found = scope.types.find(value.name());
      scope.values.emplace(value.name(),
                           CheckStructValue(value, at, found == scope.types.end() ? StaticType{} : found->second));
    }

    scope_ = &scope;
    for (const ir::NodeProto& node : graph.node()) scope.results.insert(node.output().begin(), node.output().end());
    for (int i = 0; i < graph.node_size(); ++i) CheckNode(graph.node(i), path.Index("node", i));
    scope_ = scope.outer;
  }

  void CheckInitializerName(const std::string& name, ErrorCode code, const Path& path,
                            std::unordered_set<std::string_view>* names) {
    if (name.empty()) {
      Add(code, path.Field("name"), "is empty", "a name of its own for every initializer");
    } else if (!names->insert(name).second) {
      Add(code, path.Field("name"), Quoted(name) + " is taken by another initializer of this graph",
          "a name of its own for every initializer");
    }
  }

  void CheckNode(const ir::NodeProto& node, const Path& path) {
    for (int i = 0; i < node.attribute_size(); ++i) CheckAttribute(node.attribute(i), path.Index("attribute", i));
    if (node.domain() == kTesseraDomain && node.op_type() == kDecodeStructOp) CheckDecodeNode(node, path);
  }

  void CheckDecodeNode(const ir::NodeProto& node, const Path& path) {
    if (node.input_size() != 1 || node.output_size() != 1) {
      Add(ErrorCode::kDecodeNode, path,
          fmt::format("has {} inputs and {} outputs", node.input_size(), node.output_size()),
          "one struct value and one tensor");
      return;
    }
    if (scope_ == nullptr) return;  // in a function the types are those of the call
    std::shared_ptr<const CheckedType> type;
    const std::string& name = node.input(0);
    for (const Scope* scope = scope_; scope != nullptr; scope = scope->outer) {
      if (auto value = scope->values.find(name); value != scope->values.end()) {
        type = value->second;
        if (type == nullptr) return;  // reported with the value
        break;
      }
      if (auto info = scope->types.find(name); info != scope->types.end()) {
        if (!info->second.type->has_struct_type()) break;
        if (!info->second.type->struct_type().has_type_index()) return;  // any struct: known only at run time
        type = table_.Get(info->second.type->struct_type().type_index());
        if (type == nullptr) return;
        break;
      }
      // The result of a node (a page taken from a sequence) need not have a value_info.
      if (scope->results.contains(name)) return;
    }
    if (type == nullptr) {
      Add(ErrorCode::kDecodeNode, path.Index("input", 0), Quoted(name) + " is not a struct value of this graph",
          "a struct initializer or an input of struct type");
      return;
    }
    if (!type->declaration.decoder) {
      Add(ErrorCode::kDecodeNode, path.Index("input", 0),
          fmt::format("the type {} of {} has no decoder", Quoted(type->declaration.Name()), Quoted(name)),
          "a type with a decoder");
      return;
    }
    std::optional<OutputSignature> output = DeclaredOutput(*type->declaration.decoder);
    auto info = scope_->types.find(node.output(0));
    if (!output || info == scope_->types.end()) return;
    if (!Accepts(*info->second.type, *output)) {
      Add(ErrorCode::kDecodeNode, path.Index("output", 0),
          fmt::format("the graph's type of {} differs from the decoder's output", Quoted(node.output(0))),
          fmt::format("{}[{}]", Name(output->type), fmt::join(output->dims, ", ")));
    }
  }

  // True if a tensor of that signature fits a static type with possibly unknown dimensions.
  static bool Accepts(const ir::TypeProto& type, const OutputSignature& output) {
    if (!type.has_tensor_type()) return false;
    const ir::TypeProto::Tensor& tensor = type.tensor_type();
    if (tensor.elem_type() != static_cast<int32_t>(output.type)) return false;
    if (!tensor.has_shape()) return true;
    if (static_cast<size_t>(tensor.shape().dim_size()) != output.dims.size()) return false;
    for (int i = 0; i < tensor.shape().dim_size(); ++i) {
      const auto& dim = tensor.shape().dim(i);
      if (dim.has_dim_value() && dim.dim_value() != output.dims[i]) return false;
    }
    return true;
  }

  void CheckAttribute(const ir::AttributeProto& attribute, const Path& path) {
    if (attribute.has_t()) CheckTensor(attribute.t(), path.Field("t"));
    for (int i = 0; i < attribute.tensors_size(); ++i) CheckTensor(attribute.tensors(i), path.Index("tensors", i));
    if (attribute.has_sparse_tensor()) CheckSparse(attribute.sparse_tensor(), path.Field("sparse_tensor"));
    for (int i = 0; i < attribute.sparse_tensors_size(); ++i) {
      CheckSparse(attribute.sparse_tensors(i), path.Index("sparse_tensors", i));
    }
    if (attribute.has_g()) CheckGraph(attribute.g(), path.Field("g"));
    for (int i = 0; i < attribute.graphs_size(); ++i) CheckGraph(attribute.graphs(i), path.Index("graphs", i));
    if (attribute.has_tp()) CheckStaticType(attribute.tp(), path.Field("tp"), 1);
    for (int i = 0; i < attribute.type_protos_size(); ++i) {
      CheckStaticType(attribute.type_protos(i), path.Index("type_protos", i), 1);
    }
    bool is_struct = attribute.type() == ir::AttributeProto::STRUCT;
    bool is_structs = attribute.type() == ir::AttributeProto::STRUCTS;
    if (attribute.has_struct_() != is_struct || (attribute.structs_size() > 0 && !is_structs)) {
      Add(ErrorCode::kAttributeType, path.Field("type"),
          fmt::format("is {}", ir::AttributeProto::AttributeType_Name(attribute.type())),
          "STRUCT with `struct`, STRUCTS with `structs`");
    }
    if (attribute.has_struct_()) CheckStructValue(attribute.struct_(), path.Field("struct"), {});
    for (int i = 0; i < attribute.structs_size(); ++i) {
      CheckStructValue(attribute.structs(i), path.Index("structs", i), {});
    }
  }

  // ---- static types

  void CheckStaticType(const ir::TypeProto& type, const Path& path, uint32_t depth) {
    if (TooDeep(path, depth)) return;
    if (type.has_sequence_type()) {
      CheckStaticType(type.sequence_type().elem_type(), path.Field("sequence_type").Field("elem_type"), depth + 1);
    } else if (type.has_map_type()) {
      CheckStaticType(type.map_type().value_type(), path.Field("map_type").Field("value_type"), depth + 1);
    } else if (type.has_optional_type()) {
      CheckStaticType(type.optional_type().elem_type(), path.Field("optional_type").Field("elem_type"), depth + 1);
    } else if (type.has_struct_type()) {
      CheckConstraint(type.struct_type(), path.Field("struct_type"));
    }
  }

  void CheckConstraint(const ir::StructTypeProto& type, const Path& path) {
    if (type.has_name() || type.has_doc_string() || type.has_decoder() || type.has_encoder() ||
        type.metadata_props_size() > 0) {
      Add(ErrorCode::kPartSurplus, path, "a reference carries a name, decoder or other content",
          "type_index alone, or nothing");
    }
    if (type.has_array() || type.has_structure() || type.has_bit_packing()) {
      Add(ErrorCode::kPartKind, path, "declares a type where only a reference may stand",
          "a type_index, or no kind for any struct");
    } else if (type.has_type_index()) {
      CheckTypeIndex(type.type_index(), path.Field("type_index"));
    }
  }

  bool CheckTypeIndex(int32_t index, const Path& path) {
    if (index >= 0 && static_cast<size_t>(index) < table_.size()) return true;
    Add(ErrorCode::kTypeIndex, path, fmt::format("is {}", index),
        table_.size() == 0 ? "the model has no struct_types" : fmt::format("0 to {}", table_.size() - 1));
    return false;
  }

  void CheckAllowedNames(const StaticType& type, const Path& path) {
    for (const std::string& name : SplitNames(type.allowed)) {
      if (table_.Find(name) < 0) {
        Add(ErrorCode::kTypeName, path.Field("metadata_props"),
            fmt::format("allows {}, which is not declared", Quoted(name)),
            "names of struct_types, separated by commas");
      }
    }
  }

  // ---- struct values

  void CheckPayloadOf(const ir::StructProto& value, const CheckedType& type, const std::string& where) {
    std::vector<uint64_t> sizes;
    if (value.external_data_size() > 0) {
      if (value.has_raw_data()) {
        problems_->Add(ErrorCode::kExternalInline, where, "has both raw_data and external_data", "one of the two");
        return;
      }
      Result<std::vector<DataSegment>> segments = model_.Segments(value, where);
      if (!segments) return problems_->Add(segments.error());
      for (const DataSegment& segment : *segments) sizes.push_back(segment.length);
      if (options_.data_files && !CheckSegments(*segments, where)) return;
    } else {
      sizes.push_back(model_.RawData(value).size());
    }
    uint64_t total = 0;
    for (uint64_t size : sizes) total = CheckedAdd(total, size).value_or(UINT64_MAX);
    if (total > options_.limits.payload_bytes) {
      problems_->Add(ErrorCode::kLimitPayload, where, fmt::format("has {} bytes", total),
                     fmt::format("at most {}", options_.limits.payload_bytes));
      return;
    }
    if (Result<void> ok = CheckPayload(type, sizes, where); !ok) problems_->Add(ok.error());
  }

  bool CheckSegments(const std::vector<DataSegment>& segments, const std::string& where) {
    for (const DataSegment& segment : segments) {
      if (segment.location.empty()) continue;
      Result<uint64_t> size = model_.DataFileSize(segment.location, where);
      if (!size) {
        problems_->Add(size.error());
        return false;
      }
      std::optional<uint64_t> end = CheckedAdd(segment.offset, segment.length);
      if (!end || *end > *size) {
        problems_->Add(ErrorCode::kExternalRange, where,
                       fmt::format("offset {} and length {} do not fit into {}", segment.offset, segment.length,
                                   Quoted(segment.location)),
                       fmt::format("a range inside its {} bytes", *size));
        return false;
      }
      extents_.Add(segment, *size);
    }
    return true;
  }

  void CheckSatisfies(const ir::StructProto& value, const CheckedType* type, const StaticType& static_type,
                      const std::string& where) {
    if (!static_type.type->has_struct_type()) {
      problems_->Add(ErrorCode::kValueStaticType, where, "is a struct value, and its static type is not a struct",
                     "a value of the graph's type");
      return;
    }
    // A value without a type of its own is reported as that alone.
    const bool in_table = value.has_type() && value.type() >= 0 && static_cast<size_t>(value.type()) < table_.size();
    if (type == nullptr && !in_table) return;
    const ir::StructTypeProto& constraint = static_type.type->struct_type();
    if (constraint.has_type_index()) {
      int32_t wanted = constraint.type_index();
      bool same = value.has_type() ? value.type() == wanted
                                   : type != nullptr && wanted >= 0 && static_cast<size_t>(wanted) < table_.size() &&
                                         type->declaration == table_.declaration(wanted);
      if (!same) {
        problems_->Add(ErrorCode::kValueStaticType, where,
                       value.has_type() ? fmt::format("has type {}", value.type()) : "has another, inline type",
                       fmt::format("type {}, as its static type says", wanted));
      }
    }
    std::vector<std::string> allowed = SplitNames(static_type.allowed);
    if (!allowed.empty() && type != nullptr &&
        std::find(allowed.begin(), allowed.end(), type->declaration.Name()) == allowed.end()) {
      problems_->Add(ErrorCode::kValueStaticType, where, fmt::format("has type {}", Quoted(type->declaration.Name())),
                     "one of: " + static_type.allowed);
    }
  }

  // ---- containers

  // value_type of a container against the graph's element type; false where nothing further can be checked.
  bool CheckValueType(const ir::TypeProto* value_type, const ir::TypeProto* element, const Path& path) {
    if (value_type == nullptr) {
      Add(ErrorCode::kContainerType, path.Field("value_type"), "is missing in a container of STRUCT",
          "the TypeProto of its elements");
      return false;
    }
    if (!value_type->has_struct_type()) {
      Add(ErrorCode::kContainerType, path.Field("value_type"), "is not a struct type", "the TypeProto of its elements");
      return false;
    }
    CheckConstraint(value_type->struct_type(), path.Field("value_type").Field("struct_type"));
    if (element == nullptr) return true;
    const ir::StructTypeProto& own = value_type->struct_type();
    bool same = element->has_struct_type() && own.has_type_index() == element->struct_type().has_type_index() &&
                own.type_index() == element->struct_type().type_index();
    if (!same) {
      Add(ErrorCode::kContainerType, path.Field("value_type"), "disagrees with the graph's type",
          "the graph's element type");
    }
    return same;
  }

  void CheckSequenceOf(const ir::SequenceProto& value, const ir::TypeProto* element, const std::string& allowed,
                       const Path& path, uint32_t depth) {
    if (value.elem_type() == ir::SequenceProto::STRUCT) {
      if (value.tensor_values_size() + value.sparse_tensor_values_size() + value.sequence_values_size() +
              value.map_values_size() + value.optional_values_size() >
          0) {
        Add(ErrorCode::kContainerElement, path, "a sequence of STRUCT holds another kind of value",
            "struct_values alone");
      }
      if (!CheckValueType(value.has_value_type() ? &value.value_type() : nullptr, element, path)) return;
      for (int i = 0; i < value.struct_values_size(); ++i) {
        CheckStructValue(value.struct_values(i), path.Index("struct_values", i), {&value.value_type(), allowed});
      }
      return;
    }
    if (value.struct_values_size() > 0) {
      Add(ErrorCode::kContainerElement, path.Field("struct_values"), "is not empty, and elem_type is not STRUCT",
          "elem_type STRUCT (1200)");
    }
    if (element != nullptr && element->has_struct_type()) {
      Add(ErrorCode::kValueStaticType, path.Field("elem_type"), fmt::format("is {}", value.elem_type()),
          "STRUCT, as the graph's type says");
    }
    for (int i = 0; i < value.tensor_values_size(); ++i)
      CheckTensor(value.tensor_values(i), path.Index("tensor_values", i));
    for (int i = 0; i < value.sparse_tensor_values_size(); ++i) {
      CheckSparse(value.sparse_tensor_values(i), path.Index("sparse_tensor_values", i));
    }
    for (int i = 0; i < value.sequence_values_size(); ++i) {
      CheckSequence(value.sequence_values(i), element, allowed, path.Index("sequence_values", i), depth + 1);
    }
    for (int i = 0; i < value.map_values_size(); ++i) {
      CheckMap(value.map_values(i), element, allowed, path.Index("map_values", i), depth + 1);
    }
    for (int i = 0; i < value.optional_values_size(); ++i) {
      CheckOptional(value.optional_values(i), element, allowed, path.Index("optional_values", i), depth + 1);
    }
  }

  void CheckKeys(const ir::MapProto& value, const Path& path) {
    const ir::SequenceProto& values = value.values();
    int64_t keys = int64_t{value.keys_size()} + value.string_keys_size();
    int64_t elements = int64_t{values.tensor_values_size()} + values.sparse_tensor_values_size() +
                       values.sequence_values_size() + values.map_values_size() + values.optional_values_size() +
                       values.struct_values_size();
    if (keys != elements) {
      Add(ErrorCode::kContainerElement, path, fmt::format("has {} keys and {} values", keys, elements),
          "a value for each key");
    }
    std::set<int64_t> seen;
    std::set<std::string_view> seen_strings;
    for (int64_t key : value.keys()) {
      if (!seen.insert(key).second)
        Add(ErrorCode::kContainerElement, path.Field("keys"), fmt::format("{} stands twice", key), "each key once");
    }
    for (const std::string& key : value.string_keys()) {
      if (!seen_strings.insert(key).second) {
        Add(ErrorCode::kContainerElement, path.Field("string_keys"), Quoted(key) + " stands twice", "each key once");
      }
    }
  }

  // ---- tensors

  void CheckSparse(const ir::SparseTensorProto& sparse, const Path& path) {
    CheckTensor(sparse.values(), path.Field("values"));
    CheckTensor(sparse.indices(), path.Field("indices"));
  }

  void CheckTensor(const ir::TensorProto& tensor, const Path& path) {
    const std::string where = At(path, tensor.name());
    if (!IsExternal(tensor)) {
      if (Result<void> ok = CheckTensorData(tensor, model_.RawData(tensor).size(), where); !ok)
        problems_->Add(ok.error());
      return;
    }
    Result<TensorFacts> facts = FactsOf(tensor, where);
    if (!facts) return problems_->Add(facts.error());
    if (facts->type == ElementType::kString) {
      return problems_->Add(ErrorCode::kTensorType, where, "a tensor of STRING has external data", "string_data");
    }
    if (tensor.has_raw_data()) {
      return problems_->Add(ErrorCode::kExternalInline, where, "has both raw_data and external data", "one of the two");
    }
    Result<std::vector<DataSegment>> segments = model_.Segments(tensor, where);
    if (!segments) return problems_->Add(segments.error());
    uint64_t length = 0;
    for (const DataSegment& segment : *segments) length = CheckedAdd(length, segment.length).value_or(UINT64_MAX);
    if (length != facts->bytes) {
      return problems_->Add(ErrorCode::kTensorSize, where, fmt::format("external data has length {}", length),
                            fmt::format("{} for {} elements of {}", facts->bytes, facts->count, Name(facts->type)));
    }
    if (options_.data_files) CheckSegments(*segments, where);
  }

  const Model& model_;
  const CheckOptions& options_;
  const TypeTable& table_;
  Problems* problems_;
  const Scope* scope_ = nullptr;
  DataExtents extents_;
};

StaticType StaticTypeOfGraphValue(const Model& model, std::string_view name, Problems* problems) {
  for (const auto* infos : {&model.proto().graph().input(), &model.proto().graph().output()}) {
    for (const ir::ValueInfoProto& info : *infos) {
      if (info.name() == name) return StaticTypeOf(info);
    }
  }
  problems->Add(ErrorCode::kValueName, std::string(name), "is neither an input nor an output of the graph",
                "the name of a graph input or output");
  return {};
}

template <typename Visit>
void CheckValueWith(const Model& model, std::string_view name, const CheckOptions& options, Problems* problems,
                    Visit visit) {
  Problems of_types;
  TypeTable table = BuildTypeTable(model.proto(), options.limits, &of_types);
  StaticType type = StaticTypeOfGraphValue(model, name, problems);
  if (type.type == nullptr) return;
  ModelChecker checker(model, options, table, problems);
  visit(checker, type, Path(name));
}

}  // namespace

TypeTable BuildTypeTable(const ir::ModelProto& model, const Limits& limits, Problems* problems) {
  Problems conversion(limits.problems);
  std::vector<StructType> types;
  std::vector<bool> refused(model.struct_types_size());
  Path root;
  for (int i = 0; i < model.struct_types_size(); ++i) {
    size_t before = conversion.count();
    types.push_back(FromProto(model.struct_types(i), root.Index("struct_types", i), &conversion));
    refused[i] = conversion.count() != before;
  }
  Problems checks(limits.problems);
  TypeTable table = TypeTable::Build(std::move(types), limits, &checks, refused);
  for (const Error& error : conversion.list()) problems->Add(error);
  AddUnlessBelow(conversion, checks, problems);
  return table;
}

std::shared_ptr<const CheckedType> TypeOf(const ir::StructProto& value, const TypeTable& table, const Path& path,
                                          Problems* problems) {
  const std::string where = At(path, value.name());
  if (value.has_struct_type()) {
    Problems conversion;
    Path at = path.Field("struct_type");
    StructType type = FromProto(value.struct_type(), at, &conversion);
    Problems checks;
    std::shared_ptr<const CheckedType> checked = table.CheckInline(std::move(type), at, &checks);
    for (const Error& error : conversion.list()) problems->Add(error);
    AddUnlessBelow(conversion, checks, problems);
    return conversion.empty() ? checked : nullptr;
  }
  if (!value.has_type()) {
    problems->Add(ErrorCode::kValueType, where, "has neither type nor struct_type", "exactly one of the two");
    return nullptr;
  }
  if (value.type() < 0 || static_cast<size_t>(value.type()) >= table.size()) {
    problems->Add(ErrorCode::kTypeIndex, where, fmt::format("type is {}", value.type()),
                  table.size() == 0 ? "the model has no struct_types" : fmt::format("0 to {}", table.size() - 1));
    return nullptr;
  }
  std::shared_ptr<const CheckedType> checked = table.Get(value.type());
  if (checked == nullptr) {
    problems->Add(ErrorCode::kTypeInvalid, where,
                  fmt::format("its type, struct_types[{}], is not in order", value.type()), "a type without problems");
  }
  return checked;
}

Result<StructView> ViewOf(const Model& model, const TypeTable& table, const ir::StructProto& value,
                          std::string_view where) {
  Problems problems;
  std::shared_ptr<const CheckedType> type = TypeOf(value, table, Path(where), &problems);
  if (type == nullptr) return tl::unexpected<Error>(problems.list().front());
  TESSERA_ASSIGN(Payload payload, model.Bytes(value, where));
  return StructView::Create(std::move(type), std::move(payload), where);
}

void CheckModel(const Model& model, const CheckOptions& options, Problems* problems) {
  for (const Error& conflict : model.conflicts()) problems->Add(conflict);
  TypeTable table = BuildTypeTable(model.proto(), options.limits, problems);
  ModelChecker(model, options, table, problems).CheckAll();
}

void CheckValue(const Model& model, std::string_view name, const ir::SequenceProto& value, const CheckOptions& options,
                Problems* problems) {
  CheckValueWith(model, name, options, problems, [&](ModelChecker& checker, const StaticType& type, const Path& path) {
    checker.CheckSequence(value, type.type, type.allowed, path, 1);
  });
}

void CheckValue(const Model& model, std::string_view name, const ir::MapProto& value, const CheckOptions& options,
                Problems* problems) {
  CheckValueWith(model, name, options, problems, [&](ModelChecker& checker, const StaticType& type, const Path& path) {
    checker.CheckMap(value, type.type, type.allowed, path, 1);
  });
}

void CheckValue(const Model& model, std::string_view name, const ir::OptionalProto& value, const CheckOptions& options,
                Problems* problems) {
  CheckValueWith(model, name, options, problems, [&](ModelChecker& checker, const StaticType& type, const Path& path) {
    checker.CheckOptional(value, type.type, type.allowed, path, 1);
  });
}

void CheckValue(const Model& model, std::string_view name, const ir::StructProto& value, const CheckOptions& options,
                Problems* problems) {
  CheckValueWith(model, name, options, problems, [&](ModelChecker& checker, const StaticType& type, const Path& path) {
    checker.CheckStructValue(value, path, type);
  });
}

}  // namespace tessera
