#include "tessera/onnx/external_data.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tessera/onnx/model.h"
#include "tessera/onnx/scratch_folder_test.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class ExternalDataTest : public ScratchFolderTest {
 protected:
  ExternalDataTest() { Put(folder_ / "m" / "ok.data", "0123456789"); }

  // The error of reading a tensor with this location from a model in folder m; nullopt if it can be read.
  std::optional<Error> ErrorOf(std::string_view location, std::string_view offset = "0",
                               std::string_view length = "4") {
    ir::ModelProto proto;
    AddExternal(&proto, location, offset, length);
    Model model(proto, folder_ / "m");
    auto bytes = model.Bytes(model.proto().graph().initializer(0), "tensor 'w'");
    return bytes ? std::nullopt : std::optional(bytes.error());
  }
  ErrorCode CodeOf(std::string_view location, std::string_view offset = "0", std::string_view length = "4") {
    auto error = ErrorOf(location, offset, length);
    EXPECT_TRUE(error) << location << " " << offset << " " << length;
    if (error) {
      EXPECT_EQ(error->where, "tensor 'w'");
    }
    return error ? error->code : ErrorCode::kArgument;
  }
  // The error of saving such a model, in its own folder and in another.
  ErrorCode CodeOfSave(std::string_view location, const fs::path& target) {
    ir::ModelProto proto;
    AddExternal(&proto, location);
    auto saved = Model(proto, folder_ / "m").Save(target);
    EXPECT_FALSE(saved) << location;
    EXPECT_FALSE(fs::exists(target)) << location;
    return saved ? ErrorCode::kArgument : saved.error().code;
  }
};

TEST_F(ExternalDataTest, ReadsWhatLiesInside) {
  EXPECT_EQ(ErrorOf("ok.data"), std::nullopt);
  EXPECT_EQ(ErrorOf("./ok.data"), std::nullopt);
  EXPECT_EQ(ErrorOf("ok.data", "6"), std::nullopt);
  Put(folder_ / "m" / "sub" / "ok.data", "0123");
  EXPECT_EQ(ErrorOf("sub/ok.data"), std::nullopt);
  EXPECT_EQ(ErrorOf("sub/../ok.data"), std::nullopt);
}

TEST_F(ExternalDataTest, C29_LocationsThatLeadOutsideAreRefusedOnLoadAndSave) {
  Put(folder_ / "x", "outside");
  Put(folder_ / "m" / "a" / "x", "inside");
  fs::create_symlink("/etc/passwd", folder_ / "m" / "link");
  fs::create_symlink("..", folder_ / "m" / "up");
  const std::pair<std::string, ErrorCode> rows[] = {
      {"../x", ErrorCode::kExternalEscape},
      {"..", ErrorCode::kExternalEscape},
      {"a/../../x", ErrorCode::kExternalEscape},
      {"a/../../m/ok.data", ErrorCode::kExternalEscape},
      {"..\\x", ErrorCode::kExternalEscape},
      {"a\\..\\..\\x", ErrorCode::kExternalEscape},
      {"link", ErrorCode::kExternalEscape},
      {"up/x", ErrorCode::kExternalEscape},
      {"/abs", ErrorCode::kExternalLocation},
      {folder_ / "m" / "ok.data", ErrorCode::kExternalLocation},
      {"\\abs", ErrorCode::kExternalLocation},
      {"C:\\abs", ErrorCode::kExternalLocation},
      {"c:x", ErrorCode::kExternalLocation},
      {"", ErrorCode::kExternalLocation},
      {std::string("ok.data\0.png", 12), ErrorCode::kExternalLocation},
      {"*/_ORT_MEM_ADDR_/*", ErrorCode::kExternalLocation},
  };
  for (const auto& [location, code] : rows) {
    SCOPED_TRACE(location);
    EXPECT_EQ(CodeOf(location), code);
    EXPECT_EQ(CodeOfSave(location, folder_ / "m" / "new.onnx"), code);
    EXPECT_EQ(CodeOfSave(location, folder_ / "new.onnx"), code);
  }
  // The message names where it leads and the folder that is allowed.
  Error escape = *ErrorOf("link");
  EXPECT_NE(escape.what.find("/etc/passwd"), std::string::npos);
  EXPECT_NE(escape.fix.find((folder_ / "m").string()), std::string::npos);
  Error dots = *ErrorOf("a/../../x");
  EXPECT_NE(dots.what.find((folder_ / "x").string()), std::string::npos) << dots.what;
}

