// The reference codecs: they decode as the decoders do, and what they encode is what docs/decoding.md says. Encoders as
// functions are compared with them in encoder_test.cc.
#include "tessera/codecs/native_codec.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tessera/codecs/custom_operators.h"
#include "tessera/codecs/decoder.h"
#include "tessera/codecs/encoder.h"
#include "tessera/codecs/evaluator.h"
#include "tessera/codecs/native/numbers.h"
#include "tessera/codecs/testing/random_payload.h"
#include "tessera/quant/profile_text.h"
#include "tessera/quant/testing/random_profile.h"
#include "tessera/types/element_value.h"
#include "tessera/types/notation.h"
#include "tessera/types/operators.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

// ---- Decoding, against the decoders

// Whether values may differ in the last places: powers, and products with a full matrix.
bool IsRounded(const Profile& profile) {
  bool rounded = false;
  ForEachProfile(profile, [&](const Profile& part) {
    for (const auto& rotation : {part.pre_rotation, part.post_rotation}) {
      rounded = rounded || (rotation && rotation->dims.size() == 2);
    }
    rounded = rounded || std::holds_alternative<LogProfile>(part.kind);
  });
  return rounded;
}

double Number(const Tensor& tensor, uint64_t i) {
  const ElementKind kind = Info(tensor.type).kind;
  if (kind == ElementKind::kFloat) return DecodeFloat(tensor.type, tensor.Code(i));
  return static_cast<double>(DecodeInteger(tensor.type, tensor.Code(i)));
}

