// One text of profiles, and what its parser says where it is wrong: each row is the text with one edit.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>

#include "tessera/quant/profile_fields.h"
#include "tessera/quant/profile_text.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"  // of profiles that name what is not at its default

namespace tessera {
namespace {

using ::testing::HasSubstr;

NotationOptions Bound() {
  NotationOptions options;
  Constant strings;
  strings.type = ElementType::kBool;
  strings.dims = {2};
  strings.bytes = {3};
  options.parameters["flags"] = strings;
  Constant large;
  large.type = ElementType::kDouble;
  large.dims = {1};
  large.bytes = {0, 0, 0, 0, 0, 0, 0, 0x50};  // 2^257
  options.parameters["large"] = large;
  Constant cut = large;
  cut.dims = {2};
  options.parameters["cut"] = cut;
  options.parameters["word"] = std::string("INT5");
  options.parameters["rotation_matrix_4"] = int64_t{1};
  return options;
}

constexpr std::string_view kValid =
    "QuantizationProto {\n"
    "    data_type: FLOAT16\n"
    "    doc_string: \"d\"\n"
    "    metadata_props: { key: \"k\", value: \"v\" }\n"
    "    pre_rotation: RotationProto { matrix_type: PLAIN, dims: [2], matrix_index: 3 }\n"
    "    tiling: TilingQuantizationProto {\n"
    "        tile_shape: [32, 64]\n"
    "        elem_quant: [\n"
    "            QuantizationProto { linear: { storage_type: INT4, bits: 4, symmetric: false,\n"
    "                scale: stored(FLOAT16, per=tile), zero_point: 9 } },\n"
    "            { codebook: { scale_float: 0.5, codebook_data: [-1.0, 1.0] } }\n"
    "        ]\n"
    "    }\n"
    "}\n"
    "QuantizationProto { structured_block: {\n"
    "    block_layout: { fields: { role: CODE, bit_width: 4 } }\n"
    "    storage_order: SEQUENTIAL, axis: 0\n"
    "} }\n";

struct Malformed {
  const char* name;
  const char* from;  // what stands in kValid, at its first place,
  const char* to;    // and what replaces it
  ErrorCode code;
  const char* at;    // line:column
  const char* says;  // a part of the message
};
std::ostream& operator<<(std::ostream& out, const Malformed& row) { return out << row.name; }

constexpr ErrorCode kSyntax = ErrorCode::kSyntax;

const Malformed kMalformed[] = {
    {"NoProfile", "QuantizationProto {\n    data", "Quantization {\n    data", kSyntax, "1:1", "expected Quant"},
    {"StructType", "QuantizationProto {\n    data", "StructTypeProto {\n    data", kSyntax, "1:1", "is a struct type"},
    {"Model", "QuantizationProto {\n    data", "ModelProto {\n    data", kSyntax, "1:1", "is a struct type"},
    {"Surplus", "} }\n", "} } }\n", kSyntax, "11:76", "expected ',' or ']'"},
    {"SurplusAtTheEnd", "axis: 0\n} }", "axis: 0\n} } }", kSyntax, "18:5", "expected QuantizationProto, found '}'"},
    {"NoBrace", "tiling: TilingQuantizationProto {", "tiling: TilingQuantizationProto", kSyntax, "7:9", "expected '{'"},
    {"OtherMessage", "tiling: Tiling", "tiling: Sparse", kSyntax, "6:13",
     "expected TilingQuantizationProto or '{', found 'SparseQuantizationProto'"},
    {"UnknownFamily", "tiling:", "tilling:", kSyntax, "6:5",
     "QuantizationProto has no field 'tilling' (did you mean 'tiling'? one of: doc_string, metadata_props, data_type, "
     "pre_rotation, post_rotation, linear, codebook, floating_point, sparse, log, function, tiling, cast, "
     "structured_block)"},
    {"UnknownField", "bits: 4,", "bitz: 4,", kSyntax, "9:63",
     "LinearUniformProto has no field 'bitz' (did you mean 'bits'? one of: storage_type, bits, symmetric, scale_float, "
     "scale_int, scale, zero_point, axis)"},
    {"UnknownFieldOfNoLikeness", "bits: 4,", "width: 4,", kSyntax, "9:63", "(one of: storage_type,"},
    {"FieldOfAnotherMessage", "bits: 4,", "index_bits: 4,", kSyntax, "9:63", "has no field 'index_bits' (one of"},
    {"UnknownPartOfMetadata", "key: \"k\"", "keys: \"k\"", kSyntax, "4:23", "did you mean 'key'?"},
    {"NoColon", "doc_string:", "doc_string", kSyntax, "3:16", "expected ':' after 'doc_string'"},
    {"FieldTwice", "bits: 4,", "bits: 4, bits: 4,", kSyntax, "9:72", "'bits' is given twice"},
    {"FieldTwiceInTwoSpellings", "matrix_type: PLAIN,", "matrix_type: PLAIN, type: PLAIN,", kSyntax, "5:55",
     "'type' is given twice"},
    {"DataTwice", "[-1.0, 1.0] }", "[-1.0] codebook_data: [1.0] }", kSyntax, "11:67", "is given twice"},
    {"KeyOfMetadataTwice", "key: \"k\"", "key: \"k\" key: \"k\"", kSyntax, "4:32", "is given twice"},
    {"SecondScale", "scale_float: 0.5,", "scale_float: 0.5, scale_int: 1,", kSyntax, "11:45",
     "a scale is one of scale_float, scale_int, scale, and this is a second"},
    {"SecondScaleOfTheSameName", "scale_float: 0.5,", "scale_float: 0.5, scale_float: 0.5,", kSyntax, "11:45",
     "this is a second"},
    {"SecondStoredScale", "scale_float: 0.5,", "scale_float: 0.5, scale: stored(FLOAT),", kSyntax, "11:45",
     "this is a second"},
    {"SecondFamily", "{ codebook: {", "{ log: {} codebook: {", kSyntax, "11:23", "a profile has one family"},
    {"SameFamilyTwice", "{ codebook: {", "{ codebook: {} codebook: {", kSyntax, "11:28", "a profile has one family"},
    {"StringWithoutQuotes", "doc_string: \"d\"", "doc_string: d", kSyntax, "3:17", "expected a string"},
    {"ListForOneValue", "bits: 4,", "bits: [4],", kSyntax, "9:69", "expected an integer, found '['"},
    {"NoComma", "[32, 64]", "[32 64]", kSyntax, "7:25", "expected ',' or ']'"},
    {"ListWithoutEnd", "[32, 64]", "[32, 64", kSyntax, "8:9", "expected ',' or ']'"},
    {"FloatForAnInteger", "bits: 4,", "bits: 4.0,", kSyntax, "9:69", "expected an integer, found '4.0'"},
    {"LiteralForAnInteger", "bits: 4,", "bits: true,", kSyntax, "9:69", "expected an integer, found 'true'"},
    {"TypeForAnInteger", "bits: 4,", "bits: INT4,", kSyntax, "9:69", "expected an integer, found 'INT4'"},
    {"IntegerTooLarge", "bits: 4,", "bits: 2147483648,", ErrorCode::kExpression, "9:69",
     "bits is 2147483648 (-2147483648 to 2147483647)"},
    {"IntegerTooSmall", "bits: 4,", "bits: -2147483649,", ErrorCode::kExpression, "9:69", "bits is -2147483649"},
    {"LongTooLarge", "[32, 64]", "[32, 9223372036854775808]", ErrorCode::kExpression, "7:26",
     "tile_shape is 9223372036854775808 (-9223372036854775808 to 9223372036854775807)"},
    {"IntegerOf65Bits", "[32, 64]", "[32, 18446744073709551616]", ErrorCode::kExpression, "7:26", "64 bits"},
    {"ZeroPointTooLarge", "zero_point: 9", "zero_point: 9223372036854775808", ErrorCode::kExpression, "10:63",
     "zero_point is"},
    {"Remainder", "bits: 4,", "bits: 9/2,", ErrorCode::kExpression, "9:70", "9 is not a multiple of 2"},
    {"DataForAnInteger", "bits: 4,", "bits: flags,", ErrorCode::kParameterData, "9:69", "bound to data"},
    {"WordForAnInteger", "bits: 4,", "bits: word,", ErrorCode::kParameterData, "9:69", "bound to 'INT5'"},
    {"UnknownType", "storage_type: INT4", "storage_type: INT5", kSyntax, "9:57",
     "expected an element type, found 'INT5' (did you mean 'INT8'? one of: UNDEFINED, FLOAT,"},
    {"StringForAType", "storage_type: INT4", "storage_type: \"INT4\"", kSyntax, "9:57",
     "expected an element type, found the string"},
    {"NumberOfNoType", "storage_type: INT4", "storage_type: 29", ErrorCode::kLiteral, "9:57",
     "29 is not the number of an element type"},
    {"NegativeType", "storage_type: INT4", "storage_type: -1", ErrorCode::kLiteral, "9:57", "-1 is not the number"},
    {"NumberOfNoTypeWithin32Bits", "storage_type: INT4", "storage_type: 4294967297", ErrorCode::kLiteral, "9:57",
     "4294967297 is not"},
    {"WordOfNoType", "storage_type: INT4", "storage_type: word", ErrorCode::kParameterData, "9:57",
     "'word' is bound to 'INT5' (did you mean 'INT8'?"},
    {"DataForAType", "storage_type: INT4", "storage_type: flags", ErrorCode::kParameterData, "9:57", "bound to data"},
    {"UnknownRotation", "matrix_type: PLAIN", "matrix_type: PLANE", kSyntax, "5:48",
     "expected a kind of rotation, found 'PLANE' (did you mean 'PLAIN'? one of: HADAMARD, PLAIN)"},
    {"NumberOfNoRotation", "matrix_type: PLAIN", "matrix_type: 2", ErrorCode::kLiteral, "5:48", "HADAMARD, PLAIN"},
    {"UnknownRole", "role: CODE", "role: CODES", kSyntax, "16:37", "one of: VALUES, SIGN, SCALE, ZERO_POINT, BIAS"},
    {"NumberOfNoRole", "role: CODE", "role: 8", ErrorCode::kLiteral, "16:37", "8 is not the number of a role"},
    {"UnknownOrder", "storage_order: SEQUENTIAL", "storage_order: PLANAR", kSyntax, "17:20",
     "one of: INTERLEAVED, SEQUENTIAL"},
    {"NumberForABool", "symmetric: false", "symmetric: 2", ErrorCode::kLiteral, "9:83", "BOOL"},
    {"CodeForABool", "symmetric: false", "symmetric: bits(0x2)", ErrorCode::kLiteral, "9:83", "neither true nor false"},
    {"ListForABool", "symmetric: false", "symmetric: [false]", kSyntax, "9:83", "expected true or false, found '['"},
    {"TypeForAFloat", "scale_float: 0.5", "scale_float: FLOAT", kSyntax, "11:40", "expected a number, found 'FLOAT'"},
    {"ListForAFloat", "scale_float: 0.5", "scale_float: [0.5]", kSyntax, "11:40", "expected a number, found '['"},
    {"FloatTooLarge", "scale_float: 0.5", "scale_float: 1e39", ErrorCode::kLiteral, "11:40", "1e39"},
    {"WordForAFloat", "scale_float: 0.5", "scale_float: word", ErrorCode::kParameterData, "11:40", "word"},
    {"DataForAFloat", "scale_float: 0.5", "scale_float: flags", ErrorCode::kParameterData, "11:40", "BOOL[2]"},
    {"ScaleThatIsNotStored", "scale: stored(FLOAT16, per=tile)", "scale: 0.5", kSyntax, "10:24",
     "expected stored(...), found '0.5' (scale_float for a number, scale_int for an exponent of 2)"},
    {"StoredWithoutType", "stored(FLOAT16, per=tile)", "stored(per=tile)", kSyntax, "10:31",
     "expected an element type, found 'per'"},
    {"StoredWithoutParentheses", "stored(FLOAT16, per=tile)", "stored FLOAT16", kSyntax, "10:31", "expected '('"},
    {"StoredWithoutEnd", "per=tile)", "per=tile", kSyntax, "10:60", "expected '=', found ':'"},
    {"StoredWithoutComma", "FLOAT16, per", "FLOAT16 per", kSyntax, "10:39", "expected ',' or ')'"},
    {"UnknownArgument", "per=tile", "by=tile", kSyntax, "10:40", "stored has no field 'by' (one of: per, at)"},
    {"ArgumentTwice", "per=tile", "per=tile, per=tile", kSyntax, "10:50", "'per' is given twice"},
    {"ArgumentWithoutEquals", "per=tile", "per: tile", kSyntax, "10:43", "expected '='"},
    {"UnknownPer", "per=tile", "per=tiles", kSyntax, "10:44", "did you mean 'tile'? one of: tile, channel, tensor"},
    {"UnknownAt", "per=tile", "at=behind", kSyntax, "10:43", "one of: before, after"},
    {"StoredOfAFamily", "stored(FLOAT16", "stored(linear: {}", kSyntax, "10:31", "expected an element type"},
    {"EllipsisInAList", "[-1.0, 1.0]", "[-1.0, ...]", kSyntax, "11:67", "expected a value of FLOAT, found '...'"},
    {"EllipsisOfNumbers", "[32, 64]", "[...]", kSyntax, "7:22", "expected an integer, found '...'"},
    {"EllipsisOfProfiles", "{ codebook", "... { codebook", kSyntax, "11:13", "found '...'"},
    {"DataWithoutAName", "[-1.0, 1.0]", "\"\"", kSyntax, "11:60", "expected the name of a parameter"},
    {"MessageForData", "[-1.0, 1.0]", "{}", kSyntax, "11:60", "expected a value of FLOAT"},
    {"DataTooLarge", "[-1.0, 1.0]", "[-1.0, 1e39]", ErrorCode::kLiteral, "11:67", "1e39"},
    {"DataThatIsNoNumber", "[-1.0, 1.0]", "[-1.0, true]", ErrorCode::kLiteral, "11:67", "true"},
    {"DataOfBools", "[-1.0, 1.0]", "flags", ErrorCode::kParameterData, "11:60",
     "'flags' is bound to BOOL[2] (an array of integers or floats)"},
    {"DataOfAnotherSize", "[-1.0, 1.0]", "cut", ErrorCode::kParameterData, "11:60", "DOUBLE[2]"},
    {"DataBeyondFloat", "[-1.0, 1.0]", "large", ErrorCode::kParameterData, "11:60", "value 0 is beyond FLOAT"},
    {"WordForData", "[-1.0, 1.0]", "\"word\"", ErrorCode::kParameterData, "11:60", "'word' is bound to one value"},
    {"NumberForAMatrix", "matrix_index: 3", "matrix_index: 4", ErrorCode::kParameterData, "5:19",
     "'rotation_matrix_4' is bound to one value"},
    {"CommentWithoutEnd", "bits: 4,", "bits: 4, /*", kSyntax, "9:72", "a comment without an end"},
    {"NotAscii", "bits: 4,", "bits: \303\244,", kSyntax, "9:69", "neither ASCII"},
    {"NothingAtAll", kValid.data(), "", kSyntax, "1:1", "expected QuantizationProto, found the end of the text"},
};

TEST(ProfileTextErrors, TheTextThatTheOthersAreMadeFromIsValid) {
  auto result = ParseProfiles(kValid, Bound());
  ASSERT_TRUE(result) << result.error().Format();
  ASSERT_EQ(result->profiles.size(), 2u);
  ASSERT_EQ(result->unbound.size(), 1u);
  EXPECT_EQ(result->unbound[0].name, "rotation_matrix_3");
  const auto& tiling = std::get<TilingProfile>(result->profiles[0].kind);
  EXPECT_EQ(tiling.elem_quant.size(), 2u);
  EXPECT_EQ(std::get<LinearProfile>(tiling.elem_quant[0].kind).scale, Scale(Stored{.type = ElementType::kFloat16}));
  EXPECT_EQ(std::get<StructuredBlockProfile>(result->profiles[1].kind).axis, 0);
}

class ProfileTextErrors : public ::testing::TestWithParam<Malformed> {};

TEST_P(ProfileTextErrors, NamesLineAndColumn) {
  std::string text(kValid);
  const size_t place = text.find(GetParam().from);
  ASSERT_NE(place, std::string::npos);
  text.replace(place, std::string_view(GetParam().from).size(), GetParam().to);
  auto result = ParseProfiles(text, Bound());
  ASSERT_FALSE(result) << text;
  EXPECT_EQ(result.error().where, "text:" + std::string(GetParam().at)) << result.error().Format();
  EXPECT_EQ(Info(result.error().code).slug, Info(GetParam().code).slug) << result.error().Format();
  EXPECT_THAT(result.error().Format(), HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(Texts, ProfileTextErrors, ::testing::ValuesIn(kMalformed),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ProfileTextErrors, EveryPrefix) {
  const size_t first_end = kValid.find("\n}\n") + 2;  // the first profile alone is whole
  for (size_t n = 0; n + 1 < kValid.size(); ++n) {
    const bool whole = n == first_end || n == first_end + 1;
    auto result = ParseProfiles(kValid.substr(0, n), {});
    ASSERT_EQ(result.has_value(), whole) << kValid.substr(0, n);
    if (whole) continue;
    ASSERT_EQ(Info(result.error().code).slug, Info(kSyntax).slug) << result.error().Format();
  }
}

TEST(ProfileTextErrors, NameTheFile) {
  NotationOptions options;
  options.file_name = "a.txt";
  EXPECT_EQ(ParseProfiles("x", options).error().where, "a.txt:1:1");
  options.shape = {-1};
  EXPECT_EQ(ParseProfiles("QuantizationProto { }", options).error().code, ErrorCode::kArgument);
}

// ---- limits

std::string Nested(const std::string& before, const std::string& after, int times) {
  std::string text = "QuantizationProto {";
  for (int i = 1; i < times; ++i) text += before;
  for (int i = 1; i < times; ++i) text += after;
  return text + "}";
}

TEST(ProfileTextErrors, Depth) {
  const struct {
    const char* before;
    const char* after;
  } kWays[] = {{"tiling:{elem_quant:{", "}}"},
               {"sparse:{base_quant:{", "}}"},
               {"linear:{scale:stored({", "})}"},
               {"linear:{zero_point:stored({", "})}"}};
  for (const auto& way : kWays) {
    for (uint32_t depth : {1U, 2U, 7U, 64U}) {
      NotationOptions options;
      options.limits.depth = depth;
      EXPECT_TRUE(ParseProfiles(Nested(way.before, way.after, static_cast<int>(depth)), options)) << way.before;
      auto deeper = ParseProfiles(Nested(way.before, way.after, static_cast<int>(depth) + 1), options);
      ASSERT_FALSE(deeper) << way.before;
      EXPECT_EQ(Info(deeper.error().code).slug, Info(ErrorCode::kLimitDepth).slug) << deeper.error().Format();
      const size_t column =
          std::string_view("QuantizationProto {").size() + depth * std::string_view(way.before).size();
      EXPECT_EQ(deeper.error().where, fmt::format("text:1:{}", column));
    }
  }
  // Far beyond any limit: no stack is used up, in whatever bracket.
  for (const char* way : {"tiling:{elem_quant:[{", "linear:{scale:stored({", "codebook:{codebook_data:[[[[["}) {
    std::string text = "QuantizationProto {";
    for (int i = 0; i < 100'000; ++i) text += way;
    EXPECT_FALSE(ParseProfiles(text, {}));
  }
  EXPECT_FALSE(ParseProfiles("QuantizationProto { log: { bits: " + std::string(100'000, '('), {}));
}

TEST(ProfileTextErrors, DataBeyondTheLimit) {
  NotationOptions options;
  Constant eight;
  eight.type = ElementType::kUint2;
  eight.dims = {8};
  eight.bytes = {0, 0};  // eight elements, 32 bytes as FLOAT
  options.parameters["eight"] = eight;
  for (const char* data : {"[1, 2, 3, 4, 5, 6, 7, 8]", "eight"}) {
    const std::string one = fmt::format("QuantizationProto {{ codebook: {{ codebook_data: {} }} }}\n", data);
    options.limits.constant_bytes = 32;
    EXPECT_TRUE(ParseProfiles(one, options)) << data;
    options.limits.constant_bytes = 31;
    auto result = ParseProfiles(one, options);
    ASSERT_FALSE(result) << data;
    EXPECT_EQ(Info(result.error().code).slug, Info(ErrorCode::kLimitConstant).slug);
    // All data of a text count.
    options.limits.constant_bytes = 64;
    EXPECT_TRUE(ParseProfiles(one + one, options)) << data;
    result = ParseProfiles(one + one + one, options);
    ASSERT_FALSE(result) << data;
    EXPECT_EQ(Info(result.error().code).slug, Info(ErrorCode::kLimitConstant).slug);
    EXPECT_THAT(result.error().where, HasSubstr("text:3:"));
  }
}

}  // namespace
}  // namespace tessera