TEST_F(ExternalDataTest, C29_HardLinksAreReadAndNeverWrittenThrough) {
  Put(folder_ / "elsewhere", "abcd");
  fs::create_hard_link(folder_ / "elsewhere", folder_ / "m" / "m.onnx.data");
  EXPECT_EQ(ErrorOf("m.onnx.data"), std::nullopt);
  auto saved = MakeModel({2000}, 1).Save(folder_ / "m" / "m.onnx", {.data = SaveOptions::Data::kExternal});
  ASSERT_TRUE(saved);
  EXPECT_NE(saved->data_file, "m.onnx.data");
  EXPECT_EQ(Get(folder_ / "elsewhere"), "abcd");
}

TEST_F(ExternalDataTest, X16_AddressesInMemoryAreRefused) {
  for (std::string_view location : {"*/_ORT_MEM_ADDR_/*", "_ORT_MEM_ADDR_", "a/_ORT_MEM_ADDR_"}) {
    Put(folder_ / "m" / "a" / "_ORT_MEM_ADDR_", "0123");
    EXPECT_EQ(CodeOf(location, "140737488355328"), ErrorCode::kExternalLocation);
    EXPECT_EQ(CodeOfSave(location, folder_ / "m" / "new.onnx"), ErrorCode::kExternalLocation);
  }
}

TEST_F(ExternalDataTest, OnlyRegularFiles) {
  fs::create_directory(folder_ / "m" / "folder");
  ASSERT_EQ(mkfifo((folder_ / "m" / "pipe").c_str(), 0600), 0);
  fs::create_symlink("nowhere", folder_ / "m" / "dangling");
  for (std::string_view location : {"folder", "pipe", "none", "dangling", "ok.data/x"}) {
    EXPECT_EQ(CodeOf(location), ErrorCode::kExternalMissing) << location;
  }
}

TEST_F(ExternalDataTest, RangesAndNumbers) {
  EXPECT_EQ(ErrorOf("ok.data", "6", "4"), std::nullopt);
  EXPECT_EQ(CodeOf("ok.data", "7", "4"), ErrorCode::kExternalRange);
  EXPECT_EQ(CodeOf("ok.data", "18446744073709551615", "4"), ErrorCode::kExternalRange);
  EXPECT_EQ(CodeOf("ok.data", "18446744073709551612", "4"), ErrorCode::kExternalRange);  // the sum is 2^64
  EXPECT_EQ(CodeOf("ok.data", "18446744073709551616", "4"), ErrorCode::kExternalNumber);
  for (std::string_view number : {"-1", "+1", " 1", "1 ", "0x1", "1e3", "", "1.0", "one"}) {
    EXPECT_EQ(CodeOf("ok.data", number, "4"), ErrorCode::kExternalNumber) << number;
    EXPECT_EQ(CodeOf("ok.data", "0", number), ErrorCode::kExternalNumber) << number;
  }
  EXPECT_EQ(CodeOf("ok.data", "0", "3"), ErrorCode::kTensorSize);
  EXPECT_EQ(CodeOf("ok.data", "0", "5"), ErrorCode::kTensorSize);
}

TEST_F(ExternalDataTest, EntriesOfTensors) {
  ir::ModelProto proto;
  AddExternal(&proto, "ok.data");
  ir::TensorProto* tensor = proto.mutable_graph()->mutable_initializer(0);
  auto parse = [&] { return ParseTensorData(tensor->external_data(), 4, "w"); };
  EXPECT_EQ(*parse(), (DataSegment{"ok.data", 0, 4}));
  AddEntry(tensor, "checksum", "abc");
  AddEntry(tensor, "basepath", "/etc");
  EXPECT_EQ(*parse(), (DataSegment{"ok.data", 0, 4}));
  for (const auto& [key, code] :
       {std::pair("location", ErrorCode::kExternalLocation), std::pair("offset", ErrorCode::kExternalNumber),
        std::pair("length", ErrorCode::kExternalNumber)}) {
    AddEntry(tensor, key, "4");
    ASSERT_FALSE(parse()) << key;
    EXPECT_EQ(parse().error().code, code);
    tensor->mutable_external_data()->RemoveLast();
  }
  tensor->mutable_external_data()->DeleteSubrange(1, 2);  // no offset, no length
  EXPECT_EQ(*parse(), (DataSegment{"ok.data", 0, 4}));
  tensor->clear_external_data();
  EXPECT_EQ(parse().error().code, ErrorCode::kExternalLocation);
}

