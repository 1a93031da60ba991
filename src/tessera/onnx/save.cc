// Model::Save: where data goes, what files are called, and the order of steps that makes a save all or nothing.
//
//   1. the data file, under a temporary name, then under its own, which nothing refers to yet
//   2. the model file, under a temporary name
//   3. its rename: from here on the new model stands (the single commit point)
//   4. data files that only the replaced model used are removed
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/digest.h"
#include "tessera/base/file.h"
#include "tessera/onnx/model.h"
#include "tessera/onnx/model_state.h"
#include "tessera/onnx/tensor.h"
#include "tessera/onnx/wire.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLargeBytes = uint64_t{1} << 20;  // tensors of this size and more start at multiples of
constexpr uint64_t kLargeAlignment = 65'536;         // 64 KiB, which every system can map,
constexpr uint64_t kSmallAlignment = 64;             // others at a cache line
constexpr size_t kDigestDigits = 16;

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// The digits in `<model>.<16 hex digits>.data`; "" for another name.
std::string DigestInName(const std::string& name, const std::string& model) {
  if (name.size() != model.size() + kDigestDigits + 6 || !name.starts_with(model + ".") || !name.ends_with(".data")) {
    return {};
  }
  std::string digits = name.substr(model.size() + 1, kDigestDigits);
  return IsHex(digits) ? digits : std::string();
}

// True for the names that a save of `model` gives to data files.
bool IsOwnDataName(const std::string& name, const std::string& model) {
  return name == model + ".data" || !DigestInName(name, model).empty();
}

// Calls visit(tensor) and visit(struct value) for every initializer of the graph and the graphs inside it.
template <typename Graph, typename Visit>
void ForEachInitializer(Graph* graph, const Visit& visit) {
  for (auto& tensor : *graph->mutable_initializer()) visit(&tensor);
  for (auto& sparse : *graph->mutable_sparse_initializer()) {
    visit(sparse.mutable_values());
    visit(sparse.mutable_indices());
  }
  for (auto& value : *graph->mutable_struct_initializer()) visit(&value);
  for (auto& node : *graph->mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) ForEachInitializer(attribute.mutable_g(), visit);
      for (auto& inner : *attribute.mutable_graphs()) ForEachInitializer(&inner, visit);
    }
  }
}

template <typename Visit>
void ForEachInitializer(ir::ModelProto* model, const Visit& visit) {
  if (model->has_graph()) ForEachInitializer(model->mutable_graph(), visit);
  for (auto& info : *model->mutable_training_info()) {
    if (info.has_initialization()) ForEachInitializer(info.mutable_initialization(), visit);
    if (info.has_algorithm()) ForEachInitializer(info.mutable_algorithm(), visit);
  }
}

bool HasExternal(const ir::TensorProto& tensor) { return IsExternal(tensor); }
bool HasExternal(const ir::StructProto& value) { return value.external_data_size() > 0; }

std::string NameOf(const ir::TensorProto& tensor) { return "tensor " + Quoted(tensor.name()); }
std::string NameOf(const ir::StructProto& value) { return "struct value " + Quoted(value.name()); }

void PointTo(const DataSegment& segment, ir::TensorProto* tensor) {
  tensor->clear_raw_data();
  tensor->set_data_location(ir::TensorProto::EXTERNAL);
  SetExternalEntries(segment, tensor->mutable_external_data());
}
void PointTo(const DataSegment& segment, ir::StructProto* value) {
  value->clear_raw_data();
  SetExternalEntries(segment, value->mutable_external_data());
}

void ClearExternal(ir::TensorProto* tensor) {
  tensor->clear_external_data();
  tensor->clear_data_location();
}
void ClearExternal(ir::StructProto* value) { value->clear_external_data(); }

// Locations that a model's values name, as they are written.
std::set<std::string> LocationsOf(ir::ModelProto* model) {
  std::set<std::string> locations;
  ForEachInitializer(model, [&](auto* value) {
    for (const ir::StringStringEntryProto& entry : value->external_data()) {
      if (entry.key() == "location") locations.insert(fs::path(entry.value()).lexically_normal().string());
    }
  });
  return locations;
}

}  // namespace

