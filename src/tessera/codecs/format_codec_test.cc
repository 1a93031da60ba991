// Which codec a format gets, and what is checked before it runs.
#include "tessera/codecs/format_codec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <string>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/formats/catalog.h"
#include "tessera/formats/ggml/block_type.h"
#include "tessera/types/type_table.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// Q8_0 of ggml: a scale, then 32 signed bytes.
constexpr std::string_view kQ8 = R"(FormatProto { name: "q8", title: "Q8", author: "me", block: 32, shape: [2, 64] }
StructTypeProto {
    name: "BLOCK"
    structure: Structure {
        field: { name: "d", type: FLOAT16 }
        field: { name: "qs", type: array(INT8, dimension=32) }
    }
}
StructTypeProto {
    name: "Q8"
    array: array(struct("BLOCK"), dimension=elements/32)
    decoder: FunctionProto {
        <opset_import: ["" : 13]> decode (d, qs) => (Y) <float[shape] Y> {
            last = Constant <value_ints: ints = [-1]> ()
            dims = Constant <value_ints: ints = shape> ()
            scale = Cast <to: int = 1> (d)
            scales = Unsqueeze (scale, last)
            codes = Cast <to: int = 1> (qs)
            scaled = Mul (codes, scales)
            Y = Reshape (scaled, dims)
        }
    }
}
)";

Format Q8(const std::string& codec = "") {
  std::string text(kQ8);
  if (!codec.empty()) text.insert(text.find("block:"), "codec: \"" + codec + "\", ");
  auto format = ParseFormat(text);
  EXPECT_TRUE(format) << format.error().Format();
  return *std::move(format);
}

std::vector<float> Random(size_t count) {
  std::mt19937 random(5);
  std::normal_distribution<float> values;
  std::vector<float> result(count);
  for (float& value : result) value = values(random);
  return result;
}

