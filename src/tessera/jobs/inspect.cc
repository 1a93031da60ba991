#include "tessera/jobs/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/jobs/logical_shape.h"
#include "tessera/jobs/walk.h"
#include "tessera/onnx/check_model.h"
#include "tessera/onnx/convert.h"
#include "tessera/onnx/tensor.h"
#include "tessera/types/notation.h"

namespace tessera {
namespace {

class Inspector {
 public:
  Inspector(const Model& model, const Limits& limits) : model_(model), table_(Table(model, limits)) {}

  Inspection Run() {
    const ir::ModelProto& proto = model_.proto();
    result_.file = model_.path().string();
    result_.ir_version = proto.ir_version();
    result_.producer = proto.producer_name() + (proto.producer_version().empty() ? "" : " " + proto.producer_version());
    for (const ir::OperatorSetIdProto& import : proto.opset_import()) {
      result_.opsets.emplace_back(import.domain().empty() ? "ai.onnx" : import.domain(), import.version());
    }
    result_.nodes = static_cast<uint64_t>(proto.graph().node_size());
    result_.struct_types = static_cast<uint64_t>(proto.struct_types_size());
    ForEachValue(proto, [&](const auto& value, const Path& path) { Add(value, path); });
    for (int i = 0; i < proto.compiled_tensors_size(); ++i) {
      Path root;
      Path at = root.Index("compiled_tensors", i);
      Add(proto.compiled_tensors(i).value(), at.Field("value"));
    }
    for (const InspectedValue& value : result_.values) {
      result_.total_bytes += value.bytes.value_or(0);
      result_.total_elements += value.elements.value_or(0);
    }
    return std::move(result_);
  }

 private:
  static TypeTable Table(const Model& model, const Limits& limits) {
    Problems ignored;  // `check` lists them; here a value whose type is wrong says so
    return BuildTypeTable(model.proto(), limits, &ignored);
  }

  void Add(const ir::TensorProto& tensor, const Path& path) {
    InspectedValue value;
    value.name = tensor.name();
    value.path = path.Str();
    value.shape.assign(tensor.dims().begin(), tensor.dims().end());
    Result<TensorFacts> facts = FactsOf(tensor, value.path);
    if (!facts) {
      value.type = fmt::format("type {}", tensor.data_type());
      value.problem = facts.error().what;
    } else {
      value.type = std::string(Name(facts->type));
      value.elements = facts->count;
      value.bytes = facts->bytes;
      if (facts->type == ElementType::kString) {
        value.bytes = 0;
        for (const std::string& text : tensor.string_data()) *value.bytes += text.size();
      }
      Place(tensor, &value);
    }
    Finish(std::move(value));
  }

  void Add(const ir::StructProto& proto, const Path& path) {
    InspectedValue value;
    value.name = proto.name();
    value.path = path.Str();
    value.is_struct = true;
    value.has_shape = false;
    Problems problems;
    std::shared_ptr<const CheckedType> type = TypeOf(proto, table_, path, &problems);
    if (type == nullptr) {
      value.type = "?";
      value.problem = problems.list().front().what;
    } else {
      value.type = type->declaration.Name().empty() ? "(inline)" : type->declaration.Name();
      value.bytes = type->size_bits / 8;
      if (std::optional<std::vector<int64_t>> shape = LogicalShape(type->declaration)) {
        value.elements = CheckedProduct(*shape);
        value.shape = *std::move(shape);
        value.has_shape = true;
      }
    }
    Place(proto, &value);
    Finish(std::move(value));
  }

  template <typename Proto>
  void Place(const Proto& proto, InspectedValue* value) {
    Result<std::vector<DataSegment>> segments = model_.Segments(proto, value->path);
    if (segments)
      value->segments = *std::move(segments);
    else
      value->problem = segments.error().what;
  }

  void Finish(InspectedValue value) {
    if (value.bytes && value.elements && *value.elements > 0) {
      value.bits_per_weight = static_cast<double>(*value.bytes) * 8 / static_cast<double>(*value.elements);
    }
    result_.values.push_back(std::move(value));
  }

