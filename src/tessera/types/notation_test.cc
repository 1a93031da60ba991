#include "tessera/types/notation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "tessera/types/random_type.h"
#include "tessera/types/type_builders.h"

namespace tessera {
namespace {

using namespace build;  // NOLINT(google-build-using-namespace)
using E = ElementType;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Result<NotationResult> Parse(std::string_view text) { return ParseNotation(text, NotationOptions()); }

StructType ParseOne(std::string_view text, const NotationOptions& options = {}) {
  Result<NotationResult> result = ParseNotation(text, options);
  EXPECT_TRUE(result) << result.error().Format();
  if (!result) return {};
  EXPECT_THAT(result->unbound, IsEmpty());
  EXPECT_EQ(result->types.size(), 1u);
  return result->types.empty() ? StructType() : result->types[0];
}

// ---- printing and parsing is the identity

constexpr uint64_t kSeeds = 3000;

TEST(NotationProperty, ParsingWhatWasPrintedGivesTheSameTypes) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<StructType> types = RandomTypes(seed, RandomTypes::Data::kAny).Types();
    const std::string text = PrintNotation(types);
    Result<NotationResult> parsed = Parse(text);
    ASSERT_TRUE(parsed) << "seed " << seed << ": " << parsed.error().Format() << "\n" << text;
    ASSERT_THAT(parsed->unbound, IsEmpty()) << "seed " << seed << "\n" << text;
    ASSERT_TRUE(WithFloatBits(parsed->types) == WithFloatBits(types)) << "seed " << seed << "\n" << text;
    ASSERT_EQ(PrintNotation(parsed->types), text) << "seed " << seed;
  }
}

TEST(NotationProperty, FunctionsThatStandAlone) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Function function = RandomTypes(seed, RandomTypes::Data::kAny).MakeFunction();
    const std::string text = PrintFunctionText(function, 0);
    Result<Function> parsed = ParseFunctionText(text, Limits());
    ASSERT_TRUE(parsed) << "seed " << seed << ": " << parsed.error().Format() << "\n" << text;
    ASSERT_TRUE(WithFloatBits(*parsed) == WithFloatBits(function)) << "seed " << seed << "\n" << text;
  }
}

// The seeds reach everything: a generator that lost a branch would leave the tests above empty.
TEST(NotationProperty, SeedsReachEveryKindOfContent) {
  std::map<std::string, int> seen;
  auto note = [&](const std::string& what) { ++seen[what]; };
  auto note_text = [&](const std::optional<std::string>& text) {
    note(!text ? "text absent" : text->empty() ? "text present and empty" : "text");
  };
  auto note_constant = [&](const Constant& constant) {
    note("constant " + std::string(Name(constant.type)));
    note(constant.storage == Constant::Storage::kRaw ? "raw" : "typed");
    note_text(constant.name);
    if (constant.type == E::kFloat && CheckedProduct(constant.dims).value_or(0) * 4 == constant.bytes.size()) {
      for (size_t i = 0; i < constant.bytes.size() / 4; ++i) {
        const uint64_t code = LoadCode(constant.bytes, E::kFloat, i);
        if ((code & 0x7FFFFFFF) > 0x7F800000 && code != 0x7FC00000) note("NaN with a payload");
      }
    }
  };
  auto note_function = [&](const Function& function) {
    for (const Node& node : function.nodes) {
      note_text(node.domain);
      for (const Attribute& attribute : node.attributes) {
        note("attribute " + std::to_string(attribute.value.index()));
        if (const auto* tensor = std::get_if<Constant>(&attribute.value)) note_constant(*tensor);
      }
    }
    for (const ValueInfo& info : function.value_infos) {
      note(info.shape ? "shape" : "no shape");
      if (!info.metadata.empty()) note("metadata of a value");
    }
  };
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<StructType> types = RandomTypes(seed, RandomTypes::Data::kAny).Types();
    note("types " + std::to_string(types.size()));
    for (const StructType& type : types) {
      note("root " + std::to_string(type.root.kind.index()));
      note_text(type.name);
      if (type.decoder) note_function(*type.decoder);
      if (type.encoder) note("encoder");
      if (const auto* structure = std::get_if<StructureType>(&type.root.kind)) {
        for (const Field& field : structure->fields) {
          note("content " + std::to_string(field.content.index()));
          if (const auto* part = std::get_if<PhysicalType>(&field.content)) note("part " + std::to_string(part->kind.index()));
          if (const auto* constant = std::get_if<Constant>(&field.content)) note_constant(*constant);
        }
      }
    }
  }
  std::vector<std::string> expected = {"text absent", "text present and empty", "text", "raw", "typed",
                                       "NaN with a payload", "shape", "no shape", "metadata of a value", "encoder"};
  for (const ElementInfo& row : AllElementTypes()) {
    if (IsFixedWidth(row.type)) expected.push_back("constant " + std::string(row.name));
  }
  for (int i = 0; i < 8; ++i) expected.push_back("attribute " + std::to_string(i));
  for (int i = 0; i < 4; ++i) expected.push_back("types " + std::to_string(i));
  for (int i : {0, 2, 3, 4, 5}) expected.push_back("root " + std::to_string(i));   // no scalar
  for (int i : {0, 1, 2, 3, 5}) expected.push_back("part " + std::to_string(i));   // no structure
  for (int i = 0; i < 3; ++i) expected.push_back("content " + std::to_string(i));
  for (const std::string& what : expected) EXPECT_GE(seen[what], 20) << what;
}

