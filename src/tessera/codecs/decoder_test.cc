// Decoders as functions: every profile's is one that the checker accepts. What they compute is compared with ONNX's
// reference evaluator in python/tests/test_decoders.py.
#include "tessera/codecs/decoder.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tessera/quant/profile_text.h"
#include "tessera/quant/profile_walk.h"
#include "tessera/quant/testing/random_profile.h"
#include "tessera/types/function_check.h"
#include "tessera/types/notation.h"
#include "tessera/types/operators.h"
#include "tessera/types/testing/type_builders.h"
#include "tessera/types/type_table.h"

namespace tessera {
namespace {

using build::None;

// Right for the checker, with the tensor as its output, and without results that nobody reads.
::testing::AssertionResult IsDecoder(const Function& decoder, const std::vector<StructType>& types,
                                     const std::vector<int64_t>& shape, ElementType data_type) {
  Problems problems;
  const TypeTable table = TypeTable::Build(types, {}, &problems);
  const auto type = table.Get(static_cast<int64_t>(types.size()) - 1);
  CheckDecoder(decoder, type->leaves, Path("decoder"), &problems);
  if (!problems.empty()) return ::testing::AssertionFailure() << problems.list().front().Format();
  const std::optional<OutputSignature> output = DeclaredOutput(decoder);
  if (!output || output->dims != shape || output->type != data_type) {
    return ::testing::AssertionFailure() << "it declares another output";
  }
  std::set<std::string> read(decoder.outputs.begin(), decoder.outputs.end());
  for (const Node& node : decoder.nodes) read.insert(node.inputs.begin(), node.inputs.end());
  for (const Node& node : decoder.nodes) {
    if (!read.contains(node.outputs[0])) {
      return ::testing::AssertionFailure() << "nothing reads the " << node.op_type << " " << node.outputs[0];
    }
  }
  return ::testing::AssertionSuccess();
}

TEST(DecoderTest, RandomProfilesHaveDecoders) {
  std::map<std::string, int> without;
  int with = 0;
  constexpr std::array<int64_t, 5> kOpsets = {26, 13, 18, 21, 24};
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    RandomSource random(seed);
    const RandomCase random_case = RandomProfile(&random);
    TranslateOptions options = random_case.Options();
    if (random.OneIn(2)) options.spelling = RandomSpelling(&random, random_case);
    const Result<std::vector<StructType>> types = TranslateProfile(random_case.profile, random_case.shape, options);
    ASSERT_TRUE(types) << types.error().Format();
    const int64_t opset = kOpsets[seed % kOpsets.size()];
    const Result<Function> decoder = BuildDecoder(random_case.profile, random_case.shape, *types, opset);
    const std::string what = fmt::format("seed {}, opset {}, shape {}\n{}{}", seed, opset, ShapeText(random_case.shape),
                                         PrintProfile(random_case.profile), PrintNotation(*types));
    if (!decoder) {
      ASSERT_EQ(decoder.error().code, ErrorCode::kNoDecoder) << decoder.error().Format() << "\n" << what;
      EXPECT_FALSE(decoder.error().fix.empty());
      bool function = false;
      ForEachProfile(random_case.profile, [&](const Profile& profile) {
        function = function || std::holds_alternative<FunctionProfile>(profile.kind);
      });
      ++without[function ? "function" : decoder.error().Format().substr(decoder.error().where.size())];
      continue;
    }
    ++with;
    ASSERT_TRUE(
        IsDecoder(*decoder, *types, random_case.shape, random_case.profile.data_type.value_or(ElementType::kFloat)))
        << what;
  }
  EXPECT_GT(with, 3'000);
  for (const auto& [why, count] : without) {
    RecordProperty(why, count);
    std::printf("%6d without: %s\n", count, why.c_str());
  }
}

}  // namespace
}  // namespace tessera
