#include "tessera/types/notation.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "tessera/types/element_type.h"
#include "tessera/types/element_value.h"
#include "tessera/types/testing/random_type.h"
#include "tessera/types/type_table.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A declaration whose structure has these fields.
std::string WithFields(const std::string& fields) {
  return "StructTypeProto {\n  structure: Structure {\n" + fields + "\n  }\n}\n";
}

StructType ParseOne(const std::string& text, const NotationOptions& options = {}) {
  auto result = ParseNotation(text, options);
  if (!result) {
    ADD_FAILURE() << result.error().Format() << "\n" << text;
    return {};
  }
  EXPECT_THAT(result->unbound, ::testing::IsEmpty()) << text;
  if (result->types.size() != 1) {
    ADD_FAILURE() << result->types.size() << " types in " << text;
    return {};
  }
  return result->types[0];
}

Field ParseField(const std::string& field, const NotationOptions& options = {}) {
  StructType type = ParseOne(WithFields("    field: { " + field + " }"), options);
  auto* structure = std::get_if<StructureType>(&type.root.kind);
  if (structure == nullptr || structure->fields.size() != 1) {
    ADD_FAILURE() << field;
    return {};
  }
  return structure->fields[0];
}

PhysicalType ParsePart(const std::string& part, const NotationOptions& options = {}) {
  Field field = ParseField("name: \"f\", type: " + part, options);
  auto* type = std::get_if<PhysicalType>(&field.content);
  return type == nullptr ? PhysicalType{} : *type;
}

Constant ParseConstant(const std::string& constant, const NotationOptions& options = {}) {
  Field field = ParseField("name: \"f\", constant: " + constant, options);
  auto* value = std::get_if<Constant>(&field.content);
  return value == nullptr ? Constant{} : *value;
}

void ExpectPrintsAndParses(const std::vector<StructType>& types) {
  const std::string text = PrintNotation(types);
  auto again = ParseNotation(text, {});
  ASSERT_TRUE(again) << again.error().Format() << "\n" << text;
  EXPECT_TRUE(again->unbound.empty()) << text;
  EXPECT_TRUE(again->types == types) << text << "\nbecame\n" << PrintNotation(again->types);
}

Constant Data(ElementType type, std::vector<int64_t> dims, size_t bytes) {
  Constant constant;
  constant.type = type;
  constant.dims = std::move(dims);
  for (size_t i = 0; i < bytes; ++i) constant.bytes.push_back(static_cast<uint8_t>(i % 50));
  return constant;
}

PhysicalType Array(PhysicalType element, std::vector<uint64_t> dims) {
  return {ArrayType{.element = std::move(element), .dims = std::move(dims)}};
}

// ---- what is said means what it should

TEST(Notation, Parts) {
  const PhysicalType u8{ScalarType{ElementType::kUint8}};
  EXPECT_EQ(ParsePart("UINT8"), u8);
  EXPECT_EQ(ParsePart("TypeProto { tensor_type: Tensor { elem_type: UINT8 shape: TensorShapeProto { } } }"), u8);
  EXPECT_EQ(ParsePart("array(UINT8, dimension=24)"), Array(u8, {24}));
  EXPECT_EQ(ParsePart("array(UINT8, dimensions=[2, 3])"), Array(u8, {2, 3}));
  EXPECT_EQ(ParsePart("array(UINT8, dimension=2, dimension=3,)"), Array(u8, {2, 3}));
  EXPECT_EQ(ParsePart("array(array(UINT8, dimension=2), dimension=3)"), Array(Array(u8, {2}), {3}));
  EXPECT_EQ(
      ParsePart("TypeProto { struct_type: StructTypeProto { array: Array { element_type: UINT8 dimension: 2 } } }"),
      Array(u8, {2}));
  EXPECT_EQ(ParsePart("struct(type_index=7)"), PhysicalType{TypeReference{7}});
  EXPECT_EQ(ParsePart("array(UINT8, dimension=18446744073709551615)"), Array(u8, {UINT64_MAX}));
  BitPackingType packing{.components = {{"sign", 1}, {"exponent", 3}}, .dims = {4}};
  EXPECT_EQ(ParsePart("bit_packing(dimension=4, components=[sign:1, exponent:3])"), PhysicalType{packing});
  EXPECT_EQ(ParsePart("bit_packing(components=[\"sign\":1, exponent:3,], dimension=4)"), PhysicalType{packing});
}

TEST(Notation, EveryScalarTypeByName) {
  for (const ElementInfo& info : AllElementTypes()) {
    const PhysicalType type{ScalarType{info.type}};
    EXPECT_EQ(ParsePart(std::string(info.name)), type);
    EXPECT_EQ(PrintPhysicalType(type), info.name);
  }
}

TEST(Notation, RootsAsMessagesAndInShort) {
  const PhysicalType expected = Array({ScalarType{ElementType::kFloat}}, {32, 128});
  EXPECT_EQ(ParseOne("StructTypeProto { array: Array { element_type: FLOAT dimension: 32 dimension: 128 } }").root,
            expected);
  EXPECT_EQ(ParseOne("StructTypeProto { array: Array { dimension: [32, 128], element_type: FLOAT, } }").root, expected);
  EXPECT_EQ(ParseOne("StructTypeProto{array:array(FLOAT,dimensions=[32,128])}").root, expected);
  const PhysicalType packing{BitPackingType{.components = {{"code", 6}}, .dims = {4}}};
  EXPECT_EQ(ParseOne("StructTypeProto { bit_packing: bit_packing(dimension=4, components=[code:6]) }").root, packing);
  EXPECT_EQ(
      ParseOne(
          "StructTypeProto { bit_packing: BitPacking { component: { name: \"code\" bit_width: 6 } dimension: 4 } }")
          .root,
      packing);
  EXPECT_EQ(ParseOne("StructTypeProto { type_index: 2 }").root, PhysicalType{TypeReference{2}});
  EXPECT_EQ(ParseOne("StructTypeProto { }").root, PhysicalType{});
}

TEST(Notation, CommentsCommasAndLines) {
  const StructType plain = ParseOne(WithFields("field: { name: \"a\" type: INT8 } field: { name: \"b\" type: INT4 }"));
  EXPECT_EQ(ParseOne(WithFields("field: [{ name: \"a\", type: INT8, }, { name: \"b\", type: INT4 },],")), plain);
  EXPECT_EQ(ParseOne("// one\n" + WithFields("field: { name: \"a\" // two\n type: INT8 }\n"
                                             "/* three\n */ field: Field { name: \"b\" type: INT4 } # four")),
            plain);
}

