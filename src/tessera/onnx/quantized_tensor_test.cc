#include "tessera/onnx/quantized_tensor.h"

#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tessera/onnx/check_model.h"
#include "tessera/onnx/edit.h"
#include "tessera/onnx/scratch_folder_test.h"
#include "tessera/quant/profile_text.h"
#include "tessera/quant/testing/random_profile.h"
#include "tessera/types/testing/type_builders.h"

namespace tessera {
namespace {

using build::None;

Model NewModel() {
  Model model;
  model.mutable_proto().set_ir_version(10);
  model.mutable_proto().mutable_graph()->set_name("g");
  return model;
}

Profile Parse(std::string_view text) {
  Result<ProfileText> parsed = ParseProfiles(text, {});
  EXPECT_TRUE(parsed) << parsed.error().Format();
  return parsed ? parsed->profiles.at(0) : Profile{};
}

// Groups of four 4-bit codes, each with a scale behind it: 4 bytes a group.
Profile Groups() {
  return Parse(R"(QuantizationProto { tiling: TilingQuantizationProto { tile_shape: [4], elem_quant: [
    QuantizationProto { linear: LinearUniformProto {
      storage_type: INT4, bits: 4, symmetric: true, scale: stored(FLOAT16, per=tile, at=after), axis: -1 } } ] } })");
}

QuantizedTensor EightValues(std::string name) {
  QuantizedTensor tensor;
  tensor.dims = {2, 4};
  tensor.raw_data = {1, 2, 3, 4, 5, 6, 7, 8};
  tensor.n_bytes = 8;
  tensor.quantization = Box<Profile>(Groups());
  tensor.name = std::move(name);
  return tensor;
}

Result<QuantizedTensor> Back(const Model& model, const ir::StructProto& value) {
  Problems problems;
  const TypeTable table = BuildTypeTable(model.proto(), {}, &problems);
  EXPECT_TRUE(None(problems));
  return QuantizedTensorOf(model, table, value, "value");
}

TEST(QuantizedTensorInAModel, IsAStructInitializer) {
  Model model = NewModel();
  QuantizedTensor tensor = EightValues("w");
  tensor.doc_string = "weights";
  Result<ir::StructProto*> value = AddQuantizedTensor(&model, tensor, {});
  ASSERT_TRUE(value) << value.error().Format();
  ASSERT_EQ(model.proto().graph().struct_initializer_size(), 1);
  EXPECT_EQ((*value)->name(), "w");
  EXPECT_EQ((*value)->doc_string(), "weights");
  EXPECT_EQ((*value)->type(), 1);
  EXPECT_EQ(model.proto().struct_types_size(), 2);
  Problems problems;
  CheckModel(model, {}, &problems);
  EXPECT_TRUE(None(problems));

  Result<QuantizedTensor> back = Back(model, **value);
  ASSERT_TRUE(back) << back.error().Format();
  EXPECT_EQ(*back, tensor);
}

// Both types have the name of their family and shape by rule.
TEST(QuantizedTensorInAModel, AnotherProfileOfTheSameFamilyGetsANameOfItsOwn) {
  Model model = NewModel();
  QuantizedTensor first = EightValues("first");
  QuantizedTensor second = EightValues("second");
  Profile after = Groups();
  auto& linear = std::get<LinearProfile>(std::get<TilingProfile>(after.kind).elem_quant[0].kind);
  std::get<Stored>(linear.scale).at = Stored::At::kBefore;
  second.quantization = Box<Profile>(after);
  ASSERT_TRUE(AddQuantizedTensor(&model, first, {}));
  const Result<ir::StructProto*> added = AddQuantizedTensor(&model, second, {});
  ASSERT_TRUE(added) << added.error().Format();
  ASSERT_EQ(model.proto().struct_types_size(), 4);
  EXPECT_EQ(model.proto().struct_types(3).name(), "second");
  EXPECT_EQ(*Back(model, **added), second);
  // A name that was asked for is not changed.
  TranslateOptions options;
  options.spelling.name = "second";
  EXPECT_EQ(AddQuantizedTensor(&model, EightValues("third"), {}, options).error().code, ErrorCode::kTypeName);
}