bool Same(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

TEST(NativeCodecTest, DecodesRandomProfilesAsTheirDecodersDo) {
  std::map<std::string_view, int> families;
  int exact = 0;
  int refused = 0;
  for (uint64_t seed = 0; seed < 6'000; ++seed) {
    RandomSource random(seed);
    const RandomCase random_case = RandomProfile(&random);
    TranslateOptions options = random_case.Options();
    if (random.OneIn(2)) options.spelling = RandomSpelling(&random, random_case);
    const std::vector<StructType> types = *TranslateProfile(random_case.profile, random_case.shape, options);
    const Result<Function> decoder = BuildDecoder(random_case.profile, random_case.shape, types, 26);
    if (!decoder) continue;
    bool sparse = false;
    ForEachProfile(random_case.profile, [&](const Profile& profile) {
      sparse = sparse || std::holds_alternative<SparseProfile>(profile.kind);
    });
    if (sparse && random_case.outliers.value_or(0) > 1) continue;  // positions in tiles of unknown sizes
    Problems problems;
    const TypeTable table = TypeTable::Build(types, {}, &problems);
    const auto type = table.Get(static_cast<int64_t>(types.size()) - 1);
    const std::vector<uint8_t> payload = RandomPayload(&random, *type, 1);
    const std::string what = fmt::format("seed {}\n{}{}{}", seed, PrintProfile(random_case.profile),
                                         PrintNotation(types), PrintFunctionText(*decoder, 0));
    const auto codec = NativeCodec::Create(random_case.profile, random_case.shape, types);
    ASSERT_TRUE(codec) << codec.error().Format() << what;
    ASSERT_EQ(codec->payload_bytes(), payload.size()) << what;
    const StructView view = *StructView::Create(type, {payload}, "payload");
    std::vector<Tensor> leaves;
    for (size_t i = 0; i < view.leaf_count(); ++i) leaves.push_back(*TensorOf(view.leaf(i)));
    const Result<Tensor> expected = EvaluateFunction(*decoder, std::move(leaves), {});
    const auto values = codec->Decode(payload);
    ASSERT_EQ(values.has_value(), expected.has_value())
        << (values ? expected.error() : values.error()).Format() << what;
    if (!values) {
      ASSERT_EQ(values.error().code, ErrorCode::kCodeOutside) << values.error().Format() << what;
      ++refused;
      continue;
    }
    ASSERT_EQ(values->size(), expected->Count()) << what;
    const bool rounded = IsRounded(random_case.profile);
    for (uint64_t i = 0; i < values->size(); ++i) {
      const double a = (*values)[i];
      const double b = Number(*expected, i);
      if (Same(a, b)) continue;
      // Powers by a unit in the last place, of FLOAT16 where that is the data type; sums of a matrix product may
      // cancel.
      ASSERT_TRUE(rounded && (std::abs(a - b) <= 1e-3 * std::max(std::abs(a), std::abs(b)) || std::abs(a - b) < 1e-2 ||
                              !std::isfinite(a) || !std::isfinite(b)))
          << fmt::format("value {}: the codec has {}, the decoder {}\n", i, a, b) << what;
    }
    exact += rounded ? 0 : 1;
    ForEachProfile(random_case.profile, [&](const Profile& profile) { ++families[NamesOf(profile).field]; });
  }
  EXPECT_GT(exact, 3'000);
  EXPECT_GT(refused, 40);
  EXPECT_EQ(families.size(), std::size(kFamilyNames) - 1);
  for (const auto& [family, count] : families) EXPECT_GT(count, 60) << family;
}

// ---- Numbers, against the conversions of types/

TEST(NativeNumbersTest, CodesOfEveryTypeMeanWhatTheConversionsSay) {
  for (const ElementInfo& info : AllElementTypes()) {
    if (info.kind != ElementKind::kFloat || info.bits > 16) continue;
    SCOPED_TRACE(info.name);
    const native::Arithmetic wide(true);
    for (uint64_t code = 0; code < uint64_t{1} << info.bits; ++code) {
      const double value = native::NumberOfCode(wide, info.type, info.bits, code);
      ASSERT_TRUE(Same(value, DecodeFloat(info.type, code))) << code;
      if (std::isnan(value)) continue;
      // Back, and from all middles and their neighbours.
      const bool up = info.format.specials == FloatSpecials::kExponentOnly;
      ASSERT_EQ(native::CodeOfNumber(info.type, info.bits, value, native::Beyond::kInfinity, up), code);
      if (std::isinf(value) || up) continue;
      const double next = native::NumberOfCode(wide, info.type, info.bits, (code + 1) % (uint64_t{1} << info.bits));
      if (!std::isfinite(next)) continue;
      const double middle = (value + next) / 2;
      for (double x : {middle, std::nextafter(middle, kInf), std::nextafter(middle, -kInf), value * 1.01}) {
        const auto beyond = info.bits < 16 ? native::Beyond::kLargest : native::Beyond::kInfinity;
        ASSERT_EQ(native::CodeOfNumber(info.type, info.bits, x, beyond, up),
                  EncodeFloat(info.type, x, Overflow::kSaturate))
            << code << " " << x;
      }
    }
  }
}

TEST(NativeNumbersTest, WholeNumbers) {
  auto code = [](double x, double zero_point, ElementType type, uint32_t bits) {
    return native::IntegerCode(x, zero_point, native::RangeOf(type, bits), bits);
  };
  // Ties to even, before the zero point is added.
  EXPECT_EQ(code(2.5, 0, ElementType::kUint4, 4), 2u);
  EXPECT_EQ(code(3.5, 0, ElementType::kUint4, 4), 4u);
  EXPECT_EQ(code(2.5, 1, ElementType::kUint4, 4), 3u);
  EXPECT_EQ(code(2.25, 1.5, ElementType::kUint4, 4), 4u);
  EXPECT_EQ(code(-2.5, 0, ElementType::kInt4, 4), 14u);
  EXPECT_EQ(code(-100, 0, ElementType::kInt4, 4), 8u);
  EXPECT_EQ(code(kInf, 0, ElementType::kInt4, 4), 7u);
  EXPECT_EQ(code(-kInf, 3, ElementType::kUint8, 8), 0u);
  EXPECT_EQ(code(1e300, 0, ElementType::kUint64, 64), UINT64_MAX);
  EXPECT_EQ(code(0x1p63, 0, ElementType::kUint64, 64), uint64_t{1} << 63);
  EXPECT_EQ(code(-1e300, 0, ElementType::kInt64, 64), uint64_t{1} << 63);
  EXPECT_EQ(code(1e300, 0, ElementType::kInt64, 64), static_cast<uint64_t>(INT64_MAX));
  EXPECT_EQ(native::Reach(native::RangeOf(ElementType::kInt4, 4), 0), 7);
  EXPECT_EQ(native::Reach(native::RangeOf(ElementType::kUint4, 4), 8), 7);
  EXPECT_EQ(native::Reach(native::RangeOf(ElementType::kUint4, 4), 0), 15);
}

// ---- Encoding

struct Coded {
  NativeCodec codec;
  std::vector<uint8_t> bytes;
  std::vector<double> values;
};

std::vector<StructType> TypesOf(const Profile& profile, std::vector<int64_t> shape,
                                std::optional<uint64_t> outliers = std::nullopt) {
  TranslateOptions options;
  options.outliers = outliers;
  auto types = TranslateProfile(profile, shape, options);
  EXPECT_TRUE(types) << types.error().Format();
  return *types;
}

Profile Parsed(const std::string& text) {
  auto parsed = ParseProfiles("QuantizationProto { " + text + " }", {});
  EXPECT_TRUE(parsed) << parsed.error().Format();
  return std::move(*std::move(*parsed).Concrete()).front();
}

NativeCodec CodecOf(const std::string& text, std::vector<int64_t> shape,
                    std::optional<uint64_t> outliers = std::nullopt) {
  const Profile profile = Parsed(text);
  const auto codec = NativeCodec::Create(profile, shape, TypesOf(profile, shape, outliers));
  EXPECT_TRUE(codec) << codec.error().Format();
  return *codec;
}

// The bytes that values are encoded as, and what those mean.
Coded Encoded(const std::string& text, std::vector<int64_t> shape, std::vector<double> values,
              std::optional<uint64_t> outliers = std::nullopt) {
  Coded coded{CodecOf(text, std::move(shape), outliers), {}, {}};
  auto bytes = coded.codec.Encode(values);
  EXPECT_TRUE(bytes) << bytes.error().Format();
  if (!bytes) return coded;
  coded.bytes = *bytes;
  auto back = coded.codec.Decode(*bytes);
  EXPECT_TRUE(back) << back.error().Format();
  coded.values = *back;
  return coded;
}

std::string Error(const std::string& text, std::vector<int64_t> shape, std::vector<double> values,
                  std::optional<uint64_t> outliers = std::nullopt) {
  const auto bytes = CodecOf(text, std::move(shape), outliers).Encode(values);
  return bytes ? "none" : bytes.error().Format();
}

// Of many magnitudes, a few of them special.
std::vector<double> RandomValues(RandomSource* random, uint64_t count) {
  std::vector<double> values(count);
  for (double& value : values) {
    const double unit = static_cast<double>(random->Next() >> 11) / 0x1p53 - 0.5;
    value = random->OneIn(20) ? 0 : unit * std::ldexp(1.0, static_cast<int>(random->Below(8)));
    if (random->OneIn(200)) value = std::vector<double>{kInf, -kInf, kNan, -0.0, 1e38, 1e-40}[random->Below(6)];
  }
  return values;
}

using Bytes = std::vector<uint8_t>;
using Values = std::vector<double>;

TEST(NativeCodecTest, LinearRoundsToEvenAndSaturates) {
  const std::string int8 = "linear: LinearUniformProto { storage_type: INT8, bits: 8, axis: -1, scale_float: 0.5 }";
  const Coded coded = Encoded(int8, {9}, {0.25, 0.75, -0.25, 63.5, 63.8, -1000, kInf, kNan, -0.0});
  EXPECT_EQ(coded.bytes, (Bytes{0, 2, 0, 127, 127, 128, 127, 0, 0}));
  EXPECT_EQ(coded.values, (Values{0, 1, 0, 63.5, 63.5, -64, 63.5, 0, 0}));
  // With a zero point; a tail of one code in the last byte.
  const std::string uint4 =
      "linear: LinearUniformProto { storage_type: UINT4, bits: 4, axis: -1, scale_float: 2, zero_point: 3 }";
  EXPECT_EQ(Encoded(uint4, {3}, {-6, 4, 100}).bytes, (Bytes{0x50, 0x0F}));
  EXPECT_TRUE(Encoded(uint4, {0, 7}, {}).bytes.empty());
  // Floats as codes keep NaN and -0.
  const std::string fp8 =
      "linear: LinearUniformProto { storage_type: FLOAT8E4M3FN, bits: 8, axis: -1, scale_float: 1 }";
  EXPECT_EQ(Encoded(fp8, {6}, {1, -0.0, kNan, 1e9, -kInf, 0}).bytes, (Bytes{0x38, 0x80, 0x7F, 0x7E, 0xFE, 0}));
}

TEST(NativeCodecTest, StoredScalesFitTheLargestMagnitude) {
  const std::string tiles =
      "tiling: TilingQuantizationProto { tile_shape: [4], elem_quant: [QuantizationProto { linear: LinearUniformProto "
      "{ storage_type: INT4, bits: 4, symmetric: true, axis: -1, scale: stored(FLOAT16, per=tile, at=before) } }] }";
  const Coded coded = Encoded(tiles, {3, 4}, {7, -3.5, 1, 0, 0, 0, 0, 0, kInf, 1, 2, -1});
  // 1.0, then codes 7, -4 (a tie, to even), 1, 0; zeros; the largest scale.
  EXPECT_EQ(coded.bytes, (Bytes{0x00, 0x3C, 0xC7, 0x01, 0, 0, 0, 0, 0xFF, 0x7B, 0x07, 0x00}));
  EXPECT_EQ(coded.values[0], 7);
  EXPECT_EQ(coded.values[1], -4);
  // A power of two for a scale: that of the magnitude over that of the largest code, as OCP has it.
  const std::string mx =
      "tiling: TilingQuantizationProto { tile_shape: [4], elem_quant: [QuantizationProto { floating_point: "
      "FloatingPointUniformProto { sign_bits: 1, exponent_bits: 2, mantissa_bits: 1, exponent_bias: 1, scale: "
      "stored(FLOAT8E8M0, per=tile, at=before) } }] }";
  const Coded block = Encoded(mx, {8}, {6, 7, -0.25, 0.75, 5e-40, 0, 0, -1e-39});
  EXPECT_EQ(block.bytes[0], 127);
  EXPECT_EQ((Values{block.values.begin(), block.values.begin() + 4}), (Values{6, 6, -0.0, 1}));
  EXPECT_EQ(block.bytes[3], 0);  // 2^-127, which subnormals reach
  // A scale a channel along axis 0 of a matrix, and one for all.
  const std::string channels =
      "linear: LinearUniformProto { storage_type: INT8, bits: 8, symmetric: true, axis: 0, scale: stored(FLOAT, "
      "per=channel, at=before) }";
  const Coded matrix = Encoded(channels, {2, 2}, {127, -1, 254, 2});
  EXPECT_EQ(matrix.bytes, (Bytes{0, 0, 0x80, 0x3F, 0, 0, 0, 0x40, 127, 255, 127, 1}));
  const std::string tensor =
      "linear: LinearUniformProto { storage_type: INT8, bits: 8, symmetric: true, axis: -1, scale: stored(FLOAT, "
      "per=tensor, at=after) }";
  EXPECT_EQ(Encoded(tensor, {2, 2}, {127, -1, 254, 2}).bytes, (Bytes{64, 0, 127, 1, 0, 0, 0, 0x40}));
}

TEST(NativeCodecTest, ZeroPointsReachTheSmallestValue) {
  const std::string tiles =
      "tiling: TilingQuantizationProto { tile_shape: [4], elem_quant: [QuantizationProto { linear: LinearUniformProto "
      "{ storage_type: UINT4, bits: 4, axis: -1, scale: stored(FLOAT, per=tile, at=before), zero_point: "
      "stored(UINT8, per=tile, at=before) } }] }";
  const Coded coded = Encoded(tiles, {12}, {-5, 10, 0, 0.5, 3, 6, 15, 9, -15, -15, -15, -15});
  EXPECT_EQ(coded.values, (Values{-5, 10, 0, 0, 3, 6, 15, 9, -15, -15, -15, -15}));
  EXPECT_EQ(coded.bytes[4], 5);
  EXPECT_EQ(coded.bytes[11], 0);
  EXPECT_EQ(coded.bytes[18], 15);
}

TEST(NativeCodecTest, ParametersThatAreProfilesThemselves) {
  // Super-blocks: the scales of all tiles as 8-bit codes behind one FLOAT scale.
  const std::string super =
      "tiling: TilingQuantizationProto { tile_shape: [8], elem_quant: [QuantizationProto { linear: LinearUniformProto "
      "{ storage_type: INT4, bits: 4, symmetric: true, axis: -1, scale: stored(QuantizationProto { linear: "
      "LinearUniformProto { storage_type: UINT8, bits: 8, axis: -1, scale: stored(FLOAT, per=tensor, at=before) } }, "
      "per=tile, at=before) } }] }";
  std::vector<double> values(32);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i)) * static_cast<double>(i + 1);
  const Coded coded = Encoded(super, {4, 8}, values);
  float scale = 0;
  std::memcpy(&scale, coded.bytes.data(), 4);
  for (size_t i = 0; i < 32; ++i) {
    const double step = static_cast<double>(scale) * coded.bytes[4 + i / 8];
    EXPECT_LE(std::abs(coded.values[i] - values[i]), step / 2 + std::abs(values[i]) / 100) << i;
  }
}

