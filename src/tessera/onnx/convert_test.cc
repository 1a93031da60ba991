#include "tessera/onnx/convert.h"

#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>

#include "tessera/base/checked.h"
#include "tessera/onnx/check_model.h"
#include "tessera/types/element_value.h"
#include "tessera/types/testing/random_type.h"
#include "tessera/types/testing/type_builders.h"

namespace tessera {
namespace {

using namespace build;  // NOLINT(google-build-using-namespace)
using E = ElementType;

// ---- values to messages and back is the identity

// A message's constant has the data that its type and dimensions need; what is random beyond that is taken away.
void MakeWhole(Constant* constant) {
  if (!IsFixedWidth(constant->type)) constant->type = E::kFloat4E2M1;
  std::erase_if(constant->dims, [](int64_t dim) { return dim < 0 || dim > 4; });
  const uint64_t count = *CheckedProduct(constant->dims);
  constant->bytes.resize(*PackedBytes(constant->type, count), 0x5A);
  if (uint64_t used = count * BitWidth(constant->type) % 8; used != 0)
    constant->bytes.back() &= static_cast<uint8_t>((1u << used) - 1);
}
void MakeWhole(std::optional<Function>* function) {
  if (!*function) return;
  for (Node& node : (*function)->nodes) {
    for (Attribute& attribute : node.attributes) {
      if (auto* constant = std::get_if<Constant>(&attribute.value)) MakeWhole(constant);
      if (auto* list = std::get_if<std::vector<Constant>>(&attribute.value)) {
        for (Constant& constant : *list) MakeWhole(&constant);
      }
    }
  }
}
StructType WholeType(uint64_t seed) {
  RandomSource random(seed);
  StructType type = RandomStructType(&random);
  if (auto* structure = std::get_if<StructureType>(&type.root.kind)) {
    for (Field& field : structure->fields) {
      if (auto* constant = std::get_if<Constant>(&field.content)) MakeWhole(constant);
    }
  }
  MakeWhole(&type.decoder);
  MakeWhole(&type.encoder);
  return type;
}

TEST(ConvertProperty, ValuesGoThroughMessagesUnchanged) {
  google::protobuf::LogSilencer quiet;  // about strings that are not UTF-8
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    const StructType type = WholeType(seed);
    ir::StructTypeProto proto;
    ToProto(type, &proto);
    // Through bytes, as a file would.
    ir::StructTypeProto parsed;
    ASSERT_TRUE(parsed.ParseFromString(proto.SerializeAsString()));
    Problems problems;
    Path path("type");
    StructType back = FromProto(parsed, path, &problems);
    ASSERT_TRUE(None(problems)) << "seed " << seed;
    ASSERT_TRUE(back == type) << "seed " << seed << "\n" << proto.DebugString();
    ir::StructTypeProto again;
    ToProto(back, &again);
    ASSERT_EQ(again.SerializeAsString(), proto.SerializeAsString()) << "seed " << seed;
  }
}

// What a message says that protobuf would not: presence of empty strings, and the member that holds a tensor's data.
TEST(Convert, KeepsPresenceAndStorage) {
  ir::StructTypeProto proto;
  proto.set_name("");
  proto.mutable_decoder()->set_domain("");
  proto.mutable_decoder()->add_node()->set_op_type("Neg");
  ir::TensorProto* typed = proto.mutable_structure()->add_field()->mutable_constant();
  typed->set_data_type(ir::TensorProto::INT4);
  typed->add_dims(3);
  typed->add_int32_data(0x21);
  typed->add_int32_data(0x0F);
  ir::TensorProto* raw = proto.mutable_structure()->add_field()->mutable_constant();
  raw->set_data_type(ir::TensorProto::FLOAT);
  raw->set_raw_data(std::string("\x01\x00\xA0\x7F", 4));  // a signalling NaN
  Problems problems;
  Path path("t");
  StructType type = FromProto(proto, path, &problems);
  ASSERT_TRUE(None(problems));
  EXPECT_EQ(type.name, "");
  EXPECT_EQ(type.doc_string, std::nullopt);
  EXPECT_EQ(type.decoder->domain, "");
  EXPECT_EQ(type.decoder->nodes[0].domain, std::nullopt);
  EXPECT_EQ(ConstantOfField(type, 0).storage, Constant::Storage::kTyped);
  EXPECT_EQ(ConstantOfField(type, 0).bytes, (std::vector<uint8_t>{0x21, 0x0F}));
  EXPECT_EQ(ConstantOfField(type, 1).storage, Constant::Storage::kRaw);
  EXPECT_EQ(ConstantOfField(type, 1).bytes, (std::vector<uint8_t>{0x01, 0x00, 0xA0, 0x7F}));
  ir::StructTypeProto back;
  ToProto(type, &back);
  // The fields' names are absent in `proto` and empty in `back`: a value has no absent name.
  for (int i = 0; i < 2; ++i) back.mutable_structure()->mutable_field(i)->clear_name();
  EXPECT_EQ(back.DebugString(), proto.DebugString());
}

// ---- what a value cannot hold is reported once, beside a valid model one edit away

struct Pair {
  std::string name;
  ErrorCode code;
  std::string where;
  std::function<void(ir::ModelProto*)> edit;
};
std::ostream& operator<<(std::ostream& out, const Pair& pair) { return out << pair.name; }

// [0] a type with decoder and encoder, [1] one with a part of every kind.
ir::ModelProto Valid() {
  StructType scaled = ScaledType("w");
  scaled.encoder = ScaleEncoder();
  StructType parts = Structure("s", {Part("x", E::kUint8), Part("a", Array(E::kInt16, {3})), Part("r", Ref(0)),
                                     Part("p", Packing({{"hi", 5}, {"lo", 3}}, {2})),
                                     Const("c", Tensor(E::kFloat, {2}, std::vector<uint8_t>(8)))});
  ir::ModelProto model;
  ToProto(scaled, model.add_struct_types());
  ToProto(parts, model.add_struct_types());
  return model;
}

ir::StructTypeProto::Field* FieldOf(ir::ModelProto* m, int field) {
  return m->mutable_struct_types(1)->mutable_structure()->mutable_field(field);
}
ir::TypeProto* TypeOfPart(ir::ModelProto* m, int field) { return FieldOf(m, field)->mutable_type(); }
ir::TensorProto* ConstantOf(ir::ModelProto* m) { return FieldOf(m, 4)->mutable_constant(); }
ir::FunctionProto* Decoder(ir::ModelProto* m) { return m->mutable_struct_types(0)->mutable_decoder(); }
ir::AttributeProto* CastTo(ir::ModelProto* m) { return Decoder(m)->mutable_node(0)->mutable_attribute(0); }

std::vector<Pair> Pairs() {
  const std::string scalar = "struct_types[1].structure.field[0].type";
  const std::string array = "struct_types[1].structure.field[1].type";
  const std::string constant = "struct_types[1].structure.field[4].constant";
  const std::string attribute = "struct_types[0].decoder.node[0].attribute[0]";
  using M = ir::ModelProto*;
  return {
      {"Sequence", ErrorCode::kPartKind, scalar, [](M m) { TypeOfPart(m, 0)->mutable_sequence_type(); }},
      {"Map", ErrorCode::kPartKind, scalar, [](M m) { TypeOfPart(m, 0)->mutable_map_type(); }},
      {"Optional", ErrorCode::kPartKind, scalar, [](M m) { TypeOfPart(m, 0)->mutable_optional_type(); }},
      {"SparseTensor", ErrorCode::kPartKind, scalar, [](M m) { TypeOfPart(m, 0)->mutable_sparse_tensor_type(); }},
      {"Opaque", ErrorCode::kPartKind, scalar, [](M m) { TypeOfPart(m, 0)->mutable_opaque_type(); }},
      {"NoTypeAtAll", ErrorCode::kPartKind, scalar, [](M m) { TypeOfPart(m, 0)->Clear(); }},
      {"AnyStruct", ErrorCode::kPartKind, scalar, [](M m) { TypeOfPart(m, 0)->mutable_struct_type(); }},
      {"NestedStructure", ErrorCode::kPartKind, scalar,
       [](M m) { TypeOfPart(m, 0)->mutable_struct_type()->mutable_structure(); }},
      {"SequenceOfAnArray", ErrorCode::kPartKind, array + ".struct_type.array.element_type",
       [](M m) {
         TypeOfPart(m, 1)->mutable_struct_type()->mutable_array()->mutable_element_type()->mutable_sequence_type();
       }},
      {"Denotation", ErrorCode::kPartSurplus, scalar + ".denotation",
       [](M m) { TypeOfPart(m, 0)->set_denotation("IMAGE"); }},
      {"NameOfAPart", ErrorCode::kPartSurplus, array + ".struct_type.name",
       [](M m) { TypeOfPart(m, 1)->mutable_struct_type()->set_name("n"); }},
      {"DocOfAPart", ErrorCode::kPartSurplus, array + ".struct_type.doc_string",
       [](M m) { TypeOfPart(m, 1)->mutable_struct_type()->set_doc_string(""); }},
      {"DecoderOfAPart", ErrorCode::kPartSurplus, array + ".struct_type.decoder",
       [](M m) { TypeOfPart(m, 1)->mutable_struct_type()->mutable_decoder(); }},
      {"EncoderOfAReference", ErrorCode::kPartSurplus, "struct_types[1].structure.field[2].type.struct_type.encoder",
       [](M m) { TypeOfPart(m, 2)->mutable_struct_type()->mutable_encoder(); }},
      {"MetadataOfAReference", ErrorCode::kPartSurplus,
       "struct_types[1].structure.field[2].type.struct_type.metadata_props",
       [](M m) { TypeOfPart(m, 2)->mutable_struct_type()->add_metadata_props(); }},
      {"NoShape", ErrorCode::kLeafType, scalar + ".tensor_type.shape",
       [](M m) { TypeOfPart(m, 0)->mutable_tensor_type()->clear_shape(); }},
      {"ShapeWithADimension", ErrorCode::kLeafType, scalar + ".tensor_type.shape",
       [](M m) { TypeOfPart(m, 0)->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(1); }},
      {"UnknownElementType", ErrorCode::kLeafType, scalar + ".tensor_type.elem_type",
       [](M m) { TypeOfPart(m, 0)->mutable_tensor_type()->set_elem_type(29); }},
      {"NegativeElementType", ErrorCode::kLeafType, scalar + ".tensor_type.elem_type",
       [](M m) { TypeOfPart(m, 0)->mutable_tensor_type()->set_elem_type(-1); }},
      {"NoElementType", ErrorCode::kLeafType, scalar + ".tensor_type.elem_type",
       [](M m) { TypeOfPart(m, 0)->mutable_tensor_type()->clear_elem_type(); }},
      {"Strings", ErrorCode::kLeafType, scalar + ".tensor_type.elem_type",
       [](M m) { TypeOfPart(m, 0)->mutable_tensor_type()->set_elem_type(ir::TensorProto::STRING); }},
      {"UnknownElementTypeOfAnArray", ErrorCode::kLeafType,
       array + ".struct_type.array.element_type.tensor_type.elem_type",
       [](M m) {
         TypeOfPart(m, 1)
             ->mutable_struct_type()
             ->mutable_array()
             ->mutable_element_type()
             ->mutable_tensor_type()
             ->set_elem_type(99);
       }},
      {"UnknownConstantType", ErrorCode::kLeafType, constant, [](M m) { ConstantOf(m)->set_data_type(29); }},
      {"ConstantOfStrings", ErrorCode::kLeafType, constant,
       [](M m) {
         ConstantOf(m)->Clear();
         ConstantOf(m)->set_data_type(ir::TensorProto::STRING);
         ConstantOf(m)->add_string_data("x");
       }},
      {"ConstantMarkedExternal", ErrorCode::kConstantExternal, constant,
       [](M m) { ConstantOf(m)->set_data_location(ir::TensorProto::EXTERNAL); }},
      {"ConstantWithALocation", ErrorCode::kConstantExternal, constant,
       [](M m) { ConstantOf(m)->add_external_data()->set_key("location"); }},
      {"ConstantShort", ErrorCode::kConstantData, constant, [](M m) { ConstantOf(m)->mutable_raw_data()->pop_back(); }},
      {"ConstantMissing", ErrorCode::kConstantData, constant, [](M m) { ConstantOf(m)->clear_raw_data(); }},
      {"ConstantTwice", ErrorCode::kConstantData, constant,
       [](M m) {
         for (int i = 0; i < 2; ++i) ConstantOf(m)->add_float_data(1);
       }},
      {"ConstantInTheWrongMember", ErrorCode::kConstantData, constant,
       [](M m) {
         ConstantOf(m)->clear_raw_data();
         for (int i = 0; i < 2; ++i) ConstantOf(m)->add_double_data(1);
       }},
      {"ConstantSegment", ErrorCode::kConstantData, constant + ".segment",
       [](M m) { ConstantOf(m)->mutable_segment()->set_begin(0); }},
      {"ConstantDimension", ErrorCode::kConstantDims, constant, [](M m) { ConstantOf(m)->set_dims(0, -2); }},
      {"ConstantElements", ErrorCode::kConstantDims, constant, [](M m) { ConstantOf(m)->set_dims(0, INT64_MAX); }},
      {"GraphAttribute", ErrorCode::kDecoderAttribute, attribute,
       [](M m) {
         CastTo(m)->set_type(ir::AttributeProto::GRAPH);
         CastTo(m)->mutable_g();
       }},
      {"TypeAttribute", ErrorCode::kDecoderAttribute, attribute,
       [](M m) { CastTo(m)->set_type(ir::AttributeProto::TYPE_PROTO); }},
      {"StructAttribute", ErrorCode::kDecoderAttribute, attribute,
       [](M m) { CastTo(m)->set_type(ir::AttributeProto::STRUCT); }},
      {"AttributeWithoutType", ErrorCode::kDecoderAttribute, attribute, [](M m) { CastTo(m)->clear_type(); }},
      {"ReferenceToAnAttribute", ErrorCode::kDecoderAttribute, attribute,
       [](M m) { CastTo(m)->set_ref_attr_name("to"); }},
      {"ExternalTensorInADecoder", ErrorCode::kConstantExternal, attribute + ".t",
       [](M m) {
         CastTo(m)->set_type(ir::AttributeProto::TENSOR);
         CastTo(m)->mutable_t()->set_data_type(1);
         CastTo(m)->mutable_t()->set_data_location(ir::TensorProto::EXTERNAL);
       }},
      {"FunctionAttribute", ErrorCode::kDecoderSurplus, "struct_types[0].decoder.attribute",
       [](M m) { Decoder(m)->add_attribute("alpha"); }},
      {"FunctionAttributeWithDefault", ErrorCode::kDecoderSurplus, "struct_types[0].encoder.attribute",
       [](M m) { m->mutable_struct_types(0)->mutable_encoder()->add_attribute_proto(); }},
      {"Device", ErrorCode::kDecoderSurplus, "struct_types[0].decoder.node[2].device_configurations",
       [](M m) { Decoder(m)->mutable_node(2)->add_device_configurations(); }},
      {"DimensionDenotation", ErrorCode::kDecoderSurplus, "struct_types[0].decoder.value_info[0].type",
       [](M m) {
         Decoder(m)
             ->mutable_value_info(0)
             ->mutable_type()
             ->mutable_tensor_type()
             ->mutable_shape()
             ->mutable_dim(0)
             ->set_denotation("DATA_BATCH");
       }},
      {"OutputIsASequence", ErrorCode::kDecoderOutputType, "struct_types[0].decoder.value_info[0].type",
       [](M m) { Decoder(m)->mutable_value_info(0)->mutable_type()->mutable_sequence_type(); }},
      {"OutputOfUnknownType", ErrorCode::kDecoderOutputType, "struct_types[0].decoder.value_info[0].type",
       [](M m) { Decoder(m)->mutable_value_info(0)->mutable_type()->mutable_tensor_type()->set_elem_type(29); }},
  };
}

class ConvertPair : public ::testing::TestWithParam<Pair> {};

TEST_P(ConvertPair, OneEditGivesOneProblem) {
  ir::ModelProto model = Valid();
  Problems before;
  TypeTable table = BuildTypeTable(model, Limits(), &before);
  ASSERT_TRUE(None(before));
  ASSERT_NE(table.Get(0), nullptr);
  ASSERT_NE(table.Get(1), nullptr);
  GetParam().edit(&model);
  Problems after;
  table = BuildTypeTable(model, Limits(), &after);
  EXPECT_TRUE(Only(after, GetParam().code, GetParam().where));
  EXPECT_FALSE(after.empty() || after.list()[0].fix.empty());
  EXPECT_EQ(table.Get(1), nullptr) << "[1] refers to [0]";
}

INSTANTIATE_TEST_SUITE_P(Codes, ConvertPair, ::testing::ValuesIn(Pairs()),
                         [](const auto& test) { return test.param.name; });

TEST(Convert, EveryCodeThatOnlyMessagesHaveHasAPair) {
  std::set<ErrorCode> codes;
  for (const Pair& pair : Pairs()) codes.insert(pair.code);
  EXPECT_EQ(codes, (std::set<ErrorCode>{ErrorCode::kPartKind, ErrorCode::kPartSurplus, ErrorCode::kLeafType,
                                        ErrorCode::kConstantExternal, ErrorCode::kConstantData,
                                        ErrorCode::kConstantDims, ErrorCode::kDecoderAttribute,
                                        ErrorCode::kDecoderSurplus, ErrorCode::kDecoderOutputType}));
}

// Problems of the message and of the value are one list, and a place is named once.
TEST(Convert, ListsAllProblems) {
  ir::ModelProto model = Valid();
  TypeOfPart(&model, 0)->mutable_tensor_type()->set_elem_type(77);
  TypeOfPart(&model, 1)->mutable_struct_type()->mutable_array()->clear_dimension();
  TypeOfPart(&model, 2)->mutable_struct_type()->set_name("x");
  ConstantOf(&model)->clear_raw_data();
  FieldOf(&model, 3)->set_name("x");
  model.mutable_struct_types(0)->clear_name();
  Problems problems;
  BuildTypeTable(model, Limits(), &problems);
  EXPECT_THAT(Places(problems),
              ::testing::ElementsAre("struct_types[1].structure.field[0].type.tensor_type.elem_type [leaf-type]",
                                     "struct_types[1].structure.field[2].type.struct_type.name [part-surplus]",
                                     "struct_types[1].structure.field[4].constant [constant-data]",
                                     "struct_types[0].name [type-name]",
                                     "struct_types[1].structure.field[1].type.struct_type.array.dimension "
                                     "[array-dimensions]",
                                     "struct_types[1].structure.field[3].name [field-name]"));
}

}  // namespace
}  // namespace tessera
