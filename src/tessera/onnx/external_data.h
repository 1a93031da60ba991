// External data: the entries of TensorProto.external_data and StructProto.external_data, and the rules that say which
// files a location may name.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_struct.pb.h"
#include "tessera/base/error.h"

namespace tessera {

// One span of a value's bytes.
struct DataSegment {
  std::string location;  // as written in external_data; "" for bytes in the model file
  uint64_t offset = 0;   // in that file
  uint64_t length = 0;
  bool operator==(const DataSegment&) const = default;
};

using ExternalEntries = google::protobuf::RepeatedPtrField<ir::StringStringEntryProto>;

// A tensor's single segment. An absent length means the `needed_bytes` that type and dimensions need.
// Errors: kExternalLocation, kExternalNumber. `where` names the value.
Result<DataSegment> ParseTensorData(const ExternalEntries& entries, uint64_t needed_bytes, std::string_view where);

// A struct value's segments in order: each `location` opens one, `offset` (default 0) and `length` (required) follow.
// Errors: kExternalLocation, kExternalNumber, kExternalLength.
Result<std::vector<DataSegment>> ParseStructData(const ExternalEntries& entries, std::string_view where);

// Replaces the entries by those of one segment.
void SetExternalEntries(const DataSegment& segment, ExternalEntries* entries);

// True if `path` lies below `folder`. Both without links and dots.
bool IsBelow(const std::filesystem::path& path, const std::filesystem::path& folder);

// The folder that a model's data files must lie in: that of the path the model was opened by, or that of its real path
// after links (a download cache in which model and data both link into one folder of blobs).
class DataFolder {
 public:
  DataFolder() = default;
  // `model` is the model's path, or a folder if `is_folder`.
  DataFolder(const std::filesystem::path& model, bool is_folder);

  const std::filesystem::path& path() const { return folder_; }
  const std::filesystem::path& real_path() const { return real_folder_; }  // "" if there is no such folder

  // The real path of the file that a location names, sought in the folder of the model's path and then in that of its
  // real path; nothing is opened.
  // Errors: kExternalLocation, kExternalEscape, kExternalMissing, which name the resolved path and the folder.
  Result<std::filesystem::path> Resolve(std::string_view location, std::string_view where) const;

 private:
  std::filesystem::path folder_ = ".";
  std::filesystem::path real_folder_;       // of folder_
  std::filesystem::path real_file_folder_;  // of the model file after links
};

}  // namespace tessera
