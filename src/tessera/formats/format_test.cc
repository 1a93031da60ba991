// The text of a format, and what it declares.
#include "tessera/formats/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kProfile = R"(// Two codes a byte.
//   more
FormatProto {
    name: "my_b{block}"
    title: "Mine, {block} values"
    author: "me"
    aliases: ["MY-{block}"]
    sources: ["a book", "a page"]
    blocks: [16, 32]
    codec: "own"
    shape: [2, 64]
    doc_string: "a \"text\""
    spelling: SpellingProto { name: "ROOT", codes: "blocks", parts: [SpellingProto { name: "PART", code_type: UINT8 }] }
}
// Behind the header.
QuantizationProto {
    tiling: TilingQuantizationProto {
        tile_shape: [block]
        elem_quant: [QuantizationProto {
            linear: LinearUniformProto {
                storage_type: UINT4, bits: 4, scale: stored(FLOAT16, per=tile, at=before), zero_point: 8, axis: -1
            }
        }]
    }
}
)";

constexpr std::string_view kTypes =
    R"(FormatProto { name: "halves", title: "Halves", author: "me", block: 4, shape: [2, 3, 8] }
StructTypeProto {
    name: "BLOCK"
    structure: Structure {
        field: { name: "codes", type: array(UINT8, dimension=block) }
    }
}
StructTypeProto {
    name: "HALVES"
    structure: Structure {
        field: { name: "blocks", type: array(struct("BLOCK"), dimensions=[rows, cols/block]) }
        field: { name: "half", constant: tensor(FLOAT, [], 0.5) }
    }
    decoder: FunctionProto {
        <opset_import: ["" : 13]> decode (blocks_codes, half) => (Y) <float[shape] Y> {
            dims = Constant <value_ints: ints = shape> ()
            wide = Cast <to: int = 1> (blocks_codes)
            scaled = Mul (wide, half)
            Y = Reshape (scaled, dims)
        }
    }
}
)";

std::string Replaced(std::string_view text, const std::string& from, const std::string& to) {
  std::string copy(text);
  const size_t at = copy.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? copy : copy.replace(at, from.size(), to);
}

// The error of a text as one line, or "none".
std::string ErrorOf(const std::string& text) {
  const Result<Format> format = ParseFormat(text, {}, "f.txt");
  return format ? "none" : format.error().Format();
}

TEST(FormatText, HeaderCommentAndBody) {
  const auto format = ParseFormat(kProfile, {}, "f.txt");
  ASSERT_TRUE(format) << format.error().Format();
  EXPECT_EQ(format->name, "my_b{block}");
  EXPECT_EQ(format->title, "Mine, {block} values");
  EXPECT_EQ(format->author, "me");
  EXPECT_THAT(format->aliases, ElementsAre("MY-{block}"));
  EXPECT_THAT(format->sources, ElementsAre("a book", "a page"));
  EXPECT_THAT(format->blocks, ElementsAre(16, 32));
  EXPECT_EQ(format->codec, "own");
  EXPECT_THAT(format->shape, ElementsAre(2, 64));
  EXPECT_EQ(format->doc_string, "a \"text\"");
  EXPECT_EQ(format->spelling.parts.at(0).code_type, ElementType::kUint8);
  EXPECT_EQ(format->comment, "// Two codes a byte.\n//   more");
  EXPECT_THAT(format->body, ::testing::StartsWith("// Behind the header.\nQuantizationProto {"));
  EXPECT_THAT(format->body, ::testing::EndsWith("}\n}"));
  EXPECT_TRUE(format->by_profile);
  EXPECT_TRUE(format->IsFamily());
  EXPECT_EQ(format->line, 15u);
}

TEST(FormatText, PrintedAndParsedEqual) {
  for (const std::string_view text : {kProfile, kTypes}) {
    const auto format = ParseFormat(text);
    ASSERT_TRUE(format) << format.error().Format();
    const std::string printed = PrintFormat(*format);
    const auto again = ParseFormat(printed);
    ASSERT_TRUE(again) << again.error().Format() << printed;
    EXPECT_EQ(*again, *format);
    EXPECT_EQ(PrintFormat(*again), printed);
  }
}

