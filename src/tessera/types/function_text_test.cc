#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "tessera/types/notation.h"
#include "tessera/types/testing/random_type.h"

namespace tessera {
namespace {

Function Parse(const std::string& text) {
  auto function = ParseFunctionText(text, {});
  if (!function) {
    ADD_FAILURE() << function.error().Format() << "\n" << text;
    return {};
  }
  auto again = ParseFunctionText(PrintFunctionText(*function, 0), {});
  EXPECT_TRUE(again && *again == *function) << text << "\nprints as\n" << PrintFunctionText(*function, 0);
  return *std::move(function);
}

// The attributes of one node.
std::vector<Attribute> Attributes(const std::string& text) {
  Function function = Parse("f () => (y) { y = Op <" + text + "> () }");
  return function.nodes.size() == 1 ? function.nodes[0].attributes : std::vector<Attribute>{};
}

template <typename T>
T Value(const std::string& text) {
  std::vector<Attribute> attributes = Attributes("a" + text);
  if (attributes.size() != 1 || !std::holds_alternative<T>(attributes[0].value)) {
    ADD_FAILURE() << text;
    return {};
  }
  return std::get<T>(attributes[0].value);
}

TEST(FunctionText, AllPartsOfAFunction) {
  const Function function = Parse(
      "<opset_import: [\"\" : 21, \"x.y\" : 2], domain: \"tessera\", overload: \"o\", doc_string: \"d\">\n"
      "decode (values, scale) => (Y) <float[4] Y>\n"
      "{ a = Cast <to: int = 1> (values)\n Y = Mul (a, scale) }");
  EXPECT_EQ(function.name, "decode");
  EXPECT_EQ(function.domain, "tessera");
  EXPECT_EQ(function.overload, "o");
  EXPECT_EQ(function.doc_string, "d");
  EXPECT_EQ(function.opset_imports, (std::vector<OpsetImport>{{"", 21}, {"x.y", 2}}));
  EXPECT_EQ(function.inputs, (std::vector<std::string>{"values", "scale"}));
  EXPECT_EQ(function.outputs, (std::vector<std::string>{"Y"}));
  ASSERT_EQ(function.value_infos.size(), 1u);
  EXPECT_EQ(function.value_infos[0].name, "Y");
  EXPECT_EQ(function.value_infos[0].type, ElementType::kFloat);
  EXPECT_EQ(*function.value_infos[0].shape, (std::vector<Dimension>{int64_t{4}}));
  ASSERT_EQ(function.nodes.size(), 2u);
  EXPECT_EQ(function.nodes[0].op_type, "Cast");
  EXPECT_EQ(function.nodes[0].domain, std::nullopt);
  EXPECT_EQ(function.nodes[0].attributes, (std::vector<Attribute>{{"to", int64_t{1}, std::nullopt}}));
  EXPECT_EQ(function.nodes[1].inputs, (std::vector<std::string>{"a", "scale"}));
}

TEST(FunctionText, PrintedForm) {
  const std::string text =
      "  <opset_import: [\"\" : 21], domain: \"tessera\">\n"
      "  decode (values, scale) => (Y) <float[4,N,?] Y, int8 s, float[] u> {\n"
      "      [first] a = Cast <to: int = 1> (values)\n"
      "      b = Constant <value: tensor = float[2] {0.5, -1.0}> ()\n"
      "      Y = com.x.Mul:o <r: floats = [1.0, 1e-07], s: string = \"q\"> (a, \"\", scale)\n"
      "  }\n";
  auto function = ParseFunctionText(text, {});
  ASSERT_TRUE(function) << function.error().Format();
  EXPECT_EQ(PrintFunctionText(*function, 2), text);
}

TEST(FunctionText, Names) {
  const Function function = Parse("f (a, , \"b c\", \"\") => (\"\", Y) { = Op (,x) y, \"\" = \"Op 2\" (x,,y,) }");
  EXPECT_EQ(function.inputs, (std::vector<std::string>{"a", "", "b c", ""}));
  EXPECT_EQ(function.outputs, (std::vector<std::string>{"", "Y"}));
  EXPECT_THAT(function.nodes[0].outputs, ::testing::IsEmpty());
  EXPECT_EQ(function.nodes[0].inputs, (std::vector<std::string>{"", "x"}));
  EXPECT_EQ(function.nodes[1].outputs, (std::vector<std::string>{"y", ""}));
  EXPECT_EQ(function.nodes[1].op_type, "Op 2");
  EXPECT_EQ(function.nodes[1].inputs, (std::vector<std::string>{"x", "", "y"}));
  EXPECT_EQ(Parse("() => () { }").name, std::nullopt);
  EXPECT_EQ(Parse("\"\" () => () { }").name, "");
}

TEST(FunctionText, DomainsOfNodes) {
  auto domain = [](const std::string& node) { return Parse("f () => () { " + node + " }").nodes[0].domain; };
  EXPECT_EQ(domain("y = Op ()"), std::nullopt);
  EXPECT_EQ(domain("y = ai.onnx.ml.Op ()"), "ai.onnx.ml");
  EXPECT_EQ(domain("y = Op () <domain: \"\">"), "");
  EXPECT_EQ(domain("y = Op () <domain: \"a-b\">"), "a-b");
}

TEST(FunctionText, TypesInTheSignatureAreValueInfos) {
  const Function function = Parse("f (float[2] a, b, int8 c) => (float16[N,?] Y) <double Z> { }");
  EXPECT_EQ(function.inputs, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(function.outputs, (std::vector<std::string>{"Y"}));
  ASSERT_EQ(function.value_infos.size(), 4u);
  EXPECT_EQ(function.value_infos[0].name, "a");
  EXPECT_EQ(function.value_infos[1].type, ElementType::kInt8);
  EXPECT_TRUE(function.value_infos[1].shape->empty());
  EXPECT_EQ(*function.value_infos[2].shape, (std::vector<Dimension>{std::string("N"), std::monostate{}}));
  EXPECT_EQ(function.value_infos[3].name, "Z");
  // A name that is also a type's is a name where it stands alone.
  EXPECT_EQ(Parse("f (float, int8) => (double) { }").inputs, (std::vector<std::string>{"float", "int8"}));
}

TEST(FunctionText, AttributeValues) {
  EXPECT_EQ(Value<int64_t>(" = -3"), -3);
  EXPECT_EQ(Value<int64_t>(": int = 9223372036854775807"), INT64_MAX);
  EXPECT_EQ(Value<int64_t>(": int = -9223372036854775808"), INT64_MIN);
  EXPECT_EQ(Value<float>(" = 0.5"), 0.5f);
  EXPECT_EQ(Value<float>(": float = 2"), 2.0f);
  EXPECT_TRUE(std::signbit(Value<float>(": float = -0.0")));
  EXPECT_EQ(Value<float>(" = -inf"), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(std::bit_cast<uint32_t>(Value<float>(" = nan")), 0x7FC00000u);
  EXPECT_EQ(std::bit_cast<uint32_t>(Value<float>(" = bits(0xff800001)")), 0xFF800001u);
  EXPECT_EQ(Value<std::string>(" = \"a\\\"\\\\\\x00\""), std::string("a\"\\\0", 4));
  EXPECT_EQ(Value<std::vector<int64_t>>(" = [1, -2]"), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(Value<std::vector<float>>(" = [1, 2.5]"), (std::vector<float>{1, 2.5}));
  EXPECT_EQ(Value<std::vector<float>>(": floats = [1, 2]"), (std::vector<float>{1, 2}));
  EXPECT_EQ(Value<std::vector<std::string>>(" = [\"a\", \"\"]"), (std::vector<std::string>{"a", ""}));
  EXPECT_THAT(Value<std::vector<int64_t>>(": ints = []"), ::testing::IsEmpty());
  EXPECT_THAT(Value<std::vector<float>>(": floats = []"), ::testing::IsEmpty());
  EXPECT_THAT(Value<std::vector<std::string>>(": strings = []"), ::testing::IsEmpty());
  EXPECT_THAT(Value<std::vector<Constant>>(": tensors = []"), ::testing::IsEmpty());
  EXPECT_EQ(Attributes("a <doc_string: \"d\"> = 1, \"b c\" = 2")[0].doc_string, "d");
}

TEST(FunctionText, TensorsAreWrittenAsOnnxWritesThem) {
  const Constant ints = Value<Constant>(" = int64[2] name {1, -2}");
  EXPECT_EQ(ints.name, "name");
  EXPECT_EQ(ints.storage, Constant::Storage::kTyped);
  EXPECT_EQ(ints.dims, (std::vector<int64_t>{2}));
  EXPECT_EQ(ints.bytes[8], 0xFE);
  EXPECT_THAT(Value<Constant>(" = float {1.0}").dims, ::testing::IsEmpty());
  // Floats of 16 bits and less as their bits, where they are whole numbers.
  EXPECT_EQ(Value<Constant>(" = float16[2] {15360, 1.0}").bytes, (std::vector<uint8_t>{0, 0x3C, 0, 0x3C}));
  EXPECT_EQ(Value<Constant>(" = float8e4m3fn[1] {56}").bytes, (std::vector<uint8_t>{56}));
  EXPECT_EQ(Value<Constant>(" = float4e2m1[2] {1, 2}").bytes, (std::vector<uint8_t>{0x21}));
  EXPECT_EQ(Value<Constant>(" = bool[2] {1, 0}").bytes, (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(Value<Constant>(" = bool[2] {bits(0x02), 1}").bytes, (std::vector<uint8_t>{2, 1}));
  EXPECT_EQ(Value<Constant>(" = complex64[1] {1.0, -2.0}"), Value<Constant>(" = complex64[1] {complex(1, -2)}"));
  const Constant raw = Value<Constant>(" = string[1] {} <raw: \"0aFF\", storage: raw, name: \"a b\">");
  EXPECT_EQ(raw.bytes, (std::vector<uint8_t>{0x0A, 0xFF}));
  EXPECT_EQ(raw.storage, Constant::Storage::kRaw);
  EXPECT_EQ(raw.name, "a b");
}

TEST(FunctionText, WhatOnnxCannotSay) {
  const Function function = Parse(
      "<opset_import: [none : 13], metadata_props: [\"k\" : \"v\"]> f (x) => (y) "
      "<float y <doc_string: \"d\", metadata_props: [\"a\" : \"b\"]>> "
      "{ y = Neg (x) <doc_string: \"n\", overload: \"a b\", metadata_props: [\"c\" : \"d\", \"c\" : \"e\"]> }");
  EXPECT_EQ(function.opset_imports[0].domain, std::nullopt);
  EXPECT_EQ(function.metadata, (std::vector<Metadata>{{"k", "v"}}));
  EXPECT_EQ(function.value_infos[0].doc_string, "d");
  EXPECT_EQ(function.value_infos[0].metadata, (std::vector<Metadata>{{"a", "b"}}));
  EXPECT_EQ(function.nodes[0].doc_string, "n");
  EXPECT_EQ(function.nodes[0].overload, "a b");
  EXPECT_EQ(function.nodes[0].metadata, (std::vector<Metadata>{{"c", "d"}, {"c", "e"}}));
}

TEST(FunctionText, DescriptiveFormIsTheSameFunction) {
  auto described = ParseNotation(
      "StructTypeProto { decoder: FunctionProto { name: \"f\" domain: \"d\" overload: \"o\" doc_string: \"s\" "
      "input: \"a\" input: [\"b\", \"c\"] output: \"Y\" opset_import: { domain: \"\" version: 21 } "
      "opset_import: [{ version: 1 }] metadata_props: { key: \"k\" value: \"v\" } "
      "value_info: { name: \"Y\" doc_string: \"y\" metadata_props: { key: \"m\" value: \"w\" } type: TypeProto { "
      "tensor_type: "
      "Tensor { elem_type: FLOAT shape: TensorShapeProto { dim: { dim_value: 2 + 2 } dim: { dim_param: \"N\" } dim: { "
      "} } } } } "
      "body: { Y = Mul (a, b) } } }",
      {});
  ASSERT_TRUE(described) << described.error().Format();
  EXPECT_EQ(
      *described->types[0].decoder,
      Parse(
          "<domain: \"d\", overload: \"o\", doc_string: \"s\", opset_import: [\"\" : 21, none : 1], metadata_props: "
          "[\"k\" : \"v\"]> f (a, b, c) => (Y) <float[4, N, ?] Y <doc_string: \"y\", metadata_props: [\"m\" : \"w\"]>> "
          "{ Y = Mul (a, b) }"));
  // As in the founding document: what is returned, without a body.
  auto bare = ParseNotation("StructTypeProto { decoder: FunctionProto { output: \"Y\" // later\n } }", {});
  ASSERT_TRUE(bare) << bare.error().Format();
  EXPECT_THAT(bare->types[0].decoder->nodes, ::testing::IsEmpty());
}

TEST(FunctionText, ErrorsSayWhere) {
  struct Case {
    const char* wrong;
    const char* right;
    const char* where;
    ErrorCode code;
  };
  const std::vector<Case> cases = {
      {"f () => ()", "f () => () {}", "text:1:11", ErrorCode::kSyntax},
      {"f () => () {} x", "f () => () {}", "text:1:15", ErrorCode::kSyntax},
      {"<opset: []> f () => () {}", "<opset_import: []> f () => () {}", "text:1:2", ErrorCode::kSyntax},
      {"<domain: \"a\", domain: \"b\"> f () => () {}", "<domain: \"a\"> f () => () {}", "text:1:15",
       ErrorCode::kSyntax},
      {"f () => () {\n  y = Op <a = @r> () }", "f () => () {\n  y = Op <a = 1> () }", "text:2:15", ErrorCode::kSyntax},
      {"f <a> () => () {}", "f () => () {}", "text:1:3", ErrorCode::kSyntax},
      {"f () => () <float32 y> {}", "f () => () <float y> {}", "text:1:13", ErrorCode::kSyntax},
      {"f () => () <float[9223372036854775808] y> {}", "f () => () <float[9223372036854775807] y> {}", "text:1:19",
       ErrorCode::kExpression},
      {"f () => () { y = Op <a = 9223372036854775808> () }", "f () => () { y = Op <a = 9223372036854775807> () }",
       "text:1:26", ErrorCode::kLiteral},
      {"f () => () { y = Op <a = 1e39> () }", "f () => () { y = Op <a = 1e38> () }", "text:1:26", ErrorCode::kLiteral},
      {"f () => () { y = Op <a = nothing> () }", "f () => () { y = Op <a = nan> () }", "text:1:26",
       ErrorCode::kUnbound},
      {"f () => () { y = Op <a = -nothing> () }", "f () => () { y = Op <a = -nan> () }", "text:1:27",
       ErrorCode::kUnbound},
      {"f () => () { y = Op <a = -(1> () }", "f () => () { y = Op <a = -(1)> () }", "text:1:29", ErrorCode::kSyntax},
      {"f () => () { y = Op <a = [[1.0]]> () }", "f () => () { y = Op <a = [1.0]> () }", "text:1:27",
       ErrorCode::kSyntax},
  };
  for (const Case& c : cases) {
    Parse(c.right);
    auto wrong = ParseFunctionText(c.wrong, {});
    ASSERT_FALSE(wrong) << c.wrong;
    EXPECT_EQ(wrong.error().where, c.where) << c.wrong << wrong.error().Format();
    EXPECT_EQ(wrong.error().code, c.code) << wrong.error().Format();
  }
}

TEST(FunctionText, RandomFunctionsComeBack) {
  for (uint64_t seed = 0; seed < 20'000 && !::testing::Test::HasFailure(); ++seed) {
    RandomSource random(seed);
    const Function function = RandomFunction(&random);
    const std::string text = PrintFunctionText(function, static_cast<int>(random.Below(9)));
    auto again = ParseFunctionText(text, {});
    ASSERT_TRUE(again) << seed << ": " << again.error().Format() << "\n" << text;
    EXPECT_TRUE(*again == function) << seed << ":\n" << text;
  }
}

// The texts that python/tests/test_function_text.py gives to ONNX's own parser.
TEST(FunctionText, CommittedTextsPrintAsTheyAre) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TESSERA_SOURCE_DIR "/testdata/functions")) {
    if (entry.path().extension() != ".onnxtxt") continue;
    ++files;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    auto function = ParseFunctionText(text, {});
    ASSERT_TRUE(function) << entry.path() << function.error().Format();
    EXPECT_EQ(PrintFunctionText(*function, 0), text) << entry.path();
  }
  EXPECT_GE(files, 3u);
}

}  // namespace
}  // namespace tessera
