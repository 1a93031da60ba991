#include "tessera/onnx/check_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "tessera/onnx/convert.h"
#include "tessera/onnx/tensor.h"
#include "tessera/types/element_value.h"
#include "tessera/types/testing/type_builders.h"

namespace tessera {
namespace {

using namespace build;  // NOLINT(google-build-using-namespace)
using E = ElementType;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// ---- building models

void SetTensorType(E type, const std::vector<int64_t>& dims, ir::TypeProto* proto) {
  proto->mutable_tensor_type()->set_elem_type(static_cast<int32_t>(type));
  proto->mutable_tensor_type()->mutable_shape();
  for (int64_t dim : dims) proto->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(dim);
}
constexpr int32_t kAny = -1;
void SetStructType(int32_t index, ir::TypeProto* proto) {
  if (index == kAny)
    proto->mutable_struct_type();
  else
    proto->mutable_struct_type()->set_type_index(index);
}

void SetStruct(const std::string& name, int32_t type, std::string bytes, ir::StructProto* value) {
  value->set_name(name);
  value->set_type(type);
  value->set_raw_data(std::move(bytes));
}
void SetTensor(const std::string& name, E type, const std::vector<int64_t>& dims, std::string bytes,
               ir::TensorProto* tensor) {
  tensor->set_name(name);
  tensor->set_data_type(static_cast<int32_t>(type));
  for (int64_t dim : dims) tensor->add_dims(dim);
  tensor->set_raw_data(std::move(bytes));
}

void AddNode(const std::string& op, const std::vector<std::string>& inputs, const std::string& output,
             ir::GraphProto* graph) {
  ir::NodeProto* node = graph->add_node();
  node->set_op_type(op);
  if (op == kDecodeStructOp) node->set_domain(std::string(kTesseraDomain));
  for (const std::string& input : inputs) node->add_input(input);
  node->add_output(output);
}

void SetExternal(const std::vector<std::pair<std::string, std::string>>& entries, ExternalEntries* external) {
  external->Clear();
  for (const auto& [key, value] : entries) {
    ir::StringStringEntryProto* entry = external->Add();
    entry->set_key(key);
    entry->set_value(value);
  }
}

// An INT64 and eight bytes: a record with no decoder.
StructType Record() { return Structure("record", {Part("id", E::kInt64), Part("tag", Array(E::kUint8, {8}))}); }

// A weight that is decoded and added to a bias, and a record beside it.
ir::ModelProto Base() {
  ir::ModelProto model;
  model.set_ir_version(14);
  model.add_opset_import()->set_version(21);
  ToProto(ScaledType("w"), model.add_struct_types());
  ToProto(Record(), model.add_struct_types());
  ir::GraphProto* graph = model.mutable_graph();
  graph->set_name("g");
  ir::ValueInfoProto* input = graph->add_input();
  input->set_name("r");
  SetStructType(1, input->mutable_type());
  ir::ValueInfoProto* output = graph->add_output();
  output->set_name("y");
  SetTensorType(E::kFloat, {4}, output->mutable_type());
  ir::ValueInfoProto* dense = graph->add_value_info();
  dense->set_name("dense");
  SetTensorType(E::kFloat, {4}, dense->mutable_type());
  ir::ValueInfoProto* spare = graph->add_value_info();
  spare->set_name("spare");
  SetStructType(1, spare->mutable_type());
  SetStruct("weight", 0, std::string(6, '\1'), graph->add_struct_initializer());
  SetStruct("spare", 1, std::string(16, '\2'), graph->add_struct_initializer());
  SetTensor("bias", E::kFloat, {4}, std::string(16, '\0'), graph->add_initializer());
  SetTensor("eps", E::kFloat16, {}, std::string(2, '\0'), graph->add_initializer());
  AddNode("DecodeStruct", {"weight"}, "dense", graph);
  AddNode("Add", {"dense", "bias"}, "y", graph);
  return model;
}

struct File {
  ir::ModelProto model = Base();
  CheckOptions options;
  std::filesystem::path folder = ".";

  ir::GraphProto* graph() { return model.mutable_graph(); }
  ir::StructProto* weight() { return graph()->mutable_struct_initializer(0); }
  ir::StructProto* spare() { return graph()->mutable_struct_initializer(1); }
  ir::TensorProto* bias() { return graph()->mutable_initializer(0); }
  ir::AttributeProto* attribute() {
    ir::NodeProto* node = graph()->mutable_node(1);
    return node->attribute_size() == 0 ? node->add_attribute() : node->mutable_attribute(0);
  }

