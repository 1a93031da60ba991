#include "tessera/onnx/external_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

namespace tessera {
namespace {

namespace fs = std::filesystem;

// A decimal number without sign, spaces or other ornament.
Result<uint64_t> ParseNumber(const std::string& text, std::string_view key, std::string_view where) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    return Fail(ErrorCode::kExternalNumber, std::string(where), fmt::format("{} is {}", key, Quoted(text)),
                "a decimal number below 2^64");
  }
  return value;
}

tl::unexpected<Error> Twice(std::string_view key, std::string_view where) {
  return Fail(ErrorCode::kExternalNumber, std::string(where), fmt::format("has two entries {}", key), "one");
}

// What is wrong with a location as a text, before any file is looked at; "" if nothing is.
std::string_view WrongLocation(std::string_view location) {
  if (location.empty()) return "is empty";
  if (location.find('\0') != std::string_view::npos) return "holds a NUL";
  // onnxruntime's mark for data in memory, which a file must never carry.
  if (location.find("_ORT_MEM_ADDR_") != std::string_view::npos) return "is a memory address";
  if (location[0] == '/' || location[0] == '\\') return "is an absolute path";
  bool drive =
      location.size() >= 2 && location[1] == ':' && ((location[0] | 0x20) >= 'a' && (location[0] | 0x20) <= 'z');
  if (drive) return "names a drive";
  return "";
}

// True if `..` components lead above the folder, with either kind of slash.
bool ClimbsOut(std::string_view location) {
  int depth = 0;
  while (!location.empty()) {
    size_t end = std::min(location.find_first_of("/\\"), location.size());
    std::string_view part = location.substr(0, end);
    if (part == "..")
      --depth;
    else if (!part.empty() && part != ".")
      ++depth;
    if (depth < 0) return true;
    location.remove_prefix(std::min(end + 1, location.size()));
  }
  return false;
}

}  // namespace

bool IsBelow(const fs::path& path, const fs::path& folder) {
  if (folder.empty()) return false;
  auto [in_folder, in_path] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return in_folder == folder.end() && in_path != path.end();
}

Result<DataSegment> ParseTensorData(const ExternalEntries& entries, uint64_t needed_bytes, std::string_view where) {
  DataSegment segment;
  bool has_location = false;
  bool has_offset = false;
  bool has_length = false;
  segment.length = needed_bytes;
  for (const ir::StringStringEntryProto& entry : entries) {
    if (entry.key() == "location") {
      if (has_location) {
        return Fail(ErrorCode::kExternalLocation, std::string(where), "has two locations", "one");
      }
      segment.location = entry.value();
      has_location = true;
    } else if (entry.key() == "offset") {
      if (std::exchange(has_offset, true)) return Twice("offset", where);
      TESSERA_ASSIGN(segment.offset, ParseNumber(entry.value(), "offset", where));
    } else if (entry.key() == "length") {
      if (std::exchange(has_length, true)) return Twice("length", where);
      TESSERA_ASSIGN(segment.length, ParseNumber(entry.value(), "length", where));
      // Some writers put 0 where they do not know the length.
      if (segment.length == 0) segment.length = needed_bytes;
    }
  }
  if (!has_location || segment.location.empty()) {
    return Fail(ErrorCode::kExternalLocation, std::string(where), "external data has no location",
                "the path of a file below the model's folder");
  }
  return segment;
}

Result<std::vector<DataSegment>> ParseStructData(const ExternalEntries& entries, std::string_view where) {
  std::vector<DataSegment> segments;
  std::vector<bool> has_offset;
  std::vector<bool> has_length;
  for (const ir::StringStringEntryProto& entry : entries) {
    if (entry.key() == "location") {
      segments.push_back({entry.value(), 0, 0});
      has_offset.push_back(false);
      has_length.push_back(false);
    } else if (entry.key() == "offset" || entry.key() == "length") {
      if (segments.empty()) {
        return Fail(ErrorCode::kExternalLocation, std::string(where), entry.key() + " stands before any location",
                    "location, then offset and length");
      }
      TESSERA_ASSIGN(uint64_t number, ParseNumber(entry.value(), entry.key(), where));
      if (entry.key() == "offset") {
        if (has_offset.back()) return Twice("offset", where);
        segments.back().offset = number;
        has_offset.back() = true;
      } else {
        if (has_length.back()) return Twice("length", where);
        segments.back().length = number;
        has_length.back() = true;
      }
    }
  }
  for (size_t i = 0; i < segments.size(); ++i) {
    if (!has_length[i]) {
      return Fail(ErrorCode::kExternalLength, std::string(where), fmt::format("segment {} has no length", i),
                  "a length for each location");
    }
    if (segments[i].location.empty()) {
      return Fail(ErrorCode::kExternalLocation, std::string(where), fmt::format("segment {} has no location", i),
                  "the path of a file below the model's folder");
    }
  }
  if (segments.empty()) {
    return Fail(ErrorCode::kExternalLocation, std::string(where), "external data has no location",
                "the path of a file below the model's folder");
  }
  return segments;
}

void SetExternalEntries(const DataSegment& segment, ExternalEntries* entries) {
  entries->Clear();
  auto add = [&](const char* key, std::string value) {
    ir::StringStringEntryProto* entry = entries->Add();
    entry->set_key(key);
    entry->set_value(std::move(value));
  };
  add("location", segment.location);
  add("offset", std::to_string(segment.offset));
  add("length", std::to_string(segment.length));
}

DataFolder::DataFolder(const fs::path& model, bool is_folder) {
  std::error_code ignored;
  folder_ = is_folder ? model : model.parent_path();
  if (folder_.empty()) folder_ = ".";
  real_folder_ = fs::canonical(folder_, ignored);
  if (!is_folder) real_file_folder_ = fs::canonical(model, ignored).parent_path();
}

Result<fs::path> DataFolder::Resolve(std::string_view location, std::string_view where) const {
  const std::string allowed = "a path below the model's folder " + folder_.string();
  if (std::string_view wrong = WrongLocation(location); !wrong.empty()) {
    return Fail(ErrorCode::kExternalLocation, std::string(where),
                fmt::format("location {} {}", Quoted(location), wrong), allowed);
  }
  const fs::path path = folder_ / fs::path(location);
  if (ClimbsOut(location)) {
    return Fail(ErrorCode::kExternalEscape, std::string(where),
                fmt::format("location {} leads to {}, outside the model's folder", Quoted(location),
                            path.lexically_normal().string()),
                allowed);
  }
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  if (error && !real_file_folder_.empty() && real_file_folder_ != real_folder_) {
    std::error_code elsewhere;
    fs::path beside_real_file = fs::canonical(real_file_folder_ / fs::path(location), elsewhere);
    if (!elsewhere) {
      real = std::move(beside_real_file);
      error.clear();
    }
  }
  if (error) {
    return Fail(ErrorCode::kExternalMissing, std::string(where),
                fmt::format("data file {}: {}", path.string(), error.message()), "a file");
  }
  if (!IsBelow(real, real_folder_) && !IsBelow(real, real_file_folder_)) {
    return Fail(ErrorCode::kExternalEscape, std::string(where),
                fmt::format("location {} leads to {}, outside the model's folder", Quoted(location), real.string()),
                allowed);
  }
  if (!fs::is_regular_file(real, error)) {
    return Fail(ErrorCode::kExternalMissing, std::string(where),
                fmt::format("data file {} is not a regular file", real.string()), "a file");
  }
  return real;
}

}  // namespace tessera
