#include "tessera/onnx/edit.h"

#include <gtest/gtest.h>

#include <string_view>

#include "tessera/onnx/check_model.h"
#include "tessera/types/notation.h"

namespace tessera {
namespace {

std::vector<StructType> Parse(std::string_view text) {
  Result<NotationResult> parsed = ParseNotation(text, {});
  EXPECT_TRUE(parsed) << parsed.error().Format();
  return parsed ? parsed->types : std::vector<StructType>{};
}

constexpr std::string_view kBlocks = R"(ModelProto { struct_types: [
  StructTypeProto { name: "BLOCK" structure: Structure {
    field: { name: "scale", type: FLOAT16 }
    field: { name: "codes", type: array(INT4, dimension=4) } } },
  StructTypeProto { name: "ROW" structure: Structure {
    field: { name: "blocks", type: array(struct(type_index=0), dimension=2) } } }
] })";

Model NewModel() {
  Model model;
  model.mutable_proto().set_ir_version(10);
  model.mutable_proto().mutable_graph()->set_name("g");
  return model;
}

void ExpectInOrder(const Model& model) {
  Problems problems;
  CheckModel(model, {}, &problems);
  for (const Error& error : problems.list()) ADD_FAILURE() << error.Format();
}

TEST(AddStructTypeTest, AddsWhatTheTypeRefersToAndNothingTwice) {
  Model model = NewModel();
  // Something else stands first, so that references have to be renumbered.
  Result<int32_t> other =
      AddStructType(&model, Parse(R"(StructTypeProto { name: "X" array: array(UINT8, dimension=3) })"));
  ASSERT_TRUE(other) << other.error().Format();
  EXPECT_EQ(*other, 0);
  for (int times = 0; times < 2; ++times) {
    Result<int32_t> row = AddStructType(&model, Parse(kBlocks));
    ASSERT_TRUE(row) << row.error().Format();
    EXPECT_EQ(*row, 2);
    EXPECT_EQ(model.proto().struct_types_size(), 3);
  }
  EXPECT_EQ(model.proto()
                .struct_types(2)
                .structure()
                .field(0)
                .type()
                .struct_type()
                .array()
                .element_type()
                .struct_type()
                .type_index(),
            1);
  ExpectInOrder(model);
}

TEST(AddStructTypeTest, RefusesANameThatMeansSomethingElse) {
  Model model = NewModel();
  ASSERT_TRUE(AddStructType(&model, Parse(kBlocks)));
  Result<int32_t> clash =
      AddStructType(&model, Parse(R"(StructTypeProto { name: "BLOCK" array: array(UINT8, dimension=4) })"));
  ASSERT_FALSE(clash);
  EXPECT_EQ(clash.error().code, ErrorCode::kTypeName);
  EXPECT_EQ(model.proto().struct_types_size(), 2);
}

TEST(AddStructTypeTest, RefusesWhatTheCheckerRefuses) {
  Model model = NewModel();
  Result<int32_t> nameless = AddStructType(&model, Parse("StructTypeProto { array: array(UINT8, dimension=4) }"));
  ASSERT_FALSE(nameless);
  EXPECT_EQ(nameless.error().code, ErrorCode::kTypeName);
  std::vector<StructType> cycle = Parse(kBlocks);
  cycle[1].name = "BLOCK";
  Result<int32_t> twice = AddStructType(&model, cycle);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, ErrorCode::kTypeName);
  EXPECT_FALSE(AddStructType(&model, {}));
  EXPECT_EQ(model.proto().struct_types_size(), 0);
}

TEST(AddStructInitializerTest, AddsAValueThatReadsBack) {
  Model model = NewModel();
  Result<ir::StructProto*> value = AddStructInitializer(&model, "v", Parse(kBlocks), {1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_TRUE(value) << value.error().Format();
  EXPECT_EQ((*value)->type(), 1);
  ExpectInOrder(model);

  Result<ir::StructProto*> again = AddStructInitializer(&model, "w", 1, std::vector<uint8_t>(8));
  ASSERT_TRUE(again) << again.error().Format();
  ExpectInOrder(model);

  Problems problems;
  TypeTable table = BuildTypeTable(model.proto(), {}, &problems);
  Result<StructView> view = ViewOf(model, table, **value, "v");
  ASSERT_TRUE(view) << view.error().Format();
  std::vector<uint8_t> scales(4);
  ASSERT_TRUE(view->leaf("blocks.scale")->Unpack(0, 2, scales));
  EXPECT_EQ(scales, (std::vector<uint8_t>{1, 2, 5, 6}));
}

TEST(AddStructInitializerTest, ATypeWithoutANameStandsInTheValue) {
  Model model = NewModel();
  ASSERT_TRUE(AddStructType(&model, Parse(R"(StructTypeProto { name: "X" array: array(UINT8, dimension=3) })")));
  std::vector<StructType> types = Parse(kBlocks);
  types[1].name.reset();
  Result<ir::StructProto*> value = AddStructInitializer(&model, "v", types, std::vector<uint8_t>(8));
  ASSERT_TRUE(value) << value.error().Format();
  EXPECT_TRUE((*value)->has_struct_type());
  EXPECT_EQ(model.proto().struct_types_size(), 2);
  ExpectInOrder(model);
}

TEST(AddStructInitializerTest, LeavesTheModelAloneOnAnError) {
  Model model = NewModel();
  model.mutable_proto().mutable_graph()->add_initializer()->set_name("t");
  const std::string before = model.proto().SerializeAsString();
  auto code = [&](const Result<ir::StructProto*>& result) {
    return result ? "" : std::string(Info(result.error().code).slug);
  };
  EXPECT_EQ(code(AddStructInitializer(&model, "v", Parse(kBlocks), std::vector<uint8_t>(7))), "payload-size");
  EXPECT_EQ(code(AddStructInitializer(&model, "v", Parse(kBlocks), std::vector<uint8_t>(9))), "payload-size");
  EXPECT_EQ(code(AddStructInitializer(&model, "", Parse(kBlocks), std::vector<uint8_t>(8))), "value-name");
  EXPECT_EQ(code(AddStructInitializer(&model, "t", Parse(kBlocks), std::vector<uint8_t>(8))), "value-name");
  EXPECT_EQ(code(AddStructInitializer(&model, "v", 0, std::vector<uint8_t>(8))), "type-index");
  Limits small;
  small.payload_bytes = 7;
  EXPECT_EQ(code(AddStructInitializer(&model, "v", Parse(kBlocks), std::vector<uint8_t>(8), small)), "limit-payload");
  EXPECT_EQ(model.proto().SerializeAsString(), before);
}

}  // namespace
}  // namespace tessera
