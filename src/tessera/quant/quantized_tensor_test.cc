#include "tessera/quant/quantized_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "tessera/quant/profile_text.h"
#include "tessera/quant/testing/random_profile.h"
#include "tessera/types/type_table.h"

namespace tessera {
namespace {

Profile Int4() {
  LinearProfile linear;
  linear.storage_type = ElementType::kInt4;
  linear.bits = 4;
  linear.scale = 0.5f;
  linear.axis = -1;
  Profile profile;
  profile.kind = linear;
  return profile;
}

// 2 x 3 values of 4 bits: 3 bytes.
QuantizedTensor Small() {
  QuantizedTensor tensor;
  tensor.dims = {2, 3};
  tensor.raw_data = {0x21, 0x43, 0x65};
  tensor.n_bytes = 3;
  tensor.quantization = Box<Profile>(Int4());
  tensor.name = "w";
  tensor.doc_string = "six weights";
  return tensor;
}

void ExpectError(const QuantizedTensor& tensor, std::span<const Profile> quantizations, ErrorCode code,
                 std::string_view what, std::string_view fix) {
  const Result<StructValue> value = ToStructValue(tensor, quantizations);
  ASSERT_FALSE(value) << what;
  EXPECT_EQ(Info(value.error().code).slug, Info(code).slug) << value.error().Format();
  EXPECT_THAT(value.error().what, ::testing::HasSubstr(what));
  EXPECT_THAT(value.error().fix, ::testing::HasSubstr(fix));
}

TEST(QuantizedTensorTest, BecomesAStructValueAndComesBack) {
  const QuantizedTensor tensor = Small();
  const Result<StructValue> value = ToStructValue(tensor, {});
  ASSERT_TRUE(value) << value.error().Format();
  ASSERT_EQ(value->types.size(), 1u);
  EXPECT_EQ(value->raw_data, tensor.raw_data);
  EXPECT_EQ(value->name, "w");
  EXPECT_EQ(value->doc_string, "six weights");
  const Result<QuantizedTensor> back = ToQuantizedTensor(*value);
  ASSERT_TRUE(back) << back.error().Format();
  EXPECT_EQ(*back, tensor);
}

TEST(QuantizedTensorTest, AnAbsentNameIsNotAnEmptyOne) {
  QuantizedTensor tensor = Small();
  tensor.name.reset();
  tensor.doc_string = "";
  const Result<StructValue> value = ToStructValue(tensor, {});
  ASSERT_TRUE(value) << value.error().Format();
  EXPECT_EQ(value->name, std::nullopt);
  EXPECT_EQ(value->doc_string, "");
  const Result<QuantizedTensor> back = ToQuantizedTensor(*value);
  ASSERT_TRUE(back) << back.error().Format();
  EXPECT_EQ(*back, tensor);
}

TEST(QuantizedTensorTest, AnIndexSelectsOneOfTheModelsProfiles) {
  Profile other = Int4();
  std::get<LinearProfile>(other.kind).storage_type = ElementType::kInt8;
  std::get<LinearProfile>(other.kind).bits = 8;
  const std::vector<Profile> quantizations = {other, Int4()};
  QuantizedTensor tensor = Small();
  tensor.quantization = int32_t{1};
  const Result<StructValue> value = ToStructValue(tensor, quantizations);
  ASSERT_TRUE(value) << value.error().Format();
  const Result<QuantizedTensor> back = ToQuantizedTensor(*value);
  ASSERT_TRUE(back) << back.error().Format();
  EXPECT_EQ(*back, Small());

  tensor.quantization = int32_t{0};
  ExpectError(tensor, quantizations, ErrorCode::kPayloadSize, "raw_data has 3 bytes", "6, the size");
  tensor.quantization = int32_t{2};
  ExpectError(tensor, quantizations, ErrorCode::kTypeIndex, "quantized_type is 2", "0 to 1");
  tensor.quantization = int32_t{-1};
  ExpectError(tensor, quantizations, ErrorCode::kTypeIndex, "quantized_type is -1", "0 to 1");
  ExpectError(tensor, {}, ErrorCode::kTypeIndex, "quantized_type is -1", "there are no quantizations");
}

TEST(QuantizedTensorTest, TheThreeSizesHaveToBeOne) {
  QuantizedTensor tensor = Small();
  tensor.n_bytes = 4;
  ExpectError(tensor, {}, ErrorCode::kPayloadSize, "n_bytes is 4", "3, the size of its raw_data");
  tensor.n_bytes = -3;
  ExpectError(tensor, {}, ErrorCode::kPayloadSize, "n_bytes is -3", "3, the size of its raw_data");
  tensor.raw_data.push_back(0);
  tensor.n_bytes = 4;
  ExpectError(tensor, {}, ErrorCode::kPayloadSize, "raw_data has 4 bytes", "3, the size of its type");
  tensor.raw_data.resize(2);
  tensor.n_bytes = 2;
  ExpectError(tensor, {}, ErrorCode::kPayloadSize, "raw_data has 2 bytes", "3, the size of its type");
}

TEST(QuantizedTensorTest, WhatCannotBeTranslatedIsAnError) {
  QuantizedTensor tensor = Small();
  std::get<LinearProfile>((*std::get<Box<Profile>>(tensor.quantization)).kind).bits = 13;
  ExpectError(tensor, {}, ErrorCode::kProfileValue, "", "");
  tensor = Small();
  tensor.dims = {-1};
  ExpectError(tensor, {}, ErrorCode::kProfileShape, "", "");
}

TEST(QuantizedTensorTest, AStructValueOfAnotherSizeIsNone) {
  Result<StructValue> value = ToStructValue(Small(), {});
  ASSERT_TRUE(value) << value.error().Format();
  value->raw_data.push_back(0);
  Result<QuantizedTensor> back = ToQuantizedTensor(*value);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::kPayloadSize);
  EXPECT_EQ(back.error().where, "struct value 'w'");

