#include "tessera/onnx/data_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <system_error>

#include "tessera/base/checked.h"
#include "tessera/base/digest.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargeBytes = uint64_t{1} << 20;  // payloads of this size and more start at multiples of
constexpr uint64_t kLargeAlignment = 65'536;         // 64 KiB, which every system can map,
constexpr uint64_t kSmallAlignment = 64;             // others at a cache line
constexpr size_t kDigestDigits = 16;
constexpr std::array<uint8_t, kLargeAlignment> kZeros{};

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

bool AnyOwnFileOfSize(uint64_t bytes, const fs::path& folder, const std::string& model) {
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (!IsOwnDataName(entry->path().filename().string(), model)) continue;
    if (entry->is_regular_file(ignored) && entry->file_size(ignored) == bytes) return true;
  }
  return false;
}

}  // namespace

bool IsOwnDataName(const std::string& name, const std::string& model) {
  if (name == model + ".data") return true;
  const size_t digits = model.size() + 1;
  return name.size() == digits + kDigestDigits + 5 && name.starts_with(model + ".") && name.ends_with(".data") &&
         std::all_of(name.begin() + digits, name.begin() + digits + kDigestDigits, IsHexDigit);
}

Result<uint64_t> DataLayout::Add(const Payload& payload) {
  uint64_t size = 0;
  for (std::span<const uint8_t> segment : payload) size += segment.size();  // all of them are mapped
  if (payload.size() == 1) {
    auto found = known_.find({payload[0].data(), size});
    if (found != known_.end()) return found->second;
  }
  std::optional<uint64_t> offset = CheckedAlign(bytes_, size >= kLargeBytes ? kLargeAlignment : kSmallAlignment);
  std::optional<uint64_t> end = offset ? CheckedAdd(*offset, size) : std::nullopt;
  if (!end || *end > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return Fail(ErrorCode::kFileWrite, "", "the data file would be larger than a file can be");
  }
  if (payload.size() == 1) known_.emplace(std::pair(payload[0].data(), size), *offset);
  parts_.push_back({*offset, payload});
  bytes_ = *end;
  return *offset;
}

template <typename Write>
void DataLayout::ForEachSpan(const Write& write) const {
  uint64_t at = 0;
  for (const Part& part : parts_) {
    if (part.offset > at && !write(std::span<const uint8_t>(kZeros).first(part.offset - at))) return;
    at = part.offset;
    for (std::span<const uint8_t> segment : part.payload) {
      if (!write(segment)) return;
      at += segment.size();
    }
  }
  // A payload of no bytes at the end may stand behind padding.
  if (bytes_ > at) write(std::span<const uint8_t>(kZeros).first(bytes_ - at));
}

bool DataLayout::IsIn(const fs::path& path) const {
  std::error_code error;
  // Not through a link: it may lead to where the saved model may not read.
  if (!fs::is_regular_file(fs::symlink_status(path, error)) || fs::file_size(path, error) != bytes_) return false;
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
  if (!file || (*file)->bytes().size() != bytes_) return false;
  const uint8_t* at = (*file)->bytes().data();
  bool equal = true;
  ForEachSpan([&](std::span<const uint8_t> bytes) {
    equal = bytes.empty() || std::memcmp(at, bytes.data(), bytes.size()) == 0;
    at += bytes.size();
    return equal;
  });
  return equal;
}

std::string DataLayout::Digest() const {
  Sha256 digest;
  ForEachSpan([&](std::span<const uint8_t> bytes) {
    digest.Update(bytes);
    return true;
  });
  return digest.HexDigest().substr(0, kDigestDigits);
}

Result<StagedData> StageData(const DataLayout& layout, const fs::path& folder, const std::string& model) {
  const std::string plain = model + ".data";
  auto by_digest = [&](const std::string& digits) { return fmt::format("{}.{}.data", model, digits); };
  // Reading all data to name it is worth the time only where a file of this size may hold it already.
  std::string digits;
  if (AnyOwnFileOfSize(layout.bytes(), folder, model)) {
    digits = layout.Digest();
    for (const std::string& name : {by_digest(digits), plain}) {
      if (layout.IsIn(folder / name)) return StagedData{name, std::nullopt};
    }
  }
  TESSERA_ASSIGN(FileWriter writer, FileWriter::Create(folder / plain));
  TESSERA_TRY(writer.Reserve(layout.bytes()));
  Sha256 digest;
  Result<void> written;
  layout.ForEachSpan([&](std::span<const uint8_t> bytes) {
    if (digits.empty()) digest.Update(bytes);
    written = writer.Write(bytes);
    return written.has_value();
  });
  TESSERA_TRY(written);
  TESSERA_TRY(writer.Sync());
  if (!Exists(folder / plain)) return StagedData{plain, std::move(writer)};
  if (digits.empty()) digits = digest.HexDigest().substr(0, kDigestDigits);
  if (Exists(folder / by_digest(digits))) {
    return Fail(ErrorCode::kFileWrite, (folder / by_digest(digits)).string(),
                "stands there with other bytes than its name says", "move it away and save again");
  }
  return StagedData{by_digest(digits), std::move(writer)};
}

}  // namespace tessera
