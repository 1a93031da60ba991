#include "tessera/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>

namespace tessera {
namespace {

FileStepHook g_hook;  // NOLINT: tests only

// True if the step may run, with as many bytes as *bytes then says.
bool Step(std::string_view step, size_t* bytes = nullptr) {
  if (!g_hook) return true;
  size_t allowed = g_hook(step, bytes != nullptr ? *bytes : 0);
  if (allowed == kFailFileStep) {
    errno = ENOSPC;
    return false;
  }
  if (bytes != nullptr) *bytes = std::min(*bytes, allowed);
  return true;
}

std::string Errno() { return std::strerror(errno); }

tl::unexpected<Error> WriteError(const std::filesystem::path& path, std::string_view what) {
  return Fail(ErrorCode::kFileWrite, path.string(), fmt::format("{}: {}", what, Errno()),
              "nothing was replaced; make room or check permissions and try again");
}

std::filesystem::path FolderOf(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

// Temporary files are called `.NAME.tmp-PID-N`; a very long NAME is shortened, as names end at 255 bytes.
std::string TemporaryPrefix(const std::filesystem::path& target) {
  return "." + target.filename().string().substr(0, 200) + ".tmp-";
}

// A writer holds a lock on its temporary file for as long as it lives, so that a file without one was left by a killed
// process. The process number is not enough: in containers it is often the same again, or another container's.
void RemoveIfStale(const std::filesystem::path& path, pid_t pid) {
  bool may_be_alive = pid != ::getpid() && (::kill(pid, 0) == 0 || errno != ESRCH);
  if (may_be_alive) return;
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (descriptor < 0) return;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  ::close(descriptor);
}

void RemoveStaleTemporaries(const std::filesystem::path& target) {
  const std::string prefix = TemporaryPrefix(target);
  std::error_code error;
  std::filesystem::directory_iterator entry(FolderOf(target), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    pid_t pid = 0;
    auto [end, wrong] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), pid);
    if (wrong == std::errc() && end != name.data() + name.size() && *end == '-' && pid > 0) RemoveIfStale(*entry, pid);
  }
}

}  // namespace

void SetFileStepHookForTest(FileStepHook hook) { g_hook = std::move(hook); }

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::filesystem::path& path) {
  // Opening a device can move a tape: what is known to be no file is not even opened.
  if (struct stat before{}; ::stat(path.c_str(), &before) == 0 && !S_ISREG(before.st_mode)) {
    return Fail(ErrorCode::kFileKind, path.string(), "is not a regular file", "a file");
  }
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return Fail(ErrorCode::kFileOpen, path.string(), "cannot open: " + Errno());
  struct stat info{};
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
  static uint32_t counter = 0;
  // Between creating a file and locking it no other thread may look for stale ones.
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  constexpr int kTries = 1000;
  RemoveStaleTemporaries(target);
  FileWriter writer;
  for (int i = 0; i < kTries; ++i) {
    std::filesystem::path name =
        FolderOf(target) / fmt::format("{}{}-{}", TemporaryPrefix(target), ::getpid(), counter++);
    if (Step("create")) writer.descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (writer.descriptor_ >= 0) {
      // Where locks do not work, the file is only not protected from a cleaner that cannot see this process.
      (void)::flock(writer.descriptor_, LOCK_EX | LOCK_NB);
      writer.temporary_ = std::move(name);
      return writer;
    }
    if (errno != EEXIST) break;  // left by a process of the same number that cannot be told to be gone
  }
  return WriteError(target, "cannot create a file beside it");
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

Result<void> FileWriter::Reserve(uint64_t bytes) {
  if (bytes == 0 || bytes > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) return {};
  if (Step("reserve") && ::fallocate(descriptor_, 0, 0, static_cast<off_t>(bytes)) == 0) return {};
  if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) {
    return WriteError(temporary_, fmt::format("cannot get room for {} bytes", bytes));
  }
  return {};
}

Result<void> FileWriter::Write(std::span<const uint8_t> bytes) {
  constexpr size_t kLargestWrite = size_t{1} << 26;
  while (!bytes.empty()) {
    size_t allowed = std::min(bytes.size(), kLargestWrite);
    if (!Step("write", &allowed)) return WriteError(temporary_, "cannot write");
    ssize_t written = ::write(descriptor_, bytes.data(), allowed);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteError(temporary_, "cannot write");
    if (written == 0) {
      errno = ENOSPC;
      return WriteError(temporary_, "cannot write");
    }
    bytes_written_ += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
    synced_ = false;
  }
  return {};
}

Result<void> FileWriter::Sync() {
  if (synced_) return {};
  if (!Step("sync") || ::fsync(descriptor_) != 0) return WriteError(temporary_, "cannot sync");
  synced_ = true;
  return {};
}

Result<void> FileWriter::Commit(const std::filesystem::path& target, bool replace, bool* exists) {
  if (exists != nullptr) *exists = false;
  TESSERA_TRY(Sync());
  if (!Step("rename")) return WriteError(target, "cannot rename to it");
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
  // Synced already, so that closing has nothing left to fail with; this also gives the lock back.
  ::close(std::exchange(descriptor_, -1));
  return {};
}

Result<void> SyncFolder(const std::filesystem::path& folder) {
  int descriptor = -1;
  if (Step("sync folder")) descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder that may be written but not read cannot be opened; its names are as durable as they get.
  if (descriptor < 0 && errno == EACCES) return {};
  // So they are where the file system cannot sync a folder, and says EINVAL.
  bool ok = descriptor >= 0 && (::fsync(descriptor) == 0 || errno == EINVAL);
  auto error = Fail(ErrorCode::kFileWrite, folder.string(), "cannot sync the folder: " + Errno());
  if (descriptor >= 0) ::close(descriptor);
  if (!ok) return error;
  return {};
}

Result<void> RemoveFile(const std::filesystem::path& path) {
  if (!Step("remove") || (::unlink(path.c_str()) != 0 && errno != ENOENT)) return WriteError(path, "cannot remove");
  return {};
}

}  // namespace tessera