TEST(NativeCodecTest, CodebooksTakeTheNearestEntry) {
  const std::string book =
      "codebook: CodebookProto { codebook_data: [1, -1, 3, 1, 0], packed_count: 3, packed_bytes: 1, scale_float: 2 }";
  // 0.5 lies between 0 and 1, indices 4 and 0: the lower one. Entry 3 equals entry 0. Three digits of base 5 a byte.
  const Coded coded = Encoded(book, {4}, {1, 2, 100, -kInf});
  EXPECT_EQ(coded.bytes, (Bytes{0 + 0 * 5 + 2 * 25, 1}));
  EXPECT_EQ(coded.values, (Values{2, 2, 6, -2}));
  const std::string vectors =
      "codebook: CodebookProto { codebook_data: [0, 0, 1, 1, 2, 0, 0, 2], vector_size: 2, index_bits: 2 }";
  const Coded pairs = Encoded(vectors, {8}, {0.9, 0.8, 1.8, 0.1, 0.5, 0.5, kNan, 2});
  EXPECT_EQ(pairs.bytes, (Bytes{1 | 2 << 2 | 0 << 4 | 3 << 6}));
}

TEST(NativeCodecTest, AdditiveCodebooksAreSearched) {
  // Random books of 16 vectors of 4: the search comes near to the best of all 256 sums, and finds sums that it is
  // given.
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  std::string data;
  std::vector<float> entries(2 * 16 * 4);
  for (float& entry : entries) {
    entry = normal(random);
    data += fmt::format("{}{}", data.empty() ? "" : ", ", entry);
  }
  const std::string text =
      "codebook: CodebookProto { num_codebooks: 2, vector_size: 4, index_bits: 4, codebook_data: [" + data + "] }";
  constexpr size_t kVectors = 200;
  std::vector<double> values(kVectors * 4);
  for (double& value : values) value = static_cast<double>(normal(random)) * 1.4;
  for (size_t i = 0; i < 4; ++i) values[i] = static_cast<double>(entries[i + 12] + entries[64 + i + 20]);
  const Coded coded = Encoded(text, {kVectors, 4}, values);
  double error = 0;
  double least = 0;
  for (size_t v = 0; v < kVectors; ++v) {
    double best = kInf;
    for (size_t a = 0; a < 16; ++a) {
      for (size_t b = 0; b < 16; ++b) {
        double sum = 0;
        for (size_t i = 0; i < 4; ++i) {
          sum += std::pow(values[v * 4 + i] - static_cast<double>(entries[a * 4 + i] + entries[64 + b * 4 + i]), 2);
        }
        best = std::min(best, sum);
      }
    }
    least += best;
    for (size_t i = 0; i < 4; ++i) error += std::pow(values[v * 4 + i] - coded.values[v * 4 + i], 2);
  }
  EXPECT_LE(error, least * 1.001);
  EXPECT_EQ((Values{coded.values.begin(), coded.values.begin() + 4}), (Values{values.begin(), values.begin() + 4}));
}

