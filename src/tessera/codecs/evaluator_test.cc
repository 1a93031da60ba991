// The evaluator: every operator of the table runs, decoders from leaves and from bytes give the same tensor, limits
// hold. Operators are compared with ONNX's reference in python/tests/test_evaluator.py.
#include "tessera/codecs/evaluator.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "tessera/codecs/decoder.h"
#include "tessera/codecs/node_run.h"
#include "tessera/codecs/testing/random_payload.h"
#include "tessera/quant/profile_text.h"
#include "tessera/quant/testing/random_profile.h"
#include "tessera/types/element_value.h"
#include "tessera/types/notation.h"
#include "tessera/types/operators.h"
#include "tessera/types/testing/type_builders.h"

namespace tessera {
namespace {

TEST(EvaluatorTest, RunsExactlyTheOperatorsOfTheTable) {
  std::set<std::string_view> rows;
  for (const Operator& op : AllOperators()) {
    EXPECT_NE(FindImplementation(op.name), nullptr) << op.name;
    rows.insert(op.name);
  }
  for (std::span<const Implementation> list :
       {ElementwiseOperators(), LogicOperators(), CastOperators(), MovementOperators(), IndexingOperators(),
        ShapeOperators(), ProductOperators()}) {
    for (const Implementation& row : list) EXPECT_EQ(rows.erase(row.name), 1u) << row.name;
  }
  EXPECT_TRUE(rows.empty());
}

// Two ways that share no code to find the codes: the view unpacks leaves by their addresses, the function from the
// bytes by slices and shifts. Each at an opset of its own.
TEST(EvaluatorTest, LeavesAndBytesOfRandomProfilesDecodeAlike) {
  std::map<std::string_view, int> families;
  int compared = 0;
  int refused = 0;
  for (uint64_t seed = 0; seed < 3'000; ++seed) {
    RandomSource random(seed);
    const RandomCase random_case = RandomProfile(&random);
    TranslateOptions options = random_case.Options();
    if (random.OneIn(2)) options.spelling = RandomSpelling(&random, random_case);
    std::vector<StructType> types = *TranslateProfile(random_case.profile, random_case.shape, options);
    const Result<Function> by_leaves = BuildDecoder(random_case.profile, random_case.shape, types, 26);
    if (!by_leaves) continue;
    Problems problems;
    const TypeTable table = TypeTable::Build(types, {}, &problems);
    const auto type = table.Get(static_cast<int64_t>(types.size()) - 1);
    const uint64_t bytes = type->size_bits / 8;
    const int64_t opset = kMinOpset + static_cast<int64_t>(seed % 14);
    const Result<Function> by_bytes =
        BuildPayloadDecoder(random_case.profile, random_case.shape, types, std::span(&bytes, 1), opset);
    const std::string what = fmt::format("seed {}, opset {}\n{}", seed, opset, PrintProfile(random_case.profile));
    if (!by_bytes) {
      // The type of the result itself may be a later one.
      ASSERT_EQ(by_bytes.error().code, ErrorCode::kNoDecoder) << by_bytes.error().Format() << what;
      continue;
    }
    bool sparse = false;
    ForEachProfile(random_case.profile, [&](const Profile& profile) {
      sparse = sparse || std::holds_alternative<SparseProfile>(profile.kind);
    });
    if (sparse && random_case.outliers.value_or(0) > 1) continue;  // positions in tiles of unknown sizes
    const std::vector<uint8_t> payload = RandomPayload(&random, *type, 1);
    const StructView view = *StructView::Create(type, {payload}, "payload");
    std::vector<Tensor> leaves;
    for (size_t i = 0; i < view.leaf_count(); ++i) leaves.push_back(*TensorOf(view.leaf(i)));
    Tensor whole{.type = ElementType::kUint8, .dims = {static_cast<int64_t>(bytes)}, .bytes = payload};
    const Result<Tensor> a = EvaluateFunction(*by_leaves, std::move(leaves), {});
    const Result<Tensor> b = EvaluateFunction(*by_bytes, {whole}, {});
    ASSERT_EQ(a.has_value(), b.has_value())
        << PrintNotation(types) << PrintFunctionText(*by_bytes, 0) << (a ? b.error() : a.error()).Format() << what;
    if (!a) {
      // A code outside a codebook.
      ASSERT_EQ(a.error().code, ErrorCode::kEvaluate) << a.error().Format() << what;
      ASSERT_NE(a.error().Format().find("Gather"), std::string::npos) << a.error().Format() << what;
      ++refused;
      continue;
    }
    ASSERT_TRUE(SameValues(*a, *b)) << what << PrintNotation(types);
    ++compared;
    ForEachProfile(random_case.profile, [&](const Profile& profile) { ++families[NamesOf(profile).field]; });
  }
  EXPECT_GT(compared, 1'500);
  EXPECT_GT(refused, 20);
  // All but the family that has no decoder.
  EXPECT_EQ(families.size(), std::size(kFamilyNames) - 1);
  for (const auto& [family, count] : families) EXPECT_GT(count, 30) << family;
}

// Found by fuzzing: it took an element out of none.
TEST(EvaluatorTest, SlicesOfNothingAreEmpty) {
  for (int64_t step : {int64_t{1}, int64_t{-1}, INT64_MIN}) {
    for (int64_t start : {int64_t{0}, int64_t{-1}, int64_t{5}, INT64_MIN}) {
      Function function;
      function.opset_imports = {{std::string(), 21}};
      function.inputs = {"x", "starts", "ends", "axes", "steps"};
      function.outputs = {"y"};
      function.nodes = {build::Op("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"})};
      auto number = [](int64_t value) {
        Tensor tensor{.type = ElementType::kInt64, .dims = {1}, .bytes = std::vector<uint8_t>(8)};
        std::memcpy(tensor.bytes.data(), &value, 8);
        return tensor;
      };
      const Tensor nothing{.type = ElementType::kFloat, .dims = {2, 0}, .bytes = {}};
      const auto result =
          EvaluateFunction(function, {nothing, number(start), number(INT64_MIN), number(1), number(step)}, {});
      ASSERT_TRUE(result) << result.error().Format();
      EXPECT_EQ(result->dims, (std::vector<int64_t>{2, 0}));
    }
  }
}

TEST(EvaluatorTest, LimitsHold) {
  Function function;
  function.opset_imports = {{std::string(), 21}};
  function.inputs = {"shape"};
  function.outputs = {"y"};
  function.nodes = {build::Op("ConstantOfShape", {"shape"}, {"y"})};
  auto run = [&](int64_t size, const EvaluatorOptions& options) {
    Tensor shape{.type = ElementType::kInt64, .dims = {1}, .bytes = std::vector<uint8_t>(8)};
    std::memcpy(shape.bytes.data(), &size, 8);
    return EvaluateFunction(function, {shape}, options);
  };
  EXPECT_TRUE(run(1'000, {}));
  for (int64_t size : {int64_t{1} << 40, INT64_MAX}) {
    const Result<Tensor> result = run(size, {});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kEvaluateLimit) << result.error().Format();
    EXPECT_EQ(result.error().where, "node[0] ConstantOfShape 'y'");
  }
  EXPECT_EQ(run(-1, {}).error().code, ErrorCode::kEvaluate);
  EXPECT_EQ(run(1'000, {.max_total_bytes = 4'000}).error().code, ErrorCode::kEvaluateLimit);
  EXPECT_EQ(run(1'000, {.max_steps = 999}).error().code, ErrorCode::kEvaluateLimit);
  EXPECT_EQ(run(1'000, {.max_nodes = 0}).error().code, ErrorCode::kEvaluateLimit);
}

}  // namespace
}  // namespace tessera