// ---- the spellings of one type

TEST(Notation, TheSameTypeInTheSpellingsOfTheDocument) {
  const StructType expected = Structure("w", {Part("codes", Array(E::kUint8, {2, 3})), Part("scale", E::kFloat16),
                                              Const("n", Tensor(E::kInt32, {}, {4, 0, 0, 0}))});
  for (const char* text : {
           R"(StructTypeProto { name: "w" structure: Structure {
                field: { name: "codes", type: array(UINT8, dimensions=[2, 3]) }
                field: { name: "scale", type: FLOAT16 }
                field: { name: "n", constant: tensor(INT32, [], 4) } } })",
           R"(StructTypeProto{name:"w",structure:{field:[{name:"codes",type:array(array(UINT8,dimension=3),dimension=2)}]}})",
           R"(StructTypeProto { name: "w" structure: { field: Field { type: TypeProto { struct_type: StructTypeProto {
                array: { element_type: TypeProto { tensor_type: Tensor { elem_type: UINT8 shape: TensorShapeProto { } } }
                         dimension: 2 dimension: 3 } } } name: "codes" }
                field: { name: "scale" type: TypeProto { tensor_type: { elem_type: FLOAT16 shape: { } } } }
                field: { name: "n" constant: tensor(INT32, [], [4],) } } }  # a comment)"}) {
    StructType type = ParseOne(text);
    ASSERT_FALSE(Fields(type).empty()) << text;
    if (Fields(type).size() == 1) {
      EXPECT_EQ(TypeOfField(type, 0), Array(Array(E::kUint8, {3}), {2}));
    } else {
      EXPECT_TRUE(type == expected) << text << "\n" << PrintNotation(type);
    }
  }
}

TEST(Notation, NamesOfDeclarationsStandForTheirIndices) {
  Result<NotationResult> result = Parse(R"(ModelProto { struct_types: [
      StructTypeProto { name: "outer" structure: { field: { name: "x", type: array(struct("inner"), dimension=2) } } },
      StructTypeProto { name: "inner" array: array(UINT8, dimension=4) } ] })");
  ASSERT_TRUE(result) << result.error().Format();
  EXPECT_EQ(TypeOfField(result->types[0], 0), Array(Ref(1), {2}));
}