TEST(Notation, ReferencesByName) {
  const std::string text =
      "ModelProto { struct_types: [ StructTypeProto { name: \"A\" structure: { field: { name: \"x\" type: "
      "struct(\"B\") } "
      "field: { name: \"y\" type: array(struct(\"A\"), dimension=2) } field: { name: \"z\" type: struct(type_index=-3) "
      "} } }, "
      "StructTypeProto { name: \"B\" array: array(INT8, dimension=1) } ] }";
  auto result = ParseNotation(text, {});
  ASSERT_TRUE(result) << result.error().Format();
  const auto& fields = std::get<StructureType>(result->types[0].root.kind).fields;
  EXPECT_EQ(std::get<PhysicalType>(fields[0].content), PhysicalType{TypeReference{1}});
  EXPECT_EQ(std::get<PhysicalType>(fields[1].content), Array({TypeReference{0}}, {2}));
  EXPECT_EQ(std::get<PhysicalType>(fields[2].content), PhysicalType{TypeReference{-3}});
}

TEST(Notation, Constants) {
  EXPECT_EQ(ParseConstant("tensor(INT32, [], INT4)").bytes, (std::vector<uint8_t>{22, 0, 0, 0}));
  EXPECT_EQ(ParseConstant("tensor(BOOL, [], true)").bytes, (std::vector<uint8_t>{1}));
  EXPECT_EQ(ParseConstant("tensor(INT64, [], -1)").bytes, std::vector<uint8_t>(8, 0xFF));
  EXPECT_EQ(ParseConstant("tensor(UINT64, [], 18446744073709551615)").bytes, std::vector<uint8_t>(8, 0xFF));
  EXPECT_EQ(ParseConstant("tensor(INT64, [], -9223372036854775808)").bytes,
            (std::vector<uint8_t>{0, 0, 0, 0, 0, 0, 0, 0x80}));
  EXPECT_EQ(ParseConstant("tensor(INT4, [3], [1, -8, 7])").bytes, (std::vector<uint8_t>{0x81, 0x07}));
  EXPECT_EQ(ParseConstant("tensor(UINT2, [5], [3, 0, 1, 2, 3])").bytes, (std::vector<uint8_t>{0x93, 0x03}));
  EXPECT_EQ(ParseConstant("tensor(FLOAT6E3M2, [2], [0.0625, -28])").bytes, (std::vector<uint8_t>{0xC1, 0x0F}));
  EXPECT_EQ(ParseConstant("tensor(FLOAT, [2, 2], [[1, 2.5], [-0.0, nan]])"),
            ParseConstant("tensor(FLOAT, [2, 2], [1.0, 0.25e1, -0.0, nan],)"));
  EXPECT_EQ(ParseConstant("tensor(FLOAT, [1], [-0.0])").bytes, (std::vector<uint8_t>{0, 0, 0, 0x80}));
  EXPECT_EQ(ParseConstant("tensor(FLOAT, [], bits(0xff800001))").bytes, (std::vector<uint8_t>{1, 0, 0x80, 0xFF}));
  EXPECT_EQ(ParseConstant("tensor(COMPLEX64, [], complex(1, -2))").bytes,
            (std::vector<uint8_t>{0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0}));
  EXPECT_EQ(ParseConstant("tensor(INT8, [2], [(1 + 2) * 3, 0x7F])").bytes, (std::vector<uint8_t>{9, 127}));
  EXPECT_EQ(ParseConstant("tensor(FLOAT, [3], raw=\"0000803F\")").bytes, (std::vector<uint8_t>{0, 0, 0x80, 0x3F}));
  const Constant named = ParseConstant(
      "tensor(INT8, [0], [], storage=typed, name=\"n\", doc_string=\"\", metadata_props=[{ key: \"k\" value: \"v\" "
      "}])");
  EXPECT_EQ(named.storage, Constant::Storage::kTyped);
  EXPECT_EQ(named.name, "n");
  EXPECT_EQ(named.doc_string, "");
  EXPECT_EQ(named.metadata, (std::vector<Metadata>{{"k", "v"}}));
}

// ---- parameters

TEST(Notation, UnboundParametersAreAllReportedWithTheirFirstUse) {
  NotationOptions options;
  const std::string text = WithFields(
      "    field: { name: \"a\" type: array(UINT8, dimension=count / 2) }\n"
      "    field: { name: \"b\" constant: tensor(FLOAT, [2, 4], book) }\n"
      "    field: { name: \"c\" constant: tensor(FLOAT, [2, 4], book) }\n"
      "    field: { name: \"d\" constant: tensor(INT64, [count], [1, axis]) }\n"
      "    field: { name: \"e\" type: struct(type_index=base) }");
  auto result = ParseNotation(text, options);
  ASSERT_TRUE(result) << result.error().Format();
  ASSERT_EQ(result->unbound.size(), 4u);
  auto expect = [&](size_t i, const std::string& name, uint32_t line, const std::string& use) {
    const size_t at = text.find(name);
    const size_t column = at - text.rfind('\n', at);
    EXPECT_EQ(result->unbound[i].name, name);
    EXPECT_EQ(result->unbound[i].line, line) << name;
    EXPECT_EQ(result->unbound[i].column, column) << name;
    EXPECT_EQ(result->unbound[i].use, use);
  };
  expect(0, "axis", 6, "a value of INT64");
  expect(1, "base", 7, "a type index");
  expect(2, "book", 4, "data of FLOAT[2, 4]");
  expect(3, "count", 3, "a dimension");
  auto concrete = std::move(*result).Concrete();
  ASSERT_FALSE(concrete);
  EXPECT_EQ(concrete.error().code, ErrorCode::kUnbound);
  for (const char* name : {"axis", "base", "book", "count"}) EXPECT_THAT(concrete.error().what, HasSubstr(name));
}

TEST(Notation, NumbersDataAndLiteralsBind) {
  NotationOptions options;
  options.parameters["n"] = 6;
  options.parameters["book"] = Data(ElementType::kFloat, {2, 3}, 24);
  options.parameters["flat"] = Data(ElementType::kFloat, {6}, 24);
  options.parameters["s"] = std::string("0.5");
  options.parameters["yes"] = std::string("true");
  options.parameters["storage_type"] = std::string("INT4");
  EXPECT_EQ(ParsePart("array(INT8, dimensions=[n, 2 * n])", options), Array({ScalarType{ElementType::kInt8}}, {6, 12}));
  EXPECT_EQ(ParseConstant("tensor(FLOAT, [2, 3], book)", options).bytes, Data(ElementType::kFloat, {}, 24).bytes);
  EXPECT_EQ(ParseConstant("tensor(FLOAT, [2, 3], [flat])", options).dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(ParseConstant("tensor(FLOAT, [], n)", options), ParseConstant("tensor(FLOAT, [], 6.0)"));
  EXPECT_EQ(ParseConstant("tensor(INT16, [2], [n, n - 7])", options), ParseConstant("tensor(INT16, [2], [6, -1])"));
  EXPECT_EQ(ParseConstant("tensor(FLOAT, [], s)", options), ParseConstant("tensor(FLOAT, [], 0.5)"));
  EXPECT_EQ(ParseConstant("tensor(BOOL, [], yes)", options), ParseConstant("tensor(BOOL, [], true)"));
  EXPECT_EQ(ParseConstant("tensor(INT32, [], storage_type)", options), ParseConstant("tensor(INT32, [], 22)"));
}

TEST(Notation, ShapeBindsRowsColsElements) {
  auto dims = [](std::vector<int64_t> shape, const char* expression) {
    NotationOptions options;
    options.shape = std::move(shape);
    PhysicalType type = ParsePart(std::string("array(INT8, dimension=") + expression + ")", options);
    return std::get<ArrayType>(type.kind).dims[0];
  };
  EXPECT_EQ(dims({4, 8, 16}, "rows"), 32u);
  EXPECT_EQ(dims({4, 8, 16}, "cols"), 16u);
  EXPECT_EQ(dims({4, 8, 16}, "elements"), 512u);
  EXPECT_EQ(dims({5}, "rows"), 1u);
  EXPECT_EQ(dims({}, "elements"), 1u);
  EXPECT_EQ(dims({0, int64_t{1} << 62}, "elements + rows"), 0u);
  NotationOptions options;
  options.shape = {{4, 8}};
  options.parameters["cols"] = 3;
  EXPECT_EQ(ParsePart("array(INT8, dimension=cols)", options), Array({ScalarType{ElementType::kInt8}}, {3}));
  EXPECT_TRUE(ParseNotation("StructTypeProto { }", options));
  for (const std::vector<int64_t>& bad :
       {std::vector<int64_t>{-1, 4}, {int64_t{1} << 32, int64_t{1} << 31}, {0, INT64_MAX, 2}}) {
    options.shape = bad;
    auto result = ParseNotation("StructTypeProto { }", options);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kArgument);
  }
}