TEST(NativeCodecTest, FloatsOfAnySplit) {
  const std::string fp6 =
      "floating_point: FloatingPointUniformProto { sign_bits: 1, exponent_bits: 3, mantissa_bits: 2, exponent_bias: 3, "
      "split_storage: true, packed_count: 4, packed_bytes: 3 }";
  // 28 = 7.111, 0.0625 = 0.001, -1 = 1.011.00, 0.25 = 0.001.00; the upper parts first.
  const Coded coded = Encoded(fp6, {5}, {28, 0.0625, -1, 0.25, 40});
  EXPECT_EQ(coded.values, (Values{28, 0.0625, -1, 0.25, 28}));
  EXPECT_EQ(coded.bytes, (Bytes{0x07, 0x1B, 0x07, 0x07, 0x00, 0x03}));
  const std::string specials =
      "floating_point: FloatingPointUniformProto { sign_bits: 1, exponent_bits: 2, mantissa_bits: 1, exponent_bias: 1, "
      "has_inf: true, has_nan: true }";
  EXPECT_EQ(Encoded(specials, {4}, {kInf, kNan, 100, -kInf}).bytes, (Bytes{0x76, 0xE5}));
}

TEST(NativeCodecTest, LogarithmsAreRoundedInTheExponent) {
  const std::string log = "log: LogUniformProto { bits: 4, base: 2, offset: -8, has_sign: true }";
  const Coded coded = Encoded(log, {8}, {1, -2, 1.4, 1.42, 0, -0.0, kNan, kInf});
  const double least = 1.0 / 256;
  EXPECT_EQ(coded.values, (Values{1, -2, 1, 2, least, -least, least, 128}));
}