TEST(Notation, ValuesOfEveryKind) {
  StructType type = ParseOne(R"(StructTypeProto { structure: {
      field: { name: "f", constant: tensor(FLOAT, [6], [1, -0.0, inf, -inf, nan, bits(0x7fc00001)]) }
      field: { name: "h", constant: tensor(FLOAT16, [2], [1.5, bits(0xfe01)]) }
      field: { name: "i", constant: tensor(INT4, [3], [-8, 7, 2*3 - 7]) }
      field: { name: "b", constant: tensor(BOOL, [2], [true, false]) }
      field: { name: "c", constant: tensor(COMPLEX64, [1], [complex(1, -2.5)]) }
      field: { name: "m", constant: tensor(UINT8, [2, 2], [[1, 2], [3, 4]]) }
      field: { name: "t", constant: tensor(INT32, [], FLOAT16) } } })");
  ASSERT_EQ(Fields(type).size(), 7u);
  EXPECT_THAT(ConstantOfField(type, 0).bytes,
              ElementsAre(0, 0, 0x80, 0x3F, 0, 0, 0, 0x80, 0, 0, 0x80, 0x7F, 0, 0, 0x80, 0xFF, 0, 0, 0xC0, 0x7F, 1, 0, 0xC0, 0x7F));
  EXPECT_THAT(ConstantOfField(type, 1).bytes, ElementsAre(0x00, 0x3E, 0x01, 0xFE));
  EXPECT_THAT(ConstantOfField(type, 2).bytes, ElementsAre(0x78, 0x0F));
  EXPECT_THAT(ConstantOfField(type, 3).bytes, ElementsAre(1, 0));
  EXPECT_THAT(ConstantOfField(type, 4).bytes, ElementsAre(0, 0, 0x80, 0x3F, 0, 0, 0x20, 0xC0));
  EXPECT_THAT(ConstantOfField(type, 5).bytes, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(ConstantOfField(type, 6).bytes, ElementsAre(10, 0, 0, 0));
}

// ---- template parameters

TEST(NotationParameters, ExpressionsOverBoundNames) {
  NotationOptions options;
  options.shape = {6, 100};
  options.parameters.emplace("block", int64_t{32});
  StructType type = ParseOne(
      R"(StructTypeProto { array: array(UINT8, dimensions=[rows, ceil_div(cols, block), elements / 4, (cols - 4) % block * -1 + 1]) })",
      options);
  EXPECT_EQ(type.root, Array(E::kUint8, {6, 4, 150, 1}));
  // A parameter of the same name goes before the shape.
  options.parameters.emplace("rows", int64_t{7});
  type = ParseOne("StructTypeProto { array: array(UINT8, dimension=rows) }", options);
  EXPECT_EQ(type.root, Array(E::kUint8, {7}));
}

TEST(NotationParameters, UnboundNamesAreListedWithTheirFirstUse) {
  const std::string text =
      "StructTypeProto { structure: {\n"
      "    field: { name: \"a\", type: array(UINT8, dimension=n * 2) }\n"
      "    field: { name: \"b\", constant: tensor(FLOAT, [2, 3], grid) }\n"
      "    field: { name: \"c\", type: array(UINT8, dimension=n) } } }";
  Result<NotationResult> result = Parse(text);
  ASSERT_TRUE(result) << result.error().Format();
  ASSERT_EQ(result->unbound.size(), 2u);
  EXPECT_EQ(result->unbound[0].name, "grid");
  EXPECT_EQ(result->unbound[0].line, 3u);
  EXPECT_EQ(result->unbound[0].column, 57u);
  EXPECT_EQ(result->unbound[0].use, "data of FLOAT[2, 3]");
  EXPECT_EQ(result->unbound[1].name, "n");
  EXPECT_EQ(result->unbound[1].line, 2u);
  EXPECT_EQ(result->unbound[1].column, 54u);
  Result<std::vector<StructType>> concrete = (*std::move(result)).Concrete();
  ASSERT_FALSE(concrete);
  EXPECT_EQ(concrete.error().code, ErrorCode::kUnbound);

  NotationOptions options;
  options.parameters.emplace("n", int64_t{5});
  options.parameters.emplace("grid", Tensor(E::kFloat, {2, 3}, std::vector<uint8_t>(24, 0x3F)));
  StructType type = ParseOne(text, options);
  EXPECT_EQ(TypeOfField(type, 0), Array(E::kUint8, {10}));
  EXPECT_EQ(ConstantOfField(type, 1).bytes, std::vector<uint8_t>(24, 0x3F));
}

