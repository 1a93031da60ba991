// Encoders of random profiles: the checker accepts them, and what they make of their own decoder's values are the same
// bytes, or bytes that mean the same.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tessera/codecs/decoder.h"
#include "tessera/codecs/encoder.h"
#include "tessera/codecs/evaluator.h"
#include "tessera/quant/profile_text.h"
#include "tessera/quant/profile_walk.h"
#include "tessera/quant/testing/random_profile.h"
#include "tessera/types/element_value.h"
#include "tessera/types/function_check.h"
#include "tessera/types/notation.h"
#include "tessera/types/operators.h"
#include "tessera/types/type_table.h"

namespace tessera {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Right for the checker, without results that nobody reads.
::testing::AssertionResult IsEncoder(const Function& encoder, const std::vector<StructType>& types,
                                     const std::optional<Function>& decoder) {
  Problems problems;
  const TypeTable table = TypeTable::Build(types, {}, &problems);
  const auto type = table.Get(static_cast<int64_t>(types.size()) - 1);
  CheckEncoder(encoder, decoder ? &*decoder : nullptr, type->size_bits / 8, Path("encoder"), &problems);
  if (!problems.empty()) return ::testing::AssertionFailure() << problems.list().front().Format();
  std::set<std::string> read(encoder.outputs.begin(), encoder.outputs.end());
  for (const Node& node : encoder.nodes) read.insert(node.inputs.begin(), node.inputs.end());
  for (const Node& node : encoder.nodes) {
    if (!read.contains(node.outputs[0])) {
      return ::testing::AssertionFailure() << "nothing reads the " << node.op_type << " " << node.outputs[0];
    }
  }
  return ::testing::AssertionSuccess();
}

bool IsModest(const Scale& scale) {
  if (const auto* number = std::get_if<float>(&scale)) return std::abs(*number) > 1e-20F && std::abs(*number) < 1e20F;
  if (const auto* power = std::get_if<ScaleExponent>(&scale)) return std::abs(power->exponent) < 60;
  return !std::holds_alternative<Stored>(scale);
}

// True if nothing on the way from codes to values and back is rounded to another code, underflows or overflows:
// constant scales, no rotations, codes of few significant bits.
struct ExactFamily {
  bool operator()(const LinearProfile& linear) const {
    const auto* zero_point = std::get_if<int64_t>(&linear.zero_point);
    if (zero_point == nullptr || !IsModest(linear.scale)) return false;
    const ElementInfo& info = Info(linear.storage_type);
    if (info.kind != ElementKind::kFloat) return linear.bits <= 16 && std::abs(*zero_point) < (1 << 20);
    return *zero_point == 0 && info.format.exponent_bits < 6 && info.format.specials != FloatSpecials::kExponentOnly;
  }
  bool operator()(const CodebookProfile& codebook) const {
    const std::vector<float>& book = codebook.codebook_data.values;
    const float least = codebook.vector_size > 1 ? 0.01F : 1e-10F;
    return IsModest(codebook.scale) && std::all_of(book.begin(), book.end(), [&](float entry) {
             return entry == 0 || (std::abs(entry) >= least && std::abs(entry) * least <= 1);
           });
  }
  bool operator()(const FloatingPointProfile& format) const {
    return IsModest(format.scale) && std::abs(format.exponent_bias) < 40 && format.exponent_bits < 6 &&
           format.mantissa_bits <= 20;
  }
  bool operator()(const LogProfile& log) const {
    const double step = std::abs(std::log2(double{log.base}));
    const double low = step * double{log.offset};
    return std::abs(low) < 100 && std::abs(low + step * std::pow(2.0, log.bits)) < 100;
  }
  template <typename Other>
  bool operator()(const Other&) const {
    return true;
  }
};

bool IsExact(const Profile& profile) {
  bool exact = true;
  ForEachProfile(profile, [&](const Profile& part) {
    exact =
        exact && !part.pre_rotation && !part.post_rotation && !part.data_type && std::visit(ExactFamily(), part.kind);
  });
  return exact;
}

// Of the usual sizes, with some special values; FLOAT and narrower floats only.
Tensor SomeValues(RandomSource* random, ElementType type, const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t dim : shape) count *= dim;
  std::mt19937_64 generator(random->Next());
  std::normal_distribution<double> normal;
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(normal(generator) * std::exp2(generator() % 8));
  for (double special : {HUGE_VAL, -HUGE_VAL, std::nan(""), -0.0, 0.0}) {
    if (!values.empty() && random->OneIn(3)) values[generator() % values.size()] = special;
  }
  const uint32_t width = UnpackedBytes(type);
  Tensor tensor{.type = type, .dims = shape, .bytes = std::vector<uint8_t>(values.size() * width)};
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t code = EncodeFloat(type, values[i], Overflow::kOverflow);
    std::memcpy(tensor.bytes.data() + i * width, &code, width);
  }
  return tensor;
}

Result<Tensor> Evaluate(const Function& function, Tensor input) {
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(input));
  return EvaluateFunction(function, std::move(inputs), {});
}

