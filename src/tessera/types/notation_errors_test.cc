// One text of many lines, and what its parser says where it is wrong: each row is the text with one edit.
// notation_test.cc has what each construct means and its errors one by one.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>

#include "tessera/types/notation.h"

namespace tessera {
namespace {

Result<NotationResult> Parse(std::string_view text) { return ParseNotation(text, NotationOptions()); }

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
    {"SecondKind", "    metadata_props", "    array: array(UINT8, dimension=1)\n    metadata_props", ErrorCode::kSyntax,
     "17:5"},
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
    {"AttributeOfNoType", "to: int = 1", "to: integer = 1", ErrorCode::kSyntax, "12:34"},
    {"EmptyListWithoutType", "to: int = 1", "to = []", ErrorCode::kSyntax, "12:35"},
    {"MixedList", "to: int = 1", "to = [1, \"x\"]", ErrorCode::kSyntax, "12:35"},
    {"IntegerOf64Bits", "to: int = 1", "to = 9223372036854775808", ErrorCode::kLiteral, "12:35"},
    {"InputsNeedParentheses", "> (a)\n", "> a\n", ErrorCode::kSyntax, "12:43"},
    {"TensorWithTooFewValues", "float[2] {0.5, 2.0}", "float[2] {0.5}", ErrorCode::kLiteral, "13:44"},
    {"TensorOfStrings", "float[2] {0.5, 2.0}", "string[2] {0.5, 2.0}", ErrorCode::kLiteral, "13:35"},
    {"TensorNeedsBraces", "float[2] {0.5, 2.0}", "float[2] [0.5, 2.0]", ErrorCode::kSyntax, "13:44"},
    {"CodeOf17Bits", "float[2] {0.5, 2.0}", "float16[2] {15360, 65536}", ErrorCode::kLiteral, "13:54"},
    {"UnknownExtension", "<doc_string: \"scaled\">", "<doc: \"scaled\">", ErrorCode::kSyntax, "14:29"},
    {"FunctionWithoutEnd", "        }\n    }\n    metadata", "        }\n    metadata", ErrorCode::kSyntax, "16:5"},
};

TEST(NotationErrors, TheTextThatTheOthersAreMadeFromIsValid) {
  Result<NotationResult> result = Parse(kValid);
  ASSERT_TRUE(result) << result.error().Format();
  EXPECT_TRUE(result->unbound.empty());
  ASSERT_EQ(result->types.size(), 1u);
  const StructType& type = result->types[0];
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

TEST(NotationErrors, NameTheFieldThatIsNear) {
  const auto fix = [](const std::string& fields) {
    Result<NotationResult> result = Parse("StructTypeProto { metadata_props: { " + fields + " } }");
    return result ? "nothing" : result.error().fix;
  };
  EXPECT_EQ(fix("key: \"k\""), "nothing");
  for (const char* near : {"kkey", "ke", "kez", "kye", "Key"}) {
    EXPECT_EQ(fix(std::string(near) + ": \"k\""), "did you mean 'key'? one of: key, value") << near;
  }
  EXPECT_EQ(fix("values: \"v\""), "did you mean 'value'? one of: key, value");
  for (const char* far : {"keywords", "property", "val_ues_", "a_name_that_is_much_longer_than_the_others"}) {
    EXPECT_EQ(fix(std::string(far) + ": \"k\""), "one of: key, value") << far;
  }
}

// Every prefix of a valid text is an error that lies inside it, never a crash.
TEST(NotationErrors, EveryPrefix) {
  for (size_t n = 1; n + 1 < kValid.size(); ++n) {
    Result<NotationResult> result = Parse(kValid.substr(0, n));
    ASSERT_FALSE(result) << kValid.substr(0, n);
    ASSERT_TRUE(result.error().code == ErrorCode::kSyntax || result.error().code == ErrorCode::kLiteral)
        << result.error().Format();
  }
}

}  // namespace
}  // namespace tessera