TEST(NotationParameters, DataMustFit) {
  const std::string text = "StructTypeProto { structure: { field: { name: \"g\", constant: tensor(FLOAT, [2, 3], grid) } } }";
  auto bind = [&](Constant data) {
    NotationOptions options;
    options.parameters.emplace("grid", std::move(data));
    return ParseNotation(text, options);
  };
  const std::vector<uint8_t> bytes(24, 1);
  EXPECT_TRUE(bind(Tensor(E::kFloat, {2, 3}, bytes)));
  EXPECT_TRUE(bind(Tensor(E::kFloat, {6}, bytes)));  // flat
  for (const Constant& wrong : {Tensor(E::kInt32, {2, 3}, bytes), Tensor(E::kFloat, {3, 2}, bytes)}) {
    Result<NotationResult> result = bind(wrong);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kParameterData) << result.error().Format();
    EXPECT_EQ(result.error().where, "text:1:84");
  }
  Result<NotationResult> few = bind(Tensor(E::kFloat, {5}, std::vector<uint8_t>(20)));
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, ErrorCode::kLiteral);

  NotationOptions options;
  options.parameters.emplace("n", Tensor(E::kInt64, {1}, std::vector<uint8_t>(8)));
  Result<NotationResult> number = ParseNotation("StructTypeProto { array: array(UINT8, dimension=n) }", options);
  ASSERT_FALSE(number);
  EXPECT_EQ(number.error().code, ErrorCode::kParameterData);
  EXPECT_EQ(number.error().where, "text:1:49");
}

// ---- malformed texts, each beside the valid one

constexpr std::string_view kValid =
    "StructTypeProto {\n"
    "    name: \"T\"\n"
    "    structure: Structure {\n"
    "        field: { name: \"a\", type: array(UINT8, dimensions=[2, 2]) }\n"
    "        field: { name: \"p\", type: bit_packing(dimension=4, components=[hi:5, lo:3]) }\n"
    "        field: { name: \"c\", constant: tensor(FLOAT, [2], [0.5, -1.5]) }\n"
    "        field: { name: \"n\", constant: tensor(INT4, [3], [-8, 0x7, 1]), doc_string: \"d\" }\n"
    "        field: { name: \"r\", type: struct(type_index=0) }\n"
    "    }\n"
    "    decoder: FunctionProto {\n"
    "        <opset_import: [\"\" : 21]> f (a, p_hi) => (Y) <float[4] Y> {\n"
    "            [cast] t = Cast <to: int = 1> (a)\n"
    "            k = Constant <value = float[2] {0.5, 2.0}> ()\n"
    "            Y = Mul (t, k) <doc_string: \"scaled\">\n"
    "        }\n"
    "    }\n"
    "    metadata_props: { key: \"k\", value: \"v\" }\n"
    "}\n";

struct Malformed {
  const char* name;
  const char* from;  // what stands in kValid, at its first place,
  const char* to;    // and what replaces it
  ErrorCode code;
  const char* at;  // line:column
};
std::ostream& operator<<(std::ostream& out, const Malformed& row) { return out << row.name; }