TEST(Notation, ShapeAndParametersReachTheDecoder) {
  NotationOptions options;
  options.shape = {{4, 64}};
  options.parameters["eps"] = std::string("0.25");
  const std::string decoder =
      "decoder: FunctionProto { d (x) => (Y) <float[rows, cols/32, N, \"rows\"] Y> { Y = Op <shape: ints = [rows, "
      "cols], "
      "a: float = eps, t: tensor = int64[1] {elements}> (x) } } }";
  const StructType type = ParseOne("StructTypeProto { " + decoder, options);
  const Function& function = *type.decoder;
  EXPECT_EQ(*function.value_infos[0].shape,
            (std::vector<Dimension>{int64_t{4}, int64_t{2}, std::string("N"), std::string("rows")}));
  EXPECT_EQ(std::get<std::vector<int64_t>>(function.nodes[0].attributes[0].value), (std::vector<int64_t>{4, 64}));
  EXPECT_EQ(std::get<float>(function.nodes[0].attributes[1].value), 0.25f);
  EXPECT_EQ(std::get<Constant>(function.nodes[0].attributes[2].value).bytes[1], 1);
  // Without a shape, a lone name in a shape is a symbol; elsewhere it has to be bound.
  auto unbound = ParseNotation("StructTypeProto { " + decoder, {});
  ASSERT_TRUE(unbound) << unbound.error().Format();
  std::vector<std::string> names;
  for (const UnboundParameter& parameter : unbound->unbound) names.push_back(parameter.name);
  EXPECT_THAT(names, ElementsAre("cols", "elements", "eps", "rows"));
}

TEST(Notation, ShapeIsAListWhereListsStand) {
  NotationOptions options;
  options.shape = {{4, 6, 64}};
  using Dims = std::vector<uint64_t>;
  auto dims = [&](const std::string& part) {
    return std::get<ArrayType>(ParsePart("array(UINT8, " + part + ")", options).kind).dims;
  };
  EXPECT_EQ(dims("dimensions=shape"), (Dims{4, 6, 64}));
  EXPECT_EQ(dims("dimension=shape"), (Dims{4, 6, 64}));
  EXPECT_EQ(dims("dimensions=[2, shape, rows]"), (Dims{2, 4, 6, 64, 24}));
  EXPECT_EQ(std::get<BitPackingType>(ParsePart("bit_packing(dimensions=shape, components=[a:1])", options).kind).dims,
            (Dims{4, 6, 64}));
  const Field list = ParseField("name: \"s\", constant: tensor(INT64, [3], shape)", options);
  EXPECT_EQ(std::get<Constant>(list.content).bytes[8], 6);
  options.shape = {{2, 3}};
  const Field ones = ParseField("name: \"s\", constant: tensor(INT8, [shape], [1, 2, 3, 4, 5, 6])", options);
  EXPECT_EQ(std::get<Constant>(ones.content).dims, (std::vector<int64_t>{2, 3}));

  const std::string text =
      "StructTypeProto { decoder: FunctionProto { d (x) => (Y) <float[shape] Y, float[1, shape, ?] Z> { Y = Op <a: "
      "ints "
      "= shape, b = shape, c = [1, shape, cols], d: tensor = int64[2] {shape}, e: tensor = uint8[shape] {1, 2, 3, 4, "
      "5, "
      "6}> (x) } } }";
  const Function function = *ParseOne(text, options).decoder;
  EXPECT_EQ(*function.value_infos[0].shape, (std::vector<Dimension>{int64_t{2}, int64_t{3}}));
  EXPECT_EQ(*function.value_infos[1].shape,
            (std::vector<Dimension>{int64_t{1}, int64_t{2}, int64_t{3}, std::monostate()}));
  using Ints = std::vector<int64_t>;
  const std::vector<Attribute>& attributes = function.nodes[0].attributes;
  EXPECT_EQ(std::get<Ints>(attributes[0].value), (Ints{2, 3}));
  EXPECT_EQ(std::get<Ints>(attributes[1].value), (Ints{2, 3}));
  EXPECT_EQ(std::get<Ints>(attributes[2].value), (Ints{1, 2, 3, 3}));
  EXPECT_EQ(std::get<Constant>(attributes[3].value).bytes[8], 3);
  EXPECT_EQ(std::get<Constant>(attributes[4].value).dims, (Ints{2, 3}));

  // A scalar's is empty; a value of no dimensions is one of known rank.
  options.shape = std::vector<int64_t>();
  const Function scalar = *ParseOne(
                               "StructTypeProto { decoder: FunctionProto { d (x) => (Y) <float[shape] Y> { Y = Op <a: "
                               "ints = shape> (x) } } }",
                               options)
                               .decoder;
  EXPECT_EQ(*scalar.value_infos[0].shape, std::vector<Dimension>());
  EXPECT_EQ(std::get<Ints>(scalar.nodes[0].attributes[0].value), Ints());
}

TEST(Notation, OtherListsOfIntegersStandThereToo) {
  NotationOptions options;
  Constant list;
  list.type = ElementType::kUint16;
  list.dims = {2};
  list.bytes = {5, 0, 0, 1};
  options.parameters["tile"] = list;
  options.parameters["shape"] = int64_t{7};  // goes before the list of the shape
  options.shape = {{3, 4}};
  auto part = ParsePart("array(UINT8, dimensions=[tile, shape])", options);
  EXPECT_EQ(std::get<ArrayType>(part.kind).dims, (std::vector<uint64_t>{5, 256, 7}));
}

