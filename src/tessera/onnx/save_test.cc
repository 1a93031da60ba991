#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tessera/base/digest.h"
#include "tessera/base/file.h"
#include "tessera/onnx/model.h"
#include "tessera/onnx/scratch_folder_test.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
constexpr SaveOptions kExternal{.data = SaveOptions::Data::kExternal};
constexpr SaveOptions kInline{.data = SaveOptions::Data::kInline};

class SaveTest : public ScratchFolderTest {
 protected:
  ~SaveTest() override { SetFileStepHookForTest(nullptr); }

  // All weights of a model file, one after the other; the error's text if it cannot be read.
  static std::string Weights(const fs::path& path) {
    auto model = Model::Load(path);
    if (!model) return model.error().Format();
    std::string out = model->proto().graph().name();
    for (const ir::TensorProto& tensor : model->proto().graph().initializer()) {
      auto bytes = model->Bytes(tensor, tensor.name());
      if (!bytes) return bytes.error().Format();
      out += "|" + Text(*bytes);
    }
    for (const ir::StructProto& value : model->proto().graph().struct_initializer()) {
      auto payload = model->Bytes(value, value.name());
      if (!payload) return payload.error().Format();
      for (auto segment : *payload) out += "|" + Text(segment);
    }
    return out;
  }
  static std::string WeightsOf(const std::vector<size_t>& sizes, uint32_t seed) {
    std::string out = "g" + std::to_string(seed);
    for (size_t i = 0; i < sizes.size(); ++i) out += "|" + Text(Pattern(sizes[i], seed + static_cast<uint32_t>(i)));
    return out;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, content] : Files()) names.push_back(name);
    return names;
  }
  std::string DigestName(const std::string& content) const {
    Sha256 digest;
    digest.Update({reinterpret_cast<const uint8_t*>(content.data()), content.size()});
    return "m.onnx." + digest.HexDigest().substr(0, 16) + ".data";
  }
};

using Names = std::vector<std::string>;

TEST_F(SaveTest, C32_LargeTensorsAreAlignedForMapping) {
  const std::vector<size_t> sizes{5, (1 << 20) + 1, 2 << 20, 7};
  auto saved =
      MakeModel(sizes, 1).Save(folder_ / "m.onnx", {.data = SaveOptions::Data::kExternal, .external_bytes = 0});
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->data_file, "m.onnx.data");
  auto model = Model::Load(folder_ / "m.onnx");
  const uint64_t offsets[] = {0, 65'536, 65'536 * 18, 65'536 * 18 + (2 << 20)};
  for (int i = 0; i < 4; ++i) {
    const ir::TensorProto& tensor = model->proto().graph().initializer(i);
    auto segments = model->Segments(tensor, "w");
    ASSERT_TRUE(segments);
    EXPECT_EQ(segments->at(0).offset, offsets[i]);
    EXPECT_EQ(segments->at(0).offset % (sizes[i] >= 1 << 20 ? 65'536 : 64), 0u);
    EXPECT_EQ(segments->at(0).length, sizes[i]);
    EXPECT_FALSE(tensor.has_raw_data());
  }
  EXPECT_EQ(fs::file_size(folder_ / "m.onnx.data"), offsets[3] + 7);
  EXPECT_EQ(saved->data_bytes, offsets[3] + 7);
  EXPECT_EQ(saved->model_bytes, fs::file_size(folder_ / "m.onnx"));
  EXPECT_EQ(Weights(folder_ / "m.onnx"), WeightsOf(sizes, 1));
}

TEST_F(SaveTest, C31_SavingTwiceGivesTheSameNamesAndBytes) {
  Model model = MakeModel({3'000, 70'000, 10}, 1);
  ASSERT_TRUE(model.Save(folder_ / "m.onnx", kExternal));
  const auto files = Files();
  EXPECT_EQ(Names(), (tessera::Names{"m.onnx", "m.onnx.data"}));
  auto again = model.Save(folder_ / "m.onnx", kExternal);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->data_reused);
  EXPECT_EQ(Files(), files);
  // The same after a load, however it is saved.
  for (const SaveOptions& options : {SaveOptions{}, kExternal}) {
    auto loaded = Model::Load(folder_ / "m.onnx");
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(loaded->Save(folder_ / "m.onnx", options));
    EXPECT_EQ(Files(), files);
  }
  // And where the plain name is another's.
  fs::remove(folder_ / "m.onnx");
  Put(folder_ / "m.onnx.data", "another's");
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(model.Save(folder_ / "m.onnx", kExternal));
    EXPECT_EQ(Files().at("m.onnx.data"), "another's");
    EXPECT_EQ(Files().at(DigestName(files.at("m.onnx.data"))), files.at("m.onnx.data"));
    EXPECT_EQ(Files().size(), 3u);
  }
}