class ModelSaver {
 public:
  ModelSaver(const Model& model, const fs::path& path, const SaveOptions& options)
      : model_(model), path_(path), options_(options), name_(path.filename().string()), out_(model.proto()),
        cuts_(model.state_->cuts) {
    folder_ = path.has_parent_path() ? path.parent_path() : fs::path(".");
  }

  Result<SaveReport> Run() {
    if (name_.empty() || name_ == "." || name_ == "..") {
      return Fail(ErrorCode::kFileWrite, path_.string(), "is not the name of a file", "a file name");
    }
    std::error_code ignored;
    same_folder_ = fs::equivalent(model_.folder(), folder_, ignored);
    TESSERA_TRY(PlaceData());
    if (!moved_.empty()) TESSERA_TRY(WriteDataFile());
    TESSERA_TRY(WriteModelFile());
    RemoveUnusedData();
    return report_;
  }

 private:
  struct Moved {
    Payload payload;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    ir::TensorProto* tensor = nullptr;  // one of the two
    ir::StructProto* value = nullptr;
  };

  template <typename Proto>
  Result<Payload> PayloadOf(const Proto& value) {
    auto bytes = model_.Bytes(value, NameOf(value));
    if (!bytes) return tl::unexpected<Error>(std::move(bytes).error());
    if constexpr (std::is_same_v<Proto, ir::TensorProto>) return Payload{*bytes};
    else return *std::move(bytes);
  }

  static uint64_t SizeOf(const Payload& payload) {
    uint64_t size = 0;
    for (std::span<const uint8_t> segment : payload) size += segment.size();
    return size;
  }

  // True if external data may stay where it is: its file lies below the target's folder and is not one that this save
  // writes anew.
  template <typename Proto>
  bool CanStay(const Proto& value, bool writes_data_file) {
    if (!same_folder_) return false;
    if (!writes_data_file) return true;
    for (const ir::StringStringEntryProto& entry : value.external_data()) {
      if (entry.key() == "location" && IsOwnDataName(entry.value(), name_)) return false;
    }
    return true;
  }

  // Bytes that the model file would have with its inline data inside.
  uint64_t InlineModelBytes() {
    uint64_t bytes = out_.ByteSizeLong();
    ForEachInitializer(&out_, [&](auto* value) {
      if (!HasExternal(*value)) bytes += model_.RawData(*value).size() > 24 ? model_.RawData(*value).size() : 0;
    });
    return bytes;
  }

  // Decides for every value where its data goes; errors leave everything untouched.
  Result<void> PlaceData() {
    bool to_data_file = options_.data == SaveOptions::Data::kExternal ||
                        (options_.data == SaveOptions::Data::kKeep && InlineModelBytes() > options_.model_bytes);
    bool copies_external = false;
    ForEachInitializer(&out_, [&](auto* value) { copies_external |= HasExternal(*value) && !CanStay(*value, false); });
    bool writes_data_file = options_.data != SaveOptions::Data::kInline && (to_data_file || copies_external);
    Result<void> result;
    ForEachInitializer(&out_, [&](auto* value) {
      if (result) result = Place(value, to_data_file, writes_data_file);
    });
    return result;
  }

  template <typename Proto>
  Result<void> Place(Proto* value, bool to_data_file, bool writes_data_file) {
    const bool external = HasExternal(*value);
    if (external && options_.data == SaveOptions::Data::kInline) {
      TESSERA_ASSIGN(Payload payload, PayloadOf(*value));
      MakeInline(payload, value);
      return {};
    }
    if (external && CanStay(*value, writes_data_file)) {
      // It stays; but a location that no reader would follow is not written again.
      TESSERA_ASSIGN(std::vector<DataSegment> segments, model_.Segments(*value, NameOf(*value)));
      for (const DataSegment& segment : segments) {
        TESSERA_TRY(model_.state_->folder.Resolve(segment.location, NameOf(*value)));
      }
      return {};
    }
    if (!external && (!to_data_file || !value->has_raw_data())) return {};
    TESSERA_ASSIGN(Payload payload, PayloadOf(*value));
    Moved moved;
    moved.bytes = SizeOf(payload);
    if (!external && moved.bytes < options_.external_bytes) return {};
    moved.payload = std::move(payload);
    std::optional<uint64_t> offset =
        CheckedAlign(data_bytes_, moved.bytes >= kLargeBytes ? kLargeAlignment : kSmallAlignment);
    std::optional<uint64_t> end = offset ? CheckedAdd(*offset, moved.bytes) : std::nullopt;
    if (!end) return Fail(ErrorCode::kFileWrite, path_.string(), "the data file would be too large");
    moved.offset = *offset;
    data_bytes_ = *end;
    if constexpr (std::is_same_v<Proto, ir::TensorProto>) moved.tensor = value;
    else moved.value = value;
    moved_.push_back(std::move(moved));
    return {};
  }