TEST(Notation, ListsStandNowhereElse) {
  NotationOptions options;
  options.shape = {{2, 3}};
  Constant data;
  data.type = ElementType::kFloat;
  data.dims = {2};
  data.bytes.resize(8);
  options.parameters["floats"] = data;
  data.type = ElementType::kUint64;
  data.dims = {1};
  data.bytes = {0, 0, 0, 0, 0, 0, 0, 0x80};
  options.parameters["large"] = data;
  data.type = ElementType::kInt32;
  data.dims = {2, 1};
  options.parameters["matrix"] = data;
  data.dims = {2};
  data.bytes = {1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF};
  options.parameters["negative"] = data;
  for (const auto& [part, message] : std::map<std::string, std::string>{
           {"array(INT8, dimension=shape*2)", "expected ',', found '*'"},
           {"array(INT8, dimension=2*shape)", "'shape' is bound to data"},
           {"bit_packing(dimension=1, components=[a:shape])", "'shape' is bound to data"},
           {"array(INT8, dimensions=floats)",
            "'floats' is bound to FLOAT[2] (an integer, or a list of integers below 2^63)"},
           {"array(INT8, dimensions=large)", "'large' is bound to UINT64[1] ("},
           {"array(INT8, dimensions=[matrix])", "'matrix' is bound to INT32[2, 1] ("},
           {"array(INT8, dimensions=negative)", "a dimension is negative (0 or more)"}}) {
    auto result = ParseNotation(WithFields("field: { name: \"a\", type: " + part + " }"), options);
    ASSERT_FALSE(result) << part;
    EXPECT_THAT(result.error().Format(), HasSubstr(message)) << part;
  }
  // Without a shape it is listed as everything that has no value.
  auto unbound = ParseNotation(
      "StructTypeProto { array: array(INT8, dimensions=shape) decoder: FunctionProto { d (x) => (Y) <float[shape] Y> { "
      "Y "
      "= Op <a: ints = dims> (x) } } }",
      {});
  ASSERT_TRUE(unbound) << unbound.error().Format();
  ASSERT_EQ(unbound->unbound.size(), 2u);
  EXPECT_EQ(unbound->unbound[0].name, "dims");
  EXPECT_EQ(unbound->unbound[0].use, "a list of integers");
  EXPECT_EQ(unbound->unbound[1].name, "shape");
  EXPECT_EQ(unbound->unbound[1].use, "a dimension");
}

TEST(Notation, Expressions) {
  NotationOptions options;
  options.shape = {{1000}};
  auto value = [&](const std::string& expression) {
    return std::get<ArrayType>(ParsePart("array(INT8, dimension=" + expression + ")", options).kind).dims[0];
  };
  EXPECT_EQ(value("2 + 3 * 4"), 14u);
  EXPECT_EQ(value("(2 + 3) * 4"), 20u);
  EXPECT_EQ(value("20 - 3 - 4"), 13u);
  EXPECT_EQ(value("48 / 2 / 3"), 8u);
  EXPECT_EQ(value("17 % 5 + -1"), 1u);
  EXPECT_EQ(value("- -5"), 5u);
  EXPECT_EQ(value("ceil_div(elements, 256) * 16"), 64u);
  EXPECT_EQ(value("elements / 250"), 4u);
  EXPECT_EQ(value("18446744073709551615 - 0x10"), UINT64_MAX - 16);
}

// ---- errors: each beside a text that is right, one edit away

struct BadText {
  const char* wrong;
  const char* right;
  const char* where;
  ErrorCode code;
  const char* fragment;
};

class BadTexts : public ::testing::TestWithParam<BadText> {};

TEST_P(BadTexts, SayWhereAndWhatAndTheTextBesideIsRight) {
  const BadText& bad = GetParam();
  NotationOptions options;
  options.file_name = "t";
  options.shape = {{1000}};
  options.parameters["data"] = Data(ElementType::kFloat, {4}, 16);
  options.parameters["short_data"] = Data(ElementType::kFloat, {4}, 15);
  options.parameters["n"] = 300;
  options.parameters["literal"] = std::string("0.5");
  auto right = ParseNotation(bad.right, options);
  ASSERT_TRUE(right) << right.error().Format() << "\n" << bad.right;
  EXPECT_TRUE(std::move(*right).Concrete()) << bad.right;
  auto wrong = ParseNotation(bad.wrong, options);
  ASSERT_FALSE(wrong) << bad.wrong;
  EXPECT_EQ(Info(wrong.error().code).slug, Info(bad.code).slug) << wrong.error().Format();
  EXPECT_EQ(wrong.error().where, std::string("t:") + bad.where) << wrong.error().Format();
  EXPECT_THAT(wrong.error().Format(), HasSubstr(bad.fragment)) << bad.wrong;
}

#define ROOT(x) "StructTypeProto { " x " }"
#define PART(x) ROOT("structure: { field: { name: \"a\"type: " x " } }")                // x begins in column 56
#define TENSOR(x) ROOT("structure: { field: { name: \"a\"constant: tensor(" x ") } }")  // x begins in column 67
#define DECODER(x) ROOT("decoder: FunctionProto {" x "}")                               // x begins in column 43

