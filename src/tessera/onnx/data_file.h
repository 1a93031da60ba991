// The data file beside a model: its layout, its name, and the names of all that saves have made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/base/file.h"
#include "tessera/types/struct_view.h"

namespace tessera {

// True for the names that saves of the model file `model` give to data files: `<model>.data` and
// `<model>.<16 hex digits>.data`.
bool IsOwnDataName(const std::string& name, const std::string& model);

// The content of a data file: payloads that lie elsewhere, in order, at multiples of 65,536 from 1 MiB on and of 64
// below. Equal payloads at the same address (tied weights) are stored once.
class DataLayout {
 public:
  // Returns the payload's offset. Errors: kFileWrite if the file would pass 2^63 bytes.
  Result<uint64_t> Add(const Payload& payload);

  bool empty() const { return parts_.empty(); }
  uint64_t bytes() const { return bytes_; }

  // Calls `write(span)` for all bytes from first to last, padding included, until it returns false.
  template <typename Write>
  void ForEachSpan(const Write& write) const;

  // True if `path` is a file, and no link, that holds exactly these bytes.
  bool IsIn(const std::filesystem::path& path) const;
  // The first 16 hex digits of the SHA-256 of all bytes.
  std::string Digest() const;

 private:
  struct Part {
    uint64_t offset = 0;
    Payload payload;
  };
  std::vector<Part> parts_;
  std::map<std::pair<const uint8_t*, uint64_t>, uint64_t> known_;  // address and size -> offset
  uint64_t bytes_ = 0;
};

// A data file that is complete on the disk, under a temporary name or because it stood there before.
struct StagedData {
  std::string name;                  // that it has, or that Publish gives it
  std::optional<FileWriter> writer;  // none: it stands there already
};

// Chooses the name and writes what is not there yet. With H the digest:
//   1. `<model>.<H>.data` or `<model>.data`, in this order, if it stands there with these bytes;
//   2. `<model>.data` if that name is free;
//   3. `<model>.<H>.data`.
// No file that stands there is written to. Errors: kFileWrite.
Result<StagedData> StageData(const DataLayout& layout, const std::filesystem::path& folder, const std::string& model);

}  // namespace tessera
