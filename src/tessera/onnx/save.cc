// Model::Save. Where data goes:
//   - external data stays where it is if its file lies below the target's folder; else it is copied into the data file.
//     kExternal also collects what lies in data files that earlier saves made for this name.
//   - inline data of initializers moves to the data file with kExternal, or when the model file would pass its limit.
//     Other inline data (attributes, constants of types) stays: readers expect it there.
// The order of steps makes a save all or nothing:
//   1. data file and model file are written under temporary names, and synced
//   2. the data file gets its name, which nothing refers to yet
//   3. the model file gets its name: from here on the new model stands (the single commit point)
//   4. data files that only the replaced model used are removed
#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/base/file.h"
#include "tessera/onnx/data_file.h"
#include "tessera/onnx/data_walk.h"
#include "tessera/onnx/model.h"
#include "tessera/onnx/model_state.h"
#include "tessera/onnx/tensor.h"
#include "tessera/onnx/wire.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

using Locations = std::set<fs::path>;

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

// True if the data has the size that its type needs, as far as that is known here: what is broken stays as it is.
bool HasRightSize(const ir::TensorProto& tensor, uint64_t bytes) {
  Result<TensorFacts> facts = FactsOf(tensor, "");
  return facts && facts->type != ElementType::kString && facts->bytes == bytes;
}
bool HasRightSize(const ir::StructProto&, uint64_t) { return true; }

// Everything that a model's values name as location, relative to its folder.
Locations LocationsOf(ir::ModelProto* model) {
  Locations locations;
  auto note = [&](const ExternalEntries& entries) {
    for (const ir::StringStringEntryProto& entry : entries) {
      if (entry.key() == "location") locations.insert(fs::path(entry.value()).lexically_normal());
    }
  };
  VisitData(model, {[&](ir::TensorProto* tensor, DataPlace) { note(tensor->external_data()); },
                    [&](ir::StructProto* value, DataPlace) { note(value->external_data()); }});
  return locations;
}

// nullopt if the file cannot be read.
std::optional<Locations> LocationsOfFile(const fs::path& path) {
  Result<Model> model = Model::Load(path);
  if (!model) return std::nullopt;
  return LocationsOf(&model->mutable_proto());
}

Result<std::string> Skeleton(const ir::ModelProto& model) {
  // Asked first, as protobuf prints a line where it does not fit.
  if (model.ByteSizeLong() > INT32_MAX) {
    return Fail(ErrorCode::kWireSize, "", "the model is over 2 GiB without its tensors' raw data",
                "raw_data or external data instead of float_data and its like");
  }
  std::string skeleton;
  google::protobuf::LogSilencer silencer;  // strings that are not UTF-8 are kept, not commented on
  if (!model.SerializePartialToString(&skeleton)) return Fail(ErrorCode::kWireSize, "", "protobuf cannot serialize it");
  return skeleton;
}

}  // namespace

class ModelSaver {
 public:
  ModelSaver(const Model& model, const fs::path& path, const SaveOptions& options)
      : model_(model),
        state_(*model.state_),
        path_(path),
        folder_(path.has_parent_path() ? path.parent_path() : fs::path(".")),
        name_(path.filename().string()),
        options_(options),
        out_(model.proto()),
        cuts_(model.state_->cuts) {}

  Result<SaveReport> Run() {
    TESSERA_TRY(CheckTarget());
    TESSERA_TRY(PlaceData());
    std::optional<StagedData> data;
    if (!moved_.empty()) {
      TESSERA_ASSIGN(data, StageData(layout_, folder_, name_));
      report_.data_file = data->name;
      report_.data_bytes = layout_.bytes();
      report_.data_reused = !data->writer;
      for (const Moved& moved : moved_) {
        DataSegment segment{data->name, moved.offset, moved.bytes};
        if (moved.tensor != nullptr)
          PointTo(segment, moved.tensor);
        else
          PointTo(segment, moved.value);
      }
    }
    TESSERA_ASSIGN(FileWriter model, StageModel());
    std::error_code ignored;
    const bool replaces = fs::exists(path_, ignored);
    const std::optional<Locations> replaced = replaces ? LocationsOfFile(path_) : std::nullopt;
    TESSERA_TRY(Commit(&model, data ? &*data : nullptr));
    if (replaced) RemoveUnusedData(*replaced);
    return std::move(report_);
  }

 private:
  struct Moved {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    ir::TensorProto* tensor = nullptr;  // one of the two
    ir::StructProto* value = nullptr;
  };