TEST(NativeCodecTest, OutliersAreTheLargestMagnitudes) {
  const std::string sparse =
      "sparse: SparseQuantizationProto { base_quant: QuantizationProto { linear: LinearUniformProto { storage_type: "
      "INT8, bits: 8, symmetric: true, axis: -1, scale: stored(FLOAT, per=tensor, at=before) } } outlier_data_type: "
      "FLOAT16, outlier_ratio: 0.25 }";
  const Coded coded = Encoded(sparse, {2, 4}, {1, -100, 127, 3, 100, -1000, 2, 64});
  // -1000 and 127 stand apart, so that the scale is 100 / 127.
  EXPECT_EQ(coded.values[5], -1000);
  EXPECT_EQ(coded.values[2], 127);
  EXPECT_NEAR(coded.values[1], -100, 1e-4);
  EXPECT_NEAR(coded.values[7], 64, 0.4);
  const std::string above =
      "sparse: SparseQuantizationProto { base_quant: QuantizationProto { linear: LinearUniformProto { storage_type: "
      "INT8, bits: 8, axis: -1, scale_float: 1 } } outlier_data_type: FLOAT, outlier_threshold: 100 }";
  EXPECT_EQ(Encoded(above, {4}, {1, 2, 300, -200}, 2).values, (Values{1, 2, 300, -200}));
  EXPECT_THAT(Error(above, {4}, {1, 2, 300, -200}, 1),
              HasSubstr("outliers: 2 values are above the threshold of 100, and the type has room for 1 (a type with 2 "
                        "outliers) [unsupported]"));
}

TEST(NativeCodecTest, TilesCycleAndLieWhereAxesAndPermSay) {
  auto linear = [](const char* scale) {
    return fmt::format(
        "QuantizationProto {{ linear: LinearUniformProto {{ storage_type: INT8, bits: 8, axis: -1, scale_float: {} }} "
        "}}",
        scale);
  };
  // Three tiles of two values with scales 1, 2, 1.
  const std::string cycle = fmt::format("tiling: TilingQuantizationProto {{ tile_shape: [2], elem_quant: [{}, {}] }}",
                                        linear("1"), linear("2"));
  EXPECT_EQ(Encoded(cycle, {6}, {10, 20, 10, 20, 10, 20}).bytes, (Bytes{10, 20, 5, 10, 10, 20}));
  // Columns as tiles; a size of 0 is the whole axis.
  const std::string columns = fmt::format(
      "tiling: TilingQuantizationProto {{ tile_shape: [0, 1], axes: [0, 1], elem_quant: [{}] }}", linear("1"));
  EXPECT_EQ(Encoded(columns, {2, 3}, {1, 2, 3, 4, 5, 6}).bytes, (Bytes{1, 4, 2, 5, 3, 6}));
  const std::string column_major = fmt::format(
      "tiling: TilingQuantizationProto {{ tile_shape: [0, 0], axes: [0, 1], perm: [1, 0], elem_quant: [{}] }}",
      linear("1"));
  EXPECT_EQ(Encoded(column_major, {2, 3}, {1, 2, 3, 4, 5, 6}).bytes, (Bytes{1, 4, 2, 5, 3, 6}));
  const std::string nested = fmt::format(
      "tiling: TilingQuantizationProto {{ tile_shape: [2, 2], axes: [0, 1], elem_quant: [QuantizationProto {{ tiling: "
      "TilingQuantizationProto {{ tile_shape: [1], elem_quant: [{}, {}] }} }}] }}",
      linear("1"), linear("2"));
  EXPECT_EQ(Encoded(nested, {2, 4}, {2, 4, 6, 8, 10, 12, 14, 16}).bytes, (Bytes{2, 2, 10, 6, 6, 4, 14, 8}));
}