const Malformed kMalformed[] = {
    {"NoDeclaration", "StructTypeProto {\n    name", "StructType {\n    name", ErrorCode::kSyntax, "1:1"},
    {"Profile", "StructTypeProto {\n    name", "QuantizationProto {\n    name", ErrorCode::kSyntax, "1:1"},
    {"UnknownField", "name: \"T\"", "nam: \"T\"", ErrorCode::kSyntax, "2:5"},
    {"NoColon", "name: \"T\"", "name \"T\"", ErrorCode::kSyntax, "2:10"},
    {"NameWithoutQuotes", "name: \"T\"", "name: T", ErrorCode::kSyntax, "2:11"},
    {"StringWithoutEnd", "name: \"T\"", "name: \"T", ErrorCode::kSyntax, "2:11"},
    {"UnknownEscape", "name: \"T\"", "name: \"\\q\"", ErrorCode::kSyntax, "2:11"},
    {"NameTwice", "name: \"T\"", "name: \"T\" name: \"U\"", ErrorCode::kSyntax, "2:15"},
    {"CommentWithoutEnd", "name: \"T\"", "name: \"T\" /* it goes on", ErrorCode::kSyntax, "2:15"},
    {"NotAscii", "name: \"T\"", "name: \"T\" \303\251", ErrorCode::kSyntax, "2:15"},
    {"ABlockNeedsABrace", "structure: Structure {", "structure: Structure", ErrorCode::kSyntax, "4:9"},
    {"UnknownPartOfAStructure", "field: { name: \"a\"", "fields: { name: \"a\"", ErrorCode::kSyntax, "4:9"},
    {"UnknownPartOfAField", "name: \"a\"", "nam: \"a\"", ErrorCode::kSyntax, "4:18"},
    {"UnknownElementType", "array(UINT8", "array(UINT9", ErrorCode::kSyntax, "4:41"},
    {"UnknownTypeCall", "array(UINT8", "matrix(UINT8", ErrorCode::kSyntax, "4:35"},
    {"UnknownArgumentOfArray", "dimensions=[2, 2]", "dims=[2, 2]", ErrorCode::kSyntax, "4:48"},
    {"NoCommaInAList", "dimensions=[2, 2]", "dimensions=[2 2]", ErrorCode::kSyntax, "4:62"},
    {"CallWithoutEnd", "dimensions=[2, 2])", "dimensions=[2, 2]", ErrorCode::kSyntax, "4:66"},
    {"NegativeDimension", "[2, 2]", "[2, -2]", ErrorCode::kExpression, "4:63"},
    {"Remainder", "[2, 2]", "[2, 7/2]", ErrorCode::kExpression, "4:64"},
    {"DivisionByZero", "[2, 2]", "[2, 1/0]", ErrorCode::kExpression, "4:64"},
    {"ModuloZero", "[2, 2]", "[2, 1%0]", ErrorCode::kExpression, "4:64"},
    {"NumberOf65Bits", "[2, 2]", "[2, 18446744073709551616]", ErrorCode::kExpression, "4:63"},
    {"ProductOf65Bits", "[2, 2]", "[2, 4294967296*4294967296]", ErrorCode::kExpression, "4:73"},
    {"DifferenceOf65Bits", "[2, 2]", "[2, 0-1-9223372036854775808]", ErrorCode::kExpression, "4:66"},
    {"CeilDivByZero", "[2, 2]", "[2, ceil_div(1, 0)]", ErrorCode::kExpression, "4:63"},
    {"ComponentWithoutWidth", "hi:5", "hi 5", ErrorCode::kSyntax, "5:75"},
    {"ComponentWithoutName", "hi:5", "5:5", ErrorCode::kSyntax, "5:72"},
    {"NegativeWidth", "hi:5", "hi:-5", ErrorCode::kExpression, "5:75"},
    {"WidthOf33Bits", "hi:5", "hi:4294967296", ErrorCode::kExpression, "5:75"},
    {"UnknownArgumentOfPacking", "components=", "parts=", ErrorCode::kSyntax, "5:60"},
    {"TooFewValues", "[0.5, -1.5]", "[0.5]", ErrorCode::kLiteral, "6:58"},
    {"TooManyValues", "[0.5, -1.5]", "[0.5, -1.5, 0]", ErrorCode::kLiteral, "6:58"},
    {"FloatTooLarge", "[0.5, -1.5]", "[1e39, -1.5]", ErrorCode::kLiteral, "6:59"},
    {"NotAFloat", "[0.5, -1.5]", "[0.5, true]", ErrorCode::kLiteral, "6:64"},
    {"NoCommaBetweenValues", "[0.5, -1.5]", "[0.5 -1.5]", ErrorCode::kSyntax, "6:63"},
    {"StringForANumber", "[0.5, -1.5]", "[0.5, \"x\"]", ErrorCode::kSyntax, "6:64"},
    {"CodeTooWide", "[0.5, -1.5]", "[0.5, bits(0x100000000)]", ErrorCode::kLiteral, "6:69"},
    {"IntegerTooSmall", "-8, 0x7", "-9, 0x7", ErrorCode::kLiteral, "7:58"},
    {"IntegerTooLarge", "0x7", "0x8", ErrorCode::kLiteral, "7:62"},
    {"UnknownTypeOfAConstant", "tensor(FLOAT", "tensor(REAL", ErrorCode::kSyntax, "6:46"},
    {"ConstantOfStrings", "tensor(FLOAT", "tensor(STRING", ErrorCode::kLiteral, "6:46"},
    {"DimensionsNeedBrackets", "tensor(FLOAT, [2]", "tensor(FLOAT, 2", ErrorCode::kSyntax, "6:53"},
    {"DimensionOf64Bits", "tensor(FLOAT, [2]", "tensor(FLOAT, [9223372036854775808]", ErrorCode::kExpression, "6:54"},
    {"NotHexadecimal", "[0.5, -1.5])", "raw=\"0g\")", ErrorCode::kLiteral, "6:62"},
    {"UnknownStorage", "[0.5, -1.5])", "[0.5, -1.5], storage=packed)", ErrorCode::kSyntax, "6:71"},
    {"SecondContent", "doc_string: \"d\"", "type: UINT8", ErrorCode::kSyntax, "7:72"},
    {"IndexOf32Bits", "type_index=0", "type_index=2147483648", ErrorCode::kExpression, "8:53"},
    {"UnknownTypeName", "type_index=0", "\"U\"", ErrorCode::kSyntax, "8:42"},
    {"StructWithoutIndex", "type_index=0", "0", ErrorCode::kSyntax, "8:42"},
    {"SecondKind", "    metadata_props", "    array: array(UINT8, dimension=1)\n    metadata_props", ErrorCode::kSyntax, "17:5"},
    {"UnknownPartOfMetadata", "key: \"k\"", "keys: \"k\"", ErrorCode::kSyntax, "17:23"},
    {"DeclarationWithoutEnd", "value: \"v\" }\n}\n", "value: \"v\" }\n", ErrorCode::kSyntax, "18:1"},
    {"NoArrow", "=> (Y)", "-> (Y)", ErrorCode::kSyntax, "11:47"},
    {"UnknownHeader", "opset_import: [", "opset: [", ErrorCode::kSyntax, "11:10"},
    {"ImportWithoutColon", "[\"\" : 21]", "[\"\" 21]", ErrorCode::kSyntax, "11:28"},
    {"ImportWithoutVersion", "[\"\" : 21]", "[\"\" : x]", ErrorCode::kSyntax, "11:30"},
    {"VersionOf64Bits", "[\"\" : 21]", "[\"\" : 9223372036854775808]", ErrorCode::kLiteral, "11:30"},
    {"UnknownTypeOfAValue", "<float[4] Y>", "<flot[4] Y>", ErrorCode::kSyntax, "11:55"},
    {"ShapeWithoutEnd", "<float[4] Y>", "<float[4 Y>", ErrorCode::kSyntax, "11:63"},
    {"LabelWithoutEnd", "[cast] t", "[cast t", ErrorCode::kSyntax, "12:19"},
    {"NodeWithoutEquals", "t = Cast", "t Cast", ErrorCode::kSyntax, "12:22"},
    {"AttributeWithoutEquals", "to: int = 1", "to: int 1", ErrorCode::kSyntax, "12:38"},
    {"AttributeOfAnotherType", "to: int = 1", "to: int = 1.5", ErrorCode::kSyntax, "12:40"},
    {"AttributeOfNoType", "to: int = 1", "to: integer = 1", ErrorCode::kSyntax, "12:44"},
    {"EmptyListWithoutType", "to: int = 1", "to = []", ErrorCode::kSyntax, "12:35"},
    {"MixedList", "to: int = 1", "to = [1, \"x\"]", ErrorCode::kSyntax, "12:35"},
    {"IntegerOf64Bits", "to: int = 1", "to = 9223372036854775808", ErrorCode::kLiteral, "12:35"},
    {"InputsNeedParentheses", "> (a)\n", "> a\n", ErrorCode::kSyntax, "12:43"},
    {"TensorWithTooFewValues", "float[2] {0.5, 2.0}", "float[2] {0.5}", ErrorCode::kLiteral, "13:35"},
    {"TensorOfStrings", "float[2] {0.5, 2.0}", "string[2] {0.5, 2.0}", ErrorCode::kLiteral, "13:35"},
    {"TensorNeedsBraces", "float[2] {0.5, 2.0}", "float[2] [0.5, 2.0]", ErrorCode::kSyntax, "13:44"},
    {"CodeOf17Bits", "float[2] {0.5, 2.0}", "float16[2] {15360, 65536}", ErrorCode::kLiteral, "13:54"},
    {"UnknownExtension", "<doc_string: \"scaled\">", "<doc: \"scaled\">", ErrorCode::kSyntax, "14:29"},
    {"FunctionWithoutEnd", "        }\n    }\n    metadata", "        }\n    metadata", ErrorCode::kSyntax, "16:5"},
};