  // What is sure to fail is said before work starts.
  Result<void> CheckTarget() {
    std::error_code error;
    if (name_.empty() || name_ == "." || name_ == "..") {
      return Fail(ErrorCode::kFileWrite, path_.string(), "is not the name of a file", "a file name");
    }
    real_folder_ = fs::canonical(folder_, error);
    if (error || !fs::is_directory(real_folder_, error)) {
      return Fail(ErrorCode::kFileWrite, path_.string(), "there is no folder " + Quoted(folder_.string()),
                  "a folder that exists");
    }
    if (fs::exists(path_, error) && !fs::is_regular_file(path_, error)) {
      return Fail(ErrorCode::kFileWrite, path_.string(), "stands there and is not a regular file", "another name");
    }
    return {};
  }

  // ---- Where data goes

  Result<void> PlaceData() {
    const bool to_data_file =
        options_.data == SaveOptions::Data::kExternal ||
        (options_.data == SaveOptions::Data::kKeep && BytesWithInlineData() > options_.model_bytes);
    Result<void> result;
    auto place = [&](auto* value, DataPlace where) {
      if (!result) return;
      if (HasExternal(*value))
        result = PlaceExternal(value, where);
      else if (to_data_file && where == DataPlace::kInitializer)
        result = PlaceInline(value);
    };
    VisitData(&out_, {[&](ir::TensorProto* tensor, DataPlace where) { place(tensor, where); },
                      [&](ir::StructProto* value, DataPlace where) { place(value, where); }});
    return result;
  }

  // The size of the model file if nothing moved, without the few bytes by which its lengths get longer.
  uint64_t BytesWithInlineData() {
    uint64_t bytes = out_.ByteSizeLong();
    auto add = [&](const auto* value) {
      uint64_t data = model_.RawData(*value).size();
      if (data > value->raw_data().size()) bytes += data - value->raw_data().size();
    };
    VisitData(&out_, {[&](ir::TensorProto* tensor, DataPlace) { add(tensor); },
                      [&](ir::StructProto* value, DataPlace) { add(value); }});
    return bytes;
  }

  template <typename Proto>
  Result<void> PlaceInline(Proto* value) {
    std::span<const uint8_t> data = model_.RawData(*value);
    const bool is_placeholder = Placeholder::Parse(value->raw_data()).has_value();
    const bool unresolved = is_placeholder && data.data() == reinterpret_cast<const uint8_t*>(value->raw_data().data());
    if (!value->has_raw_data() || data.size() < options_.external_bytes || unresolved) return {};
    if (!HasRightSize(*value, data.size())) return {};
    return Move(value, Payload{data});
  }

  template <typename Proto>
  Result<void> PlaceExternal(Proto* value, DataPlace place) {
    const std::string where = NameOf(*value);
    if (options_.data != SaveOptions::Data::kInline) {
      bool stays = true;
      std::vector<std::pair<ir::StringStringEntryProto*, std::string>> renamed;
      for (ir::StringStringEntryProto& entry : *value->mutable_external_data()) {
        if (entry.key() != "location") continue;
        TESSERA_ASSIGN(std::optional<std::string> location, LocationAfter(entry.value(), where));
        if (!location)
          stays = false;
        else if (*location != entry.value())
          renamed.emplace_back(&entry, *location);
        if (location && place == DataPlace::kInitializer && options_.data == SaveOptions::Data::kExternal &&
            IsOwnDataName(fs::path(*location).lexically_normal().string(), name_)) {
          stays = false;
        }
      }
      if (stays) {
        for (auto& [entry, location] : renamed) entry->set_value(location);
        return {};
      }
    }
    TESSERA_ASSIGN(Payload payload, PayloadOf(*value));
    if (options_.data != SaveOptions::Data::kInline) return Move(value, payload);
    MakeInline(payload, value);
    return {};
  }

  // How the saved model names the file of a location, nullopt if it has to be copied.
  // Errors: of a location that no reader would follow.
  Result<std::optional<std::string>> LocationAfter(const std::string& location, const std::string& where) {
    std::error_code error;
    std::shared_ptr<const MappedFile> mapped = state_.Mapped(location);
    Result<fs::path> real = state_.folder.Resolve(location, where);
    if (!real) {
      if (real.error().code != ErrorCode::kExternalMissing) return tl::unexpected<Error>(real.error());
      // Data that was missing may stay missing: a graph can be edited without its weights.
      bool stays = mapped == nullptr && state_.folder.real_path() == real_folder_;
      return stays ? std::optional<std::string>(location) : std::nullopt;
    }
    if (mapped != nullptr) {
      // What was read stays valid when its name has gone to another file since.
      Result<std::shared_ptr<const MappedFile>> now = MappedFile::Open(*real);
      if (!now || (*now)->id() != mapped->id()) return std::nullopt;
    }
    if (!IsBelow(*real, real_folder_)) return std::nullopt;
    if (fs::canonical(real_folder_ / location, error) == *real && !error) return location;
    return real->lexically_relative(real_folder_).string();
  }

