#include "tessera/onnx/wire.h"

#include <cstdlib>
#include <filesystem>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <random>

#include "onnx_struct.pb.h"
#include "tessera/base/file.h"

namespace tessera {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

std::span<const uint8_t> Span(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string Tag(uint64_t number, int wire_type) { return Varint(number << 3 | wire_type); }
std::string Delimited(uint64_t number, std::string_view content) {
  return Tag(number, 2) + Varint(content.size()) + std::string(content);
}

std::string Join(const std::vector<WireChunk>& chunks) {
  std::string out;
  for (const WireChunk& chunk : chunks) {
    out += chunk.owned;
    out.append(reinterpret_cast<const char*>(chunk.data.data()), chunk.data.size());
  }
  return out;
}

Result<CutMessage> CutModel(std::string_view bytes, CutOptions options = {}) {
  return Cut(Span(bytes), ir::ModelProto::descriptor(), options);
}

ErrorCode CodeOf(std::string_view bytes) {
  auto cut = CutModel(bytes);
  EXPECT_FALSE(cut);
  return cut ? ErrorCode::kArgument : cut.error().code;
}

std::string ModelWithRaw(std::string_view raw) {
  ir::ModelProto model;
  ir::TensorProto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_raw_data(std::string(raw));
  model.mutable_graph()->set_name("after");
  return model.SerializeAsString();
}

TEST(WireTest, CutsWhatIsOverTheThresholdAndNothingElse) {
  for (size_t size : {0u, 15u, 16u, 17u, 24u, 100u, 300u, 70'000u}) {
    const std::string bytes = ModelWithRaw(std::string(size, 'x'));
    CutOptions options{.inline_bytes = 16, .owner = 7};
    auto cut = CutModel(bytes, options);
    ASSERT_TRUE(cut);
    ASSERT_EQ(cut->cuts.size(), size > 16 ? 1u : 0u) << size;
    ir::ModelProto skeleton;
    ASSERT_TRUE(skeleton.ParseFromString(cut->skeleton));
    EXPECT_EQ(skeleton.graph().name(), "after");
    if (size > 16) {
      EXPECT_EQ(cut->cuts[0].size(), size);
      EXPECT_GE(cut->cuts[0].data(), Span(bytes).data());  // a view, no copy
      auto placeholder = Placeholder::Parse(skeleton.graph().initializer(0).raw_data());
      ASSERT_TRUE(placeholder);
      EXPECT_EQ(placeholder->owner, 7u);
      EXPECT_EQ(placeholder->index, 0u);
    }
    auto spliced = Splice(cut->skeleton, ir::ModelProto::descriptor(), cut->cuts, options);
    ASSERT_TRUE(spliced);
    EXPECT_EQ(Join(*spliced), bytes);
  }
}

TEST(WireTest, DataInTheFormOfAPlaceholderIsCut) {
  for (uint64_t owner : {7u, 8u}) {
    const std::string bytes = ModelWithRaw(Placeholder{owner, 0}.Bytes());
    auto cut = CutModel(bytes, {.owner = 7});
    ASSERT_TRUE(cut);
    ASSERT_EQ(cut->cuts.size(), 1u);
    EXPECT_EQ(Join(*Splice(cut->skeleton, ir::ModelProto::descriptor(), cut->cuts, {.owner = 7})), bytes);
  }
}

TEST(WireTest, PlaceholdersOfOthersAreRefused) {
  const std::string data = "data";
  std::vector<std::span<const uint8_t>> cuts{Span(data)};
  auto code = [&](Placeholder placeholder) {
    auto spliced = Splice(ModelWithRaw(placeholder.Bytes()), ir::ModelProto::descriptor(), cuts, {.owner = 7});
    return spliced ? std::nullopt : std::optional(spliced.error().code);
  };
  EXPECT_EQ(code({7, 0}), std::nullopt);
  EXPECT_EQ(code({7, 1}), ErrorCode::kForeignData);
  EXPECT_EQ(code({8, 0}), ErrorCode::kForeignData);
}

TEST(WireTest, StructValuesAreCutWhereverTheyAre) {
  const std::string raw(100, 'r');
  ir::ModelProto model;
  model.mutable_graph()->add_struct_initializer()->set_raw_data(raw);
  model.add_compiled_tensors()->mutable_value()->set_raw_data(raw);
  ir::AttributeProto* attribute = model.add_functions()->add_node()->add_attribute();
  attribute->mutable_struct_()->set_raw_data(raw);
  attribute->mutable_g()->add_initializer()->set_raw_data(raw);
  attribute->add_sparse_tensors()->mutable_values()->set_raw_data(raw);
  model.add_struct_types()->mutable_structure()->add_field()->mutable_constant()->set_raw_data(raw);
  ir::SequenceProto sequence;
  sequence.add_struct_values()->set_raw_data(raw);
  sequence.add_map_values()->mutable_values()->add_optional_values()->mutable_struct_value()->set_raw_data(raw);

  const std::string bytes = model.SerializeAsString();
  auto cut = CutModel(bytes, {.inline_bytes = 50});
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->cuts.size(), 6u);
  EXPECT_EQ(Join(*Splice(cut->skeleton, ir::ModelProto::descriptor(), cut->cuts, {})), bytes);
  const std::string other = sequence.SerializeAsString();
  auto cut_sequence = Cut(Span(other), ir::SequenceProto::descriptor(), {.inline_bytes = 50});
  ASSERT_TRUE(cut_sequence);
  EXPECT_EQ(cut_sequence->cuts.size(), 2u);
}

// ---- Random messages: known fields, unknown ones, groups, wrong wire types, repeated singular fields.

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  std::string Message(const Descriptor* type, int depth) {
    std::string out;
    for (uint32_t i = Below(6); i > 0; --i) {
      if (Below(8) == 0 || type->field_count() == 0) {
        out += Unknown(1500 + Below(100), 3);
      } else if (Below(20) == 0) {
        out += Unknown(type->field(static_cast<int>(Below(type->field_count())))->number(), 2);
      } else {
        out += Known(type->field(static_cast<int>(Below(type->field_count()))), depth);
      }
    }
    return out;
  }

 private:
  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  std::string Noise(size_t bytes) {
    std::string out;
    while (out.size() < bytes) out += static_cast<char>(random_());
    return out;
  }

  std::string Unknown(uint64_t number, int groups) {
    switch (Below(groups > 0 ? 5 : 4)) {
      case 0:
        return Tag(number, 0) + Varint(random_() >> Below(64));
      case 1:
        return Tag(number, 1) + Noise(8);
      case 2:
        return Tag(number, 5) + Noise(4);
      case 3:
        return number < 1500 ? Tag(number, 0) + Varint(1) : Delimited(number, Noise(Below(30)));
      default:
        return Tag(number, 3) + Unknown(1 + Below(30), groups - 1) + Tag(number, 4);
    }
  }

  std::string Known(const FieldDescriptor* field, int depth) {
    const uint64_t number = static_cast<uint64_t>(field->number());
    switch (field->type()) {
      case FieldDescriptor::TYPE_MESSAGE:
        return Delimited(number, depth > 0 ? Message(field->message_type(), depth - 1) : "");
      case FieldDescriptor::TYPE_STRING:
      case FieldDescriptor::TYPE_BYTES:
        if (Below(10) == 0) return Delimited(number, Placeholder{Below(3), Below(3)}.Bytes());
        return Delimited(number, Noise(Below(Below(5) == 0 ? 400 : 40)));
      case FieldDescriptor::TYPE_FLOAT:
        return field->is_packed() ? Delimited(number, Noise(8)) : Tag(number, 5) + Noise(4);
      case FieldDescriptor::TYPE_DOUBLE:
        return field->is_packed() ? Delimited(number, Noise(16)) : Tag(number, 1) + Noise(8);
      default:
        if (field->is_packed()) return Delimited(number, Varint(random_()) + Varint(Below(100)));
        return Tag(number, 0) + Varint(Below(2) == 0 ? Below(30) : random_());  // enums with unknown values too
    }
  }

  std::mt19937_64 random_;
};

TEST(WireTest, RandomMessagesComeBack) {
  size_t cuts = 0;
  for (uint32_t seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(seed);
    const std::string bytes = Generator(seed).Message(ir::ModelProto::descriptor(), 7);
    CutOptions options{.inline_bytes = 20, .owner = 1};
    auto cut = CutModel(bytes, options);
    ASSERT_TRUE(cut) << cut.error().Format();
    cuts += cut->cuts.size();
    auto direct = Splice(cut->skeleton, ir::ModelProto::descriptor(), cut->cuts, options);
    ASSERT_TRUE(direct);
    ASSERT_EQ(Join(*direct), bytes);
    // Through protobuf: the same as if it had parsed the whole.
    ir::ModelProto whole, skeleton;
    ASSERT_TRUE(whole.ParsePartialFromString(bytes));
    ASSERT_TRUE(skeleton.ParsePartialFromString(cut->skeleton));
    const std::string text = skeleton.SerializePartialAsString();
    auto spliced = Splice(text, ir::ModelProto::descriptor(), cut->cuts, options);
    ASSERT_TRUE(spliced);
    ASSERT_EQ(Join(*spliced), whole.SerializePartialAsString());
  }
  EXPECT_GT(cuts, 500u);
}

TEST(WireTest, EveryPrefixIsTruncatedOrAMessage) {
  const std::string bytes = Generator(11).Message(ir::ModelProto::descriptor(), 7) + ModelWithRaw(std::string(90, 'x'));
  size_t truncated = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    auto cut = CutModel(std::string_view(bytes).substr(0, size), {.inline_bytes = 20});
    if (cut) {
      ir::ModelProto model;
      EXPECT_TRUE(model.ParsePartialFromString(cut->skeleton));
      continue;
    }
    ++truncated;
    EXPECT_EQ(cut.error().code, ErrorCode::kWireTruncated) << size << cut.error().Format();
    EXPECT_TRUE(cut.error().where.starts_with("offset "));
  }
  EXPECT_GT(truncated, 90u);
}

