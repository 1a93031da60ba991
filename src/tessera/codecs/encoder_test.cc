// Encoders as functions: they give the codes that the conversions of types/element_value.h give, at every opset the
// same, and say why there is none where there is none. encoder_random_test.cc has the way there and back;
// python/tests/test_encoders.py compares them with a model in ONNX's reference evaluator and onnxruntime.
#include "tessera/codecs/encoder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tessera/codecs/evaluator.h"
#include "tessera/quant/profile_text.h"
#include "tessera/types/element_value.h"
#include "tessera/types/function_check.h"
#include "tessera/types/operators.h"
#include "tessera/types/type_table.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

Tensor TensorOfFloats(ElementType type, std::vector<int64_t> dims, const std::vector<double>& values) {
  const uint32_t width = UnpackedBytes(type);
  Tensor tensor{.type = type, .dims = std::move(dims), .bytes = std::vector<uint8_t>(values.size() * width)};
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t code = EncodeFloat(type, values[i], Overflow::kOverflow);
    std::memcpy(tensor.bytes.data() + i * width, &code, width);
  }
  return tensor;
}

Tensor Evaluate(const Function& function, Tensor input) {
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(input));
  auto result = EvaluateFunction(function, std::move(inputs), {});
  EXPECT_TRUE(result) << result.error().Format();
  return result ? *std::move(result) : Tensor();
}

// The codes of a cast, one a slot. `storage` in bytes.
std::vector<uint64_t> CastCodes(ElementType storage, const std::vector<double>& values, int64_t opset) {
  Profile profile;
  profile.kind = CastProfile{storage};
  const std::vector<int64_t> shape = {static_cast<int64_t>(values.size())};
  const auto types = TranslateProfile(profile, shape);
  EXPECT_TRUE(types) << types.error().Format();
  const auto encoder = BuildEncoder(profile, shape, *types, opset);
  EXPECT_TRUE(encoder) << encoder.error().Format();
  const Tensor bytes = Evaluate(*encoder, TensorOfFloats(ElementType::kFloat, shape, values));
  std::vector<uint64_t> codes;
  for (size_t i = 0; i < values.size(); ++i) codes.push_back(LoadCode(bytes.bytes, storage, i));
  return codes;
}

// Numbers of a type, the middles between neighbours, and what lies just beside those.
std::vector<double> Interesting(ElementType type, std::mt19937_64* random) {
  std::vector<double> values = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, 0x1p-149, -0x1p-149, 0x1.fp127, -0x1.fp127, 1.0, -1.0};
  const uint32_t bits = BitWidth(type);
  const uint64_t count = std::min<uint64_t>(uint64_t{1} << std::min(bits, 20U), 4'096);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t code = bits <= 12 ? i : (*random)() & (bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1);
    const double value = DecodeFloat(type, code);
    const double next = DecodeFloat(type, (code + 1) & (bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1));
    for (double x : {value, (value + next) / 2}) {
      const auto rounded = static_cast<float>(x);
      if (std::isnan(rounded)) continue;
      for (float y : {rounded, std::nextafter(rounded, HUGE_VALF), std::nextafter(rounded, -HUGE_VALF)}) {
        values.push_back(double{y});
      }
    }
  }
  return values;
}

TEST(EncoderTest, FloatTypesAsTheirConversionsHaveThem) {
  std::mt19937_64 random(3);
  for (const ElementInfo& info : AllElementTypes()) {
    if (info.kind != ElementKind::kFloat) continue;
    SCOPED_TRACE(info.name);
    const std::vector<double> values = Interesting(info.type, &random);
    for (int64_t opset : {int64_t{13}, int64_t{26}}) {
      const std::vector<uint64_t> codes = CastCodes(info.type, values, opset);
      for (size_t i = 0; i < values.size(); ++i) {
        double value = values[i];
        const bool wide = info.bits >= 16;
        // Infinity stays infinity, which a saturating Cast does not do.
        const bool keeps = info.format.specials == FloatSpecials::kIeee && std::isinf(value);
        const uint64_t expected =
            EncodeFloat(info.type, value, wide || keeps ? Overflow::kOverflow : Overflow::kSaturate);
        ASSERT_EQ(codes[i], expected) << fmt::format("opset {}, {:a}", opset, value);
      }
    }
    // NaN: the quiet one without sign, or the largest value.
    EXPECT_EQ(CastCodes(info.type, {std::nan("")}, 21)[0], CanonicalNan(info.type).value_or(LargestFinite(info.type)));
  }
}

