#include "tessera/onnx/convert.h"

#include <fmt/format.h>

#include <type_traits>
#include <utility>
#include <variant>

#include "tessera/base/checked.h"
#include "tessera/onnx/tensor.h"

namespace tessera {
namespace {

template <typename Entries>
std::vector<Metadata> MetadataFrom(const Entries& entries) {
  std::vector<Metadata> metadata;
  for (const ir::StringStringEntryProto& entry : entries) metadata.push_back({entry.key(), entry.value()});
  return metadata;
}

template <typename Entries>
void MetadataTo(const std::vector<Metadata>& metadata, Entries* entries) {
  for (const Metadata& item : metadata) {
    ir::StringStringEntryProto* entry = entries->Add();
    entry->set_key(item.key);
    entry->set_value(item.value);
  }
}

// An optional string field, absent or present.
#define TESSERA_OPTIONAL(proto, field) \
  ((proto).has_##field() ? std::optional<std::string>((proto).field()) : std::nullopt)

class PartReader {
 public:
  explicit PartReader(Problems* problems) : problems_(problems) {}

  // The content of a declaration or of an anonymous part: whichever kind it selects.
  PhysicalType Kind(const ir::StructTypeProto& proto, const Path& path) {
    switch (proto.kind_case()) {
      case ir::StructTypeProto::kArray: {
        ArrayType array;
        array.dims.assign(proto.array().dimension().begin(), proto.array().dimension().end());
        array.element = Type(proto.array().element_type(), path.Field("array").Field("element_type"));
        return {std::move(array)};
      }
      case ir::StructTypeProto::kStructure: {
        StructureType structure;
        Path at = path.Field("structure");
        structure.fields.reserve(proto.structure().field_size());
        for (int i = 0; i < proto.structure().field_size(); ++i) {
          structure.fields.push_back(ReadField(proto.structure().field(i), at.Index("field", i)));
        }
        return {std::move(structure)};
      }
      case ir::StructTypeProto::kBitPacking: {
        BitPackingType packing;
        packing.dims.assign(proto.bit_packing().dimension().begin(), proto.bit_packing().dimension().end());
        for (const auto& component : proto.bit_packing().component()) {
          packing.components.push_back({component.name(), component.bit_width()});
        }
        return {std::move(packing)};
      }
      case ir::StructTypeProto::kTypeIndex:
        return {TypeReference{proto.type_index()}};
      case ir::StructTypeProto::KIND_NOT_SET:
        break;
    }
    return {};
  }

 private:
  void Add(ErrorCode code, const Path& path, std::string what, std::string fix) {
    problems_->Add(code, path.Str(), std::move(what), std::move(fix));
  }

  Field ReadField(const ir::StructTypeProto::Field& proto, const Path& path) {
    Field field;
    field.name = proto.name();
    field.doc_string = TESSERA_OPTIONAL(proto, doc_string);
    if (proto.has_type()) field.content = Type(proto.type(), path.Field("type"));
    if (proto.has_constant()) field.content = FromProto(proto.constant(), path.Field("constant"), problems_);
    return field;
  }

  PhysicalType Type(const ir::TypeProto& proto, const Path& path) {
    if (proto.has_denotation()) {
      Add(ErrorCode::kPartSurplus, path.Field("denotation"), "a physical type has no denotation", "none");
    }
    switch (proto.value_case()) {
      case ir::TypeProto::kTensorType: {
        std::optional<ElementType> type = ElementTypeFromNumber(proto.tensor_type().elem_type());
        if (!proto.tensor_type().has_shape() || proto.tensor_type().shape().dim_size() != 0) {
          Add(ErrorCode::kLeafType, path.Field("tensor_type").Field("shape"),
              proto.tensor_type().has_shape() ? "has dimensions" : "is absent",
              "a present, empty shape; dimensions belong to an array");
        }
        if (!type) {
          Add(ErrorCode::kLeafType, path.Field("tensor_type").Field("elem_type"),
              fmt::format("is {}", proto.tensor_type().elem_type()), "the number of an element type, 1 to 28");
        }
        return {ScalarType{type.value_or(ElementType::kUndefined)}};
      }
      case ir::TypeProto::kStructType:
        return Part(proto.struct_type(), path);
      case ir::TypeProto::VALUE_NOT_SET:
        return {};
      default:
        Add(ErrorCode::kPartKind, path, "a sequence, map, optional, sparse or opaque type inside a physical type",
            "a scalar, array, bit_packing or type_index");
        return {};
    }
  }

  // A part or reference: carries nothing but its kind. `type` is the place of the TypeProto around it, where TypeTable
  // would miss a part that is refused here.
  PhysicalType Part(const ir::StructTypeProto& proto, const Path& type) {
    const Path path = type.Field("struct_type");
    auto surplus = [&](bool present, std::string_view field) {
      if (present) {
        Add(ErrorCode::kPartSurplus, path.Field(field), "only a declaration has this", "a part without it");
      }
    };
    surplus(proto.has_name(), "name");
    surplus(proto.has_doc_string(), "doc_string");
    surplus(proto.has_decoder(), "decoder");
    surplus(proto.has_encoder(), "encoder");
    surplus(proto.metadata_props_size() > 0, "metadata_props");
    if (proto.has_structure()) {
      Add(ErrorCode::kPartKind, type, "is a structure inside another type",
          "a declaration of its own and a type_index");
      return {};
    }
    return Kind(proto, path);
  }

  Problems* problems_;
};

Attribute AttributeFrom(const ir::AttributeProto& proto, const Path& path, Problems* problems) {
  Attribute attribute;
  attribute.name = proto.name();
  attribute.doc_string = TESSERA_OPTIONAL(proto, doc_string);
  auto refuse = [&](std::string what) {
    problems->Add(ErrorCode::kDecoderAttribute, path.Str(), std::move(what),
                  "a number, string, tensor or a list of one of these");
  };
  if (proto.has_ref_attr_name()) refuse("refers to an attribute of the function");
  switch (proto.type()) {
    case ir::AttributeProto::INT:
      attribute.value = int64_t{proto.i()};
      break;
    case ir::AttributeProto::FLOAT:
      attribute.value = proto.f();
      break;
    case ir::AttributeProto::STRING:
      attribute.value = proto.s();
      break;
    case ir::AttributeProto::TENSOR:
      attribute.value = FromProto(proto.t(), path.Field("t"), problems);
      break;
    case ir::AttributeProto::INTS:
      attribute.value = std::vector<int64_t>(proto.ints().begin(), proto.ints().end());
      break;
    case ir::AttributeProto::FLOATS:
      attribute.value = std::vector<float>(proto.floats().begin(), proto.floats().end());
      break;
    case ir::AttributeProto::STRINGS:
      attribute.value = std::vector<std::string>(proto.strings().begin(), proto.strings().end());
      break;
    case ir::AttributeProto::TENSORS: {
      std::vector<Constant> tensors;
      for (int i = 0; i < proto.tensors_size(); ++i) {
        tensors.push_back(FromProto(proto.tensors(i), path.Index("tensors", i), problems));
      }
      attribute.value = std::move(tensors);
      break;
    }
    default:
      refuse(fmt::format("is of type {}", ir::AttributeProto::AttributeType_Name(proto.type())));
  }
  return attribute;
}

void AttributeTo(const Attribute& attribute, ir::AttributeProto* proto) {
  proto->set_name(attribute.name);
  if (attribute.doc_string) proto->set_doc_string(*attribute.doc_string);
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, int64_t>) {
          proto->set_type(ir::AttributeProto::INT);
          proto->set_i(value);
        } else if constexpr (std::is_same_v<T, float>) {
          proto->set_type(ir::AttributeProto::FLOAT);
          proto->set_f(value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          proto->set_type(ir::AttributeProto::STRING);
          proto->set_s(value);
        } else if constexpr (std::is_same_v<T, Constant>) {
          proto->set_type(ir::AttributeProto::TENSOR);
          ToProto(value, proto->mutable_t());
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          proto->set_type(ir::AttributeProto::INTS);
          proto->mutable_ints()->Add(value.begin(), value.end());
        } else if constexpr (std::is_same_v<T, std::vector<float>>) {
          proto->set_type(ir::AttributeProto::FLOATS);
          proto->mutable_floats()->Add(value.begin(), value.end());
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          proto->set_type(ir::AttributeProto::STRINGS);
          for (const std::string& item : value) proto->add_strings(item);
        } else {
          proto->set_type(ir::AttributeProto::TENSORS);
          for (const Constant& item : value) ToProto(item, proto->add_tensors());
        }
      },
      attribute.value);
}

Node NodeFrom(const ir::NodeProto& proto, const Path& path, Problems* problems) {
  Node node;
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  node.op_type = proto.op_type();
  for (int i = 0; i < proto.attribute_size(); ++i) {
    node.attributes.push_back(AttributeFrom(proto.attribute(i), path.Index("attribute", i), problems));
  }
  node.name = TESSERA_OPTIONAL(proto, name);
  node.domain = TESSERA_OPTIONAL(proto, domain);
  node.overload = TESSERA_OPTIONAL(proto, overload);
  node.doc_string = TESSERA_OPTIONAL(proto, doc_string);
  node.metadata = MetadataFrom(proto.metadata_props());
  if (proto.device_configurations_size() > 0) {
    problems->Add(ErrorCode::kDecoderSurplus, path.Field("device_configurations").Str(),
                  "a decoder's node names a device", "none");
  }
  return node;
}

ValueInfo ValueInfoFrom(const ir::ValueInfoProto& proto, const Path& path, Problems* problems) {
  ValueInfo info;
  info.name = proto.name();
  info.doc_string = TESSERA_OPTIONAL(proto, doc_string);
  info.metadata = MetadataFrom(proto.metadata_props());
  std::optional<ElementType> type = ElementTypeFromNumber(proto.type().tensor_type().elem_type());
  if (!proto.type().has_tensor_type() || !type || proto.type().has_denotation()) {
    problems->Add(ErrorCode::kDecoderOutputType, path.Field("type").Str(), "is not a plain tensor type",
                  "tensor_type with an element type");
    return info;
  }
  info.type = *type;
  const ir::TypeProto::Tensor& tensor = proto.type().tensor_type();
  if (!tensor.has_shape()) return info;
  info.shape.emplace();
  for (const auto& dim : tensor.shape().dim()) {
    if (dim.has_dim_value())
      info.shape->emplace_back(int64_t{dim.dim_value()});
    else if (dim.has_dim_param())
      info.shape->emplace_back(dim.dim_param());
    else
      info.shape->emplace_back();
    if (dim.has_denotation()) {
      problems->Add(ErrorCode::kDecoderSurplus, path.Field("type").Str(), "a dimension has a denotation", "none");
    }
  }
  return info;
}

void ValueInfoTo(const ValueInfo& info, ir::ValueInfoProto* proto) {
  proto->set_name(info.name);
  if (info.doc_string) proto->set_doc_string(*info.doc_string);
  MetadataTo(info.metadata, proto->mutable_metadata_props());
  ir::TypeProto::Tensor* tensor = proto->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(static_cast<int32_t>(info.type));
  if (!info.shape) return;
  ir::TensorShapeProto* shape = tensor->mutable_shape();
  for (const Dimension& dim : *info.shape) {
    auto* out = shape->add_dim();
    if (const auto* number = std::get_if<int64_t>(&dim)) out->set_dim_value(*number);
    if (const auto* symbol = std::get_if<std::string>(&dim)) out->set_dim_param(*symbol);
  }
}

void KindTo(const PhysicalType& type, ir::StructTypeProto* proto);

void TypeTo(const PhysicalType& type, ir::TypeProto* proto) {
  if (const auto* scalar = std::get_if<ScalarType>(&type.kind)) {
    proto->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(scalar->type));
    proto->mutable_tensor_type()->mutable_shape();
  } else if (!std::holds_alternative<std::monostate>(type.kind)) {
    KindTo(type, proto->mutable_struct_type());
  }
}