TEST(NotationErrors, TheTextThatTheOthersAreMadeFromIsValid) {
  StructType type = ParseOne(kValid);
  EXPECT_EQ(type.name, "T");
  ASSERT_TRUE(type.decoder);
  EXPECT_EQ(type.decoder->nodes.size(), 3u);
  EXPECT_EQ(type.decoder->nodes[0].name, "cast");
  EXPECT_EQ(type.decoder->nodes[2].doc_string, "scaled");
}

class NotationErrors : public ::testing::TestWithParam<Malformed> {};

TEST_P(NotationErrors, NamesLineAndColumn) {
  std::string text(kValid);
  const size_t place = text.find(GetParam().from);
  ASSERT_NE(place, std::string::npos);
  text.replace(place, std::string_view(GetParam().from).size(), GetParam().to);
  Result<NotationResult> result = Parse(text);
  ASSERT_FALSE(result) << text;
  EXPECT_EQ(result.error().where, "text:" + std::string(GetParam().at)) << result.error().Format();
  EXPECT_EQ(Info(result.error().code).slug, Info(GetParam().code).slug) << result.error().Format();
  EXPECT_FALSE(result.error().what.empty());
}

INSTANTIATE_TEST_SUITE_P(Texts, NotationErrors, ::testing::ValuesIn(kMalformed),
                         [](const auto& test) { return std::string(test.param.name); });