  value->raw_data.resize(3);
  Limits small;
  small.payload_bytes = 2;
  back = ToQuantizedTensor(*value, small);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::kLimitPayload);

  value->types.clear();
  back = ToQuantizedTensor(*value);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::kValueType);
}

TEST(QuantizedTensorTest, ATypeWithoutANameIsOne) {
  Profile tiles;
  tiles.kind = TilingProfile{{2}, {}, {Int4()}, {}};
  QuantizedTensor tensor = Small();
  tensor.quantization = Box<Profile>(tiles);
  TranslateOptions options;
  options.spelling.parts.resize(1);
  options.spelling.parts[0].name = "INLINE";  // whatever name it is given meanwhile is no other's
  Result<StructValue> value = ToStructValue(tensor, {}, options);
  ASSERT_TRUE(value) << value.error().Format();
  ASSERT_EQ(value->types.size(), 2u);
  for (const bool absent : {true, false}) {
    value->types[1].name = absent ? std::nullopt : std::optional<std::string>("");
    const Result<QuantizedTensor> back = ToQuantizedTensor(*value);
    ASSERT_TRUE(back) << back.error().Format();
    EXPECT_EQ(*back, tensor);
  }
  value->types[0].name.reset();  // inside, a name is needed
  EXPECT_FALSE(ToQuantizedTensor(*value));
}