TEST_F(SaveTest, NewDataNeverTakesTheNameOfOld) {
  ASSERT_TRUE(MakeModel({3'000}, 1).Save(folder_ / "m.onnx", kExternal));
  fs::create_hard_link(folder_ / "m.onnx.data", folder_ / "kept");
  const std::string old = Get(folder_ / "kept");
  auto saved = MakeModel({3'000}, 2).Save(folder_ / "m.onnx", kExternal);
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->data_file, DigestName(Text(Pattern(3'000, 2))));
  EXPECT_EQ(saved->removed, tessera::Names{"m.onnx.data"});
  EXPECT_EQ(Names(), (tessera::Names{"kept", "m.onnx", saved->data_file}));
  EXPECT_EQ(Get(folder_ / "kept"), old);
  EXPECT_EQ(Weights(folder_ / "m.onnx"), WeightsOf({3'000}, 2));
  // A file whose name says a digest that it has not is not overwritten either.
  const std::string liar = DigestName(Text(Pattern(3'000, 3)));
  Put(folder_ / liar, "other bytes");
  Put(folder_ / "m.onnx.data", "taken");
  auto refused = MakeModel({3'000}, 3).Save(folder_ / "m.onnx", kExternal);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFileWrite);
  EXPECT_EQ(Get(folder_ / liar), "other bytes");
  EXPECT_EQ(Weights(folder_ / "m.onnx"), WeightsOf({3'000}, 2));
}

TEST_F(SaveTest, ALoadedModelMayReplaceItselfAgainAndAgain) {
  ASSERT_TRUE(MakeModel({3'000, 70'000}, 1).Save(folder_ / "m.onnx", kExternal));
  auto model = Model::Load(folder_ / "m.onnx");
  ir::TensorProto* tensor = model->mutable_proto().mutable_graph()->mutable_initializer(0);
  tensor->clear_external_data();
  tensor->clear_data_location();
  model->SetRawData(tensor, Pattern(3'000, 9));
  const std::string expected = "g1|" + Text(Pattern(3'000, 9)) + "|" + Text(Pattern(70'000, 2));
  for (const SaveOptions& options : {kExternal, kExternal, SaveOptions{}, kInline, kExternal, SaveOptions{}}) {
    auto saved = model->Save(folder_ / "m.onnx", options);
    ASSERT_TRUE(saved) << saved.error().Format();
    EXPECT_EQ(Weights(folder_ / "m.onnx"), expected);
    EXPECT_LE(Files().size(), 2u);
  }
}

TEST_F(SaveTest, DataThatOthersUseStays) {
  ASSERT_TRUE(MakeModel({3'000}, 1).Save(folder_ / "m.onnx", kExternal));
  const std::string first = Get(folder_ / "m.onnx");
  auto replace = [&](uint32_t seed) {
    auto saved = MakeModel({3'000}, seed).Save(folder_ / "m.onnx", kExternal);
    EXPECT_TRUE(saved);
    return saved ? saved->removed : tessera::Names{"?"};
  };
  Put(folder_ / "other.onnx", first);  // names m.onnx.data too
  EXPECT_EQ(replace(2), tessera::Names{});
  EXPECT_EQ(Weights(folder_ / "other.onnx"), WeightsOf({3'000}, 1));
  // A model that cannot be read may use anything.
  fs::remove(folder_ / "other.onnx");
  Put(folder_ / "other.onnx", "\x0f garbage");
  EXPECT_EQ(replace(3), tessera::Names{});
  fs::remove(folder_ / "other.onnx");
  EXPECT_EQ(replace(4).size(), 1u);
  // A file of another name is nobody's to remove.
  ir::ModelProto proto;
  AddExternal(&proto, "weights.data");
  Put(folder_ / "weights.data", "abcd");
  Put(folder_ / "m.onnx", proto.SerializeAsString());
  EXPECT_EQ(replace(5), tessera::Names{});
  EXPECT_EQ(Get(folder_ / "weights.data"), "abcd");
}

TEST_F(SaveTest, ExternalDataOfAttributesIsUsedAndCarriedAlong) {
  ir::ModelProto proto;
  AddExternal(&proto, "m.onnx.data", "0", "4", "w");
  AddExternal(&proto, "m.onnx.data", "4", "4", "a");
  ir::TensorProto attribute = proto.graph().initializer(1);
  proto.mutable_graph()->mutable_initializer()->RemoveLast();
  *proto.mutable_graph()->add_node()->add_attribute()->mutable_t() = attribute;
  Put(folder_ / "m.onnx", proto.SerializeAsString());
  Put(folder_ / "m.onnx.data", "aaaabbbb");
  auto model = Model::Load(folder_ / "m.onnx");
  model->mutable_proto().mutable_graph()->clear_initializer();
  ASSERT_TRUE(model->Save(folder_ / "m.onnx"));
  EXPECT_TRUE(fs::exists(folder_ / "m.onnx.data"));
  fs::create_directory(folder_ / "sub");
  ASSERT_TRUE(model->Save(folder_ / "sub" / "n.onnx"));
  EXPECT_EQ(Get(folder_ / "sub" / "n.onnx.data"), "bbbb");
}

TEST_F(SaveTest, KeepLeavesExternalDataWhereItIs) {
  Put(folder_ / "shared.gguf", "0123456789");
  ir::ModelProto proto;
  AddExternal(&proto, "shared.gguf", "3");
  AddEntry(proto.mutable_graph()->mutable_initializer(0), "checksum", "c0ffee");
  Put(folder_ / "m.onnx", proto.SerializeAsString());
  auto model = Model::Load(folder_ / "m.onnx");
  for (const SaveOptions& options : {SaveOptions{}, kExternal}) {
    ASSERT_TRUE(model->Save(folder_ / "n.onnx", options));
    EXPECT_EQ(Get(folder_ / "n.onnx"), proto.SerializeAsString());
  }
  // Below the target's folder it is named from there; elsewhere it is copied, never left dangling.
  Put(folder_ / "a" / "b" / "deep.data", "wxyz");
  ir::ModelProto upper;
  AddExternal(&upper, "b/deep.data");
  ASSERT_TRUE(Model(upper, folder_ / "a").Save(folder_ / "up.onnx"));
  EXPECT_EQ(Model::Load(folder_ / "up.onnx")->proto().graph().initializer(0).external_data(0).value(), "a/b/deep.data");
  EXPECT_EQ(Weights(folder_ / "up.onnx"), "|wxyz");
  fs::create_directory(folder_ / "c");
  auto copied = model->Save(folder_ / "c" / "n.onnx");
  ASSERT_TRUE(copied);
  EXPECT_EQ(copied->data_file, "n.onnx.data");
  EXPECT_EQ(Get(folder_ / "c" / "n.onnx.data"), "3456");
  EXPECT_EQ(Weights(folder_ / "c" / "n.onnx"), "|3456");
  // Missing data: a graph may be edited without its weights, but not carried elsewhere.
  fs::remove(folder_ / "shared.gguf");
  auto without = Model::Load(folder_ / "m.onnx");
  EXPECT_TRUE(without->Save(folder_ / "n.onnx"));
  EXPECT_EQ(without->Save(folder_ / "c" / "n.onnx").error().code, ErrorCode::kExternalMissing);
  // What was read before stays available.
  ASSERT_TRUE(model->Save(folder_ / "n.onnx"));
}

TEST_F(SaveTest, DataBehindALinkIsCopiedToWhereTheNewModelMayReadIt) {
  ir::ModelProto proto;
  AddExternal(&proto, "m.onnx.data");
  Put(folder_ / "blobs" / "1f", proto.SerializeAsString());
  Put(folder_ / "blobs" / "2e", "data");
  fs::create_directory(folder_ / "snap");
  fs::create_symlink("../blobs/1f", folder_ / "snap" / "m.onnx");
  fs::create_symlink("../blobs/2e", folder_ / "snap" / "m.onnx.data");
  auto model = Model::Load(folder_ / "snap" / "m.onnx");
  ASSERT_TRUE(model->Save(folder_ / "snap" / "m.onnx"));
  EXPECT_EQ(Weights(folder_ / "snap" / "m.onnx"), "|data");
  EXPECT_EQ(Get(folder_ / "blobs" / "1f"), proto.SerializeAsString());  // the cache is not written to
  EXPECT_EQ(Get(folder_ / "blobs" / "2e"), "data");
}

TEST_F(SaveTest, ALargeModelGetsADataFile) {
  const std::vector<size_t> sizes{100, 40'000, 2'000, 40'000};
  Model model = MakeModel(sizes, 1);
  auto inline_size = model.SerializeToString()->size();
  auto saved = model.Save(folder_ / "m.onnx", {.model_bytes = inline_size});
  EXPECT_EQ(saved->data_file, "");
  saved = model.Save(folder_ / "m.onnx", {.model_bytes = inline_size - 100});
  EXPECT_EQ(saved->data_file, "m.onnx.data");
  EXPECT_EQ(Weights(folder_ / "m.onnx"), WeightsOf(sizes, 1));
  EXPECT_TRUE(Model::Load(folder_ / "m.onnx")->proto().graph().initializer(0).has_raw_data());  // below 1024 bytes
  // Back inside.
  auto inside = Model::Load(folder_ / "m.onnx")->Save(folder_ / "m.onnx", kInline);
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->removed, tessera::Names{"m.onnx.data"});
  EXPECT_EQ(Names(), tessera::Names{"m.onnx"});
  EXPECT_EQ(Get(folder_ / "m.onnx"), *model.SerializeToString());
}

TEST_F(SaveTest, InitializersMoveAndNothingElse) {
  Model model = MakeModel({}, 1);
  auto fill = [&](ir::TensorProto* tensor) {
    tensor->set_data_type(ir::TensorProto::UINT8);
    tensor->add_dims(2'000);
    model.SetRawData(tensor, Pattern(2'000, 7));
  };
  ir::GraphProto* graph = model.mutable_proto().mutable_graph();
  ir::AttributeProto* attribute = graph->add_node()->add_attribute();
  fill(attribute->mutable_t());
  fill(attribute->mutable_g()->add_initializer());
  fill(graph->add_sparse_initializer()->mutable_values());
  ir::StructProto* value = graph->add_struct_initializer();
  model.SetRawData(value, Pattern(3'000, 8));
  fill(value->mutable_struct_type()->mutable_structure()->add_field()->mutable_constant());
  ir::TensorProto* text = graph->add_initializer();
  text->set_data_type(ir::TensorProto::STRING);
  text->add_dims(1);
  text->add_string_data(std::string(5'000, 's'));
  ir::TensorProto* floats = graph->add_initializer();
  floats->set_data_type(ir::TensorProto::FLOAT);
  for (int i = 0; i < 2'000; ++i) floats->add_float_data(1);
  const std::string inside = *model.SerializeToString();
  ASSERT_TRUE(model.Save(folder_ / "m.onnx", kExternal));

  auto loaded = Model::Load(folder_ / "m.onnx");
  const ir::GraphProto& out = loaded->proto().graph();
  EXPECT_EQ(out.node(0).attribute(0).t().raw_data().size(), 2'000u);
  EXPECT_EQ(out.node(0).attribute(0).g().initializer(0).data_location(), ir::TensorProto::EXTERNAL);
  EXPECT_EQ(out.sparse_initializer(0).values().raw_data().size(), 2'000u);
  EXPECT_EQ(out.struct_initializer(0).external_data_size(), 3);
  EXPECT_EQ(out.struct_initializer(0).struct_type().structure().field(0).constant().raw_data().size(), 2'000u);
  EXPECT_EQ(out.initializer(0).string_data_size(), 1);
  EXPECT_EQ(out.initializer(1).float_data_size(), 2'000);
  ASSERT_TRUE(loaded->Save(folder_ / "n.onnx", kInline));
  EXPECT_EQ(Get(folder_ / "n.onnx"), inside);
}

TEST_F(SaveTest, SegmentsThatMoveBecomeOne) {
  Put(folder_ / "a.data", "0123456789");
  ir::ModelProto proto;
  ir::StructProto* value = proto.mutable_graph()->add_struct_initializer();
  for (const char* offset : {"7", "1"}) {
    AddEntry(value, "location", "a.data");
    AddEntry(value, "offset", offset);
    AddEntry(value, "length", "3");
  }
  fs::create_directory(folder_ / "sub");
  Model model(proto, folder_);
  ASSERT_TRUE(model.Save(folder_ / "m.onnx"));
  EXPECT_EQ(Get(folder_ / "m.onnx"), proto.SerializeAsString());
  ASSERT_TRUE(model.Save(folder_ / "sub" / "m.onnx"));
  EXPECT_EQ(Get(folder_ / "sub" / "m.onnx.data"), "789123");
  EXPECT_EQ(Weights(folder_ / "sub" / "m.onnx"), "|789123");
  ASSERT_TRUE(model.Save(folder_ / "i.onnx", kInline));
  EXPECT_EQ(Weights(folder_ / "i.onnx"), "|789123");
}

TEST_F(SaveTest, TiedWeightsAreStoredOnce) {
  Put(folder_ / "a" / "w.data", "0123");
  ir::ModelProto proto;
  AddExternal(&proto, "w.data", "0", "4", "embed");
  AddExternal(&proto, "w.data", "0", "4", "head");
  ASSERT_TRUE(Model(proto, folder_ / "a").Save(folder_ / "m.onnx", kExternal));
  EXPECT_EQ(Weights(folder_ / "m.onnx"), "|0123|0123");
  fs::create_directory(folder_ / "b");
  ASSERT_TRUE(Model(proto, folder_ / "a").Save(folder_ / "b" / "m.onnx", kExternal));
  EXPECT_EQ(Get(folder_ / "b" / "m.onnx.data"), "0123");
}

TEST_F(SaveTest, TargetsThatCannotBe) {
  Model model = MakeModel({3'000}, 1);
  fs::create_directory(folder_ / "folder");
  for (const fs::path& path : {folder_ / "none" / "m.onnx", folder_ / "folder", folder_ / "", fs::path("/dev/null")}) {
    auto saved = model.Save(path, kExternal);
    ASSERT_FALSE(saved) << path;
    EXPECT_EQ(saved.error().code, ErrorCode::kFileWrite);
  }
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_TRUE(Files().empty());
}

// ---- Kills and full disks at every step

// Prepares an old model (with data outside, or none at all), then saves a new one with a fault at step k, for every k.
class SaveFaultTest : public SaveTest, public testing::WithParamInterface<std::tuple<bool, bool>> {
 protected:
  void Prepare() {
    SetFileStepHookForTest(nullptr);
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    if (std::get<0>(GetParam())) {
      ASSERT_TRUE(MakeModel({5'000, 100'000}, 1).Save(folder_ / "m.onnx", kExternal));
    }
  }
  Result<SaveReport> SaveNew() const {
    return MakeModel({3'000, 70'000}, 5).Save(folder_ / "m.onnx", std::get<1>(GetParam()) ? kExternal : kInline);
  }
  std::string Old() const { return WeightsOf({5'000, 100'000}, 1); }
  std::string New() const { return WeightsOf({3'000, 70'000}, 5); }
  bool HasOld() const { return std::get<0>(GetParam()); }
  void ExpectOld() {
    if (HasOld())
      EXPECT_EQ(Weights(folder_ / "m.onnx"), Old());
    else
      EXPECT_FALSE(fs::exists(folder_ / "m.onnx"));
  }
};

TEST_P(SaveFaultTest, AKillLeavesTheOldModelOrTheNew) {
  bool finished = false;
  int old_left = 0, new_left = 0;
  for (int k = 0; !finished; ++k) {
    ASSERT_LT(k, 200);
    SCOPED_TRACE(k);
    Prepare();
    pid_t child = fork();
    if (child == 0) {
      // A write is first cut in half, then the process ends.
      int step = 0;
      SetFileStepHookForTest([&step, k](std::string_view name, size_t bytes) {
        int now = step++;
        if (now == k && (name != "write" || bytes < 2)) kill(getpid(), SIGKILL);
        if (now == k + 1) kill(getpid(), SIGKILL);
        return now == k ? bytes / 2 : bytes;
      });
      _exit(SaveNew() ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    finished = WIFEXITED(status);
    if (finished) {
      ASSERT_EQ(WEXITSTATUS(status), 0);
    }
    if (HasOld() ? Weights(folder_ / "m.onnx") == Old() : !fs::exists(folder_ / "m.onnx")) {
      ++old_left;
      EXPECT_FALSE(finished);
    } else {
      ++new_left;
      EXPECT_EQ(Weights(folder_ / "m.onnx"), New());
    }
    // The next save is as if nothing had been, and takes the rubbish with it.
    ASSERT_TRUE(SaveNew());
    EXPECT_EQ(Weights(folder_ / "m.onnx"), New());
    for (const std::string& name : Names()) EXPECT_EQ(name.find(".tmp-"), std::string::npos) << name;
  }
  EXPECT_GT(old_left, 4);
  EXPECT_GE(new_left, 2);  // killed after the commit, and finished
}

TEST_P(SaveFaultTest, AFullDiskLeavesWhatStoodThere) {
  for (int k = 0;; ++k) {
    ASSERT_LT(k, 200);
    SCOPED_TRACE(k);
    Prepare();
    const auto before = Files();
    int step = 0;
    bool failed = false;
    SetFileStepHookForTest([&](std::string_view, size_t bytes) {
      if (step++ != k) return bytes;
      failed = true;
      return kFailFileStep;
    });
    auto saved = SaveNew();
    SetFileStepHookForTest(nullptr);
    if (!failed) {
      EXPECT_TRUE(saved);
      break;
    }
    if (saved) {
      EXPECT_EQ(Weights(folder_ / "m.onnx"), New());  // room was not promised, or an old file stays
      continue;
    }
    EXPECT_EQ(saved.error().code, ErrorCode::kFileWrite);
    if (Weights(folder_ / "m.onnx") != New()) {
      EXPECT_EQ(Files(), before);
    } else {
      EXPECT_NE(saved.error().what.find("sync the folder"), std::string::npos);  // after the commit
    }
  }
  ASSERT_TRUE(SaveNew());
  EXPECT_EQ(Weights(folder_ / "m.onnx"), New());
}

TEST_P(SaveFaultTest, ALimitOfTheSystemLeavesWhatStoodThere) {
  for (rlim_t limit : {100u, 2'000u, 60'000u, 73'000u}) {
    Prepare();
    const auto before = Files();
    pid_t child = fork();
    if (child == 0) {
      signal(SIGXFSZ, SIG_IGN);
      rlimit bytes{limit, limit};
      setrlimit(RLIMIT_FSIZE, &bytes);
      auto saved = SaveNew();
      _exit(!saved && saved.error().code == ErrorCode::kFileWrite ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << limit;
    EXPECT_EQ(Files(), before) << limit;
  }
}

INSTANTIATE_TEST_SUITE_P(OldAndNew, SaveFaultTest, testing::Combine(testing::Bool(), testing::Bool()));

}  // namespace
}  // namespace tessera