void KindTo(const PhysicalType& type, ir::StructTypeProto* proto) {
  if (const auto* array = std::get_if<ArrayType>(&type.kind)) {
    TypeTo(*array->element, proto->mutable_array()->mutable_element_type());
    proto->mutable_array()->mutable_dimension()->Add(array->dims.begin(), array->dims.end());
  } else if (const auto* packing = std::get_if<BitPackingType>(&type.kind)) {
    for (const BitPackingType::Component& component : packing->components) {
      auto* out = proto->mutable_bit_packing()->add_component();
      out->set_name(component.name);
      out->set_bit_width(component.bits);
    }
    proto->mutable_bit_packing()->mutable_dimension()->Add(packing->dims.begin(), packing->dims.end());
  } else if (const auto* structure = std::get_if<StructureType>(&type.kind)) {
    proto->mutable_structure();
    for (const Field& field : structure->fields) {
      auto* out = proto->mutable_structure()->add_field();
      out->set_name(field.name);
      if (field.doc_string) out->set_doc_string(*field.doc_string);
      if (const auto* part = std::get_if<PhysicalType>(&field.content)) TypeTo(*part, out->mutable_type());
      if (const auto* constant = std::get_if<Constant>(&field.content)) ToProto(*constant, out->mutable_constant());
    }
  } else if (const auto* reference = std::get_if<TypeReference>(&type.kind)) {
    proto->set_type_index(reference->index);
  }
}

}  // namespace