testing::AssertionResult FailsAt(std::string_view text, const NotationOptions& options, ErrorCode code, std::string_view where) {
  Result<NotationResult> result = ParseNotation(text, options);
  if (result) return testing::AssertionFailure() << "was parsed";
  if (result.error().code == code && result.error().where == where) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().Format();
}

TEST(NotationErrors, FileNameStandsInFrontOfTheLine) {
  NotationOptions options;
  options.file_name = "dir/t.txt";
  EXPECT_TRUE(FailsAt("StructTypeProto {\n  x", options, ErrorCode::kSyntax, "dir/t.txt:2:4"));
}

TEST(NotationErrors, FunctionWithoutABody) {
  EXPECT_TRUE(Parse("StructTypeProto { decoder: { () => () { } } }"));
  EXPECT_TRUE(FailsAt("StructTypeProto { decoder: { } }", {}, ErrorCode::kSyntax, "text:1:30"));
  EXPECT_TRUE(FailsAt("StructTypeProto { decoder: { ... } }", {}, ErrorCode::kSyntax, "text:1:30"));
}

TEST(NotationErrors, Limits) {
  NotationOptions options;
  options.limits.depth = 3;
  const std::string_view nested = "StructTypeProto { array: array(array(UINT8, dimension=1), dimension=1) }";
  EXPECT_TRUE(ParseNotation(nested, options));
  options.limits.depth = 2;
  EXPECT_TRUE(FailsAt(nested, options, ErrorCode::kLimitDepth, "text:1:38"));

  const std::string_view constant = "StructTypeProto { structure: { field: { name: \"c\", constant: tensor(FLOAT, [2], [1, 2]) } } }";
  options.limits.constant_bytes = 8;
  EXPECT_TRUE(ParseNotation(constant, options));
  options.limits.constant_bytes = 7;
  EXPECT_TRUE(FailsAt(constant, options, ErrorCode::kLimitConstant, "text:1:81"));
}

