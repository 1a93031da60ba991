#include "tessera/onnx/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tessera/codecs/decoder.h"
#include "tessera/onnx/check_model.h"
#include "tessera/onnx/convert.h"
#include "tessera/types/closure.h"
#include "tessera/types/operators.h"
#include "tessera/types/struct_view.h"

namespace tessera {
namespace {

using Entries = google::protobuf::RepeatedPtrField<ir::StringStringEntryProto>;

constexpr std::array<std::string_view, 2> kFormNames = {"structured", "portable"};
constexpr int64_t kFunctionIrVersion = 10;  // metadata and value_info of functions

// ---- metadata

const std::string* FindEntry(const Entries& entries, std::string_view key) {
  for (const ir::StringStringEntryProto& entry : entries) {
    if (entry.key() == key) return &entry.value();
  }
  return nullptr;
}

void AddEntry(Entries* entries, std::string_view key, std::string value) {
  ir::StringStringEntryProto* entry = entries->Add();
  entry->set_key(std::string(key));
  entry->set_value(std::move(value));
}

void RemoveEntry(Entries* entries, std::string_view key) {
  for (int i = entries->size() - 1; i >= 0; --i) {
    if (entries->Get(i).key() == key) entries->DeleteSubrange(i, 1);
  }
}

std::string Hex(const google::protobuf::Message& message) {
  std::string text;
  for (char c : message.SerializePartialAsString()) text += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return text;
}

bool FromHex(std::string_view text, google::protobuf::Message* message) {
  auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (text.size() % 2 != 0) return false;
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes += static_cast<char>(high * 16 + low);
  }
  return message->ParsePartialFromString(bytes);
}

// ---- graphs

// Calls visit(graph) for a graph and all graphs in attributes of its nodes, from the outside in.
void ForEachGraph(ir::GraphProto* graph, const std::function<void(ir::GraphProto*)>& visit) {
  visit(graph);
  for (ir::NodeProto& node : *graph->mutable_node()) {
    for (ir::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) ForEachGraph(attribute.mutable_g(), visit);
      for (ir::GraphProto& inner : *attribute.mutable_graphs()) ForEachGraph(&inner, visit);
    }
  }
}

// All names of values that a graph defines or reads, with those of the graphs in it.
void CollectNames(ir::GraphProto* graph, std::set<std::string, std::less<>>* names) {
  ForEachGraph(graph, [&](ir::GraphProto* inner) {
    for (const auto& info : inner->input()) names->insert(info.name());
    for (const auto& tensor : inner->initializer()) names->insert(tensor.name());
    for (const auto& value : inner->struct_initializer()) names->insert(value.name());
    for (const auto& node : inner->node()) {
      names->insert(node.input().begin(), node.input().end());
      names->insert(node.output().begin(), node.output().end());
    }
  });
}