StructType FromProto(const ir::StructTypeProto& proto, const Path& path, Problems* problems) {
  StructType type;
  type.root = PartReader(problems).Kind(proto, path);
  if (proto.has_decoder()) type.decoder = FromProto(proto.decoder(), path.Field("decoder"), problems);
  if (proto.has_encoder()) type.encoder = FromProto(proto.encoder(), path.Field("encoder"), problems);
  type.name = TESSERA_OPTIONAL(proto, name);
  type.doc_string = TESSERA_OPTIONAL(proto, doc_string);
  type.metadata = MetadataFrom(proto.metadata_props());
  return type;
}

void ToProto(const StructType& type, ir::StructTypeProto* proto) {
  KindTo(type.root, proto);
  if (type.decoder) ToProto(*type.decoder, proto->mutable_decoder());
  if (type.encoder) ToProto(*type.encoder, proto->mutable_encoder());
  if (type.name) proto->set_name(*type.name);
  if (type.doc_string) proto->set_doc_string(*type.doc_string);
  MetadataTo(type.metadata, proto->mutable_metadata_props());
}

Constant FromProto(const ir::TensorProto& proto, const Path& path, Problems* problems) {
  Constant constant;
  constant.dims.assign(proto.dims().begin(), proto.dims().end());
  constant.name = TESSERA_OPTIONAL(proto, name);
  constant.doc_string = TESSERA_OPTIONAL(proto, doc_string);
  constant.metadata = MetadataFrom(proto.metadata_props());
  constant.storage = proto.has_raw_data() ? Constant::Storage::kRaw : Constant::Storage::kTyped;
  if (IsExternal(proto) || proto.external_data_size() > 0) {
    problems->Add(ErrorCode::kConstantExternal, path.Str(), "has external data", "data in the model");
    return constant;
  }
  if (proto.has_segment()) {
    problems->Add(ErrorCode::kConstantData, path.Field("segment").Str(), "a constant is a segment of a tensor",
                  "a whole tensor");
  }
  std::string_view raw = proto.raw_data();
  Result<std::vector<uint8_t>> bytes =
      CanonicalBytes(proto, {reinterpret_cast<const uint8_t*>(raw.data()), raw.size()}, path.Str());
  if (!bytes) {
    ErrorCode code = bytes.error().code == ErrorCode::kTensorType   ? ErrorCode::kLeafType
                     : bytes.error().code == ErrorCode::kTensorDims ? ErrorCode::kConstantDims
                                                                    : ErrorCode::kConstantData;
    problems->Add(code, path.Str(), bytes.error().what, bytes.error().fix);
    return constant;
  }
  constant.type = *ElementTypeFromNumber(proto.data_type());
  constant.bytes = *std::move(bytes);
  return constant;
}

