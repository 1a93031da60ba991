#include "tessera/onnx/model.h"

#include <chrono>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>

#include "tessera/onnx/scratch_folder_test.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class ModelTest : public ScratchFolderTest {};

TEST_F(ModelTest, LongDataStaysInTheFile) {
  const std::vector<uint8_t> small = Pattern(65'536, 1), large = Pattern(65'537, 2);
  ASSERT_TRUE(MakeModel({65'536, 65'537}, 1).Save(folder_ / "m.onnx"));
  auto model = Model::Load(folder_ / "m.onnx");
  ASSERT_TRUE(model);
  const auto& graph = model->proto().graph();
  EXPECT_EQ(graph.initializer(0).raw_data().size(), 65'536u);
  EXPECT_LT(graph.initializer(1).raw_data().size(), 100u);
  EXPECT_EQ(Text(model->RawData(graph.initializer(0))), Text(small));
  EXPECT_EQ(Text(model->RawData(graph.initializer(1))), Text(large));
  EXPECT_EQ(Text(*model->Bytes(graph.initializer(1), "w")), Text(large));
  auto segments = model->Segments(graph.initializer(1), "w");
  ASSERT_EQ(segments->size(), 1u);
  EXPECT_EQ((*segments)[0].location, "");
  EXPECT_EQ(Get(folder_ / "m.onnx").substr((*segments)[0].offset, (*segments)[0].length), Text(large));
  EXPECT_EQ(*model->SerializeToString(), Get(folder_ / "m.onnx"));
}

TEST_F(ModelTest, FromBytesResolvesInItsFolder) {
  ir::ModelProto proto;
  AddExternal(&proto, "w.data");
  proto.mutable_graph()->add_initializer()->set_raw_data(std::string(70'000, 'x'));
  Put(folder_ / "w.data", "abcd");
  std::string bytes = proto.SerializeAsString();
  auto model = Model::FromBytes({bytes.begin(), bytes.end()}, folder_);
  ASSERT_TRUE(model);
  Model moved = *std::move(model);
  EXPECT_EQ(Text(*moved.Bytes(moved.proto().graph().initializer(0), "w")), "abcd");
  EXPECT_EQ(moved.RawData(moved.proto().graph().initializer(1)).size(), 70'000u);
  EXPECT_EQ(*moved.DataFileSize("w.data", "w"), 4u);
  EXPECT_EQ(moved.DataFileSize("none", "w").error().code, ErrorCode::kExternalMissing);
  EXPECT_EQ(*moved.SerializeToString(), bytes);
}

TEST_F(ModelTest, WhatIsNotAModelIsRefused) {
  auto code = [&](std::string_view bytes) {
    Put(folder_ / "m.onnx", bytes);
    auto model = Model::Load(folder_ / "m.onnx");
    EXPECT_FALSE(model && true) << bytes.size();
    return model ? ErrorCode::kArgument : model.error().code;
  };
  testing::internal::CaptureStderr();
  EXPECT_EQ(code(""), ErrorCode::kNotAModel);
  ir::ModelProto proto;
  proto.set_ir_version(14);
  EXPECT_EQ(code(proto.SerializeAsString()), ErrorCode::kNotAModel);
  EXPECT_EQ(code("This is a text, and no model."), ErrorCode::kWireMalformed);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");  // protobuf's log lines neither
  EXPECT_EQ(Model::Load(folder_ / "none.onnx").error().code, ErrorCode::kFileOpen);
  EXPECT_EQ(Model::Load(folder_).error().code, ErrorCode::kFileKind);
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(Model::Load(folder_ / "pipe").error().code, ErrorCode::kFileKind);

  proto.mutable_graph();
  Put(folder_ / "m.onnx", proto.SerializeAsString());
  EXPECT_TRUE(Model::Load(folder_ / "m.onnx"));
  Put(folder_ / "m.onnx", proto.SerializeAsString() + "\x0a");
  auto truncated = Model::Load(folder_ / "m.onnx");
  ASSERT_FALSE(truncated);
  EXPECT_TRUE(truncated.error().where.starts_with((folder_ / "m.onnx").string())) << truncated.error().Format();
  ir::ModelProto companion;  // a cache beside a model
  companion.add_compiled_tensors();
  Put(folder_ / "m.onnx", companion.SerializeAsString());
  EXPECT_TRUE(Model::Load(folder_ / "m.onnx"));
}

// Unknown fields, presence, enum values of tomorrow and strings that are not UTF-8.
TEST_F(ModelTest, LoadAndSaveChangeNothingElse) {
  ir::ModelProto proto;
  proto.set_doc_string("\xff\xfe not UTF-8");
  proto.GetReflection()->MutableUnknownFields(&proto)->AddVarint(777, 5);
  ir::GraphProto* graph = proto.mutable_graph();
  graph->GetReflection()->MutableUnknownFields(graph)->AddGroup(900)->AddLengthDelimited(1, "inside");
  ir::AttributeProto* attribute = graph->add_node()->add_attribute();
  attribute->set_i(0);  // present, and the default
  attribute->GetReflection()->MutableUnknownFields(attribute)->AddVarint(20, 99);  // type = 99
  graph->add_sparse_initializer();  // without values and indices
  graph->add_initializer()->set_raw_data("");
  graph->add_initializer()->set_raw_data(std::string(70'000, 'x'));
  const std::string bytes = proto.SerializeAsString();
  Put(folder_ / "m.onnx", bytes);
  auto model = Model::Load(folder_ / "m.onnx");
  ASSERT_TRUE(model);
  ASSERT_TRUE(model->Save(folder_ / "n.onnx"));
  EXPECT_EQ(Get(folder_ / "n.onnx"), bytes);
  for (auto data : {SaveOptions::Data::kExternal, SaveOptions::Data::kInline}) {
    ASSERT_TRUE(Model::Load(folder_ / "n.onnx")->Save(folder_ / "n.onnx", {.data = data}));
  }
  // Out (the tensor has no dims of its size, so it stays) and in again.
  EXPECT_EQ(Get(folder_ / "n.onnx"), bytes);
}

TEST_F(ModelTest, DataOfAnotherModelIsNotMistaken) {
  Model source = MakeModel({70'000}, 1);
  Model target = MakeModel({70'000}, 2);
  ir::TensorProto* tensor = target.mutable_proto().mutable_graph()->add_initializer();
  *tensor = source.proto().graph().initializer(0);
  for (auto data : {SaveOptions::Data::kKeep, SaveOptions::Data::kExternal}) {
    auto saved = target.Save(folder_ / "m.onnx", {.data = data, .external_bytes = 1});
    ASSERT_FALSE(saved);
    EXPECT_EQ(saved.error().code, ErrorCode::kForeignData);
  }
  EXPECT_TRUE(Files().empty());
  auto bytes = source.RawData(source.proto().graph().initializer(0));
  target.SetRawData(tensor, {bytes.begin(), bytes.end()});
  EXPECT_TRUE(target.Save(folder_ / "m.onnx"));
}

// As deep as a program may allow: pass, parser, walk, copy and destructor all get through.
TEST_F(ModelTest, TheDeepestModelIsHandled) {
  std::string graph = "\x12\x01g";  // name
  for (int depth = 2; depth + 3 <= 2'000; depth += 3) {
    for (char tag : {'\x32', '\x2a', '\x0a'}) {  // attribute.g, node.attribute, graph.node: from the inside out
      std::string length;
      uint64_t value = graph.size();
      for (; value >= 0x80; value >>= 7) length += static_cast<char>(value | 0x80);
      graph = tag + length + static_cast<char>(value) + graph;
    }
  }
  std::string length;
  uint64_t value = graph.size();
  for (; value >= 0x80; value >>= 7) length += static_cast<char>(value | 0x80);
  const std::string bytes = '\x3a' + length + static_cast<char>(value) + graph;
  LoadOptions options;
  EXPECT_EQ(Model::FromBytes({bytes.begin(), bytes.end()}, folder_, options).error().code, ErrorCode::kWireDepth);
  options.limits.message_depth = 1'000'000;
  auto model = Model::FromBytes({bytes.begin(), bytes.end()}, folder_, options);
  ASSERT_TRUE(model) << model.error().Format();
  ASSERT_TRUE(model->Save(folder_ / "m.onnx"));
  EXPECT_EQ(Get(folder_ / "m.onnx"), bytes);
}

TEST_F(ModelTest, ManyThreadsMayRead) {
  ASSERT_TRUE(MakeModel({5'000, 70'000, 3'000}, 1).Save(folder_ / "m.onnx", {.data = SaveOptions::Data::kExternal}));
  auto model = Model::Load(folder_ / "m.onnx");
  std::vector<std::thread> threads;
  std::atomic<int> equal = 0;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (uint32_t i = 0; i < 3; ++i) {
        const ir::TensorProto& tensor = model->proto().graph().initializer(static_cast<int>(i));
        auto bytes = model->Bytes(tensor, "w");
        if (bytes && Text(*bytes) == Text(Pattern(bytes->size(), 1 + i))) ++equal;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 24);
}

TEST_F(ModelTest, X17_ThreeGibibytesOfExternalDataAreNotRead) {
  constexpr uint64_t kBytes = uint64_t{3} << 30;
  Put(folder_ / "w.data", "");
  fs::resize_file(folder_ / "w.data", kBytes);
  ir::ModelProto proto;
  ir::TensorProto* tensor = proto.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(ir::TensorProto::FLOAT);
  tensor->add_dims(kBytes / 4);
  tensor->set_data_location(ir::TensorProto::EXTERNAL);
  AddEntry(tensor, "location", "w.data");
  Put(folder_ / "m.onnx", proto.SerializeAsString());

  const auto start = std::chrono::steady_clock::now();
  auto model = Model::Load(folder_ / "m.onnx");
  ASSERT_TRUE(model);
  const ir::TensorProto& loaded = model->proto().graph().initializer(0);
  EXPECT_EQ(model->Segments(loaded, "w")->at(0).length, kBytes);
  EXPECT_EQ(*model->DataFileSize("w.data", "w"), kBytes);
  EXPECT_EQ(model->Bytes(loaded, "w")->size(), kBytes);
  auto saved = model->Save(folder_ / "n.onnx");
  ASSERT_TRUE(saved) << saved.error().Format();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500));
  EXPECT_EQ(saved->data_file, "");
  EXPECT_EQ(Get(folder_ / "n.onnx"), Get(folder_ / "m.onnx"));
  EXPECT_EQ(fs::file_size(folder_ / "w.data"), kBytes);
  // All in one file is more than any protobuf reader takes.
  auto whole = model->Save(folder_ / "one.onnx", {.data = SaveOptions::Data::kInline});
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().code, ErrorCode::kWireSize);
  EXPECT_FALSE(fs::exists(folder_ / "one.onnx"));
}

TEST_F(ModelTest, AFileOverTwoGibibytesLoads) {
  // graph { initializer { raw_data: 2.5 GiB of zeros } }, sparse on the disk.
  constexpr uint64_t kBytes = uint64_t{5} << 29;
  auto varint = [](uint64_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    return out + static_cast<char>(value);
  };
  std::string raw = "\x4a" + varint(kBytes);
  std::string tensor = "\x2a" + varint(kBytes + raw.size());
  std::string graph = "\x3a" + varint(kBytes + raw.size() + tensor.size());
  Put(folder_ / "m.onnx", graph + tensor + raw);
  fs::resize_file(folder_ / "m.onnx", graph.size() + tensor.size() + raw.size() + kBytes);
  auto model = Model::Load(folder_ / "m.onnx");
  ASSERT_TRUE(model) << model.error().Format();
  EXPECT_EQ(model->RawData(model->proto().graph().initializer(0)).size(), kBytes);
  EXPECT_EQ(model->Save(folder_ / "n.onnx", {.data = SaveOptions::Data::kInline}).error().code, ErrorCode::kWireSize);
}

TEST_F(ModelTest, TheModelsOfTheOnnxPackageComeBack) {
  const char* models = std::getenv("TESSERA_ONNX_MODELS");
  if (models == nullptr) GTEST_SKIP() << "TESSERA_ONNX_MODELS is not set";
  for (const auto& entry : fs::recursive_directory_iterator(models)) {
    if (entry.path().extension() != ".onnx") continue;
    SCOPED_TRACE(entry.path());
    auto model = Model::Load(entry.path(), {.inline_bytes = 16});
    ASSERT_TRUE(model) << model.error().Format();
    auto bytes = model->SerializeToString();
    ASSERT_TRUE(bytes);
    ir::ModelProto before, after;
    ASSERT_TRUE(before.ParseFromString(Get(entry.path())));
    ASSERT_TRUE(after.ParseFromString(*bytes));
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(before, after));
  }
}

}  // namespace
}  // namespace tessera