TEST(EncoderTest, IntegerTypesRoundToEvenAndSaturate) {
  for (const ElementInfo& info : AllElementTypes()) {
    if (info.kind != ElementKind::kUnsigned && info.kind != ElementKind::kSigned) continue;
    SCOPED_TRACE(info.name);
    const double low = static_cast<double>(MinInteger(info.type));
    const double high = static_cast<double>(MaxInteger(info.type));
    std::vector<double> values = {0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, 0.49, 0.51, HUGE_VAL, -HUGE_VAL, 1e30, -1e30};
    for (double edge : {low, high}) {
      for (double step : {-1.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 1.5}) values.push_back(edge + step);
      const auto rounded = static_cast<float>(edge);
      values.push_back(std::nextafter(rounded, HUGE_VALF));
      values.push_back(std::nextafter(rounded, -HUGE_VALF));
    }
    const std::vector<uint64_t> codes = CastCodes(info.type, values, 18);
    for (size_t i = 0; i < values.size(); ++i) {
      const double whole = std::nearbyint(static_cast<double>(static_cast<float>(values[i])));
      uint64_t expected = 0;
      if (whole >= high + (info.bits == 64 ? 0 : 1))
        expected = EncodeInteger(info.type, static_cast<int64_t>(MaxInteger(info.type)));
      else if (whole <= low)
        expected = EncodeInteger(info.type, MinInteger(info.type));
      else if (whole >= 0x1p63)
        expected = static_cast<uint64_t>(whole);
      else
        expected = EncodeInteger(info.type, static_cast<int64_t>(whole));
      EXPECT_EQ(codes[i], expected) << values[i];
    }
    EXPECT_EQ(CastCodes(info.type, {std::nan("")}, 18)[0], 0);
  }
}

Profile Parsed(const std::string& text) {
  auto parsed = ParseProfiles(text, {});
  EXPECT_TRUE(parsed) << parsed.error().Format();
  auto profiles = (*std::move(parsed)).Concrete();
  EXPECT_TRUE(profiles) << profiles.error().Format();
  return profiles->front();
}

std::string Refusal(const std::string& text, std::vector<int64_t> shape, int64_t opset = 21) {
  const Profile profile = Parsed(text);
  const auto types = TranslateProfile(profile, shape);
  EXPECT_TRUE(types) << types.error().Format();
  const auto encoder = BuildEncoder(profile, shape, *types, opset);
  EXPECT_FALSE(encoder);
  return encoder ? "" : encoder.error().Format();
}

TEST(EncoderTest, WhatHasNoEncoderSaysWhy) {
  const std::string stored =
      "linear: LinearUniformProto { storage_type: UINT4 bits: 4 axis: -1 scale: stored(FLOAT16) "
      "zero_point: stored(UINT8) }";
  EXPECT_THAT(Refusal("QuantizationProto { tiling: TilingQuantizationProto { tile_shape: [4] elem_quant: "
                      "[QuantizationProto { " +
                          stored + " }] } }",
                      {8}),
              HasSubstr("zero points that are stored are the choice of whoever encodes (a constant zero point) "
                        "[no-encoder]"));
  EXPECT_THAT(Refusal("QuantizationProto { function: FunctionUniformProto { storage_type: INT8 bits: 8 dequantize_op: "
                      "\"a::B\" } }",
                      {4}),
              HasSubstr("function: its codes come from an operator that is not a standard one"));
  EXPECT_THAT(Refusal("QuantizationProto { codebook: CodebookProto { codebook_data: [1, 2, 3, 4] num_codebooks: 2 "
                      "index_bits: 1 } }",
                      {8}),
              HasSubstr("several codebooks"));
  EXPECT_THAT(Refusal("QuantizationProto { log: LogUniformProto { bits: 17 base: 1.5 } }", {8}),
              HasSubstr("17 bits would be too large (at most 16 bits)"));
  EXPECT_THAT(
      Refusal("QuantizationProto { data_type: FLOAT8E5M2 cast: CastUniformProto { storage_type: FLOAT } }", {8}, 18),
      HasSubstr("opset 18 has no FLOAT8E5M2 (a later opset)"));
  EXPECT_THAT(Refusal("QuantizationProto { post_rotation: RotationProto { matrix_type: PLAIN dims: [2, 2] matrix: "
                      "[1, 2, 3, 4] } cast: CastUniformProto { storage_type: FLOAT } }",
                      {2, 2}),
              HasSubstr("whose inverse is not known"));
  EXPECT_THAT(Refusal("QuantizationProto { cast: CastUniformProto { storage_type: FLOAT } }", {2, 2}, 12),
              HasSubstr("opset 12 has no encoders (13 to 26) [argument]"));
}