  // Puts a payload into the model file: one segment is spliced from where it is mapped.
  template <typename Proto>
  void MakeInline(const Payload& payload, Proto* value) {
    ClearExternal(value);
    if (payload.size() == 1) {
      cuts_.push_back(payload[0]);
    } else {
      std::vector<uint8_t>& joined = joined_.emplace_back();
      for (std::span<const uint8_t> segment : payload) joined.insert(joined.end(), segment.begin(), segment.end());
      cuts_.emplace_back(joined);
    }
    value->set_raw_data(Placeholder(cuts_.size() - 1));
  }

  Result<void> WriteDataFile() {
    const fs::path plain = folder_ / (name_ + ".data");
    TESSERA_ASSIGN(FileWriter writer, FileWriter::Create(plain));
    Sha256 digest;
    auto write = [&](std::span<const uint8_t> bytes) {
      digest.Update(bytes);
      return writer.Write(bytes);
    };
    static constexpr std::array<uint8_t, kLargeAlignment> kZeros{};
    for (const Moved& moved : moved_) {
      TESSERA_TRY(write(std::span(kZeros).first(moved.offset - writer.bytes_written())));
      for (std::span<const uint8_t> segment : moved.payload) TESSERA_TRY(write(segment));
    }
    TESSERA_TRY(writer.Sync());
    const std::string digits = digest.HexDigest().substr(0, kDigestDigits);
    const fs::path by_digest = folder_ / fmt::format("{}.{}.data", name_, digits);
    TESSERA_ASSIGN(fs::path chosen, Publish(&writer, plain, by_digest));
    report_.data_file = chosen.filename().string();
    report_.data_bytes = data_bytes_;
    for (const Moved& moved : moved_) {
      DataSegment segment{report_.data_file, moved.offset, moved.bytes};
      if (moved.tensor != nullptr) PointTo(segment, moved.tensor);
      else PointTo(segment, moved.value);
    }
    return {};
  }

  // Gives the written data file its name: a file that has these bytes already, else the plain name if it is free,
  // else the name with the digest. Never replaces anything.
  Result<fs::path> Publish(FileWriter* writer, const fs::path& plain, const fs::path& by_digest) {
    TESSERA_ASSIGN(std::shared_ptr<const MappedFile> written, MappedFile::Open(writer->temporary_path()));
    for (const fs::path& name : {by_digest, plain}) {
      if (HasBytes(name, written->bytes())) {
        report_.data_reused = true;
        return name;
      }
    }
    for (const fs::path& name : {plain, by_digest}) {
      std::error_code ignored;
      if (fs::exists(fs::symlink_status(name, ignored))) continue;
      TESSERA_TRY(writer->Commit(name, false));
      return name;
    }
    return Fail(ErrorCode::kFileWrite, by_digest.string(), "stands there with other bytes than its name says",
                "move it away and save again");
  }

  static bool HasBytes(const fs::path& path, std::span<const uint8_t> bytes) {
    std::error_code error;
    if (!fs::is_regular_file(path, error) || fs::file_size(path, error) != bytes.size()) return false;
    Result<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
    return file && (*file)->bytes().size() == bytes.size() &&
           (bytes.empty() || std::memcmp((*file)->bytes().data(), bytes.data(), bytes.size()) == 0);
  }