// Each of these makes another format.
TEST(FormatText, EveryFieldCounts) {
  const Format format = *ParseFormat(kProfile);
  const std::vector<void (*)(Format*)> edits = {
      [](Format* f) { f->name = "other"; },
      [](Format* f) { f->title = "other"; },
      [](Format* f) { f->author = "other"; },
      [](Format* f) { f->aliases.clear(); },
      [](Format* f) { f->sources.clear(); },
      [](Format* f) { f->block = 7; },
      [](Format* f) { f->blocks.push_back(64); },
      [](Format* f) { f->default_block = 16; },
      [](Format* f) { f->partial_blocks = true; },
      [](Format* f) { f->codec = "other"; },
      [](Format* f) { f->shape.clear(); },
      [](Format* f) { f->doc_string.clear(); },
      [](Format* f) { f->spelling.parts[0].code_type.reset(); },
      [](Format* f) { f->data.push_back({"p", 3}); },
      [](Format* f) { f->comment.clear(); },
      [](Format* f) { f->body += " "; },
      [](Format* f) { f->by_profile = false; },
  };
  for (size_t i = 0; i < edits.size(); ++i) {
    Format other = format;
    edits[i](&other);
    EXPECT_FALSE(other == format) << i;
    EXPECT_EQ(PrintFormatHeader(other) != PrintFormatHeader(format), i < 14) << i;
  }
}

struct BadText {
  const char* from;
  const char* to;
  const char* error;
};

TEST(FormatText, WrongHeadersSayWhere) {
  EXPECT_EQ(ErrorOf(std::string(kProfile)), "none");
  EXPECT_EQ(ErrorOf(std::string(kTypes)), "none");
  for (const BadText& bad : {
           BadText{"FormatProto {", "Format {", "f.txt:3:1: expected FormatProto, found 'Format' [syntax]"},
           BadText{
               "title:", "titel:", "f.txt:5:5: FormatProto has no field 'titel' (did you mean 'title'? one of: name, "},
           BadText{"name: \"my_b{block}\"", "", "f.txt:3:1: a format has no name ("},
           BadText{"my_b{block}", "My", "f.txt:4:11: 'My' is no name (a-z, 0-9, _ and ., a letter first"},
           BadText{"my_b{block}", "my b{block}", "f.txt:4:11: 'my b{block}' is no name"},
           BadText{"my_b{block}", "my_b{block}{block}", "f.txt:4:11: 'my_b{block}{block}' is no name"},
           BadText{"my_b{block}", "{block}", "f.txt:4:11: '{block}' is no name"},
           BadText{"my_b{block}", "my", "f.txt:7:15: 'MY-{block}' is no family, but has {block} (as in the name)"},
           BadText{"MY-{block}", "MY", "f.txt:7:15: 'MY' lacks {block} (as in the name, or a default_block that it"},
           BadText{"[16, 32]", "[16, 32], default_block: 64",
                   "f.txt:9:38: the block size 64 is not listed (one of `blocks`)"},
           BadText{"MY-{block}", "M/Y{block}", "f.txt:7:15: 'M/Y{block}' is no name"},
           BadText{"title: \"Mine, {block} values\"", "", "f.txt:3:1: a format has no title"},
           BadText{"\"me\"", "\"\"", "f.txt:6:13: a format has no author"},
           BadText{"[16, 32]", "[16, 0]", "f.txt:9:13: a block has 0 values (1 or more)"},
           BadText{"[16, 32]", "[16, 16]", "f.txt:9:13: the block size 16 is listed twice (once)"},
           BadText{"blocks: [16, 32]", "", "f.txt:4:11: a family lists none of its block sizes"},
           BadText{"blocks: [16, 32]", "blocks: [16], block: 16", "f.txt:9:26: the blocks of a family"},
           BadText{"[2, 64]", "[2, -64]", "f.txt:11:12: dimension -64 is negative"},
           BadText{"codec: \"own\"", "codec: 3", "f.txt:10:12: expected a string, found '3'"},
           BadText{"codec:", "name: \"x\" codec:", "f.txt:10:5: 'name' is given twice (once)"},
           BadText{"UINT8 }] }", "UINT7 }] }", "f.txt:13:111: expected an element type, found 'UINT7' ("},
           BadText{"QuantizationProto {", "Quantization {",
                   "f.txt:16:1: expected a profile (QuantizationProto) or struct"},
           // Places in the body are places in the file.
           BadText{"bits: 4", "bits: 4 bits: 4", "f.txt:21:46: 'bits' is given twice"},
           BadText{"[block]", "[blocks]", "f.txt: 1 parameter without a value: blocks (tile_shape, line 18)"},
           BadText{"bits: 4", "bits: 5", "f.txt: tiling.elem_quant[0].linear.bits: "},
       }) {
    const std::string text = Replaced(kProfile, bad.from, bad.to);
    EXPECT_THAT(ErrorOf(text), HasSubstr(bad.error)) << bad.from << " -> " << bad.to;
  }
  EXPECT_THAT(ErrorOf(""), HasSubstr("f.txt:1:1: expected FormatProto, found the end of the text"));
  EXPECT_THAT(ErrorOf(Replaced(kTypes, "block: 4", "blocks: [4]")), HasSubstr("only a family has several block sizes"));
  EXPECT_THAT(ErrorOf(Replaced(kTypes, "block: 4", "block: -4")), HasSubstr("f.txt:1:69: a block has -4 values"));
}

