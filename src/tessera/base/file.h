// Files: read through a memory map, written all or nothing.
//
// A MappedFile is immutable and may be shared between threads; a FileWriter belongs to one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/error.h"

namespace tessera {

// Identity of a file on this machine.
struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const FileId&) const = default;
};

class MappedFile {
 public:
  // Maps a regular file read-only; folders, pipes, sockets and devices are refused without blocking on them.
  // Errors: kFileOpen, kFileKind, kFileRead.
  static Result<std::shared_ptr<const MappedFile>> Open(const std::filesystem::path& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const uint8_t> bytes() const { return bytes_; }
  FileId id() const { return id_; }

 private:
  MappedFile() = default;
  std::span<const uint8_t> bytes_;
  FileId id_;
};

// Writes a new file under a temporary name in the folder of its target. Until Commit returns, the target is untouched;
// a writer that goes away without Commit removes its temporary file.
class FileWriter {
 public:
  // Also removes temporary files of the same target that killed processes left.
  // Errors: kFileWrite.
  static Result<FileWriter> Create(const std::filesystem::path& target);

  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&& other) noexcept;
  ~FileWriter();

  // Asks the file system for room, so that a full disk is found before hours of writing; one that cannot say says yes.
  Result<void> Reserve(uint64_t bytes);
  Result<void> Write(std::span<const uint8_t> bytes);
  uint64_t bytes_written() const { return bytes_written_; }
  const std::filesystem::path& temporary_path() const { return temporary_; }

  // Syncs the content to the disk. Called by Commit; a second call does nothing.
  Result<void> Sync();

  // Renames to `target` (in the same folder). With `replace` false it fails, and *exists is set, when something stands
  // there. The new name survives a power failure once SyncFolder has run. Errors: kFileWrite; nothing was renamed then.
  Result<void> Commit(const std::filesystem::path& target, bool replace, bool* exists = nullptr);

 private:
  FileWriter() = default;
  void Discard();
  std::filesystem::path temporary_;  // "" when there is nothing to remove
  int descriptor_ = -1;
  bool synced_ = false;
  uint64_t bytes_written_ = 0;
};

// Makes the names in a folder survive a power failure. Errors: kFileWrite.
Result<void> SyncFolder(const std::filesystem::path& folder);

// Removes a file if it is there. Errors: kFileWrite.
Result<void> RemoveFile(const std::filesystem::path& path);

// For tests of crashes and full disks: called before every step that changes the disk, with the number of bytes that
// it would write (0 for other steps); returns how many it may, or kFailFileStep to make the step fail as on a full
// disk. nullptr switches it off. Not thread-safe.
using FileStepHook = std::function<size_t(std::string_view step, size_t bytes)>;
inline constexpr size_t kFailFileStep = SIZE_MAX;
void SetFileStepHookForTest(FileStepHook hook);

}  // namespace tessera