// The first value in which two FLOAT tensors differ; NaN are equal, and so are the zeros.
std::optional<std::string> Difference(const Tensor& a, const Tensor& b) {
  for (uint64_t i = 0; i < a.Count(); ++i) {
    const double x = DecodeFloat(a.type, a.Code(i));
    const double y = DecodeFloat(b.type, b.Code(i));
    if (x != y && !(std::isnan(x) && std::isnan(y))) return fmt::format("value {} is {:a}, then {:a}", i, x, y);
  }
  return std::nullopt;
}

// Entries that are apart from each other, some of them equal, where random ones lie close together or underflow.
void GiveModestBooks(RandomSource* random, Profile* profile) {
  if (auto* codebook = std::get_if<CodebookProfile>(&profile->kind)) {
    for (float& entry : codebook->codebook_data.values) entry = static_cast<float>(random->Below(65)) / 4 - 8;
  }
  if (auto* tiling = std::get_if<TilingProfile>(&profile->kind)) {
    for (Profile& tile : tiling->elem_quant) GiveModestBooks(random, &tile);
  }
}

TEST(EncoderRandomTest, ThereAndBack) {
  std::map<std::string, int> without;
  std::map<std::string, int> exact;  // by family
  int with = 0;
  int payloads = 0;
  for (uint64_t seed = 0; seed < 6'000; ++seed) {
    RandomSource random(seed);
    RandomCase random_case = RandomProfile(&random);
    if (random.OneIn(2)) GiveModestBooks(&random, &random_case.profile);
    TranslateOptions options = random_case.Options();
    if (random.OneIn(2)) options.spelling = RandomSpelling(&random, random_case);
    const Result<std::vector<StructType>> types = TranslateProfile(random_case.profile, random_case.shape, options);
    ASSERT_TRUE(types) << types.error().Format();
    const int64_t opset = kMinOpset + static_cast<int64_t>(seed) % (kMaxOpset - kMinOpset + 1);
    const Result<Function> encoder = BuildEncoder(random_case.profile, random_case.shape, *types, opset);
    const std::string what = fmt::format("seed {}, opset {}, shape {}\n{}{}", seed, opset, ShapeText(random_case.shape),
                                         PrintProfile(random_case.profile), PrintNotation(*types));
    if (!encoder) {
      ASSERT_EQ(encoder.error().code, ErrorCode::kNoEncoder) << encoder.error().Format() << "\n" << what;
      EXPECT_FALSE(encoder.error().fix.empty());
      ++without[encoder.error().what];
      continue;
    }
    ++with;
    const Result<Function> leaves = BuildDecoder(random_case.profile, random_case.shape, *types, kMaxOpset);
    ASSERT_TRUE(IsEncoder(*encoder, *types, leaves ? std::optional(*leaves) : std::nullopt)) << what;
    const auto size = static_cast<uint64_t>(DeclaredOutput(*encoder)->dims[0]);
    const auto decoder =
        BuildPayloadDecoder(random_case.profile, random_case.shape, *types, std::span(&size, 1), opset);
    if (!decoder) {
      ASSERT_THAT(decoder.error().Format(), AnyOf(HasSubstr("is declared as"), HasSubstr("are declared as bytes")))
          << what;
      continue;
    }
    const ElementType type = random_case.profile.data_type.value_or(ElementType::kFloat);
    if (Info(type).kind != ElementKind::kFloat) continue;
    const auto bytes = Evaluate(*encoder, SomeValues(&random, type, random_case.shape));
    ASSERT_TRUE(bytes) << bytes.error().Format() << "\n" << what;
    ASSERT_EQ(bytes->bytes.size(), size) << what;
    const auto decoded = Evaluate(*decoder, *bytes);
    ASSERT_TRUE(decoded) << decoded.error().Format() << "\n" << what;
    const auto again = Evaluate(*encoder, *decoded);
    ASSERT_TRUE(again) << again.error().Format() << "\n" << what;
    if (!IsExact(random_case.profile)) continue;
    ++exact[std::string(NamesOf(random_case.profile).field)];
    ASSERT_EQ(again->bytes, bytes->bytes) << what;

    // Any other bytes that mean something: their values are found again, though by other codes that mean the same.
    Tensor payload{.type = ElementType::kUint8, .dims = {static_cast<int64_t>(size)}, .bytes = {}};
    for (uint64_t i = 0; i < size; ++i) payload.bytes.push_back(static_cast<uint8_t>(random.Below(256)));
    const auto values = Evaluate(*decoder, payload);
    if (!values) continue;
    ++payloads;
    const auto found = Evaluate(*encoder, *values);
    ASSERT_TRUE(found) << found.error().Format() << "\n" << what;
    const auto same = Evaluate(*decoder, *found);
    ASSERT_TRUE(same) << same.error().Format() << "\n" << what;
    ASSERT_FALSE(Difference(*values, *same)) << *Difference(*values, *same) << "\n" << what;
  }
  EXPECT_GT(with, 2'500);
  EXPECT_GT(payloads, 700);
  for (const char* family : {"linear", "codebook", "floating_point", "log", "tiling", "cast"}) {
    EXPECT_GT(exact[family], 50) << family;
  }
  std::printf("%d with, %d payloads\n", with, payloads);
  for (const auto& [family, count] : exact) std::printf("%6d exact: %s\n", count, family.c_str());
  for (const auto& [why, count] : without) std::printf("%6d without: %s\n", count, why.c_str());
}

}  // namespace
}  // namespace tessera