TEST_F(ExternalDataTest, SegmentsOfStructValues) {
  ir::ModelProto proto;
  ir::StructProto* value = proto.mutable_graph()->add_struct_initializer();
  AddEntry(value, "location", "ok.data");
  AddEntry(value, "length", "3");
  AddEntry(value, "location", "sub/more.data");
  AddEntry(value, "length", "2");
  AddEntry(value, "offset", "1");
  Put(folder_ / "m" / "sub" / "more.data", "abcd");
  Model model(proto, folder_ / "m");
  const ir::StructProto& struct_value = model.proto().graph().struct_initializer(0);
  auto segments = model.Segments(struct_value, "v");
  ASSERT_TRUE(segments);
  EXPECT_EQ(*segments, (std::vector<DataSegment>{{"ok.data", 0, 3}, {"sub/more.data", 1, 2}}));
  auto payload = model.Bytes(struct_value, "v");
  ASSERT_TRUE(payload);
  ASSERT_EQ(payload->size(), 2u);
  EXPECT_EQ(Text((*payload)[0]) + Text((*payload)[1]), "012bc");

  auto parse = [&](std::vector<std::pair<const char*, const char*>> entries) {
    ir::StructProto other;
    for (auto [key, text] : entries) AddEntry(&other, key, text);
    auto parsed = ParseStructData(other.external_data(), "v");
    return parsed ? std::nullopt : std::optional(parsed.error().code);
  };
  EXPECT_EQ(parse({{"location", "a"}, {"length", "1"}}), std::nullopt);
  EXPECT_EQ(parse({{"location", "a"}}), ErrorCode::kExternalLength);
  EXPECT_EQ(parse({{"location", "a"}, {"length", "1"}, {"location", "b"}}), ErrorCode::kExternalLength);
  EXPECT_EQ(parse({{"length", "1"}, {"location", "a"}}), ErrorCode::kExternalLocation);
  EXPECT_EQ(parse({{"location", ""}, {"length", "1"}}), ErrorCode::kExternalLocation);
  EXPECT_EQ(parse({{"location", "a"}, {"length", "1"}, {"length", "1"}}), ErrorCode::kExternalNumber);
  EXPECT_EQ(parse({{"location", "a"}, {"offset", "1"}, {"offset", "1"}, {"length", "1"}}), ErrorCode::kExternalNumber);
  EXPECT_EQ(parse({{"location", "a"}, {"length", "-1"}}), ErrorCode::kExternalNumber);
  EXPECT_EQ(parse({{"checksum", "a"}}), ErrorCode::kExternalLocation);
}

TEST_F(ExternalDataTest, ADownloadCacheOfLinksOpens) {
  ir::ModelProto proto;
  AddExternal(&proto, "model.onnx.data");
  Put(folder_ / "blobs" / "1f", proto.SerializeAsString());
  Put(folder_ / "blobs" / "2e", "data");
  Put(folder_ / "other" / "3d", "evil");
  fs::create_directories(folder_ / "snapshots" / "r1");
  const fs::path model = folder_ / "snapshots" / "r1" / "model.onnx";
  const fs::path data = folder_ / "snapshots" / "r1" / "model.onnx.data";
  fs::create_symlink("../../blobs/1f", model);
  fs::create_symlink("../../blobs/2e", data);
  auto read = [&]() -> Result<std::string> {
    TESSERA_ASSIGN(Model loaded, Model::Load(model));
    TESSERA_ASSIGN(auto bytes, loaded.Bytes(loaded.proto().graph().initializer(0), "w"));
    return Text(bytes);
  };
  ASSERT_TRUE(read()) << read().error().Format();
  EXPECT_EQ(*read(), "data");
  // A link that leaves both folders.
  fs::remove(data);
  fs::create_symlink("../../other/3d", data);
  ASSERT_FALSE(read());
  EXPECT_EQ(read().error().code, ErrorCode::kExternalEscape);
  // Data that has no link of its own lies beside the real model.
  fs::remove(data);
  Put(folder_ / "blobs" / "model.onnx.data", "real");
  ASSERT_TRUE(read()) << read().error().Format();
  EXPECT_EQ(*read(), "real");
}

}  // namespace
}  // namespace tessera