  const Model& model_;
  TypeTable table_;
  Inspection result_;
};

std::string ShapeText(const InspectedValue& value) {
  return value.has_shape ? fmt::format("[{}]", fmt::join(value.shape, ", ")) : "-";
}

std::string LocationText(const InspectedValue& value) {
  if (!value.problem.empty()) return "! " + Printable(value.problem);
  std::string text;
  for (const DataSegment& segment : value.segments) {
    if (!text.empty()) text += ", ";
    if (segment.location.empty())
      text += segment.offset > 0 ? fmt::format("inline @{}", segment.offset) : "inline";
    else
      text += fmt::format("{} @{}", Printable(segment.location), segment.offset);
  }
  return text;
}

// Rows of text with every column as wide as its widest cell; numbers to the right.
std::string Columns(const std::vector<std::vector<std::string>>& rows, const std::vector<bool>& to_the_right) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      bool last = i + 1 == row.size();
      if (to_the_right[i])
        line += fmt::format("{:>{}}", row[i], widths[i]);
      else
        line += last ? row[i] : fmt::format("{:<{}}", row[i], widths[i]);
      if (!last) line += "  ";
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace

Inspection Inspect(const Model& model, const Limits& limits) { return Inspector(model, limits).Run(); }

std::string InspectionText(const Inspection& inspection) {
  std::string text = fmt::format("{}: IR {}", Printable(inspection.file), inspection.ir_version);
  for (const auto& [domain, version] : inspection.opsets) text += fmt::format(", {} {}", Printable(domain), version);
  if (!inspection.producer.empty()) text += ", by " + Printable(inspection.producer);
  text += fmt::format(", {} nodes, {} struct types\n", inspection.nodes, inspection.struct_types);
  std::vector<std::vector<std::string>> rows = {{"name", "type", "shape", "bytes", "bits/weight", "location"}};
  for (const InspectedValue& value : inspection.values) {
    rows.push_back({Printable(value.name.empty() ? value.path : value.name), Printable(value.type), ShapeText(value),
                    value.bytes ? std::to_string(*value.bytes) : "?",
                    value.bits_per_weight ? fmt::format("{:.4g}", *value.bits_per_weight) : "-", LocationText(value)});
  }
  if (rows.size() > 1) text += Columns(rows, {false, false, false, true, true, false});
  size_t structs =
      std::count_if(inspection.values.begin(), inspection.values.end(), [](const auto& v) { return v.is_struct; });
  text += fmt::format("total: {} tensors, {} struct values, {} bytes", inspection.values.size() - structs, structs,
                      inspection.total_bytes);
  if (inspection.total_elements > 0) {
    text +=
        fmt::format(", {} elements, {:.4g} bits per element", inspection.total_elements,
                    static_cast<double>(inspection.total_bytes) * 8 / static_cast<double>(inspection.total_elements));
  }
  return text + "\n";
}

std::string InspectionJson(const Inspection& inspection) {
  using Json = nlohmann::ordered_json;
  Json values = Json::array();
  for (const InspectedValue& value : inspection.values) {
    Json row = {{"name", value.name},
                {"path", value.path},
                {"kind", value.is_struct ? "struct" : "tensor"},
                {"type", value.type}};
    row["shape"] = value.has_shape ? Json(value.shape) : Json(nullptr);
    row["bytes"] = value.bytes ? Json(*value.bytes) : Json(nullptr);
    row["elements"] = value.elements ? Json(*value.elements) : Json(nullptr);
    row["bits_per_weight"] = value.bits_per_weight ? Json(*value.bits_per_weight) : Json(nullptr);
    Json segments = Json::array();
    for (const DataSegment& segment : value.segments) {
      segments.push_back({{"location", segment.location}, {"offset", segment.offset}, {"length", segment.length}});
    }
    row["segments"] = std::move(segments);
    if (!value.problem.empty()) row["problem"] = value.problem;
    values.push_back(std::move(row));
  }
  Json opsets = Json::array();
  for (const auto& [domain, version] : inspection.opsets) opsets.push_back({{"domain", domain}, {"version", version}});
  Json json = {{"file", inspection.file},
               {"ir_version", inspection.ir_version},
               {"producer", inspection.producer},
               {"opsets", std::move(opsets)},
               {"nodes", inspection.nodes},
               {"struct_types", inspection.struct_types},
               {"values", std::move(values)},
               {"total_bytes", inspection.total_bytes},
               {"total_elements", inspection.total_elements}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Result<std::string> TypesText(const Model& model) {
  Problems problems;
  std::vector<StructType> types;
  Path root;
  for (int i = 0; i < model.proto().struct_types_size(); ++i) {
    types.push_back(FromProto(model.proto().struct_types(i), root.Index("struct_types", i), &problems));
  }
  if (!problems.empty()) return tl::unexpected<Error>(problems.list().front());
  return PrintNotation(types);
}

}  // namespace tessera
