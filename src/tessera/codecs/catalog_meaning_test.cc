// What a format's bytes mean, found in three ways: by the native codec that the format names, by the type's own decoder
// in the evaluator, and by the function from bytes that stands in portable models. All give the same bits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tessera/codecs/decoder.h"
#include "tessera/codecs/evaluator.h"
#include "tessera/codecs/format_codec.h"
#include "tessera/formats/catalog.h"
#include "tessera/types/operators.h"

namespace tessera {
namespace {

constexpr int64_t kRows = 8;
constexpr int64_t kBlocksInRow = 64;

std::vector<const Format*> WithNativeCodec() {
  std::vector<const Format*> formats;
  for (const Format& format : AllFormats()) {
    if (!format.codec.empty()) formats.push_back(&format);
  }
  return formats;
}

// The first value that differs, or -1. Two NaN are equal.
int64_t FirstDifference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<uint32_t>(a[i]) == std::bit_cast<uint32_t>(b[i])) continue;
    if (!std::isnan(a[i]) || !std::isnan(b[i])) return static_cast<int64_t>(i);
  }
  return -1;
}

std::vector<float> FloatsOf(const Tensor& tensor) {
  std::vector<float> values(tensor.Count());
  for (uint64_t i = 0; i < values.size(); ++i) {
    values[i] = std::bit_cast<float>(static_cast<uint32_t>(tensor.Code(i)));
  }
  return values;
}

class CatalogMeaning : public ::testing::TestWithParam<const Format*> {};

TEST_P(CatalogMeaning, NativeCodecDecoderAndPortableFunctionGiveTheSameBits) {
  const Format& format = *GetParam();
  // One column less where the last block may be shorter.
  const std::vector<int64_t> shape = {
      kRows, kBlocksInRow * std::max<int64_t>(1, format.BlockValues()) - (format.partial_blocks ? 1 : 0)};
  const auto types = DeclareFormat(format, shape);
  ASSERT_TRUE(types) << types.error().Format();
  Format declared = format;
  declared.codec.clear();
  ASSERT_NE(CodecName(format, *types), CodecName(declared, *types));
  std::mt19937_64 random(1);
  std::vector<uint8_t> payload(types->SizeBytes());
  // All bytes are random: scales that are NaN, infinite, subnormal and 0 are among them; then edges.
  for (int round = 0; round < 4; ++round) {
    for (uint8_t& byte : payload) byte = static_cast<uint8_t>(random());
    if (round == 2) std::fill(payload.begin(), payload.end(), uint8_t{0});
    if (round == 3) std::fill(payload.begin(), payload.end(), uint8_t{0xff});
    const auto native = DecodeFormat(format, *types, payload);
    const auto evaluated = DecodeFormat(declared, *types, payload);
    ASSERT_TRUE(native) << native.error().Format();
    ASSERT_TRUE(evaluated) << evaluated.error().Format();
    const int64_t at = FirstDifference(*native, *evaluated);
    ASSERT_EQ(at, -1) << fmt::format("round {}, value {}: the codec has {}, the decoder {}", round, at,
                                     (*native)[static_cast<size_t>(at)], (*evaluated)[static_cast<size_t>(at)]);
    const uint64_t bytes = payload.size();
    for (int64_t opset : {kMinOpset, kMaxOpset}) {
      const auto function = PortableDecoder(types->types, std::span(&bytes, 1), opset);
      ASSERT_TRUE(function) << function.error().Format();
      const Tensor whole{.type = ElementType::kUint8, .dims = {static_cast<int64_t>(bytes)}, .bytes = payload};
      const auto portable = EvaluateFunction(*function, {whole}, {});
      ASSERT_TRUE(portable) << portable.error().Format();
      ASSERT_EQ(FirstDifference(*native, FloatsOf(*portable)), -1) << "opset " << opset;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CatalogMeaning, ::testing::ValuesIn(WithNativeCodec()), [](const auto& test) {
  std::string name = test.param->name;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace tessera