TEST(QuantizedTensorInAModel, OneProfileIsDeclaredOnce) {
  Model model = NewModel();
  const std::vector<Profile> quantizations = {Groups()};
  QuantizedTensor tensor = EightValues("a");
  tensor.quantization = int32_t{0};
  ASSERT_TRUE(AddQuantizedTensor(&model, tensor, quantizations));
  tensor.name = "b";
  ASSERT_TRUE(AddQuantizedTensor(&model, tensor, quantizations));
  EXPECT_EQ(model.proto().struct_types_size(), 2);
  tensor.name = "c";
  tensor.quantization = int32_t{1};
  Result<ir::StructProto*> outside = AddQuantizedTensor(&model, tensor, quantizations);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().code, ErrorCode::kTypeIndex);
  EXPECT_EQ(model.proto().graph().struct_initializer_size(), 2);
}

TEST(QuantizedTensorInAModel, ATypeMayStandInTheValue) {
  Model model = NewModel();
  const QuantizedTensor tensor = EightValues("w");
  Result<StructValue> struct_value = ToStructValue(tensor, {});
  ASSERT_TRUE(struct_value) << struct_value.error().Format();
  struct_value->types.back().name.reset();
  Result<ir::StructProto*> value = AddStructValue(&model, *struct_value);
  ASSERT_TRUE(value) << value.error().Format();
  EXPECT_TRUE((*value)->has_struct_type());
  EXPECT_EQ(model.proto().struct_types_size(), 1);
  Problems problems;
  const TypeTable table = BuildTypeTable(model.proto(), {}, &problems);
  Result<StructValue> same = StructValueOf(model, table, **value, "value");
  ASSERT_TRUE(same) << same.error().Format();
  EXPECT_EQ(*same, *struct_value);
  Result<QuantizedTensor> back = Back(model, **value);
  ASSERT_TRUE(back) << back.error().Format();
  EXPECT_EQ(*back, tensor);
}

TEST(QuantizedTensorInAModel, NeedsANameOfItsOwn) {
  Model model = NewModel();
  QuantizedTensor tensor = EightValues("w");
  ASSERT_TRUE(AddQuantizedTensor(&model, tensor, {}));
  Result<ir::StructProto*> again = AddQuantizedTensor(&model, tensor, {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kValueName);
  tensor.name.reset();
  again = AddQuantizedTensor(&model, tensor, {});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kValueName);
}

TEST(QuantizedTensorInAModel, SizesThatDifferAreErrors) {
  Model model = NewModel();
  QuantizedTensor tensor = EightValues("w");
  tensor.n_bytes = 7;
  Result<ir::StructProto*> value = AddQuantizedTensor(&model, tensor, {});
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::kPayloadSize);
  tensor.raw_data.pop_back();
  value = AddQuantizedTensor(&model, tensor, {});
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::kPayloadSize);
  EXPECT_EQ(model.proto().struct_types_size(), 0);

  // In the other direction: a message whose bytes are cut.
  Result<ir::StructProto*> whole = AddQuantizedTensor(&model, EightValues("w"), {});
  ASSERT_TRUE(whole) << whole.error().Format();
  model.SetRawData(*whole, std::vector<uint8_t>(7));
  Result<QuantizedTensor> back = Back(model, **whole);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::kPayloadSize);
  EXPECT_EQ(back.error().where, "value");
}

TEST(QuantizedTensorInAModel, AValueWithoutATypeOrWithAWrongOneIsAnError) {
  Model model = NewModel();
  Result<ir::StructProto*> value = AddQuantizedTensor(&model, EightValues("w"), {});
  ASSERT_TRUE(value) << value.error().Format();
  ir::StructProto copy = **value;
  copy.clear_type();
  Result<QuantizedTensor> back = Back(model, copy);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::kValueType);
  copy.set_type(2);
  back = Back(model, copy);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::kTypeIndex);
}