void ToProto(const Constant& constant, ir::TensorProto* proto) {
  proto->mutable_dims()->Add(constant.dims.begin(), constant.dims.end());
  proto->set_data_type(static_cast<int32_t>(constant.type));
  if (constant.storage == Constant::Storage::kRaw) {
    proto->set_raw_data(constant.bytes.data(), constant.bytes.size());
  } else {
    SetTypedData(constant.bytes, constant.type, CheckedProduct(constant.dims).value_or(0), proto);
  }
  if (constant.name) proto->set_name(*constant.name);
  if (constant.doc_string) proto->set_doc_string(*constant.doc_string);
  MetadataTo(constant.metadata, proto->mutable_metadata_props());
}

Function FromProto(const ir::FunctionProto& proto, const Path& path, Problems* problems) {
  Function function;
  function.name = TESSERA_OPTIONAL(proto, name);
  function.domain = TESSERA_OPTIONAL(proto, domain);
  function.overload = TESSERA_OPTIONAL(proto, overload);
  function.doc_string = TESSERA_OPTIONAL(proto, doc_string);
  function.inputs.assign(proto.input().begin(), proto.input().end());
  function.outputs.assign(proto.output().begin(), proto.output().end());
  function.metadata = MetadataFrom(proto.metadata_props());
  for (const ir::OperatorSetIdProto& import : proto.opset_import()) {
    function.opset_imports.push_back({TESSERA_OPTIONAL(import, domain), import.version()});
  }
  for (int i = 0; i < proto.node_size(); ++i) {
    function.nodes.push_back(NodeFrom(proto.node(i), path.Index("node", i), problems));
  }
  for (int i = 0; i < proto.value_info_size(); ++i) {
    function.value_infos.push_back(ValueInfoFrom(proto.value_info(i), path.Index("value_info", i), problems));
  }
  if (proto.attribute_size() > 0 || proto.attribute_proto_size() > 0) {
    problems->Add(ErrorCode::kDecoderSurplus, path.Field("attribute").Str(), "a decoder or encoder has attributes",
                  "none: every parameter is a leaf or a constant");
  }
  return function;
}

