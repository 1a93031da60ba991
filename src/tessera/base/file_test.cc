#include "tessera/base/file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <set>

#include "tessera/base/digest.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  FileTest() {
    std::string name = testing::TempDir() + "tessera_file_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~FileTest() override {
    SetFileStepHookForTest(nullptr);
    fs::remove_all(folder_);
  }

  void Put(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }
  static std::string Get(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::set<std::string> Names() {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.insert(entry.path().filename().string());
    return names;
  }
  static std::span<const uint8_t> Span(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
  }

  fs::path folder_;
};

TEST_F(FileTest, MapsRegularFilesOnly) {
  Put(folder_ / "a", "hello");
  auto file = MappedFile::Open(folder_ / "a");
  ASSERT_TRUE(file);
  EXPECT_EQ(std::string((*file)->bytes().begin(), (*file)->bytes().end()), "hello");
  fs::create_hard_link(folder_ / "a", folder_ / "b");
  EXPECT_EQ((*MappedFile::Open(folder_ / "b"))->id(), (*file)->id());

  Put(folder_ / "empty", "");
  ASSERT_TRUE(MappedFile::Open(folder_ / "empty"));
  EXPECT_TRUE((*MappedFile::Open(folder_ / "empty"))->bytes().empty());

  EXPECT_EQ(MappedFile::Open(folder_ / "none").error().code, ErrorCode::kFileOpen);
  EXPECT_EQ(MappedFile::Open(folder_).error().code, ErrorCode::kFileKind);
  EXPECT_EQ(MappedFile::Open("/dev/zero").error().code, ErrorCode::kFileKind);
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(MappedFile::Open(folder_ / "pipe").error().code, ErrorCode::kFileKind);  // and does not block
}

TEST_F(FileTest, AMapOutlivesTheNameOfItsFile) {
  Put(folder_ / "a", "old");
  auto file = *MappedFile::Open(folder_ / "a");
  auto writer = FileWriter::Create(folder_ / "a");
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->Write(Span("new")));
  ASSERT_TRUE(writer->Commit(folder_ / "a", true));
  EXPECT_EQ(Get(folder_ / "a"), "new");
  EXPECT_EQ(std::string(file->bytes().begin(), file->bytes().end()), "old");
}

TEST_F(FileTest, NothingIsVisibleBeforeCommitAndNothingLeftWithoutIt) {
  {
    auto writer = FileWriter::Create(folder_ / "a");
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->Write(Span("half")));
    EXPECT_FALSE(fs::exists(folder_ / "a"));
    EXPECT_EQ(Names().size(), 1u);
  }
  EXPECT_TRUE(Names().empty());
}

TEST_F(FileTest, CommitDoesNotReplaceUnlessTold) {
  Put(folder_ / "a", "there");
  auto writer = FileWriter::Create(folder_ / "a");
  ASSERT_TRUE(writer->Write(Span("new")));
  bool exists = false;
  auto refused = writer->Commit(folder_ / "a", false, &exists);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kFileWrite);
  EXPECT_TRUE(exists);
  EXPECT_EQ(Get(folder_ / "a"), "there");
  ASSERT_TRUE(writer->Commit(folder_ / "b", false, &exists));
  EXPECT_FALSE(exists);
  EXPECT_EQ(Names(), (std::set<std::string>{"a", "b"}));
}

TEST_F(FileTest, ShortWritesAreContinued) {
  SetFileStepHookForTest([](std::string_view, size_t bytes) { return std::min<size_t>(bytes, 3); });
  auto writer = FileWriter::Create(folder_ / "a");
  ASSERT_TRUE(writer->Write(Span("0123456789")));
  EXPECT_EQ(writer->bytes_written(), 10u);
  ASSERT_TRUE(writer->Commit(folder_ / "a", true));
  EXPECT_EQ(Get(folder_ / "a"), "0123456789");
}

TEST_F(FileTest, EveryStepMayFail) {
  Put(folder_ / "a", "old");
  for (std::string_view failing : {"create", "reserve", "write", "sync", "rename"}) {
    SetFileStepHookForTest(
        [&](std::string_view step, size_t bytes) { return step == failing ? kFailFileStep : bytes; });
    Result<void> result = [&]() -> Result<void> {
      TESSERA_ASSIGN(FileWriter writer, FileWriter::Create(folder_ / "a"));
      TESSERA_TRY(writer.Reserve(3));
      TESSERA_TRY(writer.Write(Span("new")));
      return writer.Commit(folder_ / "a", true);
    }();
    ASSERT_FALSE(result) << failing;
    EXPECT_EQ(result.error().code, ErrorCode::kFileWrite);
    EXPECT_NE(result.error().what.find("No space left"), std::string::npos) << result.error().Format();
    EXPECT_EQ(Names(), std::set<std::string>{"a"}) << failing;
    EXPECT_EQ(Get(folder_ / "a"), "old");
  }
}

TEST_F(FileTest, ARealLimitOfTheSystemIsAnError) {
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto writer = FileWriter::Create(folder_ / "a");
    if (!writer) _exit(1);
    auto written = writer->Write(std::vector<uint8_t>(5000));
    if (written || written.error().code != ErrorCode::kFileWrite) _exit(2);
    auto reserved = writer->Reserve(5000);
    _exit(reserved ? 3 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(FileTest, FilesOfKilledWritersAreRemoved) {
  pid_t child = fork();
  if (child == 0) {
    auto writer = FileWriter::Create(folder_ / "a");
    if (!writer || !writer->Write(Span("half"))) _exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(Names().size(), 1u);
  // One of a process with this number, as after a restart in a container; one of a living process; a stranger's.
  Put(folder_ / (".a.tmp-" + std::to_string(getpid()) + "-4000000"), "");
  Put(folder_ / ".a.tmp-1-0", "");
  Put(folder_ / ".a.tmp-notes", "");
  Put(folder_ / ".b.tmp-2147483647-0", "");
  auto other = FileWriter::Create(folder_ / "a");
  ASSERT_TRUE(other);
  auto writer = FileWriter::Create(folder_ / "a");
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->Commit(folder_ / "a", true));
  ASSERT_TRUE(other->Commit(folder_ / "b", true));  // a living writer's file was left alone
  EXPECT_EQ(Names(), (std::set<std::string>{"a", "b", ".a.tmp-1-0", ".a.tmp-notes", ".b.tmp-2147483647-0"}));
}

TEST_F(FileTest, LongNamesAndMissingFolders) {
  const std::string name(250, 'n');
  auto writer = FileWriter::Create(folder_ / name);
  ASSERT_TRUE(writer) << writer.error().Format();
  EXPECT_TRUE(writer->Commit(folder_ / name, true));
  EXPECT_EQ(FileWriter::Create(folder_ / "none" / "a").error().code, ErrorCode::kFileWrite);
}

TEST_F(FileTest, PermissionsFollowTheUmask) {
  mode_t before = umask(027);
  auto writer = FileWriter::Create(folder_ / "a");
  ASSERT_TRUE(writer->Commit(folder_ / "a", true));
  umask(before);
  struct stat info{};
  ASSERT_EQ(stat((folder_ / "a").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

// Source: FIPS 180-4 examples.
TEST(Sha256Test, KnownDigests) {
  EXPECT_EQ(Sha256().HexDigest(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  Sha256 digest;
  digest.Update(std::vector<uint8_t>{'a'});
  digest.Update({});
  digest.Update(std::vector<uint8_t>{'b', 'c'});
  EXPECT_EQ(digest.HexDigest(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace tessera