  void Write(const std::string& name, size_t bytes) const {
    std::ofstream(folder / name, std::ios::binary) << std::string(bytes, '\3');
  }
  Problems Check() const {
    Problems problems;
    CheckModel(Model(model, folder), options, &problems);
    return problems;
  }
};

std::filesystem::path FreshFolder() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(test->test_suite_name()) + "." + test->name();
  for (char& c : name) c = c == '/' ? '_' : c;
  std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / ("tessera_check_model_" + name);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

// ---- each rejection beside a valid model one edit away

struct Pair {
  std::string name;
  ErrorCode code;
  std::string where;  // $FOLDER stands for the model's folder
  std::function<void(File*)> valid;
  std::function<void(File*)> edit;
};
std::ostream& operator<<(std::ostream& out, const Pair& pair) { return out << pair.name; }

void Same(File*) {}

// The bias in a data file of its own size; the weight in two.
void ExternalBias(File* f) {
  f->Write("bias.bin", 16);
  f->bias()->clear_raw_data();
  f->bias()->set_data_location(ir::TensorProto::EXTERNAL);
  SetExternal({{"location", "bias.bin"}, {"offset", "0"}, {"length", "16"}}, f->bias()->mutable_external_data());
}
void ExternalWeight(File* f) {
  f->Write("codes.bin", 4);
  f->Write("scale.bin", 2);
  f->weight()->clear_raw_data();
  SetExternal({{"location", "codes.bin"}, {"length", "4"}, {"location", "scale.bin"}, {"offset", "0"}, {"length", "2"}},
              f->weight()->mutable_external_data());
}
void StructAttribute(File* f) {
  f->attribute()->set_name("extra");
  f->attribute()->set_type(ir::AttributeProto::STRUCT);
  SetStruct("", 1, std::string(16, 'r'), f->attribute()->mutable_struct_());
}
void StructsAttribute(File* f) {
  f->attribute()->set_name("extras");
  f->attribute()->set_type(ir::AttributeProto::STRUCTS);
  for (int i = 0; i < 2; ++i) SetStruct("", 1, std::string(16, 'r'), f->attribute()->add_structs());
}
// `spare` may be of either type, by a list of names.
void AllowedTypes(File* f) {
  ir::ValueInfoProto* info = f->graph()->mutable_value_info(1);
  SetStructType(kAny, info->mutable_type());
  info->mutable_type()->mutable_struct_type()->clear_kind();
  ir::StringStringEntryProto* entry = info->add_metadata_props();
  entry->set_key(std::string(kAllowedTypesKey));
  entry->set_value("w, record");
}
void InlineSpare(File* f) { ToProto(Record(), f->spare()->mutable_struct_type()); }
void SparseInitializer(File* f) {
  ir::SparseTensorProto* sparse = f->graph()->add_sparse_initializer();
  SetTensor("sp", E::kFloat, {1}, std::string(4, '\0'), sparse->mutable_values());
  SetTensor("", E::kInt64, {1}, std::string(8, '\0'), sparse->mutable_indices());
  sparse->add_dims(9);
}
void ElementwiseTensor(E type, const std::function<void(ir::TensorProto*)>& fill, File* f) {
  ir::TensorProto* eps = f->graph()->mutable_initializer(1);
  eps->clear_raw_data();
  eps->set_data_type(static_cast<int32_t>(type));
  fill(eps);
}

std::vector<Pair> Pairs() {
  const std::string weight = "graph.struct_initializer[0] 'weight'";
  const std::string spare = "graph.struct_initializer[1] 'spare'";
  const std::string bias = "graph.initializer[0] 'bias'";
  const std::string eps = "graph.initializer[1] 'eps'";
  const std::string attribute = "graph.node[1].attribute[0]";
  using F = File*;
  return {
      // Struct values
      {"NoType", ErrorCode::kValueType, spare, Same, [](F f) { f->spare()->clear_type(); }},
      {"NoTypeOfADecodedValue", ErrorCode::kValueType, weight, Same, [](F f) { f->weight()->clear_type(); }},
      {"TypeBehindTheEnd", ErrorCode::kTypeIndex, spare, Same, [](F f) { f->spare()->set_type(2); }},
      {"TypeNegative", ErrorCode::kTypeIndex, spare, Same, [](F f) { f->spare()->set_type(-1); }},
      {"InlineTypeWrong", ErrorCode::kFieldName, "graph.struct_initializer[1].struct_type.structure.field[0].name",
       [](F f) {
         InlineSpare(f);
         f->graph()->mutable_value_info()->RemoveLast();
       },
       [](F f) { f->spare()->mutable_struct_type()->mutable_structure()->mutable_field(0)->clear_name(); }},
      {"InlineTypeHasNoKind", ErrorCode::kRootKind, "graph.struct_initializer[1].struct_type",
       [](F f) {
         InlineSpare(f);
         f->graph()->mutable_value_info()->RemoveLast();
       },
       [](F f) { f->spare()->mutable_struct_type()->clear_structure(); }},
      {"PayloadShort", ErrorCode::kPayloadSize, weight, Same, [](F f) { f->weight()->mutable_raw_data()->pop_back(); }},
      {"PayloadLong", ErrorCode::kPayloadSize, weight, Same,
       [](F f) { f->weight()->mutable_raw_data()->push_back(0); }},
      {"PayloadAbsent", ErrorCode::kPayloadSize, weight, Same, [](F f) { f->weight()->clear_raw_data(); }},
      {"PayloadLimit", ErrorCode::kLimitPayload, spare, [](F f) { f->options.limits.payload_bytes = 16; },
       [](F f) { f->spare()->set_raw_data(std::string(17, 'x')); }},
      {"PayloadOfABitSize", ErrorCode::kSizeBits, "struct_types[2]",
       [](F f) { ToProto(Declare("nibbles", Array(E::kInt4, {2})), f->model.add_struct_types()); },
       [](F f) { f->model.mutable_struct_types(2)->mutable_array()->set_dimension(0, 3); }},
      {"ValueWithoutName", ErrorCode::kValueName, "graph.struct_initializer[1].name",
       [](F f) { f->graph()->mutable_value_info()->RemoveLast(); }, [](F f) { f->spare()->clear_name(); }},
      {"ValueWithATensorsName", ErrorCode::kValueName, "graph.struct_initializer[1].name", Same,
       [](F f) { f->spare()->set_name("eps"); }},
      {"ValueNameTwice", ErrorCode::kValueName, "graph.struct_initializer[2].name",
       [](F f) { SetStruct("third", 1, std::string(16, 'x'), f->graph()->add_struct_initializer()); },
       [](F f) { f->graph()->mutable_struct_initializer(2)->set_name("spare"); }},
      // Static types
      {"StaticTypeExact", ErrorCode::kValueStaticType, spare, Same,
       [](F f) { SetStructType(0, f->graph()->mutable_value_info(1)->mutable_type()); }},
      {"StaticTypeIsATensor", ErrorCode::kValueStaticType, spare, Same,
       [](F f) { SetTensorType(E::kFloat, {4}, f->graph()->mutable_value_info(1)->mutable_type()); }},
      {"StaticTypeOfAnInlineType", ErrorCode::kValueStaticType, spare, InlineSpare,
       [](F f) { f->spare()->mutable_struct_type()->set_name("another"); }},
      {"NotAmongTheAllowed", ErrorCode::kValueStaticType, spare, AllowedTypes,
       [](F f) { f->graph()->mutable_value_info(1)->mutable_metadata_props(0)->set_value("w"); }},
      {"AllowedTypeUnknown", ErrorCode::kTypeName, "graph.value_info[1].metadata_props", AllowedTypes,
       [](F f) { f->graph()->mutable_value_info(1)->mutable_metadata_props(0)->set_value("w,record,none"); }},
      {"StaticTypeIndex", ErrorCode::kTypeIndex, "graph.input[0].type.struct_type.type_index", Same,
       [](F f) { SetStructType(2, f->graph()->mutable_input(0)->mutable_type()); }},
      {"StaticTypeWithAName", ErrorCode::kPartSurplus, "graph.input[0].type.struct_type", Same,
       [](F f) { f->graph()->mutable_input(0)->mutable_type()->mutable_struct_type()->set_name("record"); }},
      {"StaticTypeDeclaresOne", ErrorCode::kPartKind, "graph.input[0].type.struct_type", Same,
       [](F f) { f->graph()->mutable_input(0)->mutable_type()->mutable_struct_type()->mutable_array(); }},
      {"StaticTypeInContainers", ErrorCode::kTypeIndex,
       "graph.input[0].type.sequence_type.elem_type.map_type.value_type.optional_type.elem_type.struct_type.type_index",
       [](F f) {
         ir::TypeProto* inner = f->graph()
                                    ->mutable_input(0)
                                    ->mutable_type()
                                    ->mutable_sequence_type()
                                    ->mutable_elem_type()
                                    ->mutable_map_type()
                                    ->mutable_value_type()
                                    ->mutable_optional_type()
                                    ->mutable_elem_type();
         SetStructType(1, inner);
       },
       [](F f) {
         f->graph()
             ->mutable_input(0)
             ->mutable_type()
             ->mutable_sequence_type()
             ->mutable_elem_type()
             ->mutable_map_type()
             ->mutable_value_type()
             ->mutable_optional_type()
             ->mutable_elem_type()
             ->mutable_struct_type()
             ->set_type_index(9);
       }},
      {"StaticTypeDeep", ErrorCode::kLimitDepth, "graph.input[0].type.sequence_type.elem_type.sequence_type.elem_type",
       [](F f) {
         f->options.limits.depth = 2;
         f->model.clear_struct_types();  // two levels are too few for these
         f->model.mutable_graph()->Clear();
         ir::ValueInfoProto* input = f->graph()->add_input();
         SetTensorType(E::kFloat, {}, input->mutable_type()->mutable_sequence_type()->mutable_elem_type());
       },
       [](F f) {
         ir::TypeProto* inner =
             f->graph()->mutable_input(0)->mutable_type()->mutable_sequence_type()->mutable_elem_type();
         SetTensorType(E::kFloat, {}, inner->mutable_sequence_type()->mutable_elem_type());
       }},
      // Attributes
      {"StructWithoutItsType", ErrorCode::kAttributeType, attribute + ".type", StructAttribute,
       [](F f) { f->attribute()->clear_type(); }},
      {"StructWithTheListsType", ErrorCode::kAttributeType, attribute + ".type", StructAttribute,
       [](F f) { f->attribute()->set_type(ir::AttributeProto::STRUCTS); }},
      {"StructTypeWithoutStruct", ErrorCode::kAttributeType, attribute + ".type", StructAttribute,
       [](F f) { f->attribute()->clear_struct_(); }},
      {"StructsWithTheSinglesType", ErrorCode::kAttributeType, attribute + ".type", StructsAttribute,
       [](F f) { f->attribute()->set_type(ir::AttributeProto::TENSORS); }},
      {"StructAttributePayload", ErrorCode::kPayloadSize, attribute + ".struct", StructAttribute,
       [](F f) { f->attribute()->mutable_struct_()->mutable_raw_data()->pop_back(); }},
      {"StructsAttributePayload", ErrorCode::kPayloadSize, attribute + ".structs[1]", StructsAttribute,
       [](F f) { f->attribute()->mutable_structs(1)->mutable_raw_data()->pop_back(); }},
      {"StructInASubgraph", ErrorCode::kPayloadSize, attribute + ".g.struct_initializer[0] 'inner'",
       [](F f) {
         f->attribute()->set_type(ir::AttributeProto::GRAPH);
         SetStruct("inner", 0, std::string(6, 'x'), f->attribute()->mutable_g()->add_struct_initializer());
       },
       [](F f) { f->attribute()->mutable_g()->mutable_struct_initializer(0)->mutable_raw_data()->pop_back(); }},
      {"StructInAFunction", ErrorCode::kPayloadSize, "functions[0].node[0].attribute[0].struct",
       [](F f) {
         ir::AttributeProto* a = f->model.add_functions()->add_node()->add_attribute();
         a->set_type(ir::AttributeProto::STRUCT);
         SetStruct("", 0, std::string(6, 'x'), a->mutable_struct_());
       },
       [](F f) {
         f->model.mutable_functions(0)->mutable_node(0)->mutable_attribute(0)->mutable_struct_()->set_raw_data("12345");
       }},
      {"StructInTraining", ErrorCode::kPayloadSize, "training_info[0].algorithm.struct_initializer[0] 't'",
       [](F f) {
         SetStruct("t", 0, std::string(6, 'x'),
                   f->model.add_training_info()->mutable_algorithm()->add_struct_initializer());
       },
       [](F f) {
         f->model.mutable_training_info(0)->mutable_algorithm()->mutable_struct_initializer(0)->set_raw_data("12345");
       }},
      // DecodeStruct
      {"DecodeTwoInputs", ErrorCode::kDecodeNode, "graph.node[0]", Same,
       [](F f) { f->graph()->mutable_node(0)->add_input("spare"); }},
      {"DecodeNoOutput", ErrorCode::kDecodeNode, "graph.node[0]", Same,
       [](F f) { f->graph()->mutable_node(0)->clear_output(); }},
      {"DecodeATensor", ErrorCode::kDecodeNode, "graph.node[0].input[0]", Same,
       [](F f) { f->graph()->mutable_node(0)->set_input(0, "bias"); }},
      {"DecodeNothing", ErrorCode::kDecodeNode, "graph.node[0].input[0]", Same,
       [](F f) { f->graph()->mutable_node(0)->set_input(0, "nothing"); }},
      {"DecodeARecord", ErrorCode::kDecodeNode, "graph.node[0].input[0]", Same,
       [](F f) { f->graph()->mutable_node(0)->set_input(0, "spare"); }},
      {"DecodeAnInputThatIsARecord", ErrorCode::kDecodeNode, "graph.node[0].input[0]",
       [](F f) {
         SetStructType(0, f->graph()->mutable_input(0)->mutable_type());
         f->graph()->mutable_node(0)->set_input(0, "r");
       },
       [](F f) { SetStructType(1, f->graph()->mutable_input(0)->mutable_type()); }},
      {"DecodedType", ErrorCode::kDecodeNode, "graph.node[0].output[0]", Same,
       [](F f) {
         f->graph()->mutable_value_info(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
             ir::TensorProto::DOUBLE);
       }},
      {"DecodedShape", ErrorCode::kDecodeNode, "graph.node[0].output[0]", Same,
       [](F f) {
         f->graph()
             ->mutable_value_info(0)
             ->mutable_type()
             ->mutable_tensor_type()
             ->mutable_shape()
             ->mutable_dim(0)
             ->set_dim_value(5);
       }},
      {"DecodedRank", ErrorCode::kDecodeNode, "graph.node[0].output[0]", Same,
       [](F f) {
         f->graph()->mutable_value_info(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim();
       }},
      {"DecodedInASubgraph", ErrorCode::kDecodeNode, attribute + ".g.node[0].input[0]",
       [](F f) {
         f->attribute()->set_type(ir::AttributeProto::GRAPH);
         AddNode("DecodeStruct", {"weight"}, "inner", f->attribute()->mutable_g());
       },
       [](F f) { f->attribute()->mutable_g()->mutable_node(0)->set_input(0, "spare"); }},
      // Tensors
      {"TensorTypeUnknown", ErrorCode::kTensorType, bias, Same, [](F f) { f->bias()->set_data_type(29); }},
      {"TensorTypeAbsent", ErrorCode::kTensorType, bias, Same, [](F f) { f->bias()->clear_data_type(); }},
      {"TensorDimension", ErrorCode::kTensorDims, bias, Same, [](F f) { f->bias()->set_dims(0, -4); }},
      {"TensorElements", ErrorCode::kTensorDims, bias, Same, [](F f) { f->bias()->set_dims(0, INT64_MAX); }},
      {"TensorOfATerabyte", ErrorCode::kTensorSize, bias, Same, [](F f) { f->bias()->set_dims(0, int64_t{1} << 38); }},
      {"TensorSize", ErrorCode::kTensorSize, bias, Same, [](F f) { f->bias()->mutable_raw_data()->pop_back(); }},
      {"TensorEntries", ErrorCode::kTensorSize, eps,
       [](F f) { ElementwiseTensor(E::kFloat16, [](ir::TensorProto* t) { t->add_int32_data(1); }, f); },
       [](F f) { f->graph()->mutable_initializer(1)->add_int32_data(1); }},
      {"TensorMember", ErrorCode::kTensorField, eps,
       [](F f) { ElementwiseTensor(E::kFloat, [](ir::TensorProto* t) { t->add_float_data(1); }, f); },
       [](F f) { f->graph()->mutable_initializer(1)->add_int64_data(1); }},
      {"TensorTwice", ErrorCode::kTensorField, bias, Same,
       [](F f) {
         for (int i = 0; i < 4; ++i) f->bias()->add_float_data(0);
       }},
      {"TensorOfStringsRaw", ErrorCode::kTensorField, eps,
       [](F f) { ElementwiseTensor(E::kString, [](ir::TensorProto* t) { t->add_string_data("x"); }, f); },
       [](F f) { f->graph()->mutable_initializer(1)->set_raw_data("x"); }},
      {"TensorWithoutName", ErrorCode::kTensorName, "graph.initializer[1].name", Same,
       [](F f) { f->graph()->mutable_initializer(1)->clear_name(); }},
      {"TensorNameTwice", ErrorCode::kTensorName, "graph.initializer[1].name", Same,
       [](F f) { f->graph()->mutable_initializer(1)->set_name("bias"); }},
      {"SparseValues", ErrorCode::kTensorSize, "graph.sparse_initializer[0].values 'sp'", SparseInitializer,
       [](F f) { f->graph()->mutable_sparse_initializer(0)->mutable_values()->set_dims(0, 2); }},
      {"SparseIndices", ErrorCode::kTensorSize, "graph.sparse_initializer[0].indices", SparseInitializer,
       [](F f) { f->graph()->mutable_sparse_initializer(0)->mutable_indices()->set_dims(0, 2); }},
      {"SparseName", ErrorCode::kTensorName, "graph.sparse_initializer[0].name", SparseInitializer,
       [](F f) { f->graph()->mutable_sparse_initializer(0)->mutable_values()->set_name("bias"); }},
      {"TensorInAnAttribute", ErrorCode::kTensorSize, attribute + ".tensors[1]",
       [](F f) {
         f->attribute()->set_type(ir::AttributeProto::TENSORS);
         for (int i = 0; i < 2; ++i) SetTensor("", E::kUint8, {3}, "abc", f->attribute()->add_tensors());
       },
       [](F f) { f->attribute()->mutable_tensors(1)->set_raw_data("ab"); }},
      // External data
      {"NoLocation", ErrorCode::kExternalLocation, bias, ExternalBias,
       [](F f) { f->bias()->mutable_external_data()->DeleteSubrange(0, 1); }},
      {"EmptyLocation", ErrorCode::kExternalLocation, bias, ExternalBias,
       [](F f) { f->bias()->mutable_external_data(0)->clear_value(); }},
      {"AbsoluteLocation", ErrorCode::kExternalLocation, bias, ExternalBias,
       [](F f) { f->bias()->mutable_external_data(0)->set_value((f->folder / "bias.bin").string()); }},
      {"LocationOfAStruct", ErrorCode::kExternalLocation, weight, ExternalWeight,
       [](F f) { f->weight()->mutable_external_data(0)->set_value("C:\\codes.bin"); }},
      {"LocationAfterItsLength", ErrorCode::kExternalLocation, weight, ExternalWeight,
       [](F f) { f->weight()->mutable_external_data()->SwapElements(0, 1); }},
      {"LocationAbove", ErrorCode::kExternalEscape, bias, ExternalBias,
       [](F f) { f->bias()->mutable_external_data(0)->set_value("../bias.bin"); }},
      {"LocationAboveInTheMiddle", ErrorCode::kExternalEscape, weight, ExternalWeight,
       [](F f) { f->weight()->mutable_external_data(0)->set_value("a/../../codes.bin"); }},
      {"LinkOutside", ErrorCode::kExternalEscape, bias, ExternalBias,
       [](F f) {
         std::filesystem::remove(f->folder / "bias.bin");
         std::filesystem::create_symlink("/dev/null", f->folder / "bias.bin");
       }},
      {"MissingFile", ErrorCode::kExternalMissing, bias, ExternalBias,
       [](F f) { f->bias()->mutable_external_data(0)->set_value("other.bin"); }},
      {"LocationIsAFolder", ErrorCode::kExternalMissing, weight, ExternalWeight,
       [](F f) {
         std::filesystem::remove(f->folder / "scale.bin");
         std::filesystem::create_directory(f->folder / "scale.bin");
       }},
      {"BehindTheEndOfTheFile", ErrorCode::kExternalRange, bias, ExternalBias,
       [](F f) { f->bias()->mutable_external_data(1)->set_value("1"); }},
      {"OffsetOverflows", ErrorCode::kExternalRange, bias, ExternalBias,
       [](F f) { f->bias()->mutable_external_data(1)->set_value("18446744073709551615"); }},
      {"StructBehindTheEnd", ErrorCode::kExternalRange, weight, ExternalWeight,
       [](F f) { f->weight()->mutable_external_data(3)->set_value("1"); }},
      {"NoLength", ErrorCode::kExternalLength, weight, ExternalWeight,
       [](F f) { f->weight()->mutable_external_data()->DeleteSubrange(1, 1); }},
      {"OffsetIsNoNumber", ErrorCode::kExternalNumber, bias, ExternalBias,
       [](F f) { f->bias()->mutable_external_data(1)->set_value("-1"); }},
      {"LengthIsNoNumber", ErrorCode::kExternalNumber, weight, ExternalWeight,
       [](F f) { f->weight()->mutable_external_data(1)->set_value("4 "); }},
      {"LengthOf65Bits", ErrorCode::kExternalNumber, weight, ExternalWeight,
       [](F f) { f->weight()->mutable_external_data(1)->set_value("18446744073709551616"); }},
      {"TensorInlineToo", ErrorCode::kExternalInline, bias, ExternalBias,
       [](F f) { f->bias()->set_raw_data(std::string(16, '\0')); }},
      {"StructInlineToo", ErrorCode::kExternalInline, weight, ExternalWeight,
       [](F f) { f->weight()->set_raw_data(std::string(6, '\0')); }},
      {"OrphanAtTheEnd", ErrorCode::kExternalOrphan, "$FOLDER/bias.bin", ExternalBias,
       [](F f) { f->Write("bias.bin", 17); }},
      {"ExternalTensorSize", ErrorCode::kTensorSize, bias, ExternalBias,
       [](F f) { f->bias()->mutable_external_data(2)->set_value("15"); }},
      {"ExternalStrings", ErrorCode::kTensorType, bias, ExternalBias,
       [](F f) { f->bias()->set_data_type(ir::TensorProto::STRING); }},
      {"ExternalPayloadSize", ErrorCode::kPayloadSize, weight,
       [](F f) {
         ExternalWeight(f);
         f->options.data_files = false;
       },
       [](F f) { f->weight()->mutable_external_data(1)->set_value("5"); }},
      {"LeafAcrossSegments", ErrorCode::kLeafSegment, weight, ExternalWeight,
       [](F f) {
         f->Write("codes.bin", 3);
         f->Write("scale.bin", 3);
         f->weight()->mutable_external_data(1)->set_value("3");
         f->weight()->mutable_external_data(4)->set_value("3");
       }},
  };
}

class CheckModelPair : public ::testing::TestWithParam<Pair> {};

TEST_P(CheckModelPair, OneEditGivesOneProblem) {
  File file;
  file.folder = FreshFolder();
  GetParam().valid(&file);
  ASSERT_TRUE(None(file.Check()));
  GetParam().edit(&file);
  std::string where = GetParam().where;
  if (where.starts_with("$FOLDER")) where = file.folder.string() + where.substr(7);
  const Problems problems = file.Check();
  EXPECT_TRUE(Only(problems, GetParam().code, where));
  EXPECT_FALSE(problems.empty() || problems.list()[0].fix.empty());
  std::filesystem::remove_all(file.folder);
}

INSTANTIATE_TEST_SUITE_P(Codes, CheckModelPair, ::testing::ValuesIn(Pairs()),
                         [](const auto& test) { return test.param.name; });

// ---- values beside a model: sequences, maps and optionals

struct Values {
  ir::ModelProto model;
  ir::SequenceProto pages;    // sequence of any struct, restricted by name to both page types
  ir::SequenceProto nested;   // sequence of sequences of any struct
  ir::SequenceProto tensors;  // sequence of tensors
  ir::MapProto cache;         // map from INT64 to any struct
  ir::MapProto names;         // map from STRING to type 1
  ir::OptionalProto page;     // optional of type 0
  ir::OptionalProto none;     // the same, without a value
  ir::StructProto record;     // type 1
  CheckOptions options;

  Problems Check() const {
    Problems problems;
    const Model m(model);
    CheckValue(m, "pages", pages, options, &problems);
    CheckValue(m, "nested", nested, options, &problems);
    CheckValue(m, "tensors", tensors, options, &problems);
    CheckValue(m, "cache", cache, options, &problems);
    CheckValue(m, "names", names, options, &problems);
    CheckValue(m, "page", page, options, &problems);
    CheckValue(m, "none", none, options, &problems);
    CheckValue(m, "record", record, options, &problems);
    return problems;
  }
};

// Two small page formats: eight INT4 with a FLOAT16 scale (6 bytes), and eight FP8 (8 bytes).
constexpr size_t kInt4Page = 6;
constexpr size_t kFp8Page = 8;

void SetPages(ir::SequenceProto* pages) {
  pages->set_elem_type(ir::SequenceProto::STRUCT);
  SetStructType(kAny, pages->mutable_value_type());
  SetStruct("p0", 0, std::string(kInt4Page, 'a'), pages->add_struct_values());
  SetStruct("p1", 1, std::string(kFp8Page, 'b'), pages->add_struct_values());
}

Values ValidValues() {
  Values v;
  ToProto(Structure("int4", {Part("codes", Array(E::kInt4, {8})), Part("scale", E::kFloat16)}),
          v.model.add_struct_types());
  ToProto(Declare("fp8", Array(E::kFloat8E4M3FN, {8})), v.model.add_struct_types());
  auto input = [&](const std::string& name) {
    ir::ValueInfoProto* info = v.model.mutable_graph()->add_input();
    info->set_name(name);
    return info;
  };
  ir::ValueInfoProto* pages = input("pages");
  SetStructType(kAny, pages->mutable_type()->mutable_sequence_type()->mutable_elem_type());
  ir::StringStringEntryProto* entry = pages->add_metadata_props();
  entry->set_key(std::string(kAllowedTypesKey));
  entry->set_value("int4,fp8");
  SetPages(&v.pages);

  SetStructType(kAny, input("nested")
                          ->mutable_type()
                          ->mutable_sequence_type()
                          ->mutable_elem_type()
                          ->mutable_sequence_type()
                          ->mutable_elem_type());
  v.nested.set_elem_type(ir::SequenceProto::SEQUENCE);
  SetPages(v.nested.add_sequence_values());

  SetTensorType(E::kUint8, {2}, input("tensors")->mutable_type()->mutable_sequence_type()->mutable_elem_type());
  v.tensors.set_elem_type(ir::SequenceProto::TENSOR);
  SetTensor("", E::kUint8, {2}, "ab", v.tensors.add_tensor_values());

  ir::TypeProto::Map* cache = input("cache")->mutable_type()->mutable_map_type();
  cache->set_key_type(ir::TensorProto::INT64);
  SetStructType(kAny, cache->mutable_value_type());
  v.cache.set_key_type(ir::TensorProto::INT64);
  v.cache.add_keys(7);
  v.cache.add_keys(-7);
  SetPages(v.cache.mutable_values());

  ir::TypeProto::Map* names = input("names")->mutable_type()->mutable_map_type();
  names->set_key_type(ir::TensorProto::STRING);
  SetStructType(1, names->mutable_value_type());
  v.names.set_key_type(ir::TensorProto::STRING);
  v.names.add_string_keys("a");
  v.names.add_string_keys("b");
  v.names.mutable_values()->set_elem_type(ir::SequenceProto::STRUCT);
  SetStructType(1, v.names.mutable_values()->mutable_value_type());
  for (int i = 0; i < 2; ++i)
    SetStruct("", 1, std::string(kFp8Page, 'c'), v.names.mutable_values()->add_struct_values());

  for (const char* name : {"page", "none"}) {
    SetStructType(0, input(name)->mutable_type()->mutable_optional_type()->mutable_elem_type());
  }
  for (ir::OptionalProto* optional : {&v.page, &v.none}) {
    optional->set_elem_type(ir::OptionalProto::STRUCT);
    SetStructType(0, optional->mutable_value_type());
  }
  SetStruct("p", 0, std::string(kInt4Page, 'd'), v.page.mutable_struct_value());

  SetStructType(1, input("record")->mutable_type());
  SetStruct("", 1, std::string(kFp8Page, 'e'), &v.record);
  return v;
}

struct ValuePair {
  std::string name;
  ErrorCode code;
  std::string where;
  std::function<void(Values*)> edit;
};
std::ostream& operator<<(std::ostream& out, const ValuePair& pair) { return out << pair.name; }

std::vector<ValuePair> ValuePairs() {
  using V = Values*;
  return {
      {"SequenceWithoutValueType", ErrorCode::kContainerType, "pages.value_type",
       [](V v) { v->pages.clear_value_type(); }},
      {"MapWithoutValueType", ErrorCode::kContainerType, "cache.values.value_type",
       [](V v) { v->cache.mutable_values()->clear_value_type(); }},
      {"OptionalWithoutValueType", ErrorCode::kContainerType, "page.value_type",
       [](V v) { v->page.clear_value_type(); }},
      {"EmptyOptionalWithoutValueType", ErrorCode::kContainerType, "none.value_type",
       [](V v) { v->none.clear_value_type(); }},
      {"ValueTypeIsATensor", ErrorCode::kContainerType, "pages.value_type",
       [](V v) { SetTensorType(E::kFloat, {}, v->pages.mutable_value_type()); }},
      {"ValueTypeExactWhereTheGraphHasAny", ErrorCode::kContainerType, "pages.value_type",
       [](V v) { SetStructType(0, v->pages.mutable_value_type()); }},
      {"ValueTypeAnyWhereTheGraphIsExact", ErrorCode::kContainerType, "page.value_type",
       [](V v) { v->page.mutable_value_type()->mutable_struct_type()->clear_kind(); }},
      {"ValueTypeOfAnotherIndex", ErrorCode::kContainerType, "names.values.value_type",
       [](V v) { SetStructType(0, v->names.mutable_values()->mutable_value_type()); }},
      {"ValueTypeWithContent", ErrorCode::kPartSurplus, "pages.value_type.struct_type",
       [](V v) { v->pages.mutable_value_type()->mutable_struct_type()->mutable_decoder(); }},
      {"OtherValuesInASequence", ErrorCode::kContainerElement, "pages",
       [](V v) { SetTensor("", E::kUint8, {1}, "x", v->pages.add_tensor_values()); }},
      {"OtherValueInAnOptional", ErrorCode::kContainerElement, "page",
       [](V v) { SetTensor("", E::kUint8, {1}, "x", v->page.mutable_tensor_value()); }},
      {"StructsInASequenceOfSequences", ErrorCode::kContainerElement, "nested.struct_values",
       [](V v) { SetStruct("", 0, std::string(kInt4Page, 'x'), v->nested.add_struct_values()); }},
      {"MoreKeysThanValues", ErrorCode::kContainerElement, "cache", [](V v) { v->cache.add_keys(8); }},
      {"FewerKeysThanValues", ErrorCode::kContainerElement, "names",
       [](V v) { v->names.mutable_string_keys()->RemoveLast(); }},
      {"KeyTwice", ErrorCode::kContainerElement, "cache.keys", [](V v) { v->cache.set_keys(1, 7); }},
      {"StringKeyTwice", ErrorCode::kContainerElement, "names.string_keys",
       [](V v) { v->names.set_string_keys(1, "a"); }},
      {"KeyType", ErrorCode::kValueStaticType, "cache.key_type",
       [](V v) { v->cache.set_key_type(ir::TensorProto::INT32); }},
      {"PageThatIsNotAllowed", ErrorCode::kValueStaticType, "pages.struct_values[1] 'p1'",
       [](V v) { v->model.mutable_graph()->mutable_input(0)->mutable_metadata_props(0)->set_value("int4"); }},
      {"PageOfAnotherType", ErrorCode::kValueStaticType, "page.struct_value 'p'",
       [](V v) { SetStruct("p", 1, std::string(kFp8Page, 'x'), v->page.mutable_struct_value()); }},
      {"MapValueOfAnotherType", ErrorCode::kValueStaticType, "names.values.struct_values[1]",
       [](V v) { SetStruct("", 0, std::string(kInt4Page, 'x'), v->names.mutable_values()->mutable_struct_values(1)); }},
      {"RecordOfAnotherType", ErrorCode::kValueStaticType, "record",
       [](V v) { SetStruct("", 0, std::string(kInt4Page, 'x'), &v->record); }},
      {"TensorsWhereTheGraphHasStructs", ErrorCode::kValueStaticType, "pages.elem_type",
       [](V v) {
         v->pages.Clear();
         v->pages.set_elem_type(ir::SequenceProto::TENSOR);
       }},
      {"EmptyOptionalOfTensors", ErrorCode::kValueStaticType, "none.elem_type",
       [](V v) {
         v->none.Clear();
         v->none.set_elem_type(ir::OptionalProto::TENSOR);
       }},
      {"EmptyOptionalOfSequences", ErrorCode::kValueStaticType, "none.elem_type",
       [](V v) {
         v->none.Clear();
         v->none.set_elem_type(ir::OptionalProto::SEQUENCE);
       }},
      {"SequenceInAnOptional", ErrorCode::kValueStaticType, "page.sequence_value",
       [](V v) {
         v->page.Clear();
         v->page.set_elem_type(ir::OptionalProto::SEQUENCE);
         SetPages(v->page.mutable_sequence_value());
       }},
      {"MapInASequenceOfSequences", ErrorCode::kValueStaticType, "nested.map_values[0]",
       [](V v) {
         v->nested.clear_sequence_values();
         v->nested.add_map_values();
       }},
      {"NestedPagePayload", ErrorCode::kPayloadSize, "nested.sequence_values[0].struct_values[0] 'p0'",
       [](V v) { v->nested.mutable_sequence_values(0)->mutable_struct_values(0)->mutable_raw_data()->pop_back(); }},
      {"PageWithoutType", ErrorCode::kValueType, "pages.struct_values[0] 'p0'",
       [](V v) { v->pages.mutable_struct_values(0)->clear_type(); }},
      {"PageTypeBehindTheEnd", ErrorCode::kTypeIndex, "pages.struct_values[0] 'p0'",
       [](V v) { v->pages.mutable_struct_values(0)->set_type(2); }},
      {"TensorInASequence", ErrorCode::kTensorSize, "tensors.tensor_values[0]",
       [](V v) { v->tensors.mutable_tensor_values(0)->set_raw_data("a"); }},
      {"SparseTensorInASequence", ErrorCode::kTensorType, "tensors.sparse_tensor_values[0].indices",
       [](V v) {
         ir::SparseTensorProto* sparse = v->tensors.add_sparse_tensor_values();
         SetTensor("", E::kFloat, {0}, "", sparse->mutable_values());
         sparse->mutable_indices();
       }},
      {"Deep", ErrorCode::kLimitDepth, "nested.sequence_values[0].sequence_values[0].sequence_values[0]",
       [](V v) {
         // Less than 3 would refuse the page types too, so the value gets deeper.
         v->options.limits.depth = 3;
         ir::SequenceProto inner = v->nested.sequence_values(0);
         ir::SequenceProto* at = &v->nested;
         ir::TypeProto* type = v->model.mutable_graph()->mutable_input(1)->mutable_type();
         at->Clear();
         type->Clear();
         for (int i = 0; i < 3; ++i) {
           at->set_elem_type(ir::SequenceProto::SEQUENCE);
           at = at->add_sequence_values();
           type = type->mutable_sequence_type()->mutable_elem_type();
         }
         SetStructType(kAny, type->mutable_sequence_type()->mutable_elem_type());
         *at = inner;
       }},
  };
}

class CheckValuePair : public ::testing::TestWithParam<ValuePair> {};

TEST_P(CheckValuePair, OneEditGivesOneProblem) {
  Values values = ValidValues();
  ASSERT_TRUE(None(values.Check()));
  GetParam().edit(&values);
  const Problems problems = values.Check();
  EXPECT_TRUE(Only(problems, GetParam().code, GetParam().where));
  EXPECT_FALSE(problems.empty() || problems.list()[0].fix.empty());
}

INSTANTIATE_TEST_SUITE_P(Codes, CheckValuePair, ::testing::ValuesIn(ValuePairs()),
                         [](const auto& test) { return test.param.name; });

TEST(CheckValue, KindsThatAreNotTheGraphs) {
  const Values v = ValidValues();
  const Model model(v.model);
  auto only = [&](auto value, std::string_view name) {
    Problems problems;
    CheckValue(model, name, value, v.options, &problems);
    return Only(problems, ErrorCode::kValueStaticType, name);
  };
  EXPECT_TRUE(only(v.pages, "page"));
  EXPECT_TRUE(only(v.cache, "pages"));
  EXPECT_TRUE(only(v.page, "cache"));
  EXPECT_TRUE(only(v.record, "pages"));
  Problems unknown;
  CheckValue(model, "nobody", v.pages, v.options, &unknown);
  EXPECT_TRUE(Only(unknown, ErrorCode::kValueName, "nobody"));
}

TEST(CheckModel, EveryCodeOfThisCheckerHasAPair) {
  std::set<ErrorCode> codes;
  for (const Pair& pair : Pairs()) codes.insert(pair.code);
  for (const ValuePair& pair : ValuePairs()) codes.insert(pair.code);
  auto range = [](ErrorCode first, ErrorCode last) {
    std::set<ErrorCode> expected;
    for (int c = static_cast<int>(first); c <= static_cast<int>(last); ++c) expected.insert(static_cast<ErrorCode>(c));
    return expected;
  };
  std::set<ErrorCode> expected = range(ErrorCode::kExternalLocation, ErrorCode::kTensorName);
  expected.merge(range(ErrorCode::kValueType, ErrorCode::kDecodeNode));
  expected.erase(ErrorCode::kTypeInvalid);  // comes with the problem of the type: CheckModel.ValuesOfATypeThatIsWrong
  for (ErrorCode code : expected) EXPECT_TRUE(codes.contains(code)) << Info(code).slug;
}

// ---- several problems, and none

TEST(CheckModel, ValuesOfATypeThatIsWrong) {
  File file;
  file.model.mutable_struct_types(0)->mutable_structure()->mutable_field(0)->clear_name();
  EXPECT_THAT(Places(file.Check()), ElementsAre("struct_types[0].structure.field[0].name [field-name]",
                                                "graph.struct_initializer[0] 'weight' [type-invalid]"));
  // An inline type that refers to it.
  ToProto(Structure("x", {Part("p", Ref(0))}), file.spare()->mutable_struct_type());
  file.graph()->mutable_value_info()->RemoveLast();
  EXPECT_THAT(Places(file.Check()),
              ElementsAre("struct_types[0].structure.field[0].name [field-name]",
                          "graph.struct_initializer[0] 'weight' [type-invalid]",
                          "graph.struct_initializer[1].struct_type.structure.field[0].type.struct_type.type_index "
                          "[type-invalid]"));
  Problems ignored;
  const Model model(file.model);
  TypeTable table = BuildTypeTable(model.proto(), Limits(), &ignored);
  Result<StructView> view = ViewOf(model, table, *file.spare(), "v");
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, ErrorCode::kTypeInvalid);
}

TEST(CheckModel, ListsAllProblems) {
  File file;
  file.folder = FreshFolder();
  ExternalWeight(&file);
  file.Write("scale.bin", 5);
  ToProto(Structure("bad", {Part("x", E::kString), Part("x", E::kUint8)}), file.model.add_struct_types());
  file.graph()->mutable_input(0)->mutable_type()->mutable_struct_type()->set_type_index(7);
  file.spare()->set_raw_data("short");
  file.bias()->set_data_type(ir::TensorProto::DOUBLE);
  file.graph()->mutable_initializer(1)->set_name("bias");
  StructAttribute(&file);
  file.attribute()->mutable_struct_()->clear_type();
  AddNode("DecodeStruct", {"spare"}, "z", file.graph());
  EXPECT_THAT(Places(file.Check()),
              UnorderedElementsAre(
                  "struct_types[2].structure.field[0].type.tensor_type.elem_type [leaf-type]",
                  "struct_types[2].structure.field[1].name [field-name]",
                  "graph.input[0].type.struct_type.type_index [type-index]",
                  "graph.struct_initializer[1] 'spare' [payload-size]", "graph.initializer[0] 'bias' [tensor-size]",
                  "graph.initializer[1].name [tensor-name]", "graph.node[1].attribute[0].struct [value-type]",
                  "graph.node[2].input[0] [decode-node]", (file.folder / "scale.bin").string() + " [external-orphan]"));
  std::filesystem::remove_all(file.folder);
}

// A message that sets both members of a oneof is found in the file's bytes: protobuf keeps the last.
TEST(CheckModel, BothMembersOfAOneof) {
  auto field = [](uint32_t number, const std::string& bytes) {
    std::string out;
    auto varint = [&](uint64_t v) {
      for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
      out += static_cast<char>(v);
    };
    varint(uint64_t{number} << 3 | 2);
    varint(bytes.size());
    return out + bytes;
  };
  auto check = [](const std::string& bytes) {
    Result<Model> model = Model::FromBytes({bytes.begin(), bytes.end()}, ".");
    EXPECT_TRUE(model) << model.error().Format();
    Problems problems;
    CheckModel(*model, CheckOptions(), &problems);
    return problems;
  };
  ir::ModelProto model = Base();
  model.mutable_graph()->clear_struct_initializer();
  model.mutable_graph()->clear_node();
  ir::StructProto by_index;
  SetStruct("v", 1, std::string(16, 'x'), &by_index);
  ir::StructProto by_type;
  ToProto(Record(), by_type.mutable_struct_type());
  const std::string one = by_index.SerializeAsString();
  const std::string both = one + by_type.SerializeAsString();
  EXPECT_TRUE(None(check(model.SerializeAsString() + field(7, field(1200, one)))));
  EXPECT_TRUE(Only(check(model.SerializeAsString() + field(7, field(1200, both))), ErrorCode::kValueType,
                   "graph.struct_initializer[0]"));

  ir::StructTypeProto::Field with_type;
  with_type.set_name("f");
  SetTensorType(E::kUint8, {}, with_type.mutable_type());
  ir::StructTypeProto::Field with_constant;
  SetTensor("", E::kUint8, {}, "x", with_constant.mutable_constant());
  auto types = [&](const std::string& content) { return field(1200, field(8, "two") + field(2, field(1, content))); };
  EXPECT_TRUE(None(check(model.SerializeAsString() + types(with_type.SerializeAsString()))));
  EXPECT_TRUE(
      Only(check(model.SerializeAsString() + types(with_constant.SerializeAsString() + with_type.SerializeAsString())),
           ErrorCode::kFieldContent, "struct_types[2].structure.field[0]"));

  ir::TypeProto tensor_type;
  SetTensorType(E::kUint8, {}, &tensor_type);
  ir::TypeProto sequence_type;
  SetTensorType(E::kUint8, {}, sequence_type.mutable_sequence_type()->mutable_elem_type());
  ir::ValueInfoProto info;
  info.set_name("i");
  model.mutable_graph()->clear_input();
  const std::string value_info = info.SerializeAsString();
  auto input = [&](const std::string& type) { return field(7, field(11, value_info + field(2, type))); };
  EXPECT_TRUE(None(check(model.SerializeAsString() + input(tensor_type.SerializeAsString()))));
  EXPECT_TRUE(Only(
      check(model.SerializeAsString() + input(tensor_type.SerializeAsString() + sequence_type.SerializeAsString())),
      ErrorCode::kOneofConflict, "graph.input[0].type"));
}

// A struct value that a node produces needs no value_info, and a function's inputs have the types of its call.
TEST(CheckModel, DecodeStructOfValuesKnownOnlyAtRunTime) {
  File file;
  ir::ValueInfoProto* pages = file.graph()->add_input();
  pages->set_name("pages");
  SetStructType(kAny, pages->mutable_type()->mutable_sequence_type()->mutable_elem_type());
  ir::ValueInfoProto* any = file.graph()->add_input();
  any->set_name("any");
  SetStructType(kAny, any->mutable_type());
  AddNode("SequenceAt", {"pages", "index"}, "page", file.graph());
  AddNode("DecodeStruct", {"page"}, "page_values", file.graph());
  AddNode("DecodeStruct", {"any"}, "any_values", file.graph());
  ir::FunctionProto* function = file.model.add_functions();
  function->add_input("X");
  ir::NodeProto* node = function->add_node();
  *node = file.model.graph().node(0);
  node->set_input(0, "X");
  EXPECT_TRUE(None(file.Check()));
  node->add_input("X");
  EXPECT_TRUE(Only(file.Check(), ErrorCode::kDecodeNode, "functions[0].node[0]"));
}

// The graph may leave dimensions of the decoded tensor open.
TEST(CheckModel, DecodedShapeMayBeOpen) {
  File file;
  ir::TypeProto::Tensor* dense = file.graph()->mutable_value_info(0)->mutable_type()->mutable_tensor_type();
  dense->mutable_shape()->mutable_dim(0)->set_dim_param("N");
  EXPECT_TRUE(None(file.Check()));
  dense->mutable_shape()->mutable_dim(0)->clear_value();
  EXPECT_TRUE(None(file.Check()));
  dense->clear_shape();
  EXPECT_TRUE(None(file.Check()));
}

// Inline types count once against the limit on leaves.
TEST(CheckModel, InlineTypesAreExpandedOnce) {
  File file;
  file.model.clear_struct_types();
  file.graph()->Clear();
  ir::StructProto* value = file.graph()->add_struct_initializer();
  SetStruct("weight", 0, std::string(6, 'x'), value);
  ToProto(ScaledType("w"), value->mutable_struct_type());
  AddNode("DecodeStruct", {"weight"}, "dense", file.graph());
  ir::ValueInfoProto* dense = file.graph()->add_value_info();
  dense->set_name("dense");
  SetTensorType(E::kFloat, {4}, dense->mutable_type());
  file.options.limits.total_leaves = 2;
  EXPECT_TRUE(None(file.Check()));
  SetTensorType(E::kFloat, {4}, dense->mutable_type());  // now [4, 4]
  EXPECT_TRUE(Only(file.Check(), ErrorCode::kDecodeNode, "graph.node[0].output[0]"));
  file.options.limits.total_leaves = 1;
  EXPECT_TRUE(Only(file.Check(), ErrorCode::kLimitLeaves, "graph.struct_initializer[0].struct_type"));
}

TEST(CheckModel, WithoutDataFilesNoFileIsLookedAt) {
  File file;
  file.folder = FreshFolder();
  ExternalWeight(&file);
  ExternalBias(&file);
  EXPECT_TRUE(None(file.Check()));
  for (const char* name : {"codes.bin", "scale.bin", "bias.bin"}) std::filesystem::remove(file.folder / name);
  EXPECT_EQ(file.Check().count(), 2u);
  file.options.data_files = false;
  EXPECT_TRUE(None(file.Check()));
  std::filesystem::remove_all(file.folder);
}

// Several values in one data file; the padding in front of an aligned one is no orphan, a longer gap is.
TEST(CheckModel, OrphanedBytesBetweenValues) {
  File file;
  file.folder = FreshFolder();
  file.Write("data.bin", 128 + 6);
  ExternalBias(&file);
  SetExternal({{"location", "data.bin"}, {"offset", "0"}, {"length", "16"}}, file.bias()->mutable_external_data());
  file.weight()->clear_raw_data();
  SetExternal({{"location", "data.bin"}, {"offset", "128"}, {"length", "6"}}, file.weight()->mutable_external_data());
  EXPECT_TRUE(None(file.Check()));  // 112 bytes in front of a multiple of 128
  file.Write("data.bin", 64 + 128 + 6);
  file.weight()->mutable_external_data(1)->set_value("192");
  EXPECT_TRUE(Only(file.Check(), ErrorCode::kExternalOrphan, (file.folder / "data.bin").string()));
  std::filesystem::remove_all(file.folder);
}

// Deep graphs of graphs are checked to the bottom.
TEST(CheckModel, NestedSubgraphs) {
  File file;
  ir::GraphProto* graph = file.graph();
  std::string path = "graph";
  for (int i = 0; i < 50; ++i) {
    ir::AttributeProto* attribute = graph->add_node()->add_attribute();
    attribute->set_type(ir::AttributeProto::GRAPH);
    path += ".node[" + std::to_string(graph->node_size() - 1) + "].attribute[0].g";
    graph = attribute->mutable_g();
  }
  AddNode("DecodeStruct", {"weight"}, "inner", graph);
  EXPECT_TRUE(None(file.Check()));
  graph->mutable_node(0)->set_input(0, "spare");
  EXPECT_TRUE(Only(file.Check(), ErrorCode::kDecodeNode, path + ".node[0].input[0]"));
}

// ---- the paged KV cache

Node IntsConstant(const std::string& name, std::vector<int64_t> values) {
  return Op("Constant", {}, {name}, {Attr("value_ints", std::move(values))});
}

// One page for [2, 32, 128, 128]: keys and values, 32 heads, 128 positions of 128 numbers.
StructType Int4Page() {
  StructType type = Structure(
      "kv_int4", {Part("codes", Array(E::kInt4, {2, 32, 128, 128})), Part("scales", Array(E::kFloat16, {2, 32, 128}))});
  Function f;
  f.opset_imports = {{"", 21}};
  f.inputs = {"codes", "scales"};
  f.outputs = {"Y"};
  f.nodes = {Op("Cast", {"codes"}, {"c"}, {To(E::kFloat16)}), IntsConstant("last", {3}),
             Op("Unsqueeze", {"scales", "last"}, {"s"}), Op("Mul", {"c", "s"}, {"Y"})};
  f.value_infos = {Info("Y", E::kFloat16, {int64_t{2}, int64_t{32}, int64_t{128}, int64_t{128}})};
  type.decoder = f;
  return type;
}
StructType Fp8Page() {
  StructType type = Declare("kv_fp8", Array(E::kFloat8E4M3FN, {2, 32, 128, 128}));
  Function f;
  f.opset_imports = {{"", 21}};
  f.inputs = {"values"};
  f.outputs = {"Y"};
  f.nodes = {Op("Cast", {"values"}, {"Y"}, {To(E::kFloat16)})};
  f.value_infos = {Info("Y", E::kFloat16, {int64_t{2}, int64_t{32}, int64_t{128}, int64_t{128}})};
  type.decoder = f;
  return type;
}

TEST(Containers, PagedKvCacheWithPagesInTwoFormats) {
  ir::ModelProto proto;
  ToProto(Int4Page(), proto.add_struct_types());
  ToProto(Fp8Page(), proto.add_struct_types());
  ir::ValueInfoProto* input = proto.mutable_graph()->add_input();
  input->set_name("cache");
  ir::TypeProto::Map* map_type = input->mutable_type()->mutable_map_type();
  map_type->set_key_type(ir::TensorProto::INT64);
  SetStructType(kAny, map_type->mutable_value_type()->mutable_sequence_type()->mutable_elem_type());
  AddNode("SequenceAt", {"layer", "i"}, "page", proto.mutable_graph());
  AddNode("DecodeStruct", {"page"}, "y", proto.mutable_graph());
  Model model(proto);

  Problems problems;
  TypeTable table = BuildTypeTable(model.proto(), Limits(), &problems);
  ASSERT_TRUE(None(problems));
  // 1,048,576 codes in 524,288 bytes, 8,192 scales in 16,384; and a byte for each FP8.
  EXPECT_EQ(table.Get(0)->size_bits, 8u * 540'672);
  EXPECT_EQ(table.Get(0)->leaves[1].bit_offset, 8u * 524'288);
  EXPECT_EQ(table.Get(1)->size_bits, 8u * 1'048'576);
  CheckModel(model, CheckOptions(), &problems);
  EXPECT_TRUE(None(problems));

  // Layer 7 has a page in each format.
  std::vector<uint8_t> int4(540'672);
  int4[524'287] = 0x80;                     // the last code, -8
  int4[540'671] = 0x3C, int4[540'670] = 0;  // its scale, 1.0
  std::vector<uint8_t> fp8(1'048'576);
  fp8[128] = 0x7E;  // [0, 0, 1, 0] = 448
  ir::MapProto cache;
  cache.set_key_type(ir::TensorProto::INT64);
  cache.add_keys(7);
  cache.mutable_values()->set_elem_type(ir::SequenceProto::SEQUENCE);
  ir::SequenceProto* pages = cache.mutable_values()->add_sequence_values();
  pages->set_elem_type(ir::SequenceProto::STRUCT);
  SetStructType(kAny, pages->mutable_value_type());
  SetStruct("p0", 0, "", pages->add_struct_values());
  SetStruct("p1", 1, "", pages->add_struct_values());
  model.SetRawData(pages->mutable_struct_values(0), int4);
  model.SetRawData(pages->mutable_struct_values(1), fp8);
  CheckValue(model, "cache", cache, CheckOptions(), &problems);
  ASSERT_TRUE(None(problems));

  Result<StructView> first = ViewOf(model, table, pages->struct_values(0), "p0");
  ASSERT_TRUE(first) << first.error().Format();
  int8_t code = 0;
  ASSERT_TRUE(first->leaf("codes")->Unpack(1'048'575, 1, {reinterpret_cast<uint8_t*>(&code), 1}));
  EXPECT_EQ(code, -8);
  std::array<uint8_t, 2> scale{};
  ASSERT_TRUE(first->leaf("scales")->Unpack(8'191, 1, scale));
  EXPECT_EQ(DecodeFloat(E::kFloat16, scale[0] | scale[1] << 8), 1.0);
  Result<StructView> second = ViewOf(model, table, pages->struct_values(1), "p1");
  ASSERT_TRUE(second) << second.error().Format();
  ASSERT_TRUE(second->leaf("values")->Contiguous());
  EXPECT_EQ(DecodeFloat(E::kFloat8E4M3FN, (*second->leaf("values")->Contiguous())[128]), 448.0);

  // The second page with the type of the first one.
  pages->mutable_struct_values(1)->set_type(0);
  CheckValue(model, "cache", cache, CheckOptions(), &problems);
  EXPECT_TRUE(Only(problems, ErrorCode::kPayloadSize, "cache.values.sequence_values[0].struct_values[1] 'p1'"));
}

// The block of STQ1_0 has 42 bytes: 64 four-bit codes, 64 sign bits, a FLOAT16 scale, and constants that take none.
TEST(Containers, Stq10) {
  auto int32 = [](std::vector<int64_t> dims, std::vector<int32_t> values) {
    std::vector<uint8_t> bytes(values.size() * 4);
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return Tensor(E::kInt32, std::move(dims), bytes);
  };
  File file;
  ToProto(Structure("STQ1_0_BLOCK_256",
                    {Part("code", Array(E::kUint4, {64})), Part("sign", Array(E::kUint8, {8})),
                     Part("scale", Array(E::kFloat16, {1})), Const("field_roles", int32({3}, {6, 1, 2})),
                     Const("block_size", int32({}, {256}))}),
          file.model.add_struct_types());
  ToProto(Structure("STQ1_0", {Part("blocks", Array(Ref(2), {3})),
                               Const("codebook", Tensor(E::kFloat, {32, 4}, std::vector<uint8_t>(512, 0x3F)))}),
          file.model.add_struct_types());
  std::string bytes(3 * 42, '\0');
  bytes[42] = 0x21;         // block 1: codes 1, 2
  bytes[42 + 32] = '\x80';  // the sign of code 7
  bytes[42 + 41] = 0x3C;    // scale 1.0
  SetStruct("stq", 3, bytes, file.graph()->add_struct_initializer());
  ASSERT_TRUE(None(file.Check()));

  const Model model(file.model);
  Problems problems;
  TypeTable table = BuildTypeTable(model.proto(), Limits(), &problems);
  EXPECT_EQ(table.Get(2)->size_bits, 8u * 42);
  Result<StructView> view = ViewOf(model, table, file.graph()->struct_initializer(2), "stq");
  ASSERT_TRUE(view) << view.error().Format();
  std::vector<uint8_t> codes(64);
  ASSERT_TRUE(view->leaf("blocks.code")->Unpack(64, 64, codes));
  EXPECT_EQ(codes[0], 1);
  EXPECT_EQ(codes[1], 2);
  EXPECT_EQ(codes[2], 0);
  uint8_t sign = 0;
  ASSERT_TRUE(view->leaf("blocks.sign")->Unpack(8, 1, {&sign, 1}));
  EXPECT_EQ(sign, 0x80);
  EXPECT_EQ(view->leaf("codebook")->count(), 128u);
  EXPECT_EQ(view->leaf("blocks.block_size")->Contiguous()->size(), 4u);

  file.graph()->mutable_struct_initializer(2)->mutable_raw_data()->pop_back();
  EXPECT_TRUE(Only(file.Check(), ErrorCode::kPayloadSize, "graph.struct_initializer[2] 'stq'"));
}

// ---- cases.tsv C34: a tensor of INT4, dims [5]

TEST(Tensors, C34Int4WithDims5) {
  File file;
  ir::TensorProto* tensor = file.graph()->add_initializer();
  SetTensor("q", E::kInt4, {5}, "\x21\xF3\x08", tensor);
  ASSERT_TRUE(None(file.Check()));
  Result<TensorFacts> facts = FactsOf(*tensor, "q");
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->count, 5u);
  EXPECT_EQ(facts->bytes, 3u);
  const std::string& raw = tensor->raw_data();
  Result<std::vector<uint8_t>> bytes =
      CanonicalBytes(*tensor, {reinterpret_cast<const uint8_t*>(raw.data()), raw.size()}, "q");
  ASSERT_TRUE(bytes);
  std::vector<int64_t> values;
  for (uint64_t i = 0; i < 5; ++i) values.push_back(DecodeInteger(E::kInt4, LoadCode(*bytes, E::kInt4, i)));
  EXPECT_THAT(values, ElementsAre(1, 2, 3, -1, -8));

  for (size_t size : {2, 4}) {
    tensor->set_raw_data(std::string(size, 'x'));
    EXPECT_TRUE(Only(file.Check(), ErrorCode::kTensorSize, "graph.initializer[2] 'q'")) << size;
  }
  // In int32_data a pair is one entry of one byte, whatever the signs.
  tensor->clear_raw_data();
  SetTypedData(*bytes, E::kInt4, 5, tensor);
  EXPECT_THAT(tensor->int32_data(), ElementsAre(0x21, 0xF3, 0x08));
  EXPECT_TRUE(None(file.Check()));
  EXPECT_EQ(*CanonicalBytes(*tensor, {}, "q"), *bytes);
  tensor->set_int32_data(1, -13);  // 0xF3 with its sign, as some writers have it
  EXPECT_EQ(*CanonicalBytes(*tensor, {}, "q"), *bytes);
  tensor->set_int32_data(1, 256);
  EXPECT_EQ(CanonicalBytes(*tensor, {}, "q").error().code, ErrorCode::kTensorField);
  tensor->mutable_int32_data()->RemoveLast();
  EXPECT_TRUE(Only(file.Check(), ErrorCode::kTensorSize, "graph.initializer[2] 'q'"));
}

// Every fixed-width type through its typed member and back.
TEST(Tensors, TypedDataOfEveryTypeHoldsTheSameBytes) {
  for (const ElementInfo& row : AllElementTypes()) {
    if (!IsFixedWidth(row.type)) continue;
    for (int64_t count : {0, 1, 2, 3, 4, 5, 9}) {
      std::vector<uint8_t> bytes(*PackedBytes(row.type, count));
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(37 * i + 0x9B);
      if (uint64_t used = count * row.bits % 8; used != 0) bytes.back() &= static_cast<uint8_t>((1u << used) - 1);
      ir::TensorProto tensor;
      SetTensor("t", row.type, {count}, "", &tensor);
      tensor.clear_raw_data();
      SetTypedData(bytes, row.type, count, &tensor);
      Result<std::vector<uint8_t>> back = CanonicalBytes(tensor, {}, "t");
      ASSERT_TRUE(back) << row.name << " " << back.error().Format();
      EXPECT_EQ(*back, bytes) << row.name << " x " << count;
      EXPECT_TRUE(CheckTensorData(tensor, 0, "t")) << row.name;
    }
  }
}

}  // namespace
}  // namespace tessera