void ToProto(const Function& function, ir::FunctionProto* proto) {
  if (function.name) proto->set_name(*function.name);
  if (function.domain) proto->set_domain(*function.domain);
  if (function.overload) proto->set_overload(*function.overload);
  if (function.doc_string) proto->set_doc_string(*function.doc_string);
  for (const std::string& input : function.inputs) proto->add_input(input);
  for (const std::string& output : function.outputs) proto->add_output(output);
  MetadataTo(function.metadata, proto->mutable_metadata_props());
  for (const OpsetImport& import : function.opset_imports) {
    auto* out = proto->add_opset_import();
    if (import.domain) out->set_domain(*import.domain);
    out->set_version(import.version);
  }
  for (const Node& node : function.nodes) {
    ir::NodeProto* out = proto->add_node();
    for (const std::string& input : node.inputs) out->add_input(input);
    for (const std::string& output : node.outputs) out->add_output(output);
    out->set_op_type(node.op_type);
    for (const Attribute& attribute : node.attributes) AttributeTo(attribute, out->add_attribute());
    if (node.name) out->set_name(*node.name);
    if (node.domain) out->set_domain(*node.domain);
    if (node.overload) out->set_overload(*node.overload);
    if (node.doc_string) out->set_doc_string(*node.doc_string);
    MetadataTo(node.metadata, out->mutable_metadata_props());
  }
  for (const ValueInfo& info : function.value_infos) ValueInfoTo(info, proto->add_value_info());
}

}  // namespace tessera