// Depth is refused before it costs stack: 100,000 of each kind of bracket.
TEST(NotationErrors, DeepNesting) {
  auto repeat = [](std::string_view part, size_t n) {
    std::string text;
    for (size_t i = 0; i < n; ++i) text += part;
    return text;
  };
  const size_t many = 100'000;
  EXPECT_TRUE(FailsAt("StructTypeProto { array: " + repeat("array(", many), {}, ErrorCode::kLimitDepth,
                      "text:1:" + std::to_string(26 + 6 * 64)));
  const std::string dimension = "StructTypeProto { array: array(UINT8, dimension=";
  auto expression = [&](size_t n) { return dimension + repeat("(", n) + "1" + repeat(")", n) + ") }"; };
  EXPECT_TRUE(Parse(expression(63)));
  EXPECT_TRUE(FailsAt(expression(many), {}, ErrorCode::kExpression, "text:1:" + std::to_string(49 + 64)));
  EXPECT_TRUE(FailsAt(dimension + repeat("-", many), {}, ErrorCode::kExpression, "text:1:" + std::to_string(49 + 64)));
  const std::string tensor = "StructTypeProto { structure: { field: { constant: tensor(UINT8, [1], ";
  auto list = [&](size_t n) { return tensor + repeat("[", n) + "1" + repeat("]", n) + ") } } }"; };
  EXPECT_TRUE(Parse(list(16)));
  EXPECT_TRUE(FailsAt(list(many), {}, ErrorCode::kSyntax, "text:1:" + std::to_string(70 + 17)));
}

// Every prefix of a valid text is an error that lies inside it, never a crash.
TEST(NotationErrors, EveryPrefix) {
  for (size_t n = 1; n + 1 < kValid.size(); ++n) {
    Result<NotationResult> result = Parse(kValid.substr(0, n));
    ASSERT_FALSE(result) << kValid.substr(0, n);
    ASSERT_TRUE(result.error().code == ErrorCode::kSyntax || result.error().code == ErrorCode::kLiteral)
        << result.error().Format();
  }
  EXPECT_TRUE(Parse(""));
}

TEST(FunctionTextErrors, StandingAlone) {
  EXPECT_TRUE(ParseFunctionText("f (x) => (y) { y = Neg (x) }", Limits()));
  Result<Function> rest = ParseFunctionText("f (x) => (y) { y = Neg (x) } }", Limits());
  ASSERT_FALSE(rest);
  EXPECT_EQ(rest.error().where, "text:1:30");
  EXPECT_EQ(rest.error().code, ErrorCode::kSyntax);
  Result<Function> unbound = ParseFunctionText("f () => (y) { y = Constant <value = int64[1] {n}> () }", Limits());
  ASSERT_FALSE(unbound);
  EXPECT_EQ(unbound.error().where, "text:1:47");
  EXPECT_EQ(unbound.error().code, ErrorCode::kUnbound);
}

}  // namespace
}  // namespace tessera
