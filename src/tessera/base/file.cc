#include "tessera/base/file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tessera {
namespace {

FileStepHook g_hook;  // NOLINT: tests only

size_t Step(std::string_view step, size_t bytes = 0) { return g_hook ? g_hook(step, bytes) : bytes; }

std::string Errno() { return std::strerror(errno); }

tl::unexpected<Error> WriteError(const std::filesystem::path& path, std::string_view what) {
  return Fail(ErrorCode::kFileWrite, path.string(), fmt::format("{}: {}", what, Errno()),
              "nothing was replaced; make room or check permissions and try again");
}

std::filesystem::path FolderOf(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

// Temporary files are called `.NAME.tmp-PID-N`.
std::string TemporaryPrefix(const std::filesystem::path& target) { return "." + target.filename().string() + ".tmp-"; }

void RemoveStaleTemporaries(const std::filesystem::path& target) {
  const std::string prefix = TemporaryPrefix(target);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(FolderOf(target), ignored)) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    pid_t pid = 0;
    auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), pid);
    if (error != std::errc() || *end != '-' || pid <= 0) continue;
    if (::kill(pid, 0) != 0 && errno == ESRCH) std::filesystem::remove(entry.path(), ignored);
  }
}

Result<void> SyncFolder(const std::filesystem::path& folder) {
  Step("sync folder");
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return WriteError(folder, "cannot open the folder");
  // Some file systems cannot sync a folder and say EINVAL; the rename is as durable there as it gets.
  bool ok = ::fsync(descriptor) == 0 || errno == EINVAL;
  ::close(descriptor);
  if (!ok) return WriteError(folder, "cannot sync the folder");
  return {};
}

}  // namespace

void SetFileStepHookForTest(FileStepHook hook) { g_hook = std::move(hook); }

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::filesystem::path& path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return Fail(ErrorCode::kFileOpen, path.string(), "cannot open: " + Errno());
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) {
    auto error = Fail(ErrorCode::kFileRead, path.string(), "cannot stat: " + Errno());
    ::close(descriptor);
    return error;
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return Fail(ErrorCode::kFileKind, path.string(), "is not a regular file", "a file");
  }
  std::shared_ptr<MappedFile> file(new MappedFile());
  file->id_ = {info.st_dev, info.st_ino};
  if (info.st_size > 0) {
    void* address = ::mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_SHARED, descriptor, 0);
    if (address == MAP_FAILED) {
      auto error = Fail(ErrorCode::kFileRead, path.string(), "cannot map: " + Errno());
      ::close(descriptor);
      return error;
    }
    file->bytes_ = {static_cast<const uint8_t*>(address), static_cast<size_t>(info.st_size)};
  }
  ::close(descriptor);
  return std::shared_ptr<const MappedFile>(std::move(file));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

Result<FileWriter> FileWriter::Create(const std::filesystem::path& target) {
  static std::atomic<uint32_t> counter = 0;
  RemoveStaleTemporaries(target);
  FileWriter writer;
  writer.temporary_ = FolderOf(target) / fmt::format("{}{}-{}", TemporaryPrefix(target), ::getpid(), counter++);
  Step("create");
  writer.descriptor_ = ::open(writer.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (writer.descriptor_ < 0) {
    auto error = WriteError(writer.temporary_, "cannot create");
    writer.temporary_.clear();
    return error;
  }
  return writer;
}

FileWriter::FileWriter(FileWriter&& other) noexcept { *this = std::move(other); }

FileWriter& FileWriter::operator=(FileWriter&& other) noexcept {
  if (this == &other) return *this;
  Discard();
  temporary_ = std::exchange(other.temporary_, {});
  descriptor_ = std::exchange(other.descriptor_, -1);
  synced_ = other.synced_;
  bytes_written_ = other.bytes_written_;
  return *this;
}

FileWriter::~FileWriter() { Discard(); }

void FileWriter::Discard() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  descriptor_ = -1;
  temporary_.clear();
}

Result<void> FileWriter::Write(std::span<const uint8_t> bytes) {
  constexpr size_t kLargestWrite = size_t{1} << 26;
  while (!bytes.empty()) {
    size_t allowed = Step("write", std::min(bytes.size(), kLargestWrite));
    ssize_t written = ::write(descriptor_, bytes.data(), allowed);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteError(temporary_, "cannot write");
    if (written == 0 && allowed > 0) {
      errno = ENOSPC;
      return WriteError(temporary_, "cannot write");
    }
    bytes_written_ += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

Result<void> FileWriter::Sync() {
  if (synced_) return {};
  Step("sync");
  if (::fsync(descriptor_) != 0) return WriteError(temporary_, "cannot sync");
  synced_ = true;
  return {};
}

Result<void> FileWriter::Commit(const std::filesystem::path& target, bool replace, bool* exists) {
  if (exists != nullptr) *exists = false;
  TESSERA_TRY(Sync());
  if (::close(std::exchange(descriptor_, -1)) != 0) return WriteError(temporary_, "cannot close");
  Step("rename");
  int failed = ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target.c_str(), replace ? 0 : RENAME_NOREPLACE);
  if (failed != 0 && !replace && (errno == EINVAL || errno == ENOSYS)) {
    // A file system without RENAME_NOREPLACE: a hard link never replaces either.
    failed = ::link(temporary_.c_str(), target.c_str());
    if (failed == 0) ::unlink(temporary_.c_str());
  }
  if (failed != 0) {
    if (errno == EEXIST && exists != nullptr) *exists = true;
    return WriteError(target, "cannot rename to it");
  }
  temporary_.clear();
  return SyncFolder(FolderOf(target));
}

Result<void> RemoveFile(const std::filesystem::path& path) {
  Step("remove");
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return WriteError(path, "cannot remove");
  return {};
}

}  // namespace tessera