TEST(EncoderTest, TheSameBytesAtEveryOpset) {
  const std::string linear =
      "linear: LinearUniformProto { storage_type: INT4 bits: 4 axis: -1 scale: stored(FLOAT8E4M3FN) }";
  const std::string mx =
      "floating_point: FloatingPointUniformProto { sign_bits: 1 exponent_bits: 2 mantissa_bits: 1 exponent_bias: 1 "
      "scale: stored(FLOAT8E8M0) }";
  const std::string nested =
      "floating_point: FloatingPointUniformProto { sign_bits: 1 exponent_bits: 2 mantissa_bits: 1 exponent_bias: 1 "
      "scale: stored(QuantizationProto { cast: CastUniformProto { storage_type: BFLOAT16 } }) }";
  const std::string book =
      "codebook: CodebookProto { codebook_data: [-1, 0, 1] packed_count: 5 packed_bytes: 1 scale: stored(FLOAT16) }";
  const std::string log = "log: LogUniformProto { bits: 3 base: 2 offset: -4 has_sign: true }";
  const std::string cast = "cast: CastUniformProto { storage_type: FLOAT6E3M2 }";
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (int i = 0; i < 120; ++i) values.push_back(normal(generator));
  for (const std::string& element : {linear, mx, nested, book, log, cast}) {
    SCOPED_TRACE(element);
    const Profile profile = Parsed(
        "QuantizationProto { tiling: TilingQuantizationProto { tile_shape: [20] elem_quant: "
        "[QuantizationProto { " +
        element + " }] } }");
    const std::vector<int64_t> shape = {2, 60};
    const auto types = TranslateProfile(profile, shape);
    ASSERT_TRUE(types) << types.error().Format();
    Problems problems;
    const auto type = TypeTable::Build(*types, {}, &problems).Get(static_cast<int64_t>(types->size()) - 1);
    std::vector<uint8_t> first;
    for (int64_t opset = kMinOpset; opset <= kMaxOpset; ++opset) {
      const auto encoder = BuildEncoder(profile, shape, *types, opset);
      ASSERT_TRUE(encoder) << encoder.error().Format();
      CheckEncoder(*encoder, nullptr, type->size_bits / 8, Path("encoder"), &problems);
      ASSERT_TRUE(problems.empty()) << problems.list().front().Format();
      const Tensor bytes = Evaluate(*encoder, TensorOfFloats(ElementType::kFloat, shape, values));
      if (first.empty()) first = bytes.bytes;
      ASSERT_EQ(bytes.bytes, first) << opset;
    }
    EXPECT_GT(std::set(first.begin(), first.end()).size(), 5U);
  }
}

TEST(EncoderTest, AttachedToATypeThatIsAProfiles) {
  const Profile profile = Parsed(
      "QuantizationProto { linear: LinearUniformProto { storage_type: INT8 bits: 8 "
      "scale_float: 0.5 axis: -1 } }");
  auto types = *TranslateProfile(profile, std::vector<int64_t>{2, 3});
  ASSERT_TRUE(AttachEncoder(&types, 13));
  ASSERT_TRUE(types.back().encoder);
  const Tensor bytes =
      Evaluate(*types.back().encoder, TensorOfFloats(ElementType::kFloat, {2, 3}, {1, -1, 0.25, 0.75, 1000, -1000}));
  EXPECT_EQ(bytes.bytes, (std::vector<uint8_t>{2, 254, 0, 2, 127, 128}));
}

}  // namespace
}  // namespace tessera