TEST(FormatText, WrongBodiesAreRefused) {
  for (const BadText& bad : {
           BadText{"decode (blocks_codes", "decode (codes", "decoder"},
           BadText{"float[shape] Y", "float[rows, cols] Y",
                   "f.txt: the decoder of 'HALVES' gives [6, 8] for the shape [2, 3, 8]"},
           BadText{"name: \"BLOCK\"", "name: \"BLOCK2\"", "no type of this text is called 'BLOCK'"},
           BadText{"dimension=block", "dimension=blok", "f.txt: 1 parameter without a value: blok"},
           BadText{"StructTypeProto {",
                   "StructTypeProto { name: \"OTHER\" array: array(UINT8, dimension=1) }\nStructTypeProto {",
                   "f.txt: declares 3 types, of which the last, 'HALVES', needs 2"},
       }) {
    EXPECT_THAT(ErrorOf(Replaced(kTypes, bad.from, bad.to)), HasSubstr(bad.error)) << bad.to;
  }
  const std::string text(kTypes);
  const size_t decoder = text.find("    decoder:");
  EXPECT_THAT(ErrorOf(text.substr(0, decoder) + "}"), HasSubstr("f.txt: the root 'HALVES' has no decoder"));
  EXPECT_THAT(ErrorOf(std::string(kProfile) + "QuantizationProto { }"),
              HasSubstr("f.txt: has 2 profiles (one profile)"));
}

TEST(FormatText, AliasesOfTheDefaultBlock) {
  const auto family =
      ParseFormat(Replaced(kProfile, "[\"MY-{block}\"]", "[\"MINE\", \"MY-{block}\"], default_block: 32"));
  ASSERT_TRUE(family) << family.error().Format();
  EXPECT_EQ(family->default_block, 32);
  EXPECT_THAT(WithBlock(*family, 32).aliases, ElementsAre("MINE", "MY-32"));
  EXPECT_THAT(WithBlock(*family, 16).aliases, ElementsAre("MY-16"));
  EXPECT_EQ(WithBlock(*family, 32).default_block, 0);
  const auto again = ParseFormat(PrintFormat(*family));
  ASSERT_TRUE(again) << again.error().Format();
  EXPECT_EQ(*again, *family);
}

TEST(FormatText, WithBlockOfAText) {
  EXPECT_EQ(WithBlock("a{block}b{block}", 12), "a12b12");
  EXPECT_EQ(WithBlock("{blok}", 12), "{blok}");
}