std::vector<uint32_t> Bits(const std::vector<float>& values) {
  std::vector<uint32_t> bits;
  for (float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

const std::vector<int64_t> kShape = {3, 2, 64};

// A format of somebody's own that names a layout of checkpoints.
TEST(FormatCodec, LayoutsOfCheckpoints) {
  Format format = *FindFormat("nf4");
  const std::vector<int64_t> shape = {3, 43};
  const auto types = DeclareFormat(format, shape);
  ASSERT_TRUE(types) << types.error().Format();
  EXPECT_EQ(CodecName(format, *types), "checkpoint bnb_nf4");
  const std::vector<float> values = Random(129);
  const auto encoded = EncodeFormat(format, shape, values, std::vector<float>(43, 1.0F));
  ASSERT_TRUE(encoded) << encoded.error().Format();
  EXPECT_EQ(encoded->payload.size(), 65u + 3 * 4);
  EXPECT_EQ(encoded->note, "nf4_b64 is encoded without importance weights; those given have no effect");
  const auto decoded = DecodeFormat(format, shape, encoded->payload);
  ASSERT_TRUE(decoded) << decoded.error().Format();
  format.codec.clear();
  EXPECT_EQ(CodecName(format, *types), "decoder");
  EXPECT_EQ(Bits(*DecodeFormat(format, shape, encoded->payload)), Bits(*decoded));
}

TEST(FormatCodec, LayoutsOfOtherSizesAreRefused) {
  Format format = *FindFormat("nf4");
  format.codec = "onnx_int4";
  const std::vector<int64_t> shape = {3, 43};
  const std::vector<float> values(129);
  for (const auto& error :
       {DecodeFormat(format, shape, std::vector<uint8_t>(77)).error(), EncodeFormat(format, shape, values).error()}) {
    EXPECT_EQ(
        error.Format(),
        "nf4_b64: the codec onnx_int4 has 79 bytes for the shape 3x43, and the type takes 77 (a type of that size, "
        "or another codec) [format-value]");
  }
  // Two codes a byte need whole bytes in a block.
  format = *FindFormat("matmulnbits_b32");
  format.block = 31;
  format.codec = "matmulnbits";
  format.body = FindFormat("nf4")->body;
  EXPECT_THAT(DecodeFormat(format, shape, std::vector<uint8_t>(65 + 5 * 4)).error().Format(),
              HasSubstr("the codec matmulnbits has no number of bytes"));
}

TEST(FormatCodec, TheBlockTypesOfGgml) {
  const Format format = Q8("q8_0");
  const auto types = DeclareFormat(format, kShape);
  ASSERT_TRUE(types) << types.error().Format();
  EXPECT_EQ(CodecName(format, *types), "ggml q8_0");
  const std::vector<float> values = Random(384);
  const auto encoded = EncodeFormat(format, kShape, values);
  ASSERT_TRUE(encoded) << encoded.error().Format();
  EXPECT_EQ(encoded->note, "");
  std::vector<uint8_t> expected(12 * 34);
  const ggml::BlockType& type = *ggml::FindBlockType("q8_0");
  ASSERT_TRUE(ggml::EncodeBlocks(type, values, 64, {}, expected));
  EXPECT_EQ(encoded->payload, expected);
  const auto decoded = DecodeFormat(format, kShape, encoded->payload);
  ASSERT_TRUE(decoded) << decoded.error().Format();
  std::vector<float> meant(384);
  ASSERT_TRUE(ggml::DecodeBlocks(type, expected, meant));
  EXPECT_EQ(Bits(*decoded), Bits(meant));
  // The declaration alone means the same.
  const Format declared = Q8();
  EXPECT_EQ(CodecName(declared, *DeclareFormat(declared, kShape)), "decoder");
  const auto evaluated = DecodeFormat(declared, kShape, expected);
  ASSERT_TRUE(evaluated) << evaluated.error().Format();
  EXPECT_EQ(Bits(*evaluated), Bits(meant));
  EXPECT_TRUE(DecodeFormat(format, std::vector<int64_t>{0, 32}, {}));
  EXPECT_TRUE(EncodeFormat(format, std::vector<int64_t>{0, 32}, {}));
}

TEST(FormatCodec, WeightsThatHaveNoEffectAreSaid) {
  const Format format = Q8("q8_0");
  const std::vector<float> values = Random(64);
  const std::vector<float> weights(32, 1.0f);
  const auto encoded = EncodeFormat(format, std::vector<int64_t>{2, 32}, values, weights);
  ASSERT_TRUE(encoded) << encoded.error().Format();
  EXPECT_EQ(encoded->note, "q8 is encoded without importance weights; those given have no effect");
}

TEST(FormatCodec, WeightsThatAreNeededAndNotGivenAreSaid) {
  for (const ggml::BlockType& type : ggml::AllBlockTypes()) {
    if (type.weights != ggml::Weights::kNeeded) continue;
    SCOPED_TRACE(type.name);
    const auto format = ParseFormat(fmt::format(
        R"(FormatProto {{ name: "needs", title: "t", author: "a", block: {0}, codec: "{1}", shape: [{0}] }}
StructTypeProto {{
    name: "BLOCKS"
    structure: Structure {{ field: {{ name: "bytes", type: array(UINT8, dimensions=[elements/{0}, {2}]) }} }}
    decoder: FunctionProto {{
        <opset_import: ["" : 13]> decode (bytes) => (Y) <float[shape] Y> {{
            dims = Constant <value_ints: ints = shape> ()
            zero = Constant <value: tensor = float {{0.0}}> ()
            Y = Expand (zero, dims)
        }}
    }}
}})",
        type.block_values, type.name, type.block_bytes));
    ASSERT_TRUE(format) << format.error().Format();
    const std::vector<int64_t> shape = {2, type.block_values};
    const std::vector<float> values = Random(static_cast<size_t>(2 * type.block_values));
    const auto without = EncodeFormat(*format, shape, values);
    ASSERT_TRUE(without) << without.error().Format();
    EXPECT_EQ(without->note, "needs is encoded with importance weights, and none are given: each counts as 1.0");
    const std::vector<float> ones(static_cast<size_t>(type.block_values), 1.0f);
    const auto with = EncodeFormat(*format, shape, values, ones);
    ASSERT_TRUE(with) << with.error().Format();
    EXPECT_EQ(with->note, "");
    EXPECT_EQ(with->payload, without->payload);
  }
}

TEST(FormatCodec, CodecsThatDoNotFit) {
  const std::vector<int64_t> shape = {2, 64};
  const std::vector<uint8_t> payload(4 * 34);
  auto error = [&](const std::string& codec) {
    const auto decoded = DecodeFormat(Q8(codec), shape, payload);
    const auto encoded = EncodeFormat(Q8(codec), shape, Random(128));
    EXPECT_FALSE(encoded);
    return decoded ? "none" : decoded.error().Format();
  };
  EXPECT_THAT(error("no_such"), HasSubstr("q8: there is no codec 'no_such' (a codec that there is, or none)"));
  EXPECT_THAT(error("q4_0"), HasSubstr("q8: the codec q4_0 has blocks of 32 values in 18 bytes, and the type takes 136 "
                                       "bytes for 128 values"));
  EXPECT_THAT(error("q4_k"), HasSubstr("128"));
}

TEST(FormatCodec, SizesThatDoNotFit) {
  const Format format = Q8();
  const std::vector<int64_t> shape = {2, 64};
  const auto decoded = DecodeFormat(format, shape, std::vector<uint8_t>(135));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().Format(),
            "q8: the payload has 135 bytes, and 2x64 takes 136 (136 bytes, or another shape) [payload-size]");
  EXPECT_THAT(EncodeFormat(format, shape, Random(127)).error().Format(),
              HasSubstr("q8: there are 127 values, and 2x64 has 128"));
  EXPECT_THAT(EncodeFormat(format, shape, Random(128), Random(63)).error().Format(),
              HasSubstr("q8: there are 63 weights, and a row has 64 values"));
  EXPECT_EQ(DecodeFormat(format, std::vector<int64_t>{2, 63}, {}).error().code, ErrorCode::kFormatShape);
  EXPECT_EQ(EncodeFormat(format, shape, Random(128)).error().code, ErrorCode::kNoEncoder);
}