// A threshold alone does not say how many outliers a value holds; its size does.
TEST(QuantizedTensorTest, TheSizeTellsTheNumberOfOutliers) {
  for (const ElementType type : {ElementType::kFloat16, ElementType::kInt4, ElementType::kUint2}) {
    Profile sparse;
    sparse.kind = SparseProfile{.base_quant = Box<Profile>(Int4()), .outlier_data_type = type, .outlier_threshold = 3};
    Profile tiles;
    tiles.kind = TilingProfile{{20}, {}, {sparse}, {}};
    for (const Profile& profile : {sparse, tiles}) {
      for (const uint64_t outliers : {0, 1, 2, 3, 7, 8, 9, 13, 20}) {
        TranslateOptions options;
        options.outliers = outliers;
        QuantizedTensor tensor = Small();
        tensor.dims = {2, 20};
        tensor.quantization = Box<Profile>(profile);
        const std::vector<StructType> types = *TranslateProfile(profile, tensor.dims, options);
        Problems problems;
        const TypeTable table = TypeTable::Build(types, {}, &problems);
        tensor.raw_data.assign(table.Get(static_cast<int64_t>(types.size()) - 1)->size_bits / 8, 0);
        tensor.n_bytes = static_cast<int64_t>(tensor.raw_data.size());
        const Result<StructValue> value = ToStructValue(tensor, {});
        ASSERT_TRUE(value) << value.error().Format();
        EXPECT_EQ(value->types, types) << outliers;
        tensor.raw_data.push_back(0);  // no number of outliers has one byte more
        ++tensor.n_bytes;
        EXPECT_FALSE(ToStructValue(tensor, {})) << outliers;
      }
    }
  }
}

TEST(QuantizedTensorTest, AStructTypeThatIsNoProfileSaysSo) {
  StructValue value;
  StructType type;
  type.name = "TWO";
  type.root = {StructureType{{{"scale", PhysicalType{ScalarType{ElementType::kFloat}}, {}},
                              {"flags", PhysicalType{ScalarType{ElementType::kUint8}}, {}}}}};
  value.types = {type};
  value.raw_data.resize(5);
  const Result<QuantizedTensor> back = ToQuantizedTensor(value);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::kNotAProfile) << back.error().Format();
}

TEST(QuantizedTensorProperty, RandomTensorsComeBack) {
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    RandomSource random(seed);
    const RandomCase random_case = RandomProfile(&random);
    TranslateOptions options = random_case.Options();
    options.spelling = RandomSpelling(&random, random_case);
    const Result<std::vector<StructType>> types = TranslateProfile(random_case.profile, random_case.shape, options);
    ASSERT_TRUE(types) << "seed " << seed << ": " << types.error().Format() << PrintProfile(random_case.profile);
    Problems problems;
    const TypeTable table = TypeTable::Build(*types, {}, &problems);
    ASSERT_TRUE(problems.empty()) << "seed " << seed;
    QuantizedTensor tensor;
    tensor.dims = random_case.shape;
    tensor.raw_data.resize(table.Get(static_cast<int64_t>(types->size()) - 1)->size_bits / 8);
    for (uint8_t& byte : tensor.raw_data) byte = static_cast<uint8_t>(random.Next());
    tensor.n_bytes = static_cast<int64_t>(tensor.raw_data.size());
    if (random.OneIn(2)) tensor.name = RandomString(&random);
    if (random.OneIn(2)) tensor.doc_string = RandomString(&random);
    // By index and inline is the same value.
    std::vector<Profile> quantizations(random.Below(3) + 1, Int4());
    quantizations.back() = random_case.profile;
    tensor.quantization = static_cast<int32_t>(quantizations.size() - 1);
    const Result<StructValue> by_index = ToStructValue(tensor, quantizations, options);
    ASSERT_TRUE(by_index) << "seed " << seed << ": " << by_index.error().Format();
    tensor.quantization = Box<Profile>(random_case.profile);
    const Result<StructValue> value = ToStructValue(tensor, {}, options);
    ASSERT_TRUE(value) << "seed " << seed << ": " << value.error().Format();
    ASSERT_TRUE(*by_index == *value) << "seed " << seed;
    ASSERT_TRUE(value->types == *types && value->raw_data == tensor.raw_data) << "seed " << seed;

    const Result<QuantizedTensor> back = ToQuantizedTensor(*value);
    ASSERT_TRUE(back) << "seed " << seed << ": " << back.error().Format();
    tensor.quantization = Box<Profile>(Resolved(random_case.profile));
    ASSERT_TRUE(*back == tensor) << "seed " << seed << "\n" << PrintProfile(random_case.profile);
  }
}

}  // namespace
}  // namespace tessera