// A byte for each value of a row, a last block that is not whole, and the block size in the names.
TEST(FormatTypes, PartialBlocks) {
  const std::string text = R"(
FormatProto { name: "x_b{block}", title: "t", author: "a", blocks: [4], partial_blocks: true, shape: [2, 5] }
StructTypeProto { name: "BLOCK_{block}" array: array(UINT8, dimension=block) }
StructTypeProto {
    name: "ROWS_{block}"
    structure: Structure {
        field: { name: "blocks", type: array(struct("BLOCK_{block}"), dimensions=[rows, ceil_div(cols, block)]) }
    }
    decoder: FunctionProto {
        <opset_import: ["" : 13]> decode (blocks) => (Y) <float[shape] Y> {
            numbers = Cast <to: int = 1> (blocks)
            by_row = Constant <value_ints: ints = [rows, ceil_div(cols, block)*block]> ()
            whole = Reshape (numbers, by_row)
            first = Constant <value_ints: ints = [0]> ()
            end = Constant <value_ints: ints = [cols]> ()
            last = Constant <value_ints: ints = [-1]> ()
            Y = Slice (whole, first, end, last)
        }
    }
}
)";
  const auto family = ParseFormat(text);
  ASSERT_TRUE(family) << family.error().Format();
  for (const int64_t block : {4, 7}) {
    const auto types = DeclareFormat(WithBlock(*family, block), std::vector<int64_t>{3, 9});
    ASSERT_TRUE(types) << types.error().Format();
    EXPECT_EQ(types->SizeBytes(), static_cast<uint64_t>(3 * block * ((9 + block - 1) / block)));
    EXPECT_EQ(types->types.front().Name(), "BLOCK_" + std::to_string(block));
    EXPECT_EQ(types->types.back().Name(), "ROWS_" + std::to_string(block));
  }
  EXPECT_FALSE(DeclareFormat(*family, std::vector<int64_t>{3, 9}));  // the size is still open
  const auto whole =
      ParseFormat(Replaced(Replaced(text, "partial_blocks: true", "partial_blocks: false"), "[2, 5]", "[2, 8]"));
  ASSERT_TRUE(whole) << whole.error().Format();
  EXPECT_THAT(DeclareFormat(WithBlock(*whole, 4), std::vector<int64_t>{3, 9}).error().Format(),
              HasSubstr("has 9 values, which are not a multiple of the block of 4"));
}

TEST(FormatTypes, ByProfile) {
  const Format format = WithBlock(*ParseFormat(kProfile), 32);
  EXPECT_EQ(format.name, "my_b32");
  EXPECT_EQ(format.title, "Mine, 32 values");
  EXPECT_THAT(format.aliases, ElementsAre("MY-32"));
  EXPECT_EQ(format.BlockValues(), 32);
  EXPECT_FALSE(format.IsFamily());
  const std::vector<int64_t> shape = {3, 64};
  const auto types = DeclareFormat(format, shape);
  ASSERT_TRUE(types) << types.error().Format();
  EXPECT_EQ(types->types.back().Name(), "ROOT");
  EXPECT_EQ(types->types.front().Name(), "PART");
  EXPECT_EQ(types->SizeBytes(), 6u * 18);
  EXPECT_EQ(types->BitsPerWeight(), 4.5);
  EXPECT_EQ(types->shape, shape);
  ASSERT_TRUE(types->profile);
  EXPECT_EQ(std::get<TilingProfile>(types->profile->kind).tile_shape, std::vector<int64_t>{32});

  DeclareOptions named;
  named.name = "W";
  EXPECT_EQ(DeclareFormat(format, shape, named)->types.back().Name(), "W");
  named.outliers = 3;
  EXPECT_EQ(DeclareFormat(format, shape, named).error().code, ErrorCode::kArgument);
}

TEST(FormatTypes, ByStructTypes) {
  const Format format = *ParseFormat(kTypes);
  const std::vector<int64_t> shape = {2, 3, 8};
  const auto types = DeclareFormat(format, shape);
  ASSERT_TRUE(types) << types.error().Format();
  EXPECT_FALSE(types->profile);
  EXPECT_EQ(types->types.size(), 2u);
  EXPECT_EQ(types->SizeBytes(), 48u);
  const Function& decoder = *types->types.back().decoder;
  EXPECT_EQ(std::get<std::vector<int64_t>>(decoder.nodes[0].attributes[0].value), shape);
  EXPECT_EQ(decoder.value_infos[0].shape, (std::vector<Dimension>{int64_t{2}, int64_t{3}, int64_t{8}}));
  EXPECT_TRUE(DeclareFormat(format, std::vector<int64_t>{8}));
  EXPECT_TRUE(DeclareFormat(format, std::vector<int64_t>{5, 0}));
  EXPECT_FALSE(DeclareFormat(format, std::vector<int64_t>{5, 0})->BitsPerWeight());
  DeclareOptions options;
  options.name = "W";
  EXPECT_EQ(DeclareFormat(format, shape, options)->types.back().Name(), "W");
  options.outliers = 1;
  EXPECT_EQ(DeclareFormat(format, shape, options).error().code, ErrorCode::kArgument);
  EXPECT_EQ(FormatProfile(format, shape).error().code, ErrorCode::kFormatValue);
}