  Result<void> WriteModelFile() {
    std::string skeleton;
    if (!out_.SerializePartialToString(&skeleton)) {
      return Fail(ErrorCode::kWireSize, path_.string(), "the model is over 2 GiB without its tensors' data");
    }
    TESSERA_ASSIGN(std::vector<WireChunk> chunks,
                   Splice(skeleton, ir::ModelProto::descriptor(), cuts_, model_.state_->limits.message_depth));
    replaced_locations_ = LocationsOfFile(path_);
    TESSERA_ASSIGN(FileWriter writer, FileWriter::Create(path_));
    for (const WireChunk& chunk : chunks) {
      TESSERA_TRY(writer.Write({reinterpret_cast<const uint8_t*>(chunk.owned.data()), chunk.owned.size()}));
      TESSERA_TRY(writer.Write(chunk.data));
    }
    report_.model_bytes = writer.bytes_written();
    return writer.Commit(path_, true);
  }

  // Locations of the model at `path`; nothing if there is none. nullopt if it cannot be read.
  static std::optional<std::set<std::string>> LocationsOfFile(const fs::path& path) {
    Result<Model> model = Model::Load(path);
    if (!model) return std::nullopt;
    return LocationsOf(&model->mutable_proto());
  }

  // Removes data files of this model's own names that the replaced model used, or that a killed save left (their
  // digest says that they are ours), if neither the new model nor any other model in the folder uses them. The model
  // is saved; what cannot be removed stays.
  void RemoveUnusedData() {
    std::set<std::string> candidates;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
      std::string name = entry.path().filename().string();
      if (!IsOwnDataName(name, name_) || !entry.is_regular_file(ignored)) continue;
      bool was_used = replaced_locations_ && replaced_locations_->contains(name);
      if (was_used || IsLeftOver(entry.path(), name)) candidates.insert(name);
    }
    for (const std::string& location : LocationsOf(&out_)) candidates.erase(location);
    if (candidates.empty()) return;
    for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
      if (entry.path().extension() != ".onnx" || entry.path().filename() == name_) continue;
      std::optional<std::set<std::string>> locations = LocationsOfFile(entry.path());
      if (!locations) return;  // a model that cannot be read may use any of them
      for (const std::string& location : *locations) candidates.erase(location);
    }
    for (const std::string& name : candidates) {
      if (RemoveFile(folder_ / name)) report_.removed.push_back(name);
    }
  }

  // A data file named by a digest that is the digest of its bytes.
  bool IsLeftOver(const fs::path& path, const std::string& name) const {
    std::string digits = DigestInName(name, name_);
    if (digits.empty() || name == report_.data_file) return false;
    Result<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
    if (!file) return false;
    Sha256 digest;
    digest.Update((*file)->bytes());
    return digest.HexDigest().substr(0, kDigestDigits) == digits;
  }

  const Model& model_;
  const fs::path path_;
  const SaveOptions& options_;
  const std::string name_;
  fs::path folder_;
  ir::ModelProto out_;
  std::vector<std::span<const uint8_t>> cuts_;
  std::deque<std::vector<uint8_t>> joined_;
  bool same_folder_ = false;
  uint64_t data_bytes_ = 0;
  std::vector<Moved> moved_;
  std::optional<std::set<std::string>> replaced_locations_;
  SaveReport report_;
};

Result<SaveReport> Model::Save(const fs::path& path, const SaveOptions& options) const {
  return ModelSaver(*this, path, options).Run();
}

Result<std::string> Model::SerializeToString() const {
  std::string skeleton;
  if (!state_->proto.SerializePartialToString(&skeleton)) {
    return Fail(ErrorCode::kWireSize, "", "the model is over 2 GiB without its tensors' data");
  }
  TESSERA_ASSIGN(std::vector<WireChunk> chunks,
                 Splice(skeleton, ir::ModelProto::descriptor(), state_->cuts, state_->limits.message_depth));
  std::string bytes;
  for (const WireChunk& chunk : chunks) {
    bytes += chunk.owned;
    bytes.append(reinterpret_cast<const char*>(chunk.data.data()), chunk.data.size());
  }
  return bytes;
}

}  // namespace tessera