INSTANTIATE_TEST_SUITE_P(
    Structure, BadTexts,
    ::testing::Values(
        BadText{"", ROOT(""), "1:1", ErrorCode::kSyntax,
                "expected StructTypeProto or ModelProto, found the end of the text"},
        BadText{"QuantizationProto { }", ROOT(""), "1:1", ErrorCode::kSyntax, "profile"},
        BadText{"StructTypeProto {\n  name {\n}", "StructTypeProto {\n  name: \"x\"\n}", "2:8", ErrorCode::kSyntax,
                "expected ':' after 'name', found '{'"},
        BadText{"StructTypeProto {\n  name: x\n}", "StructTypeProto {\n  name: \"x\"\n}", "2:9", ErrorCode::kSyntax,
                "expected a string, found 'x'"},
        BadText{"StructTypeProto {", "StructTypeProto {}", "1:18", ErrorCode::kSyntax, "found the end of the text"},
        BadText{ROOT("color: 1"), ROOT("doc_string: \"1\""), "1:19", ErrorCode::kSyntax, "no field 'color'"},
        BadText{ROOT("name: \"a\" name: \"b\""), ROOT("name: \"a\""), "1:29", ErrorCode::kSyntax, "given twice"},
        BadText{ROOT("type_index: 0 type_index: 1"), ROOT("type_index: 0"), "1:33", ErrorCode::kSyntax, "second"},
        BadText{ROOT("metadata_props: { key: \"a\" key: \"b\" }"), ROOT("metadata_props: { key: \"a\" }"), "1:46",
                ErrorCode::kSyntax, "given twice"},
        BadText{ROOT("array: bit_packing(dimension=1, components=[a:8])"),
                ROOT("bit_packing: bit_packing(dimension=1, components=[a:8])"), "1:26", ErrorCode::kSyntax,
                "expected '{'"},
        BadText{"ModelProto { graph: { } }", "ModelProto { struct_types: [ ] }", "1:14", ErrorCode::kSyntax,
                "struct_types"},
        BadText{"ModelProto { struct_types: [ StructTypeProto { } StructTypeProto { } ] }",
                "ModelProto { struct_types: [ StructTypeProto { }, StructTypeProto { } ] }", "1:50", ErrorCode::kSyntax,
                "expected ',' or ']'"},
        BadText{PART("UINT9"), PART("UINT8"), "1:56", ErrorCode::kSyntax, "expected an element type"},
        BadText{PART("array(UINT8, 4)"), PART("array(UINT8, dimension=4)"), "1:69", ErrorCode::kSyntax,
                "expected dimension="},
        BadText{PART("array(UINT8 dimension=4)"), PART("array(UINT8, dimension=4)"), "1:68", ErrorCode::kSyntax,
                "expected ','"},
        BadText{PART("struct(0)"), PART("struct(type_index=0)"), "1:63", ErrorCode::kSyntax, "type_index"},
        BadText{PART("struct(\"B\")"),
                "StructTypeProto { name: \"B\" structure: { field: { name: \"a\" type: struct(\"B\") } } }", "1:63",
                ErrorCode::kSyntax, "no type of this text is called 'B'"},
        BadText{PART("bit_packing(components=[a=1])"), PART("bit_packing(components=[a:1])"), "1:81",
                ErrorCode::kSyntax, "':'"},
        BadText{PART("INT8 constant: tensor(INT8, [], 1)"), PART("INT8"), "1:61", ErrorCode::kSyntax,
                "one of type and constant"},
        BadText{ROOT("name: \"a\\q\""), ROOT("name: \"a\\n\""), "1:25", ErrorCode::kSyntax, "escape"},
        BadText{ROOT("name: \"a"), ROOT("name: \"a\""), "1:25", ErrorCode::kSyntax, "a string without an end"},
        BadText{ROOT("/* x"), ROOT("/* x */"), "1:19", ErrorCode::kSyntax, "comment without an end"},
        BadText{ROOT("\xC3\xA9"), ROOT("// \xC3\xA9\n"), "1:19", ErrorCode::kSyntax, "neither ASCII"}));

INSTANTIATE_TEST_SUITE_P(
    Numbers, BadTexts,
    ::testing::Values(
        BadText{PART("array(UINT8, dimension=elements/256)"), PART("array(UINT8, dimension=elements/250)"), "1:87",
                ErrorCode::kExpression, "1000 is not a multiple of 256 (use ceil_div(a, b)"},
        BadText{PART("array(UINT8, dimension=1/0)"), PART("array(UINT8, dimension=0/1)"), "1:80",
                ErrorCode::kExpression, "division by zero"},
        BadText{PART("array(UINT8, dimension=1%0)"), PART("array(UINT8, dimension=0%1)"), "1:80",
                ErrorCode::kExpression, "division by zero"},
        BadText{PART("array(UINT8, dimension=0-1)"), PART("array(UINT8, dimension=1-1)"), "1:79",
                ErrorCode::kExpression, "negative"},
        BadText{PART("array(UINT8, dimension=18446744073709551616)"),
                PART("array(UINT8, dimension=18446744073709551615)"), "1:79", ErrorCode::kExpression, "64 bits"},
        BadText{PART("array(UINT8, dimension=18446744073709551615+1)"),
                PART("array(UINT8, dimension=18446744073709551615+0)"), "1:99", ErrorCode::kExpression, "64 bits"},
        BadText{PART("array(UINT8, dimension=9223372036854775807*4)"),
                PART("array(UINT8, dimension=9223372036854775807*2)"), "1:98", ErrorCode::kExpression, "64 bits"},
        BadText{PART("array(UINT8, dimension=ceil_div(1, 0))"), PART("array(UINT8, dimension=ceil_div(0, 1))"), "1:79",
                ErrorCode::kExpression, "ceil_div"},
        BadText{PART("array(UINT8, dimension=data)"), PART("array(UINT8, dimension=n)"), "1:79",
                ErrorCode::kParameterData, "bound to FLOAT[4] (an integer, or a list"},
        BadText{PART("array(UINT8, dimension=literal)"), PART("array(UINT8, dimension=n)"), "1:79",
                ErrorCode::kParameterData, "bound to '0.5'"},
        BadText{PART("array(UINT8, dimension=12x)"), PART("array(UINT8, dimension=12)"), "1:79", ErrorCode::kSyntax,
                "letters"},
        BadText{PART("array(UINT8, dimension=0x)"), PART("array(UINT8, dimension=0xF)"), "1:79", ErrorCode::kSyntax,
                "digits"},
        BadText{PART("array(UINT8, dimension=1.0)"), PART("array(UINT8, dimension=1)"), "1:79", ErrorCode::kSyntax,
                "expected a number or a parameter"},
        BadText{PART("struct(type_index=2147483648)"), PART("struct(type_index=2147483647)"), "1:74",
                ErrorCode::kExpression, "type index"},
        BadText{PART("bit_packing(components=[a:4294967296])"), PART("bit_packing(components=[a:4294967295])"), "1:82",
                ErrorCode::kExpression, "bit width"}));