TEST(FormatTypes, ShapesThatBlocksDoNotDivide) {
  const Format format = WithBlock(*ParseFormat(kProfile), 32);
  auto error = [&](std::vector<int64_t> shape) {
    const auto types = DeclareFormat(format, shape);
    return types ? "none" : types.error().Format();
  };
  EXPECT_EQ(error({4, 64}), "none");
  EXPECT_EQ(error({4, 0}), "none");
  EXPECT_EQ(error({64, 33}),
            "my_b32: the last axis of shape 64x33 has 33 values, which are not a multiple of the block of 32 (nearest: "
            "32 or 64) [format-shape]");
  EXPECT_THAT(error({32, 31}), HasSubstr("(nearest: 32)"));
  EXPECT_THAT(error({}), HasSubstr("my_b32: a scalar of shape [] has 1 values"));
  EXPECT_THAT(error({INT64_MAX}), HasSubstr("(nearest: 9223372036854775776)"));
  EXPECT_THAT(error({-1, 32}), HasSubstr("dimension -1 is negative"));
  EXPECT_THAT(error({INT64_MAX, 32}), HasSubstr("more than 2^63 - 1 elements"));
  const auto open = DeclareFormat(*ParseFormat(kProfile), std::vector<int64_t>{4, 64});
  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().Format(), HasSubstr("is a family, and its block size is open (a size in the name: my_b16)"));
}

TEST(FormatTypes, ParametersOfTheLibraryCannotBeSet) {
  const Format format = *ParseFormat(kTypes);
  for (const char* name : {"shape", "elements", "rows", "cols", "block"}) {
    DeclareOptions options;
    options.parameters[name] = int64_t{4};
    const auto types = DeclareFormat(format, std::vector<int64_t>{2, 8}, options);
    ASSERT_FALSE(types) << name;
    EXPECT_EQ(types.error().code, ErrorCode::kArgument);
  }
  DeclareOptions options;
  options.parameters["other"] = int64_t{4};
  EXPECT_TRUE(DeclareFormat(format, std::vector<int64_t>{2, 8}, options));
}

TEST(FormatTypes, DataThatBelongsToAModel) {
  const std::string text = R"(FormatProto {
    name: "book", title: "Book", author: "me", shape: [4], data: [FormatDataProto { parameter: "levels", values: 4 }]
}
QuantizationProto { codebook: CodebookProto { codebook_data: levels, index_bits: 2 } })";
  const auto format = ParseFormat(text);
  ASSERT_TRUE(format) << format.error().Format();
  EXPECT_THAT(format->data, ElementsAre(FormatData{"levels", 4}));
  EXPECT_EQ(DeclareFormat(*format, format->ExampleShape()).error().code, ErrorCode::kUnbound);
  const auto types = DeclareFormat(*format, format->ExampleShape(), WithPlaceholders(*format));
  ASSERT_TRUE(types) << types.error().Format();
  EXPECT_EQ(types->SizeBytes(), 1u);
  // What is bound stays.
  Constant levels;
  levels.type = ElementType::kFloat;
  levels.dims = {4};
  levels.bytes = std::vector<uint8_t>(16, 1);
  DeclareOptions options;
  options.parameters["levels"] = levels;
  EXPECT_EQ(std::get<Constant>(WithPlaceholders(*format, options).parameters.at("levels")), levels);
  for (const char* bad :
       {"parameter: \"\", values: 4", "parameter: \"levels\", values: -1", "parameter: \"a b\", values: 4"}) {
    const auto wrong = ParseFormat(Replaced(text, "parameter: \"levels\", values: 4", bad));
    ASSERT_FALSE(wrong) << bad;
    EXPECT_EQ(wrong.error().code, ErrorCode::kFormatValue) << wrong.error().Format();
  }
}

}  // namespace
}  // namespace tessera