TEST(WireTest, DamagedBytesNeverDoHarm) {
  std::mt19937 random(5);
  const std::string good = ModelWithRaw(std::string(40, 'x')) + Generator(3).Message(ir::ModelProto::descriptor(), 6);
  for (int i = 0; i < 50'000; ++i) {
    std::string bytes = good;
    for (int flips = 1 + static_cast<int>(random() % 3); flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (auto cut = CutModel(bytes, {.inline_bytes = 20})) {
      auto spliced = Splice(cut->skeleton, ir::ModelProto::descriptor(), cut->cuts, {});
      ASSERT_TRUE(spliced);
    }
  }
}

TEST(WireTest, MalformedBytes) {
  const std::string good = Tag(1, 0) + Varint(10);
  ASSERT_TRUE(CutModel(good));
  EXPECT_EQ(CodeOf(Tag(0, 0) + Varint(10)), ErrorCode::kWireMalformed);
  EXPECT_EQ(CodeOf(Varint(uint64_t{1} << 35) + Varint(10)), ErrorCode::kWireMalformed);  // field number over 2^29
  EXPECT_EQ(CodeOf(Tag(1, 6)), ErrorCode::kWireMalformed);
  EXPECT_EQ(CodeOf(Tag(1, 7)), ErrorCode::kWireMalformed);
  EXPECT_EQ(CodeOf(Tag(1, 4)), ErrorCode::kWireMalformed);  // a group's end without its begin
  EXPECT_EQ(CodeOf(Tag(50, 3) + Tag(51, 4)), ErrorCode::kWireMalformed);
  EXPECT_EQ(CodeOf(Tag(50, 3)), ErrorCode::kWireTruncated);
  EXPECT_TRUE(CutModel(Tag(50, 3) + Tag(50, 4)));
  EXPECT_EQ(CodeOf(Tag(1, 0) + std::string(10, '\xff') + '\x01'), ErrorCode::kWireMalformed);
  EXPECT_TRUE(CutModel(Tag(1, 0) + std::string(9, '\xff') + '\x01'));
  // A field that ends after its message, which does not end the file.
  const std::string graph = Tag(2, 2) + Varint(3) + "ab";
  EXPECT_EQ(CodeOf(Delimited(7, graph) + good), ErrorCode::kWireMalformed);
  EXPECT_TRUE(CutModel(Delimited(7, graph + "c") + good));
}

TEST(WireTest, HugeLengthsAreRefusedAtOnce) {
  for (uint64_t length : {uint64_t{1} << 40, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{0} - 20}) {
    for (uint64_t field : {7u, 2u, 600u}) {
      EXPECT_EQ(CodeOf(Tag(field, 2) + Varint(length) + std::string(4096, 'x')), ErrorCode::kWireTruncated) << length;
    }
    // One terabyte of raw_data in a file of 4 KB; the outer lengths are honest.
    std::string tensor = Tag(9, 2) + Varint(length) + std::string(4000, 'x');
    EXPECT_EQ(CodeOf(Delimited(7, Delimited(5, tensor))), ErrorCode::kWireTruncated);
  }
}

// model.graph.node.attribute.g.node.attribute.g ..., `messages` in all.
std::string NestedGraphs(int messages) {
  constexpr int kFields[] = {6, 1, 5};
  std::string bytes;
  for (int i = messages - 2; i > 0; --i) bytes = Delimited(kFields[i % 3], bytes);
  return Delimited(7, bytes);
}

TEST(WireTest, DepthIsLimited) {
  ASSERT_TRUE(CutModel(NestedGraphs(1'000)));
  EXPECT_EQ(CodeOf(NestedGraphs(1'001)), ErrorCode::kWireDepth);
  EXPECT_EQ(CodeOf(NestedGraphs(10'000)), ErrorCode::kWireDepth);
  // However high the limit that a program sets.
  auto cut = CutModel(NestedGraphs(10'000), {.message_depth = 1'000'000});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::kWireDepth);
  ASSERT_TRUE(CutModel(NestedGraphs(2'000), {.message_depth = 1'000'000}));

  std::string groups;
  for (int i = 0; i < 10'000; ++i) groups += Tag(50, 3);
  for (int i = 0; i < 10'000; ++i) groups += Tag(50, 4);
  EXPECT_EQ(CodeOf(groups), ErrorCode::kWireDepth);
}

TEST(WireTest, MoreThanTwoGibibytesInOneFileAreRefused) {
  // The pass does not look into the data, so the span may claim more than there is.
  const std::string skeleton = ModelWithRaw(Placeholder{1, 0}.Bytes());
  const uint64_t limit = (uint64_t{1} << 31) - 1;
  auto code = [&](uint64_t size) {
    std::vector<std::span<const uint8_t>> cuts{{Span(skeleton).data(), size}};
    auto spliced = Splice(skeleton, ir::ModelProto::descriptor(), cuts, {.owner = 1});
    return spliced ? std::nullopt : std::optional(spliced.error().code);
  };
  const uint64_t around = skeleton.size() - 24 + 12;  // three lengths of five bytes instead of one
  EXPECT_EQ(code(limit - around), std::nullopt);
  EXPECT_EQ(code(limit - around + 1), ErrorCode::kWireSize);
  EXPECT_EQ(code(uint64_t{3} << 30), ErrorCode::kWireSize);
}

TEST(WireTest, TwoMembersOfAOneofAreNoted) {
  const std::string one = Tag(1, 0) + Varint(0);          // StructProto.type
  const std::string two = Delimited(2, "");               // StructProto.struct_type
  const std::string other = Tag(2, 0) + Varint(0);        // the same number, but an unknown field
  auto conflicts = [&](const std::string& value) {
    auto cut = CutModel(Delimited(7, Delimited(1200, value)));
    EXPECT_TRUE(cut);
    return cut ? cut->conflicts : std::vector<Error>();
  };
  EXPECT_TRUE(conflicts(one + one).empty());
  EXPECT_TRUE(conflicts(one + other).empty());
  ASSERT_EQ(conflicts(one + two).size(), 1u);
  EXPECT_EQ(conflicts(one + two)[0].where, "graph.struct_initializer[0]");
  EXPECT_EQ(conflicts(one + two)[0].code, ErrorCode::kValueType);
}

TEST(WireTest, TheModelsOfTheOnnxPackageComeBack) {
  const char* folder = std::getenv("TESSERA_ONNX_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "TESSERA_ONNX_MODELS is not set";
  size_t models = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path());
    ++models;
    auto file = MappedFile::Open(entry.path());
    ASSERT_TRUE(file);
    std::string bytes((*file)->bytes().begin(), (*file)->bytes().end());
    for (uint64_t inline_bytes : {0u, 16u, 65'536u}) {
      auto cut = CutModel(bytes, {.inline_bytes = inline_bytes});
      ASSERT_TRUE(cut) << cut.error().Format();
      auto spliced = Splice(cut->skeleton, ir::ModelProto::descriptor(), cut->cuts, {});
      ASSERT_TRUE(spliced);
      EXPECT_EQ(Join(*spliced), bytes);
    }
  }
  EXPECT_GT(models, 0u);
}

}  // namespace
}  // namespace tessera
