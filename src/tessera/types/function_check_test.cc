#include "tessera/types/function_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "tessera/types/operators.h"
#include "tessera/types/testing/type_builders.h"

namespace tessera {
namespace {

using namespace build;  // NOLINT(google-build-using-namespace)
using E = ElementType;
using ::testing::ElementsAre;

// ---- each rejection beside a valid function one edit away

struct Pair {
  std::string name;
  ErrorCode code;
  std::string where;                       // below struct_types[0]
  std::function<void(StructType*)> valid;  // from ScaledType with an encoder
  std::function<void(StructType*)> edit;
};
std::ostream& operator<<(std::ostream& out, const Pair& pair) { return out << pair.name; }

void Same(StructType*) {}

// Adds a node whose result nothing reads, so that one problem in it stays one problem.
std::function<void(StructType*)> With(Node node, int64_t opset = 21) {
  return [node, opset](StructType* t) {
    t->decoder->nodes.push_back(node);
    t->decoder->opset_imports[0].version = opset;
  };
}

Node& Last(StructType* t) { return t->decoder->nodes.back(); }

std::vector<Pair> Pairs() {
  const Constant number = Tensor(E::kFloat, {}, {0, 0, 0x80, 0x3F});
  return {
      {"InputSurplus", ErrorCode::kDecoderInputs, "decoder.input", Same,
       [](StructType* t) { t->decoder->inputs.push_back("more"); }},
      {"InputMissing", ErrorCode::kDecoderInputs, "decoder.input",
       [](StructType* t) {
         Fields(*t).push_back(Part("unused", E::kUint8));
         t->decoder->inputs.push_back("unused");
         t->encoder.reset();
       },
       [](StructType* t) { t->decoder->inputs.pop_back(); }},
      {"InputName", ErrorCode::kDecoderInputs, "decoder.input[1]", Same,
       [](StructType* t) {
         t->decoder->inputs[1] = "scales";
         t->decoder->nodes[1].inputs[0] = "scales";
       }},
      {"NoOutput", ErrorCode::kDecoderOutput, "decoder.output", Same,
       [](StructType* t) { t->decoder->outputs.clear(); }},
      {"TwoOutputs", ErrorCode::kDecoderOutput, "decoder.output", Same,
       [](StructType* t) { t->decoder->outputs.push_back("c"); }},
      {"OutputThatNothingProduces", ErrorCode::kDecoderOutput, "decoder.output[0]", Same,
       [](StructType* t) {
         t->decoder->outputs[0] = "Z";
         t->decoder->value_infos[0].name = "Z";
       }},
      {"EncoderTwoOutputs", ErrorCode::kDecoderOutput, "encoder.output", Same,
       [](StructType* t) { t->encoder->outputs.push_back("q"); }},
      {"NoValueInfo", ErrorCode::kDecoderOutputType, "decoder.value_info", Same,
       [](StructType* t) { t->decoder->value_infos.clear(); }},
      {"TwoValueInfos", ErrorCode::kDecoderOutputType, "decoder.value_info", Same,
       [](StructType* t) { t->decoder->value_infos.push_back(t->decoder->value_infos[0]); }},
      {"NoShape", ErrorCode::kDecoderOutputType, "decoder.value_info", Same,
       [](StructType* t) { t->decoder->value_infos[0].shape.reset(); }},
      {"SymbolicDimension", ErrorCode::kDecoderOutputType, "decoder.value_info", Same,
       [](StructType* t) { (*t->decoder->value_infos[0].shape)[0] = "N"; }},
      {"UnknownDimension", ErrorCode::kDecoderOutputType, "decoder.value_info", Same,
       [](StructType* t) { (*t->decoder->value_infos[0].shape)[0] = std::monostate(); }},
      {"NegativeDimension", ErrorCode::kDecoderOutputType, "decoder.value_info", Same,
       [](StructType* t) { (*t->decoder->value_infos[0].shape)[0] = int64_t{-4}; }},
      {"OutputOfStrings", ErrorCode::kDecoderOutputType, "decoder.value_info", Same,
       [](StructType* t) { t->decoder->value_infos[0].type = E::kString; }},
      {"OutputOfAnotherType", ErrorCode::kDecoderOutputType, "decoder.value_info",
       [](StructType* t) { t->encoder.reset(); }, [](StructType* t) { t->decoder->value_infos[0].type = E::kFloat16; }},
      {"EncoderNoValueInfo", ErrorCode::kDecoderOutputType, "encoder.value_info", Same,
       [](StructType* t) { t->encoder->value_infos.pop_back(); }},
      {"UnknownOperator", ErrorCode::kDecoderOperator, "decoder.node[3].op_type", With(Op("Floor", {"s"}, {"u"})),
       [](StructType* t) { Last(t).op_type = "Sin"; }},
      {"RandomOperator", ErrorCode::kDecoderOperator, "decoder.node[3].op_type", With(Op("Identity", {"s"}, {"u"})),
       [](StructType* t) { Last(t).op_type = "RandomNormalLike"; }},
      {"OtherDomain", ErrorCode::kDecoderOperator, "decoder.node[3].op_type",
       [](StructType* t) {
         With(Op("Floor", {"s"}, {"u"}))(t);
         Last(t).domain = "ai.onnx";
       },
       [](StructType* t) { Last(t).domain = "com.microsoft"; }},
      {"OperatorOfALaterOpset", ErrorCode::kDecoderOperator, "decoder.node[3].op_type",
       With(Op("BitwiseAnd", {"codes", "codes"}, {"u"}), 18),
       [](StructType* t) { t->decoder->opset_imports[0].version = 17; }},
      {"Overload", ErrorCode::kDecoderOperator, "decoder.node[3].overload", With(Op("Floor", {"s"}, {"u"})),
       [](StructType* t) { Last(t).overload = "x"; }},
      {"TooFewInputs", ErrorCode::kDecoderOperator, "decoder.node[3].input", With(Op("Add", {"c", "c"}, {"u"})),
       [](StructType* t) { Last(t).inputs.pop_back(); }},
      {"TooManyInputs", ErrorCode::kDecoderOperator, "decoder.node[3].input", With(Op("Add", {"c", "c"}, {"u"})),
       [](StructType* t) { Last(t).inputs.push_back("c"); }},
      {"InputOfALaterOpset", ErrorCode::kDecoderOperator, "decoder.node[4].input",
       [](StructType* t) {
         With(Op("Constant", {}, {"axes"}, {Attr("value_ints", std::vector<int64_t>{0, 0})}), 18)(t);
         With(Op("Pad", {"c", "axes", "", "axes"}, {"u"}), 18)(t);
       },
       [](StructType* t) { t->decoder->opset_imports[0].version = 17; }},
      {"OmittedRequiredInput", ErrorCode::kDecoderOperator, "decoder.node[3].input[1]",
       With(Op("Clip", {"c", "", "s"}, {"u"})), [](StructType* t) { Last(t) = Op("Add", {"c", ""}, {"u"}); }},
      {"WrongElementType", ErrorCode::kDecoderOperator, "decoder.node[3].input[0]", With(Op("Floor", {"c"}, {"u"})),
       [](StructType* t) { Last(t).inputs[0] = "codes"; }},
      {"MixedElementTypes", ErrorCode::kDecoderOperator, "decoder.node[3].input[1]", With(Op("Add", {"c", "s"}, {"u"})),
       [](StructType* t) { Last(t).inputs[1] = "codes"; }},
      {"NoOutputOfANode", ErrorCode::kDecoderOperator, "decoder.node[3].output", With(Op("Floor", {"c"}, {"u"})),
       [](StructType* t) { Last(t).outputs.clear(); }},
      {"TwoOutputsOfANode", ErrorCode::kDecoderOperator, "decoder.node[3].output",
       With(Op("Split", {"c"}, {"u", "v"}, {Attr("num_outputs", int64_t{2})})),
       [](StructType* t) { Last(t) = Op("Floor", {"c"}, {"u", "v"}); }},
      {"ResultTypeOfALaterOpset", ErrorCode::kDecoderOperator, "decoder.node[3]",
       With(Op("Cast", {"codes"}, {"u"}, {To(E::kInt4)})), [](StructType* t) { Last(t).attributes[0] = To(E::kInt2); }},
      {"NoOpset", ErrorCode::kDecoderOpset, "decoder.opset_import", Same,
       [](StructType* t) { t->decoder->opset_imports.clear(); }},
      {"TwoOpsets", ErrorCode::kDecoderOpset, "decoder.opset_import", Same,
       [](StructType* t) { t->decoder->opset_imports.push_back({"ai.onnx.ml", 3}); }},
      {"OpsetOfAnotherDomain", ErrorCode::kDecoderOpset, "decoder.opset_import", Same,
       [](StructType* t) { t->decoder->opset_imports[0].domain = "ai.onnx.ml"; }},
      {"Opset12", ErrorCode::kDecoderOpset, "decoder.opset_import[0].version",
       [](StructType* t) { t->decoder->opset_imports[0].version = 13; },
       [](StructType* t) { t->decoder->opset_imports[0].version = 12; }},
      {"Opset27", ErrorCode::kDecoderOpset, "decoder.opset_import[0].version",
       [](StructType* t) { t->decoder->opset_imports[0].version = 26; },
       [](StructType* t) { t->decoder->opset_imports[0].version = 27; }},
      {"UnknownAttribute", ErrorCode::kDecoderAttribute, "decoder.node[3].attribute[0]",
       With(Op("Flatten", {"c"}, {"u"}, {Attr("axis", int64_t{0})})),
       [](StructType* t) { Last(t).attributes[0].name = "axes"; }},
      {"AttributeOfALaterOpset", ErrorCode::kDecoderAttribute, "decoder.node[3].attribute[1]",
       With(Op("Cast", {"c"}, {"u"}, {To(E::kInt8), Attr("saturate", int64_t{1})}), 19),
       [](StructType* t) { t->decoder->opset_imports[0].version = 18; }},
      {"CastWithoutTo", ErrorCode::kDecoderAttribute, "decoder.node[3]", With(Op("Cast", {"c"}, {"u"}, {To(E::kInt8)})),
       [](StructType* t) { Last(t).attributes.clear(); }},
      {"CastToAString", ErrorCode::kDecoderAttribute, "decoder.node[3]", With(Op("Cast", {"c"}, {"u"}, {To(E::kInt8)})),
       [](StructType* t) { Last(t).attributes[0].value = "INT8"; }},
      {"CastToNoType", ErrorCode::kDecoderAttribute, "decoder.node[3]", With(Op("Cast", {"c"}, {"u"}, {To(E::kInt8)})),
       [](StructType* t) { Last(t).attributes[0].value = int64_t{29}; }},
      {"ConstantWithoutValue", ErrorCode::kDecoderAttribute, "decoder.node[3]",
       With(Op("Constant", {}, {"u"}, {Attr("value", number)})), [](StructType* t) { Last(t).attributes.clear(); }},
      {"ConstantWithTwoValues", ErrorCode::kDecoderAttribute, "decoder.node[3]",
       With(Op("Constant", {}, {"u"}, {Attr("value_int", int64_t{1})})),
       [](StructType* t) { Last(t).attributes.push_back(Attr("value_float", 1.0f)); }},
      {"ConstantOfTheWrongKind", ErrorCode::kDecoderAttribute, "decoder.node[3].attribute[0]",
       With(Op("Constant", {}, {"u"}, {Attr("value_floats", std::vector<float>{1.0f})})),
       [](StructType* t) { Last(t).attributes[0].value = std::vector<int64_t>{1}; }},
      {"Capture", ErrorCode::kDecoderCapture, "decoder.node[3].input[0]", With(Op("Floor", {"c"}, {"u"})),
       [](StructType* t) { Last(t).inputs[0] = "weight"; }},
      {"ResultOfALaterNode", ErrorCode::kDecoderCapture, "decoder.node[3].input[0]",
       [](StructType* t) {
         With(Op("Floor", {"c"}, {"u"}))(t);
         With(Op("Floor", {"c"}, {"v"}))(t);
       },
       [](StructType* t) { t->decoder->nodes[3].inputs[0] = "v"; }},
      {"EncoderCapture", ErrorCode::kDecoderCapture, "encoder.node[0].input[0]", Same,
       [](StructType* t) { t->encoder->nodes[0].inputs[0] = "codes"; }},
      {"ResultTwice", ErrorCode::kDecoderTwice, "decoder.node[3].output[0]", With(Op("Floor", {"c"}, {"u"})),
       [](StructType* t) { Last(t).outputs[0] = "c"; }},
      {"ResultWithTheNameOfAnInput", ErrorCode::kDecoderTwice, "decoder.node[3].output[0]",
       With(Op("Floor", {"c"}, {"u"})), [](StructType* t) { Last(t).outputs[0] = "scale"; }},
      {"EncoderInputs", ErrorCode::kEncoderInput, "encoder.input", Same,
       [](StructType* t) { t->encoder->inputs.push_back("Z"); }},
      {"EncoderInputsWithoutDecoder", ErrorCode::kEncoderInput, "encoder.input",
       [](StructType* t) { t->decoder.reset(); }, [](StructType* t) { t->encoder->inputs.push_back("Z"); }},
      {"EncoderInputShape", ErrorCode::kEncoderInput, "encoder.value_info", Same,
       [](StructType* t) { (*t->encoder->value_infos[0].shape)[0] = int64_t{5}; }},
      {"EncoderInputType", ErrorCode::kEncoderInput, "encoder.value_info", Same,
       [](StructType* t) { t->encoder->value_infos[0].type = E::kDouble; }},
      {"EncoderSize", ErrorCode::kEncoderOutput, "encoder.value_info", Same,
       [](StructType* t) { (*t->encoder->value_infos[1].shape)[0] = int64_t{7}; }},
      {"EncoderRank", ErrorCode::kEncoderOutput, "encoder.value_info", Same,
       [](StructType* t) { t->encoder->value_infos[1].shape = {int64_t{2}, int64_t{3}}; }},
      {"EncoderType", ErrorCode::kEncoderOutput, "encoder.value_info", Same,
       [](StructType* t) {
         t->encoder->nodes[0].attributes[0] = To(E::kInt8);
         std::get<Constant>(t->encoder->nodes[1].attributes[0].value).type = E::kInt8;
         t->encoder->value_infos[1].type = E::kInt8;
       }},
  };
}

class FunctionPair : public ::testing::TestWithParam<Pair> {};

TEST_P(FunctionPair, OneEditGivesOneProblem) {
  StructType type = ScaledType("w");
  type.encoder = ScaleEncoder();
  GetParam().valid(&type);
  Problems before;
  EXPECT_NE(TypeTable::Build({type}, Limits(), &before).Get(0), nullptr);
  ASSERT_TRUE(None(before));
  GetParam().edit(&type);
  Problems after;
  EXPECT_EQ(TypeTable::Build({type}, Limits(), &after).Get(0), nullptr);
  EXPECT_TRUE(Only(after, GetParam().code, "struct_types[0]." + GetParam().where));
  EXPECT_FALSE(after.empty() || after.list()[0].fix.empty());
}

INSTANTIATE_TEST_SUITE_P(Codes, FunctionPair, ::testing::ValuesIn(Pairs()),
                         [](const auto& test) { return test.param.name; });

TEST(FunctionCheck, EveryCodeOfThisCheckerHasAPair) {
  std::set<ErrorCode> codes;
  for (const Pair& pair : Pairs()) codes.insert(pair.code);
  std::set<ErrorCode> expected;
  for (int c = static_cast<int>(ErrorCode::kDecoderInputs); c <= static_cast<int>(ErrorCode::kEncoderOutput); ++c) {
    expected.insert(static_cast<ErrorCode>(c));
  }
  expected.erase(ErrorCode::kDecoderSurplus);  // of messages: convert_test.cc
  EXPECT_EQ(codes, expected);
}

TEST(FunctionCheck, LeavesInAnotherOrderAreTwoProblems) {
  StructType type = ScaledType("w");
  std::swap(type.decoder->inputs[0], type.decoder->inputs[1]);
  Problems problems;
  TypeTable::Build({type}, Limits(), &problems);
  EXPECT_THAT(Places(problems), ElementsAre("struct_types[0].decoder.input[0] [decoder-inputs]",
                                            "struct_types[0].decoder.input[1] [decoder-inputs]"));
}

TEST(FunctionCheck, ListsAllProblems) {
  StructType type = ScaledType("w");
  Function& f = *type.decoder;
  f.opset_imports[0].version = 9;
  f.inputs[0] = "code";
  f.nodes[0].op_type = "Loop";
  f.nodes[2].inputs.push_back("");
  f.value_infos.clear();
  Problems problems;
  TypeTable::Build({type}, Limits(), &problems);
  EXPECT_THAT(Places(problems), ElementsAre("struct_types[0].decoder.input[0] [decoder-inputs]",
                                            "struct_types[0].decoder.opset_import[0].version [decoder-opset]",
                                            "struct_types[0].decoder.node[0].input[0] [decoder-capture]",
                                            "struct_types[0].decoder.node[0].op_type [decoder-operator]",
                                            "struct_types[0].decoder.node[2].input [decoder-operator]",
                                            "struct_types[0].decoder.value_info [decoder-output-type]"));
}

// Only the root's decoder counts, but that of a part is checked where it is declared.
TEST(FunctionCheck, DecoderOfAPartIsCheckedAgainstThePart) {
  std::vector<StructType> types = {ScaledType("part"), Structure("whole", {Part("p", Array(Ref(0), {3}))})};
  Problems problems;
  TypeTable table = TypeTable::Build(types, Limits(), &problems);
  ASSERT_TRUE(None(problems));
  EXPECT_FALSE(table.Get(1)->declaration.decoder.has_value());
  types[0].decoder->inputs[0] = "p_codes";
  TypeTable::Build(types, Limits(), &problems);
  EXPECT_EQ(Places(problems)[0], "struct_types[0].decoder.input[0] [decoder-inputs]");
}

// A decoder may return a leaf as it is.
TEST(FunctionCheck, OutputMayBeAnInput) {
  StructType type = Declare("a", Array(E::kFloat, {3}));
  Function f;
  f.opset_imports = {{std::nullopt, 13}};
  f.inputs = {"values"};
  f.outputs = {"values"};
  f.value_infos = {Info("values", E::kFloat, {int64_t{3}})};
  type.decoder = f;
  Problems problems;
  TypeTable table = TypeTable::Build({type}, Limits(), &problems);
  EXPECT_TRUE(None(problems));
  std::optional<OutputSignature> output = DeclaredOutput(*table.Get(0)->declaration.decoder);
  ASSERT_TRUE(output);
  EXPECT_EQ(output->name, "values");
  EXPECT_EQ(output->type, E::kFloat);
  EXPECT_THAT(output->dims, ElementsAre(3));
}

// ---- every operator of the table

E FirstOf(TypeMask mask) {
  for (const ElementInfo& row : AllElementTypes()) {
    if ((mask & MaskOf(row.type)) != 0) return row.type;
  }
  return E::kUndefined;
}

// A function of one node of that operator, with all inputs that it has at the opset.
struct OneNode {
  Function function;
  std::vector<Leaf> leaves;
  std::vector<size_t> t_inputs;  // positions whose type is T
};

OneNode Use(const Operator& op, int64_t opset) {
  OneNode use;
  const TypeMask types = Types(op.types, opset);
  Node node = Op(std::string(op.name), {}, {"y"});
  auto add_input = [&](char letter) {
    E type = letter == 'T' ? FirstOf(types) : letter == 'B' ? E::kBool : letter == 'N' ? E::kInt32 : E::kInt64;
    if (letter == 'T') use.t_inputs.push_back(node.inputs.size());
    Leaf leaf;
    leaf.path = leaf.input_name = "x" + std::to_string(node.inputs.size());
    leaf.type = type;
    use.leaves.push_back(leaf);
    node.inputs.push_back(leaf.input_name);
    use.function.inputs.push_back(leaf.input_name);
  };
  for (const OperatorInput& input : Inputs(op)) {
    if (input.since <= opset) add_input(input.letter);
    if (input.variadic) add_input(input.letter);
  }
  E result = ResultOf(op) == "T" ? FirstOf(types) : ResultOf(op) == "B" ? E::kBool : E::kInt64;
  if (ResultOf(op) == "to") {
    result = E::kUint8;
    node.attributes = {To(result)};
  } else if (ResultOf(op) == "value") {
    result = E::kUint8;
    node.attributes = {Attr("value", Tensor(E::kUint8, {1}, {1}))};
  }
  use.function.nodes = {node};
  use.function.outputs = {"y"};
  use.function.opset_imports = {{"", opset}};
  use.function.value_infos = {Info("y", result, {int64_t{1}})};
  return use;
}

Problems Check(const OneNode& use) {
  Problems problems;
  Path path("f");
  CheckDecoder(use.function, use.leaves, path, &problems);
  return problems;
}

TEST(Operators, EveryRowIsAcceptedAsItsSignatureSaysAndNotOtherwise) {
  EXPECT_GE(AllOperators().size(), 50u);
  for (const Operator& op : AllOperators()) {
    for (int64_t opset : {op.since, kMaxOpset}) {
      SCOPED_TRACE(std::string(op.name) + " at opset " + std::to_string(opset));
      const OneNode use = Use(op, opset);
      EXPECT_TRUE(None(Check(use)));

      OneNode edited = use;
      edited.function.nodes[0].attributes.push_back(Attr("no_such_attribute", int64_t{1}));
      EXPECT_FALSE(Check(edited).empty());
      EXPECT_EQ(Check(edited).list()[0].code, ErrorCode::kDecoderAttribute);

      edited = use;
      edited.function.nodes[0].domain = "ai.onnx.ml";
      EXPECT_TRUE(Only(Check(edited), ErrorCode::kDecoderOperator, "f.node[0].op_type"));

      edited = use;
      edited.function.nodes[0].inputs.clear();
      if (!use.function.inputs.empty()) {
        EXPECT_TRUE(Only(Check(edited), ErrorCode::kDecoderOperator, "f.node[0].input"));
      }

      // A type outside the family in place of the first T.
      const TypeMask types = Types(op.types, opset);
      for (const ElementInfo& row : AllElementTypes()) {
        if (!IsFixedWidth(row.type) || use.t_inputs.empty()) continue;
        edited = use;
        for (size_t i : use.t_inputs) edited.leaves[i].type = row.type;
        if (ResultOf(op) == "T") edited.function.value_infos[0].type = row.type;
        EXPECT_EQ(Check(edited).empty(), (types & MaskOf(row.type)) != 0) << Name(row.type);
      }
    }
    if (op.since > kMinOpset) {
      EXPECT_TRUE(Only(Check(Use(op, op.since - 1)), ErrorCode::kDecoderOperator, "f.node[0].op_type")) << op.name;
    }
  }
}

}  // namespace
}  // namespace tessera