std::string Fresh(std::string wanted, std::set<std::string, std::less<>>* names) {
  std::string name = wanted;
  for (int i = 1; !names->insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
  return name;
}

bool IsDecodeNode(const ir::NodeProto& node) {
  return node.domain() == kTesseraDomain && node.op_type() == kDecodeStructOp;
}

tl::unexpected<Error> Refuse(const std::string& where, std::string what) {
  return Fail(ErrorCode::kUnsupported, where, std::move(what), "the structured form");
}

// ---- to portable

class PortableWriter {
 public:
  PortableWriter(const Model& model, ir::ModelProto* proto, const Limits& limits)
      : model_(model), proto_(*proto), limits_(limits) {}

  Result<void> Run() {
    TESSERA_TRY(FindOpset());
    Problems problems;
    table_.emplace(BuildTypeTable(proto_, limits_, &problems));
    if (!problems.empty()) return tl::unexpected<Error>(problems.list().front());
    CollectNames(proto_.mutable_graph(), &names_);
    for (const ir::FunctionProto& function : proto_.functions()) {
      functions_.insert(function.name());
      if (std::any_of(function.node().begin(), function.node().end(), IsDecodeNode)) {
        return Refuse("function " + Quoted(function.name()), "it decodes struct values itself");
      }
    }
    TESSERA_TRY(Walk(proto_.mutable_graph(), nullptr));
    if (!changed_) return {};
    if (proto_.ir_version() < kFunctionIrVersion) {
      AddEntry(proto_.mutable_metadata_props(), kIrVersionKey, fmt::format("{}", proto_.ir_version()));
      proto_.set_ir_version(kFunctionIrVersion);
    }
    return {};
  }

 private:
  // A struct value of a graph: its tensors' names, and the function that decodes it, made when it is needed.
  struct Value {
    std::shared_ptr<const CheckedType> type;
    std::vector<StructType> types;  // a list of its own, the root last
    std::string type_name;          // "" for an inline one
    std::string inline_type;
    std::vector<std::string> segments;
    std::vector<uint64_t> segment_bytes;
  };
  struct Scope {
    const Scope* outer = nullptr;
    std::map<std::string, Value, std::less<>> values;
    std::set<std::string, std::less<>> hidden;  // names that stand for something else here
  };

  Result<void> FindOpset() {
    for (const ir::OperatorSetIdProto& import : proto_.opset_import()) {
      if (import.domain().empty() || import.domain() == "ai.onnx") opset_ = import.version();
    }
    if (opset_ >= kMinOpset && opset_ <= kMaxOpset) return {};
    return Fail(ErrorCode::kUnsupported, "opset_import", fmt::format("the model imports opset {}", opset_),
                opset_ < kMinOpset ? fmt::format("{} to {}; onnx.version_converter raises it", kMinOpset, kMaxOpset)
                                   : fmt::format("{} to {}", kMinOpset, kMaxOpset));
  }

  Result<void> Walk(ir::GraphProto* graph, const Scope* outer) {
    Scope scope;
    scope.outer = outer;
    for (const auto& info : graph->input()) {
      if (info.type().has_struct_type()) return Refuse(info.name(), "a graph input is a struct value");
      scope.hidden.insert(info.name());
    }
    for (const auto& info : graph->output()) {
      if (info.type().has_struct_type()) return Refuse(info.name(), "a graph output is a struct value");
    }
    for (ir::StructProto& value : *graph->mutable_struct_initializer()) {
      TESSERA_TRY(Place(graph, &value, &scope));
    }
    if (graph->struct_initializer_size() > 0) changed_ = true;
    graph->clear_struct_initializer();
    for (const ir::NodeProto& node : graph->node()) {
      scope.hidden.insert(node.output().begin(), node.output().end());
    }
    for (ir::NodeProto& node : *graph->mutable_node()) TESSERA_TRY(Rewrite(&node, scope));
    for (const auto& info : graph->output()) {
      if (Find(scope, info.name()) != nullptr) return Refuse(info.name(), "a graph output is a struct value");
    }
    return {};
  }

  // The value as UINT8 tensors of the graph.
  Result<void> Place(ir::GraphProto* graph, ir::StructProto* proto, Scope* scope) {
    const std::string where = "struct value " + Quoted(proto->name());
    Value value;
    Problems problems;
    value.type = TypeOf(*proto, *table_, Path(where), &problems);
    if (value.type == nullptr) return tl::unexpected<Error>(problems.list().front());
    value.types = Closure(value.type->declaration, table_->declarations());
    if (proto->has_struct_type()) {
      value.inline_type = Hex(proto->struct_type());
      // The checker wants a name for each declaration of a list.
      if (value.types.back().Name().empty()) value.types.back().name = proto->name();
    } else {
      value.type_name = value.type->declaration.Name();
    }
    TESSERA_ASSIGN(const std::vector<DataSegment> segments, model_.Segments(*proto, where));
    for (const DataSegment& segment : segments) value.segment_bytes.push_back(segment.length);
    TESSERA_TRY(CheckPayload(*value.type, value.segment_bytes, where));
    const bool external = proto->external_data_size() > 0;
    int entry = 0;
    for (size_t i = 0; i < segments.size(); ++i) {
      ir::TensorProto* tensor = graph->add_initializer();
      tensor->set_data_type(ir::TensorProto::UINT8);
      tensor->add_dims(static_cast<int64_t>(segments[i].length));
      if (external) {
        // The entries as they were: a location, and what follows it.
        do {
          *tensor->add_external_data() = proto->external_data(entry++);
        } while (entry < proto->external_data_size() && proto->external_data(entry).key() != "location");
        tensor->set_data_location(ir::TensorProto::EXTERNAL);
      } else {
        tensor->set_raw_data(std::move(*proto->mutable_raw_data()));
      }
      if (i == 0) {
        tensor->set_name(proto->name());
        if (proto->has_doc_string()) tensor->set_doc_string(proto->doc_string());
        AddType(value, tensor->mutable_metadata_props());
      } else {
        tensor->set_name(Fresh(fmt::format("{}.segment_{}", proto->name(), i), &names_));
        AddEntry(tensor->mutable_metadata_props(), kSegmentOfKey, proto->name());
      }
      value.segments.push_back(tensor->name());
    }
    // A stock runtime would not know the type in value_info.
    for (int i = graph->value_info_size() - 1; i >= 0; --i) {
      if (graph->value_info(i).name() != proto->name()) continue;
      ir::TensorProto* first =
          graph->mutable_initializer(graph->initializer_size() - static_cast<int>(segments.size()));
      AddEntry(first->mutable_metadata_props(), kValueInfoKey, fmt::format("{} {}", i, Hex(graph->value_info(i))));
      graph->mutable_value_info()->DeleteSubrange(i, 1);
    }
    scope->values.emplace(proto->name(), std::move(value));
    return {};
  }

  static void AddType(const Value& value, Entries* entries) {
    if (value.inline_type.empty())
      AddEntry(entries, kStructTypeKey, value.type_name);
    else
      AddEntry(entries, kInlineTypeKey, value.inline_type);
  }

  static const Value* Find(const Scope& scope, std::string_view name) {
    for (const Scope* at = &scope; at != nullptr; at = at->outer) {
      if (auto found = at->values.find(name); found != at->values.end()) return &found->second;
      if (at->hidden.contains(name)) return nullptr;
    }
    return nullptr;
  }

  Result<void> Rewrite(ir::NodeProto* node, const Scope& scope) {
    const std::string where = fmt::format("node {}", Quoted(node->name().empty() ? node->op_type() : node->name()));
    for (ir::AttributeProto& attribute : *node->mutable_attribute()) {
      if (attribute.has_struct_() || attribute.structs_size() > 0) {
        return Refuse(where, fmt::format("its attribute {} is a struct value", Quoted(attribute.name())));
      }
      if (attribute.has_g()) TESSERA_TRY(Walk(attribute.mutable_g(), &scope));
      for (ir::GraphProto& inner : *attribute.mutable_graphs()) TESSERA_TRY(Walk(&inner, &scope));
    }
    if (!IsDecodeNode(*node)) {
      for (const std::string& input : node->input()) {
        if (Find(scope, input) != nullptr)
          return Refuse(where, fmt::format("it reads the struct value {}", Quoted(input)));
      }
      return {};
    }
    const Value* value = node->input_size() == 1 ? Find(scope, node->input(0)) : nullptr;
    if (value == nullptr) return Refuse(where, "it decodes a value that is no initializer");
    TESSERA_ASSIGN(const std::string function, FunctionFor(*value));
    node->set_op_type(function);
    node->clear_input();
    for (const std::string& segment : value->segments) node->add_input(segment);
    changed_ = true;
    return {};
  }

  // The model-local function that decodes values of a type in such segments.
  Result<std::string> FunctionFor(const Value& value) {
    const std::string key =
        fmt::format("{}|{}|{}", value.type_name, value.inline_type, fmt::join(value.segment_bytes, ","));
    if (auto found = made_.find(key); found != made_.end()) return found->second;
    TESSERA_ASSIGN(Function function, PortableDecoder(value.types, value.segment_bytes, opset_, limits_));
    std::string name = "Decode_";
    for (char c : value.types.back().Name()) {
      const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
      name += plain ? c : '_';
    }
    name = Fresh(std::move(name), &functions_);
    ir::FunctionProto* proto = proto_.add_functions();
    ToProto(function, proto);
    proto->set_name(name);
    proto->set_domain(std::string(kTesseraDomain));
    AddType(value, proto->mutable_metadata_props());
    made_[key] = name;
    return name;
  }

  const Model& model_;
  ir::ModelProto& proto_;
  const Limits& limits_;
  std::optional<TypeTable> table_;
  int64_t opset_ = 0;
  bool changed_ = false;
  std::set<std::string, std::less<>> names_;
  std::set<std::string, std::less<>> functions_;
  std::map<std::string, std::string> made_;
};

// ---- to structured

class StructuredWriter {
 public:
  explicit StructuredWriter(ir::ModelProto* proto) : proto_(*proto) {}

  Result<void> Run() {
    for (const ir::FunctionProto& function : proto_.functions()) {
      if (function.domain() == kTesseraDomain && IsTyped(function.metadata_props()))
        decoders_[function.name()] = &function;
    }
    // Tensors that lost their metadata are known by the nodes that decode them.
    Result<void> result;
    ForEachGraph(proto_.mutable_graph(), [&](ir::GraphProto* graph) {
      if (result) result = Restore(graph);
    });
    if (!result) return result;
    ForEachGraph(proto_.mutable_graph(), [&](ir::GraphProto* graph) {
      for (ir::NodeProto& node : *graph->mutable_node()) {
        if (node.domain() != kTesseraDomain || !decoders_.contains(node.op_type()) || node.input_size() == 0) continue;
        node.set_op_type(std::string(kDecodeStructOp));
        const std::string value = node.input(0);
        node.clear_input();
        node.add_input(value);
        changed_ = true;
      }
    });
    for (int i = proto_.functions_size() - 1; i >= 0; --i) {
      const ir::FunctionProto& function = proto_.functions(i);
      if (function.domain() == kTesseraDomain && IsTyped(function.metadata_props())) {
        proto_.mutable_functions()->DeleteSubrange(i, 1);
        changed_ = true;
      }
    }
    if (!changed_) return {};
    if (const std::string* version = FindEntry(proto_.metadata_props(), kIrVersionKey)) {
      int64_t number = 0;
      for (char c : *version) {
        if (c < '0' || c > '9' || number > 1'000) return Bad("metadata_props", kIrVersionKey);
        number = number * 10 + (c - '0');
      }
      proto_.set_ir_version(number);
      RemoveEntry(proto_.mutable_metadata_props(), kIrVersionKey);
    }
    return {};
  }

 private:
  static bool IsTyped(const Entries& entries) {
    return FindEntry(entries, kStructTypeKey) != nullptr || FindEntry(entries, kInlineTypeKey) != nullptr;
  }

  static tl::unexpected<Error> Bad(const std::string& where, std::string_view key) {
    return Fail(ErrorCode::kUnsupported, where,
                fmt::format("its metadata {} is not what a conversion writes", Quoted(key)),
                "a model that only a conversion to the portable form has changed");
  }

  // The decoder's node that reads a tensor of a graph, in it or in a graph inside.
  const ir::NodeProto* NodeOf(ir::GraphProto* graph, const std::string& tensor) const {
    const ir::NodeProto* found = nullptr;
    ForEachGraph(graph, [&](ir::GraphProto* inner) {
      for (const ir::NodeProto& node : inner->node()) {
        if (found != nullptr || node.domain() != kTesseraDomain || !decoders_.contains(node.op_type())) continue;
        if (std::find(node.input().begin(), node.input().end(), tensor) != node.input().end()) found = &node;
      }
    });
    return found;
  }

  Result<int32_t> TypeIndex(const std::string& name, const std::string& where) const {
    for (int i = 0; i < proto_.struct_types_size(); ++i) {
      if (proto_.struct_types(i).name() == name) return i;
    }
    return Fail(ErrorCode::kTypeIndex, where, fmt::format("its struct type {} is none of the model", Quoted(name)),
                "a type of struct_types");
  }

  Result<void> Restore(ir::GraphProto* graph) {
    std::map<std::string, ir::StructProto*, std::less<>> values;
    std::vector<bool> taken(static_cast<size_t>(graph->initializer_size()));
    std::vector<std::pair<int, ir::ValueInfoProto>> infos;
    for (int i = 0; i < graph->initializer_size(); ++i) {
      ir::TensorProto* tensor = graph->mutable_initializer(i);
      const std::string where = "initializer " + Quoted(tensor->name());
      const Entries* entries = &tensor->metadata_props();
      const std::string* owner = FindEntry(*entries, kSegmentOfKey);
      const ir::NodeProto* node = nullptr;
      if (owner == nullptr && !IsTyped(*entries)) {
        node = NodeOf(graph, tensor->name());
        if (node == nullptr) continue;
        entries = &decoders_.at(node->op_type())->metadata_props();
        if (node->input(0) != tensor->name()) owner = &node->input(0);
      }
      if (tensor->data_type() != ir::TensorProto::UINT8 || tensor->dims_size() != 1 ||
          (!tensor->has_raw_data() && tensor->external_data_size() == 0 && tensor->dims(0) != 0)) {
        return Fail(ErrorCode::kUnsupported, where,
                    "holds a value of a struct type, and is no UINT8 tensor of its bytes",
                    "a model that only a conversion to the portable form has changed");
      }
      taken[static_cast<size_t>(i)] = true;
      ir::StructProto* value = nullptr;
      if (owner != nullptr) {
        auto found = values.find(*owner);
        if (found == values.end()) return Bad(where, kSegmentOfKey);
        value = found->second;
      } else {
        value = graph->add_struct_initializer();
        value->set_name(tensor->name());
        if (tensor->has_doc_string()) value->set_doc_string(tensor->doc_string());
        if (const std::string* name = FindEntry(*entries, kStructTypeKey)) {
          TESSERA_ASSIGN(const int32_t index, TypeIndex(*name, where));
          value->set_type(index);
        } else if (!FromHex(*FindEntry(*entries, kInlineTypeKey), value->mutable_struct_type())) {
          return Bad(where, kInlineTypeKey);
        }
        if (const std::string* info = FindEntry(tensor->metadata_props(), kValueInfoKey)) {
          const size_t space = info->find(' ');
          ir::ValueInfoProto message;
          int at = 0;
          for (char c : std::string_view(*info).substr(0, space)) {
            if (c < '0' || c > '9' || at > 100'000'000) return Bad(where, kValueInfoKey);
            at = at * 10 + (c - '0');
          }
          if (space == std::string::npos || !FromHex(std::string_view(*info).substr(space + 1), &message)) {
            return Bad(where, kValueInfoKey);
          }
          infos.emplace_back(at, std::move(message));
        }
        // Pointers to messages stay when others are added.
        values.emplace(value->name(), value);
      }
      if (tensor->external_data_size() > 0) {
        for (ir::StringStringEntryProto& entry : *tensor->mutable_external_data()) {
          value->add_external_data()->Swap(&entry);
        }
      } else {
        value->set_raw_data(std::move(*tensor->mutable_raw_data()));
      }
      changed_ = true;
    }
    for (int i = graph->initializer_size() - 1; i >= 0; --i) {
      if (taken[static_cast<size_t>(i)]) graph->mutable_initializer()->DeleteSubrange(i, 1);
    }
    // From the front, so that each comes to the place that it had.
    std::sort(infos.begin(), infos.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [at, info] : infos) {
      graph->add_value_info()->Swap(&info);
      for (int i = graph->value_info_size() - 1; i > at; --i) graph->mutable_value_info()->SwapElements(i, i - 1);
    }
    return {};
  }

  ir::ModelProto& proto_;
  bool changed_ = false;
  std::map<std::string, const ir::FunctionProto*, std::less<>> decoders_;
};

}  // namespace

std::string_view Name(ModelForm form) { return kFormNames[static_cast<size_t>(form)]; }
std::span<const std::string_view> AllModelForms() { return kFormNames; }
std::optional<ModelForm> ModelFormFromName(std::string_view name) {
  for (size_t i = 0; i < kFormNames.size(); ++i) {
    if (kFormNames[i] == name) return static_cast<ModelForm>(i);
  }
  return std::nullopt;
}

Result<void> ConvertForm(Model* model, ModelForm form, const Limits& limits) {
  ir::ModelProto proto = model->proto();
  if (form == ModelForm::kPortable) {
    TESSERA_TRY(PortableWriter(*model, &proto, limits).Run());
  } else {
    TESSERA_TRY(StructuredWriter(&proto).Run());
  }
  model->mutable_proto().Swap(&proto);
  return {};
}

}  // namespace tessera