TEST(NativeCodecTest, RotationsAreUndone) {
  const std::string hadamard =
      "cast: CastUniformProto { storage_type: FLOAT }, pre_rotation: RotationProto { matrix_type: HADAMARD, dims: [4, "
      "4] "
      "}";
  const Coded rotated = Encoded(hadamard, {2, 4}, {1, 2, 3, 4, 0, 0, 0, 8});
  EXPECT_EQ(rotated.values, (Values{1, 2, 3, 4, 0, 0, 0, 8}));
  float first = 0;
  std::memcpy(&first, rotated.bytes.data(), 4);
  EXPECT_EQ(first, 5);
  const std::string plain =
      "cast: CastUniformProto { storage_type: FLOAT }, post_rotation: RotationProto { matrix_type: PLAIN, dims: [2, "
      "2], "
      "matrix: [0, 2, 1, 1] }";
  const Coded product = Encoded(plain, {2, 2}, {4, 6, 3, 5});
  EXPECT_EQ(product.values, (Values{4, 6, 3, 5}));
  float numbers[4];
  std::memcpy(numbers, product.bytes.data(), 16);
  EXPECT_THAT(numbers, ElementsAre(1, 2, 2, 3));
  const std::string singular =
      "cast: CastUniformProto { storage_type: FLOAT }, pre_rotation: RotationProto { matrix_type: PLAIN, dims: [2, 2], "
      "matrix: [1, 2, 2, 4] }";
  EXPECT_THAT(Error(singular, {1, 2}, {1, 2}), HasSubstr("pre_rotation: the matrix has no inverse"));
}

// Blocks of 4: a FLOAT16 scale, a FLOAT16 bias, 4-bit codes.
std::string AffineBlocks(const char* order) {
  return fmt::format(
      "structured_block: StructuredBlockUniformProto {{ block_layout: BlockLayoutProto {{ block_size: 4, "
      "bytes_per_block: 6, fields: [{{ role: SCALE, bit_offset: 0, bit_width: 16, count: 1, data_type: FLOAT16 }}, {{ "
      "role: BIAS, bit_offset: {}, bit_width: 16, count: 1, data_type: FLOAT16 }}, {{ role: VALUES, bit_offset: {}, "
      "bit_width: 4, count: 4 }}] }} storage_order: {} }}",
      std::string_view(order) == "SEQUENTIAL" ? 0 : 16, std::string_view(order) == "SEQUENTIAL" ? 0 : 32, order);
}

TEST(NativeCodecTest, BlocksInBothOrders) {
  const std::vector<double> values = {1, 2, 16, 4, -8, -7, -6, 7};
  const Coded together = Encoded(AffineBlocks("INTERLEAVED"), {8}, values);
  EXPECT_EQ(together.values, values);
  EXPECT_EQ(together.bytes, (Bytes{0, 0x3C, 0, 0x3C, 0x10, 0x3F, 0, 0x3C, 0, 0xC8, 0x10, 0xF2}));
  const Coded apart = Encoded(AffineBlocks("SEQUENTIAL"), {8}, values);
  EXPECT_EQ(apart.values, values);
  EXPECT_EQ(apart.bytes, (Bytes{0, 0x3C, 0, 0x3C, 0, 0x3C, 0, 0xC8, 0x10, 0x3F, 0x10, 0xF2}));
}

// Blocks of 4 with a scale, and a zero point for each half.
TEST(NativeCodecTest, BlocksHaveAZeroPointForEachRun) {
  const std::string halves =
      "structured_block: StructuredBlockUniformProto { block_layout: BlockLayoutProto { block_size: 4, "
      "bytes_per_block: "
      "5, fields: [{ role: SCALE, bit_offset: 0, bit_width: 16, count: 1, data_type: FLOAT16 }, { role: ZERO_POINT, "
      "bit_offset: 16, bit_width: 4, count: 2 }, { role: VALUES, bit_offset: 24, bit_width: 4, count: 4 }] } }";
  // 15 steps of 1.0 from -5 to 10: the first half reaches down to -2, the second to -5.
  const Coded coded = Encoded(halves, {8}, {-2, 3, -5, 10, 0, 15, 0, 4});
  EXPECT_EQ(coded.values, (Values{-2, 3, -5, 10, 0, 15, 0, 4}));
  EXPECT_EQ(coded.bytes, (Bytes{0, 0x3C, 0x52, 0x50, 0xF0, 0, 0x3C, 0, 0xF0, 0x40}));
}