  Result<Payload> PayloadOf(const ir::TensorProto& tensor) {
    TESSERA_ASSIGN(std::span<const uint8_t> bytes, model_.Bytes(tensor, NameOf(tensor)));
    return Payload{bytes};
  }
  Result<Payload> PayloadOf(const ir::StructProto& value) { return model_.Bytes(value, NameOf(value)); }

  template <typename Proto>
  Result<void> Move(Proto* value, const Payload& payload) {
    Moved moved;
    for (std::span<const uint8_t> segment : payload) moved.bytes += segment.size();
    TESSERA_ASSIGN(moved.offset, layout_.Add(payload));
    if constexpr (std::is_same_v<Proto, ir::TensorProto>)
      moved.tensor = value;
    else
      moved.value = value;
    moved_.push_back(moved);
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
    value->set_raw_data(Placeholder{state_.id, cuts_.size() - 1}.Bytes());
  }

  // ---- Files

  // The model file, complete on the disk under a temporary name.
  Result<FileWriter> StageModel() {
    TESSERA_ASSIGN(std::string skeleton, Skeleton(out_));
    TESSERA_ASSIGN(std::vector<WireChunk> chunks,
                   Splice(skeleton, ir::ModelProto::descriptor(), cuts_, state_.Cuts(0)));
    TESSERA_ASSIGN(FileWriter writer, FileWriter::Create(path_));
    for (const WireChunk& chunk : chunks) {
      TESSERA_TRY(writer.Write({reinterpret_cast<const uint8_t*>(chunk.owned.data()), chunk.owned.size()}));
      TESSERA_TRY(writer.Write(chunk.data));
    }
    report_.model_bytes = writer.bytes_written();
    TESSERA_TRY(writer.Sync());
    return writer;
  }

  Result<void> Commit(FileWriter* model, StagedData* data) {
    const bool publishes = data != nullptr && data->writer.has_value();
    if (publishes) TESSERA_TRY(data->writer->Commit(folder_ / data->name, false));
    Result<void> done = publishes ? SyncFolder(folder_) : Result<void>();
    if (done) done = model->Commit(path_, true);
    if (!done) {
      if (publishes) (void)RemoveFile(folder_ / data->name);
      return done;
    }
    return SyncFolder(folder_);
  }

  // Removes the data files of this model's own names that the replaced model used and that neither the new model nor
  // any other in the folder uses. The model is saved: what cannot be removed stays.
  void RemoveUnusedData(const Locations& replaced) {
    const Locations used = LocationsOf(&out_);
    std::set<std::string> candidates;
    for (const fs::path& location : replaced) {
      if (IsOwnDataName(location.string(), name_) && !used.contains(location)) candidates.insert(location.string());
    }
    if (candidates.empty()) return;
    std::error_code error;
    fs::directory_iterator entry(folder_, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      if (entry->path().extension() != ".onnx" || entry->path().filename() == name_) continue;
      std::optional<Locations> locations = LocationsOfFile(entry->path());
      if (!locations) return;  // a model that cannot be read may use any of them
      for (const fs::path& location : *locations) EraseSameFile(location, &candidates);
    }
    if (error) return;
    for (const fs::path& location : used) EraseSameFile(location, &candidates);
    for (const std::string& name : candidates) {
      if (fs::exists(fs::symlink_status(folder_ / name, error)) && RemoveFile(folder_ / name)) {
        report_.removed.push_back(name);
      }
    }
  }

  // A location may lead to a file through a link or another spelling.
  void EraseSameFile(const fs::path& location, std::set<std::string>* names) const {
    std::error_code ignored;
    std::erase_if(*names, [&](const std::string& name) {
      return location == name || fs::equivalent(folder_ / location, folder_ / name, ignored);
    });
  }

  const Model& model_;
  Model::State& state_;
  const fs::path path_;
  const fs::path folder_;
  const std::string name_;
  const SaveOptions& options_;
  fs::path real_folder_;
  ir::ModelProto out_;
  std::vector<std::span<const uint8_t>> cuts_;
  std::deque<std::vector<uint8_t>> joined_;
  DataLayout layout_;
  std::vector<Moved> moved_;
  SaveReport report_;
};

Result<SaveReport> Model::Save(const fs::path& path, const SaveOptions& options) const {
  Result<SaveReport> report = ModelSaver(*this, path, options).Run();
  if (!report && report.error().where.empty()) report.error().where = path.string();
  return report;
}

Result<std::string> Model::SerializeToString() const {
  TESSERA_ASSIGN(std::string skeleton, Skeleton(state_->proto));
  TESSERA_ASSIGN(std::vector<WireChunk> chunks,
                 Splice(skeleton, ir::ModelProto::descriptor(), state_->cuts, state_->Cuts(0)));
  std::string bytes;
  for (const WireChunk& chunk : chunks) {
    bytes += chunk.owned;
    bytes.append(reinterpret_cast<const char*>(chunk.data.data()), chunk.data.size());
  }
  return bytes;
}

}  // namespace tessera