TEST(FormatCodec, Decoders) {
  const std::vector<int64_t> shape = {2, 64};
  const FormatTypes own = *DeclareFormat(Q8(), shape);
  EXPECT_EQ(FormatDecoder(own)->opset_imports[0].version, 13);
  EXPECT_EQ(FormatDecoder(own, 26)->opset_imports[0].version, 26);
  const FormatTypes profile = *DeclareFormat(*FindFormat("int4_b32"), shape);
  EXPECT_EQ(FormatDecoder(profile)->opset_imports[0].version, kDefaultOpset);
  EXPECT_EQ(FormatDecoder(profile, 23)->opset_imports[0].version, 23);
  EXPECT_EQ(FormatDecoder(profile, 12).error().code, ErrorCode::kArgument);
  EXPECT_EQ(FormatDecoder(own, 27).error().code, ErrorCode::kArgument);
}

TEST(FormatCodec, Encoders) {
  const std::vector<int64_t> shape = {2, 64};
  const FormatTypes own = *DeclareFormat(Q8(), shape);
  EXPECT_THAT(FormatEncoder(own).error().Format(), HasSubstr("its type declares no encoder, and there is no profile"));
  const FormatTypes profile = *DeclareFormat(*FindFormat("int4_b32"), shape);
  EXPECT_EQ(FormatEncoder(profile)->opset_imports[0].version, kDefaultOpset);
  EXPECT_EQ(FormatEncoder(profile, 13)->opset_imports[0].version, 13);
  EXPECT_EQ(FormatEncoder(profile, 12).error().code, ErrorCode::kArgument);
  // One that a type declares, though its profile has another, and at another opset.
  FormatTypes declared = profile;
  declared.types.back().encoder = *FormatEncoder(profile, 13);
  Problems problems;
  const TypeTable table = TypeTable::Build(declared.types, {}, &problems);
  declared.root = table.Get(static_cast<int64_t>(declared.types.size()) - 1);
  ASSERT_NE(declared.root, nullptr);
  EXPECT_EQ(FormatEncoder(declared)->opset_imports[0].version, 13);
  EXPECT_EQ(FormatEncoder(declared, 14)->opset_imports[0].version, 14);
  EXPECT_EQ(FormatEncoder(declared, 27).error().code, ErrorCode::kArgument);
}

// Every format of the catalogue decodes, whichever codec it has, and names no codec that there is not.
class EveryFormat : public ::testing::TestWithParam<size_t> {};

TEST_P(EveryFormat, DecodesZeros) {
  const Format& format = AllFormats()[GetParam()];
  std::vector<int64_t> shape(format.ExampleShape().begin(), format.ExampleShape().end());
  // Fewer rows where they can be fewer: codecs and evaluator are made to be read, not to be fast.
  const bool all_rows = format.name == "sketch.quip_sharp";  // which are rotated
  if (shape.size() == 2 && shape[0] == 4096 && !all_rows) shape[0] = 32;
  const DeclareOptions options = WithPlaceholders(format);
  const auto types = DeclareFormat(format, shape, options);
  ASSERT_TRUE(types) << types.error().Format();
  const auto decoded = DecodeFormat(format, *types, std::vector<uint8_t>(types->SizeBytes()));
  if (!decoded && decoded.error().code == ErrorCode::kNoDecoder) {
    EXPECT_EQ(format.name, "sketch.custom");  // two operators of a vendor
    return;
  }
  ASSERT_TRUE(decoded) << decoded.error().Format();
  EXPECT_EQ(decoded->size(), *CheckedProduct(shape));
}

INSTANTIATE_TEST_SUITE_P(All, EveryFormat, ::testing::Range(size_t{0}, AllFormats().size()), [](const auto& test) {
  std::string name = AllFormats()[test.param].name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

}  // namespace
}  // namespace tessera