TEST(NativeCodecTest, BlocksOfCodewordsWithScatterMaskAndSign) {
  // Codewords of two values, one at lane g, the other two places on; index = sign + 2 * code.
  const std::string words =
      "structured_block: StructuredBlockUniformProto { block_layout: BlockLayoutProto { block_size: 4, "
      "bytes_per_block: "
      "4, fields: [{ role: CODE, bit_offset: 0, bit_width: 1, count: 2 }, { role: SIGN, bit_offset: 2, bit_width: 1, "
      "count: 2 }, { role: SCALE, bit_offset: 16, bit_width: 16, count: 1, data_type: FLOAT16 }] } codebook_data: [1, "
      "0, "
      "-1, 0, 0, 1, 0, -1], codebook_vector_size: 2, index_formula: [{ field: SIGN, multiplier: 1 }, { field: CODE, "
      "multiplier: 2 }], scatter: ScatterProto { group_size: 4, vector_size: 2, stride: 2 } }";
  // Word 0 is values 0 and 2, word 1 values 1 and 3.
  const Coded coded = Encoded(words, {4}, {2, 0.1, -0.2, -2});
  EXPECT_EQ(coded.values, (Values{2, 0, 0, -2}));
  EXPECT_EQ(coded.bytes, (Bytes{0b1010, 0, 0, 0x40}));
  const std::string masked =
      "structured_block: StructuredBlockUniformProto { block_layout: BlockLayoutProto { block_size: 4, "
      "bytes_per_block: "
      "3, fields: [{ role: VALUES, bit_offset: 0, bit_width: 2, count: 4 }, { role: SIGN, bit_offset: 8, bit_width: 1, "
      "count: 4 }, { role: MASK, bit_offset: 12, bit_width: 1, count: 4 }, { role: EXPONENT, bit_offset: 16, "
      "bit_width: "
      "8, count: 1, data_type: INT8 }] } }";
  const Coded block = Encoded(masked, {4}, {12, 0, -4, -0.0});
  EXPECT_EQ(block.values, (Values{12, 0, -4, 0}));
  EXPECT_EQ(block.bytes, (Bytes{3 | 1 << 4, 0b0101'1100, 2}));
}

TEST(NativeCodecTest, CodesOutsideTheCodebookAreErrorsWithTheirBlock) {
  const std::string ternary =
      "tiling: TilingQuantizationProto { tile_shape: [4], elem_quant: [QuantizationProto { codebook: CodebookProto { "
      "codebook_data: [-1, 0, 1], packed_count: 4, packed_bytes: 1, index_bits: 2 } }] }";
  const NativeCodec codec = CodecOf(ternary, {3, 4});
  EXPECT_EQ(*codec.Decode(Bytes{0x24, 0, 0x55}), (Values{-1, 0, 1, -1, -1, -1, -1, -1, 0, 0, 0, 0}));
  EXPECT_EQ(codec.Decode(Bytes{0, 0, 0x30}).error().Format(),
            "tiles[2].codes[2]: is 3, and the codebook has 3 entries (0 to 2) [code-outside]");
  EXPECT_EQ(codec.Decode(Bytes{0, 0}).error().code, ErrorCode::kPayloadSize);
  EXPECT_EQ(codec.Encode(Values(11)).error().code, ErrorCode::kArgument);
}

TEST(NativeCodecTest, OperatorsThatAreRegistered) {
  const std::string text =
      "tiling: TilingQuantizationProto { tile_shape: [3], elem_quant: [QuantizationProto { function: "
      "FunctionUniformProto "
      "{ storage_type: UINT8, bits: 4, quantize_op: \"test::Halve\", dequantize_op: \"test::Double\" } }] }";
  const NativeCodec codec = CodecOf(text, {6});
  EXPECT_EQ(codec.Decode(Bytes(4)).error().Format(),
            "tiles[0]: its codes are decoded by the operator 'test::Double', which is not registered "
            "(RegisterDequantizer(), or a decoder given with the type) [no-decoder]");
  EXPECT_EQ(codec.Encode(Values(6)).error().code, ErrorCode::kUnsupported);
  ASSERT_TRUE(RegisterDequantizer("test::Double", [](const FunctionProfile& profile, std::span<const int64_t> shape,
                                                     std::span<const uint8_t> codes, std::span<float> values) {
    EXPECT_EQ(profile.bits, 4);
    EXPECT_THAT(shape, ElementsAre(3));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>((codes[i / 2] >> (i % 2 * 4) & 15) * 2);
    }
    return Result<void>();
  }));
  ASSERT_TRUE(RegisterQuantizer("test::Halve", [](const FunctionProfile&, std::span<const int64_t>,
                                                  std::span<const float> values, std::span<uint8_t> codes) {
    for (size_t i = 0; i < values.size(); ++i) {
      codes[i / 2] = static_cast<uint8_t>(codes[i / 2] | static_cast<int>(values[i] / 2) << (i % 2 * 4));
    }
    return Result<void>();
  }));
  EXPECT_EQ(RegisterDequantizer("test::Double", [](auto&&...) { return Result<void>(); }).error().code,
            ErrorCode::kArgument);
  EXPECT_EQ(RegisterQuantizer("test::Nothing", nullptr).error().code, ErrorCode::kArgument);
  const auto bytes = codec.Encode(Values{2, 4, 6, 8, 10, 12});
  ASSERT_TRUE(bytes) << bytes.error().Format();
  EXPECT_EQ(*bytes, (Bytes{0x21, 0x03, 0x54, 0x06}));
  EXPECT_EQ(*codec.Decode(*bytes), (Values{2, 4, 6, 8, 10, 12}));
  EXPECT_TRUE(UnregisterDequantizer("test::Double"));
  EXPECT_TRUE(UnregisterQuantizer("test::Halve"));
  EXPECT_FALSE(UnregisterQuantizer("test::Halve"));
}

// The encoder as a function is another implementation of the same rules.
TEST(NativeCodecTest, EncodesRandomProfilesAsTheirEncodersDo) {
  std::map<std::string_view, int> families;
  int compared = 0;
  for (uint64_t seed = 0; seed < 6'000; ++seed) {
    RandomSource random(seed);
    const RandomCase random_case = RandomProfile(&random);
    const std::vector<StructType> types =
        *TranslateProfile(random_case.profile, random_case.shape, random_case.Options());
    const int64_t opset = kMinOpset + static_cast<int64_t>(seed % 14);
    const auto encoder = BuildEncoder(random_case.profile, random_case.shape, types, opset);
    if (!encoder) continue;
    const ElementType type = random_case.profile.data_type.value_or(ElementType::kFloat);
    if (type != ElementType::kFloat && type != ElementType::kDouble) continue;
    const auto codec = NativeCodec::Create(random_case.profile, random_case.shape, types);
    ASSERT_TRUE(codec);
    const std::vector<double> values = RandomValues(&random, codec->count());
    Tensor input{.type = type, .dims = random_case.shape, .bytes = {}};
    for (double value : values) {
      const uint64_t code = EncodeFloat(type, value, Overflow::kOverflow);
      const auto* bytes = reinterpret_cast<const uint8_t*>(&code);
      input.bytes.insert(input.bytes.end(), bytes, bytes + UnpackedBytes(type));
    }
    const std::string what = fmt::format("seed {}\n{}", seed, PrintProfile(random_case.profile));
    const auto expected = EvaluateFunction(*encoder, {input}, {});
    ASSERT_TRUE(expected) << expected.error().Format() << what;
    const auto bytes = codec->Encode(values);
    ASSERT_TRUE(bytes) << bytes.error().Format() << what;
    if (*bytes != expected->bytes) {
      const auto at = std::mismatch(bytes->begin(), bytes->end(), expected->bytes.begin()).first - bytes->begin();
      FAIL() << fmt::format("byte {}: {:#x} for {:#x}\n", at, (*bytes)[static_cast<size_t>(at)],
                            expected->bytes[static_cast<size_t>(at)])
             << what;
    }
    ++compared;
    ForEachProfile(random_case.profile, [&](const Profile& profile) { ++families[NamesOf(profile).field]; });
  }
  EXPECT_GT(compared, 2'000);
  EXPECT_EQ(families.size(), 6u);
  for (const auto& [family, count] : families) EXPECT_GT(count, 60) << family;
}

// Whatever the values are, they are encoded the same way again, and decode.
TEST(NativeCodecTest, EncodesRandomValuesOfRandomProfiles) {
  int encoded = 0;
  std::map<std::string, int> refusals;
  for (uint64_t seed = 0; seed < 3'000; ++seed) {
    RandomSource random(seed);
    const RandomCase random_case = RandomProfile(&random);
    const std::vector<StructType> types =
        *TranslateProfile(random_case.profile, random_case.shape, random_case.Options());
    const auto codec = NativeCodec::Create(random_case.profile, random_case.shape, types);
    ASSERT_TRUE(codec);
    const std::string what = fmt::format("seed {}\n{}", seed, PrintProfile(random_case.profile));
    const std::vector<double> values = RandomValues(&random, codec->count());
    const auto bytes = codec->Encode(values);
    if (!bytes) {
      ++refusals[std::string(Info(bytes.error().code).slug)];
      continue;
    }
    ASSERT_EQ(*bytes, *codec->Encode(values)) << what;
    const auto decoded = codec->Decode(*bytes);
    ASSERT_TRUE(decoded) << decoded.error().Format() << what;
    ++encoded;
  }
  EXPECT_GT(encoded, 2'500);
  // Outliers above a threshold, operators that nobody registered, matrices without inverse.
  for (const auto& [slug, count] : refusals)
    EXPECT_TRUE(slug == "unsupported" || slug == "no-decoder") << slug << count;
}

}  // namespace
}  // namespace tessera