INSTANTIATE_TEST_SUITE_P(
    Constants, BadTexts,
    ::testing::Values(
        BadText{TENSOR("INT8, [], 128"), TENSOR("INT8, [], 127"), "1:77", ErrorCode::kLiteral, "INT8"},
        BadText{TENSOR("UINT4, [], -1"), TENSOR("UINT4, [], 15"), "1:78", ErrorCode::kLiteral, "UINT4"},
        BadText{TENSOR("INT8, [2], [1, 2, 3]"), TENSOR("INT8, [3], [1, 2, 3]"), "1:78", ErrorCode::kLiteral,
                "has 3 values"},
        BadText{TENSOR("INT8, [], []"), TENSOR("INT8, [0], []"), "1:77", ErrorCode::kLiteral, "has 0 values"},
        BadText{TENSOR("FLOAT, [1000000000000], [1]"), TENSOR("FLOAT, [1], [1]"), "1:91", ErrorCode::kLiteral,
                "has 1 value"},
        BadText{TENSOR("FLOAT, [-1], [1]"), TENSOR("FLOAT, [-1], raw=\"00\""), "1:74", ErrorCode::kExpression,
                "negative"},
        BadText{TENSOR("FLOAT16, [], 65520"), TENSOR("FLOAT16, [], 65519"), "1:80", ErrorCode::kLiteral, "range"},
        BadText{TENSOR("FLOAT4E2M1, [], nan"), TENSOR("FLOAT4E2M1, [], 6"), "1:83", ErrorCode::kLiteral, "no NaN"},
        BadText{TENSOR("BOOL, [], 2"), TENSOR("BOOL, [], bits(0x02)"), "1:77", ErrorCode::kLiteral, "BOOL"},
        BadText{TENSOR("INT8, [], true"), TENSOR("INT8, [], 1"), "1:77", ErrorCode::kLiteral, "INT8"},
        BadText{TENSOR("INT8, [], bits(0x100)"), TENSOR("INT8, [], bits(0xFF)"), "1:82", ErrorCode::kLiteral, "8 bits"},
        BadText{TENSOR("INT8, [], bits(-1)"), TENSOR("INT8, [], bits(0x1)"), "1:82", ErrorCode::kSyntax, "bits"},
        BadText{TENSOR("STRING, [], 1"), TENSOR("STRING, [], raw=\"01\""), "1:67", ErrorCode::kLiteral,
                "no fixed width"},
        BadText{TENSOR("COMPLEX64, [], 1"), TENSOR("COMPLEX64, [], complex(1, 0)"), "1:82", ErrorCode::kSyntax,
                "complex(re, im)"},
        BadText{TENSOR("FLOAT, [2], [1 2]"), TENSOR("FLOAT, [2], [1, 2]"), "1:82", ErrorCode::kSyntax,
                "expected ',' or ']'"},
        BadText{TENSOR("FLOAT, [], \"1\""), TENSOR("FLOAT, [], 1"), "1:78", ErrorCode::kSyntax,
                "expected a value of FLOAT"},
        BadText{TENSOR("FLOAT, 2, [1, 2]"), TENSOR("FLOAT, [2], [1, 2]"), "1:74", ErrorCode::kSyntax, "'['"},
        BadText{TENSOR("FLOAT, [], raw=\"0\""), TENSOR("FLOAT, [], raw=\"00\""), "1:82", ErrorCode::kLiteral,
                "hexadecimal"},
        BadText{TENSOR("FLOAT, [], 1, storage=best"), TENSOR("FLOAT, [], 1, storage=raw"), "1:81", ErrorCode::kSyntax,
                "storage"},
        BadText{TENSOR("FLOAT, [5], data"), TENSOR("FLOAT, [4], data"), "1:79", ErrorCode::kParameterData,
                "'data' is bound to FLOAT[4] (FLOAT[5], or flat)"},
        BadText{TENSOR("DOUBLE, [4], data"), TENSOR("FLOAT, [2, 2], data"), "1:80", ErrorCode::kParameterData,
                "DOUBLE[4]"},
        BadText{TENSOR("FLOAT, [4], short_data"), TENSOR("FLOAT, [4], data"), "1:79", ErrorCode::kParameterData,
                "short_data"},
        BadText{TENSOR("FLOAT, [5], [1.0, data]"), TENSOR("FLOAT, [4], [data]"), "1:85", ErrorCode::kParameterData,
                "data"},
        BadText{TENSOR("INT8, [], n"), TENSOR("INT16, [], n"), "1:77", ErrorCode::kLiteral, "INT8"},
        BadText{TENSOR("INT8, [], literal"), TENSOR("FLOAT16, [], literal"), "1:77", ErrorCode::kParameterData,
                "'0.5'"}));

INSTANTIATE_TEST_SUITE_P(
    Decoders, BadTexts,
    ::testing::Values(
        BadText{DECODER(" ... "), DECODER("f () => () {}"), "1:44", ErrorCode::kSyntax, "no body"},
        BadText{DECODER(""), DECODER("f () => () {}"), "1:43", ErrorCode::kSyntax, "no body"},
        BadText{DECODER("// Y = x\n"), DECODER("f () => () {}"), "2:1", ErrorCode::kSyntax, "no body"},
        BadText{DECODER("f () = () {}"), DECODER("f () => () {}"), "1:48", ErrorCode::kSyntax, "expected '=>'"},
        BadText{DECODER("f () => () { Y Op () }"), DECODER("f () => () { Y = Op () }"), "1:58", ErrorCode::kSyntax,
                "'='"},
        BadText{DECODER("output: Y"), DECODER("output: \"Y\""), "1:51", ErrorCode::kSyntax, "quotes"},
        BadText{DECODER("node: {}"), DECODER("body: {}"), "1:43", ErrorCode::kSyntax, "'node' is not known here"},
        BadText{DECODER("f () => () { Y = Op <a = []> () }"), DECODER("f () => () { Y = Op <a: ints = []> () }"),
                "1:68", ErrorCode::kSyntax, "empty list"},
        BadText{DECODER("f () => () { Y = Op <a: graph = 1> () }"), DECODER("f () => () { Y = Op <a: int = 1> () }"),
                "1:67", ErrorCode::kSyntax, "'graph'"},
        BadText{DECODER("f () => () { Y = Op <a: int = 1.5> () }"),
                DECODER("f () => () { Y = Op <a: float = 1.5> () }"), "1:73", ErrorCode::kSyntax, "expected int"},
        BadText{DECODER("f () => () { Y = Op <a: ints = 1> () }"), DECODER("f () => () { Y = Op <a: ints = [1]> () }"),
                "1:74", ErrorCode::kSyntax, "expected ints"},
        BadText{DECODER("f () => () { Y = Op <a: int = [1]> () }"), DECODER("f () => () { Y = Op <a: int = 1> () }"),
                "1:73", ErrorCode::kSyntax, "found a list"},
        BadText{DECODER("f () => () { Y = Op <a = [1, \"x\"]> () }"),
                DECODER("f () => () { Y = Op <a = [1, 2.0]> () }"), "1:68", ErrorCode::kSyntax, "mixes types"},
        BadText{DECODER("f () => () { Y = Op <t = int8[2] {1}> () }"),
                DECODER("f () => () { Y = Op <t = int8[2] {1, 2}> () }"), "1:76", ErrorCode::kLiteral, "has 1 value"},
        BadText{DECODER("f () => () { Y = Op <t = int8[2] {}> () }"),
                DECODER("f () => () { Y = Op <t = int8[0] {}> () }"), "1:76", ErrorCode::kLiteral, "has 0 values"},
        BadText{DECODER("f () => () { Y = Op <t = int8[1] {1} <raw: \"00\">> () }"),
                DECODER("f () => () { Y = Op <t = int8[1] {} <raw: \"00\">> () }"), "1:81", ErrorCode::kSyntax, "raw"},
        BadText{DECODER("f () => () { Y = Op <t = string[1] {1}> () }"),
                DECODER("f () => () { Y = Op <t = string[1] {} <raw: \"\">> () }"), "1:68", ErrorCode::kLiteral,
                "STRING"},
        BadText{DECODER("f () => () <float[2] Y int8 Z> {}"), DECODER("f () => () <float[2] Y, int8 Z> {}"), "1:66",
                ErrorCode::kSyntax, "','"}));

#undef ROOT
#undef PART
#undef TENSOR
#undef DECODER

// ---- size and depth