class QuantizedTensorFiles : public ScratchFolderTest {};

// A value whose bytes lie in two files is one piece once it is read.
TEST_F(QuantizedTensorFiles, ExternalBytesAreJoined) {
  Model model({}, folder_);
  model.mutable_proto().set_ir_version(10);
  model.mutable_proto().mutable_graph()->set_name("g");
  const QuantizedTensor tensor = EightValues("w");
  Result<ir::StructProto*> value = AddQuantizedTensor(&model, tensor, {});
  ASSERT_TRUE(value) << value.error().Format();
  (*value)->clear_raw_data();
  // The scale of the first group is whole in the first file.
  Put(folder_ / "a.bin", "\x01\x02\x03\x04");
  Put(folder_ / "b.bin", "\x05\x06\x07\x08");
  auto add = [&](const char* key, const char* text) {
    ir::StringStringEntryProto* entry = (*value)->add_external_data();
    entry->set_key(key);
    entry->set_value(text);
  };
  add("location", "a.bin");
  add("length", "4");
  add("location", "b.bin");
  add("length", "4");
  Result<QuantizedTensor> back = Back(model, **value);
  ASSERT_TRUE(back) << back.error().Format();
  EXPECT_EQ(*back, tensor);

  (*value)->mutable_external_data(3)->set_value("5");
  back = Back(model, **value);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::kExternalRange);
}

TEST(QuantizedTensorProperty, RandomTensorsGoThroughAFile) {
  google::protobuf::LogSilencer quiet;  // about strings that are not UTF-8
  for (uint64_t seed = 0; seed < 1'000; ++seed) {
    RandomSource random(seed);
    const RandomCase random_case = RandomProfile(&random);
    TranslateOptions options = random_case.Options();
    if (random.OneIn(2)) options.spelling = RandomSpelling(&random, random_case);
    Result<std::vector<StructType>> types = TranslateProfile(random_case.profile, random_case.shape, options);
    ASSERT_TRUE(types) << "seed " << seed << ": " << types.error().Format() << PrintProfile(random_case.profile);
    Problems none;
    const TypeTable table = TypeTable::Build(*types, {}, &none);
    QuantizedTensor tensor;
    tensor.dims = random_case.shape;
    tensor.raw_data.resize(table.Get(static_cast<int64_t>(types->size()) - 1)->size_bits / 8);
    std::generate(tensor.raw_data.begin(), tensor.raw_data.end(), [&] { return static_cast<uint8_t>(random.Next()); });
    tensor.n_bytes = static_cast<int64_t>(tensor.raw_data.size());
    tensor.name = "v" + RandomString(&random);
    if (random.OneIn(2)) tensor.doc_string = RandomString(&random);
    tensor.quantization = Box<Profile>(random_case.profile);

    Model model = NewModel();
    // Something else stands first, so that references have to be renumbered.
    TranslateOptions first;
    first.spelling.name = "FIRST";
    ASSERT_TRUE(AddQuantizedTensor(&model, EightValues("first"), {}, first));
    Result<ir::StructProto*> value = AddQuantizedTensor(&model, tensor, {}, options);
    ASSERT_TRUE(value) << "seed " << seed << ": " << value.error().Format();
    Result<std::string> bytes = model.SerializeToString();
    ASSERT_TRUE(bytes) << bytes.error().Format();
    Result<Model> file = Model::FromBytes({bytes->begin(), bytes->end()}, ".");
    ASSERT_TRUE(file) << file.error().Format();
    Problems problems;
    CheckModel(*file, {}, &problems);
    ASSERT_TRUE(None(problems)) << "seed " << seed;
    Result<QuantizedTensor> back = Back(*file, file->proto().graph().struct_initializer(1));
    ASSERT_TRUE(back) << "seed " << seed << ": " << back.error().Format();
    tensor.quantization = Box<Profile>(Resolved(random_case.profile));
    ASSERT_TRUE(*back == tensor) << "seed " << seed << "\n" << PrintProfile(random_case.profile);
  }
}

}  // namespace
}  // namespace tessera