TEST(Notation, DeepNestingIsAnErrorNotACrash) {
  auto nested = [](size_t depth, const std::string& open, const std::string& middle, const std::string& close) {
    std::string text;
    for (size_t i = 0; i < depth; ++i) text += open;
    text += middle;
    for (size_t i = 0; i < depth; ++i) text += close;
    return text;
  };
  struct Case {
    std::string open, middle, close, prefix, suffix;
    size_t allowed;
    ErrorCode code;
  };
  const std::string field = "StructTypeProto { structure: { field: { name: \"a\" ";
  const std::vector<Case> cases = {
      {"array(", "INT8", ", dimension=1)", field + "type: ", " } } }", 60, ErrorCode::kLimitDepth},
      {"TypeProto { struct_type: { array: { element_type: ", "INT8", " dimension: 1 } } }", field + "type: ", " } } }",
       60, ErrorCode::kLimitDepth},
      {"(", "1", ")", field + "type: array(INT8, dimension=", ") } } }", 60, ErrorCode::kExpression},
      {"-", "1", "", field + "type: array(INT8, dimension=", ") } } }", 60, ErrorCode::kExpression},
      {"[", "1", "]", field + "constant: tensor(FLOAT, [1], ", ") } } }", 16, ErrorCode::kSyntax},
      {"ceil_div(", "1", ", 1)", field + "type: array(INT8, dimension=", ") } } }", 60, ErrorCode::kExpression},
  };
  for (const Case& c : cases) {
    auto fine = ParseNotation(c.prefix + nested(c.allowed, c.open, c.middle, c.close) + c.suffix, {});
    EXPECT_TRUE(fine) << c.open << fine.error().Format();
    auto deep = ParseNotation(c.prefix + nested(10'000, c.open, c.middle, c.close) + c.suffix, {});
    ASSERT_FALSE(deep) << c.open;
    EXPECT_EQ(deep.error().code, c.code) << deep.error().Format();
  }
  EXPECT_FALSE(ParseNotation(nested(100'000, "StructTypeProto {", "", "}"), {}));
}

TEST(Notation, ConstantBytesAreLimitedPerDeclaration) {
  NotationOptions options;
  options.limits.constant_bytes = 32;
  options.parameters["data"] = Data(ElementType::kFloat, {4}, 16);
  auto declaration = [](const char* first, const char* second) {
    return fmt::format(
        "StructTypeProto {{ structure: {{ field: {{ name: \"a\" constant: tensor(FLOAT, [4], {}) }} field: "
        "{{ name: \"b\" constant: tensor(UINT8, [{} }} }} }}",
        first, second);
  };
  const char* const sixteen = "16], [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15])";
  const char* const seventeen = "17], [0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16])";
  EXPECT_TRUE(ParseNotation(declaration("data", sixteen) + declaration("[1,2,3,4]", sixteen), options));
  for (const char* bad : {seventeen, "17], raw=\"0000000000000000000000000000000000\")"}) {
    auto result = ParseNotation(declaration("data", bad), options);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kLimitConstant);
  }
  options.limits.constant_bytes = 15;
  auto result = ParseNotation(declaration("data", "0], [])"), options);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kLimitConstant);
}

TEST(Notation, AMillionFieldsAndAMillionElements) {
  constexpr size_t kFields = 1'000'000;
  std::string fields;
  for (size_t i = 0; i < kFields; ++i) fields += "field:{name:\"f\" type:INT8}\n";
  const StructType type = ParseOne(WithFields(fields));
  EXPECT_EQ(std::get<StructureType>(type.root.kind).fields.size(), kFields);
  std::string values;
  for (size_t i = 0; i < kFields; ++i) values += i % 2 == 0 ? "1," : "-1,";
  EXPECT_EQ(ParseConstant("tensor(INT16, [1000, 1000], [" + values + "])").bytes.size(), 2 * kFields);
}

// ---- there and back

TEST(Notation, RandomTypesComeBack) {
  for (uint64_t seed = 0; seed < 20'000 && !::testing::Test::HasFailure(); ++seed) {
    RandomSource random(seed);
    std::vector<StructType> types;
    for (uint64_t n = random.OneIn(4) ? random.Below(4) : 1; n > 0; --n) types.push_back(RandomStructType(&random));
    SCOPED_TRACE(seed);
    ExpectPrintsAndParses(types);
  }
}

// The generator is no use if it leaves something out.
TEST(Notation, RandomTypesHoldEverything) {
  std::map<std::string, int> seen;
  for (uint64_t seed = 0; seed < 3'000; ++seed) {
    RandomSource random(seed);
    const StructType type = RandomStructType(&random);
    seen["root" + std::to_string(type.root.kind.index())]++;
    if (type.encoder) seen["encoder"]++;
    if (!type.decoder) continue;
    for (const Node& node : type.decoder->nodes) {
      for (const Attribute& attribute : node.attributes) seen["attribute" + std::to_string(attribute.value.index())]++;
      if (node.name) seen["node name"]++;
      if (node.overload) seen["overload"]++;
    }
    for (const ValueInfo& info : type.decoder->value_infos) seen[info.shape ? "shape" : "no shape"]++;
  }
  for (const char* what :
       {"root0", "root2", "root3", "root4", "root5", "encoder", "attribute0", "attribute1", "attribute2", "attribute3",
        "attribute4", "attribute5", "attribute6", "attribute7", "node name", "overload", "shape", "no shape"}) {
    EXPECT_GT(seen[what], 10) << what;
  }
}

TEST(Notation, EveryCodeOfEverySmallTypeComesBack) {
  for (const ElementInfo& info : AllElementTypes()) {
    if (info.bits == 0) continue;
    const uint32_t bits = BitWidth(HalfOf(info.type));
    const uint64_t codes = uint64_t{1} << std::min(bits, 16u);
    const uint64_t per_element = HalfOf(info.type) == info.type ? 1 : 2;
    Constant constant;
    constant.type = info.type;
    constant.dims = {static_cast<int64_t>(codes)};
    constant.bytes.resize(*PackedBytes(info.type, codes));
    for (uint64_t code = 0; code < codes * per_element; ++code) {
      // Codes of wide types: 16 bits at the top, so that exponents and signs vary, and some at the bottom.
      const uint64_t wide = bits > 16 ? (code % codes) << (bits - 16) | code % 3 : code;
      StoreCode(constant.bytes, HalfOf(info.type), code, wide);
    }
    StructureType structure;
    structure.fields.push_back({"c", constant, std::nullopt});
    StructType type;
    type.root = {structure};
    const std::string text = PrintNotation(type);
    EXPECT_EQ(text.find("raw="), std::string::npos) << info.name;
    auto again = ParseNotation(text, {});
    ASSERT_TRUE(again) << info.name << again.error().Format();
    EXPECT_TRUE(again->types[0] == type) << info.name;
  }
}

TEST(Notation, PrintedForm) {
  StructType type;
  type.name = "T";
  type.doc_string = "a \"b\" \xC3\xA9 \xFF";
  StructureType structure;
  structure.fields.push_back({"x", Array({ScalarType{ElementType::kUint8}}, {2, 3}), std::nullopt});
  structure.fields.push_back({"y", ParseConstant("tensor(FLOAT, [2], [0.5, 1])"), "why"});
  type.root = {structure};
  type.metadata = {{"k", "v"}};
  EXPECT_EQ(PrintNotation(type),
            "StructTypeProto {\n"
            "    name: \"T\"\n"
            "    doc_string: \"a \\\"b\\\" \xC3\xA9 \\xff\"\n"
            "    structure: Structure {\n"
            "        field: { name: \"x\", type: array(UINT8, dimensions=[2, 3]) }\n"
            "        field: { name: \"y\", constant: tensor(FLOAT, [2], [0.5, 1.0]), doc_string: \"why\" }\n"
            "    }\n"
            "    metadata_props: { key: \"k\", value: \"v\" }\n"
            "}\n");
  EXPECT_EQ(PrintNotation(std::vector<StructType>{}), "ModelProto {\n    struct_types: [\n    ]\n}\n");
}

// ---- files

TEST(NotationFiles, OwnExamplesParseCheckAndComeBack) {
  NotationOptions options;
  options.shape = {{4, 256}};
  options.parameters["levels"] = Data(ElementType::kFloat16, {16}, 32);
  const std::map<std::string, uint64_t> bytes_of_last = {{"fp6_split.txt", 24},
                                                         {"kv_pages.txt", 1'048'576},
                                                         {"nf4.txt", 4 * 256 / 2 + 4 * 4 * 4},
                                                         {"q4_0.txt", 4 * 8 * 18}};
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TESSERA_SOURCE_DIR "/testdata/notation")) {
    SCOPED_TRACE(entry.path().filename().string());
    ++files;
    options.file_name = entry.path().filename().string();
    auto result = ParseNotation(ReadText(entry.path()), options);
    ASSERT_TRUE(result) << result.error().Format();
    auto types = std::move(*result).Concrete();
    ASSERT_TRUE(types) << types.error().Format();
    ExpectPrintsAndParses(*types);
    auto expected = bytes_of_last.find(options.file_name);
    if (expected == bytes_of_last.end()) continue;
    Problems problems;
    TypeTable table = TypeTable::Build(*types, {}, &problems);
    for (const Error& problem : problems.list()) ADD_FAILURE() << problem.Format();
    auto checked = table.Get(static_cast<int64_t>(table.size()) - 1);
    ASSERT_NE(checked, nullptr);
    EXPECT_EQ(checked->size_bits, 8 * expected->second);
  }
  EXPECT_EQ(files, 5u);
}

// What every example of the founding document leaves open. Files that are not named leave nothing open.
const std::map<std::string, std::vector<std::string>>& OpenNames() {
  static const std::map<std::string, std::vector<std::string>> names = {
      {"04_nf4.struct.txt", {"packed_byte_count"}},
      {"05_awq_int4.struct.txt", {"block_count"}},
      {"06_q2_k.struct.txt", {"superblock_count"}},
      {"07_q3_k.struct.txt", {"superblock_count"}},
      {"08_q4_k.struct.txt", {"superblock_count"}},
      {"09_q5_k.struct.txt", {"superblock_count"}},
      {"10_q6_k.struct.txt", {"superblock_count"}},
      {"11_mxfp4.struct.txt", {"block_count"}},
      {"12_mxfp6_e3m2.struct.txt", {"block_count"}},
      {"14_int8_per_channel.struct.txt", {"N"}},
      {"15_1_58_bit_ternary.struct.txt", {"packed_byte_count"}},
      {"16_fp8_e4m3.struct.txt", {"N"}},
      {"17_aqlm_2_8.struct.txt", {"aqlm_codebook_data", "vector_count"}},
      {"18_iq1_s.struct.txt", {"block_count", "iq1_s_e8_codebook"}},
      {"19_spqr.struct.txt", {"dense_block_count", "outlier_count"}},
      {"20_quip.struct.txt", {"quip_sharp_codebook", "vector_count"}},
      {"21_exl2.struct.txt", {"layer_a_block_count", "layer_b_block_count"}},
      {"22_log_quantization.struct.txt", {"N", "sign_byte_count"}},
      {"23_custom.struct.txt", {"N"}},
      {"26_stq1_0.struct.txt", {"block_count", "stq1_0_codebook"}},
      {"27_column_major_layout.struct.txt", {"M", "N"}},
      {"28_tq1_0.struct.txt", {"block_count"}},
      {"29_tq2_0.struct.txt", {"block_count"}},
      {"30_bitnet_b1_58.struct.txt", {"block_count"}},
      {"31_paretoq.struct.txt", {"ternary_block_count", "uint2_block_count"}},
      {"32_tequila.struct.txt", {"block_count"}},
      {"33_eetq.struct.txt", {"N"}},
      {"34_exl3.struct.txt", {"block_count"}},
      {"35_hqq.struct.txt", {"block_count"}},
      {"36_nvfp4.struct.txt", {"block_count"}},
      {"37_quarot.struct.txt", {"block_count"}},
      {"38_smoothquant.struct.txt", {"N", "smooth_factors"}},
  };
  return names;
}

TEST(NotationFiles, ExamplesOfTheFoundingDocument) {
  const char* shared = std::getenv("TESSERA_SHARED");
  const std::filesystem::path folder =
      (shared != nullptr ? std::filesystem::path(shared) : std::filesystem::path(TESSERA_SOURCE_DIR) / "../shared") /
      "spec/examples";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "skipped: there is no " << folder << " (set TESSERA_SHARED)";
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".struct.txt") == std::string::npos) continue;
    ++files;
    SCOPED_TRACE(name);
    const std::string text = ReadText(entry.path());
    NotationOptions options;
    auto open = ParseNotation(text, options);
    ASSERT_TRUE(open) << open.error().Format();
    std::vector<std::string> names;
    for (const UnboundParameter& parameter : open->unbound) {
      names.push_back(parameter.name);
      if (parameter.use == "a dimension") {
        options.parameters[parameter.name] = 64;
        continue;
      }
      // "data of FLOAT[2, 256, 8]"
      int64_t count = 1;
      for (size_t at = parameter.use.find('['); at != std::string::npos; at = parameter.use.find(", ", at + 1)) {
        count *= std::strtoll(parameter.use.c_str() + at + 1, nullptr, 10);
      }
      EXPECT_THAT(parameter.use, HasSubstr("data of FLOAT["));
      options.parameters[parameter.name] = Data(ElementType::kFloat, {count}, static_cast<size_t>(count) * 4);
    }
    auto expected = OpenNames().find(name);
    EXPECT_EQ(names, expected == OpenNames().end() ? std::vector<std::string>{} : expected->second);
    auto bound = ParseNotation(text, options);
    ASSERT_TRUE(bound) << bound.error().Format();
    auto types = std::move(*bound).Concrete();
    ASSERT_TRUE(types) << types.error().Format();
    ExpectPrintsAndParses(*types);
    Problems problems;
    TypeTable table = TypeTable::Build(*types, {}, &problems);
    for (const Error& problem : problems.list()) ADD_FAILURE() << problem.Format();
  }
  EXPECT_EQ(files, 37u);
}

}  // namespace
}  // namespace tessera
