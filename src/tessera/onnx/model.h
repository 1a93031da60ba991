// A model file in memory: the messages, with the weights left where they are. External data and inline raw_data over
// 64 KiB are memory-mapped and never copied; a save splices them back.
//
// A Model owns its messages and keeps the files that it maps open. A file replaced by rename stays readable here; one
// truncated in place by another program does not (SIGBUS), as for every program that maps files.
// Data over 64 KiB and data given to SetRawData stand in the messages as placeholders: read raw_data through RawData
// only, and carry it from one model to another with RawData and SetRawData. A placeholder that was copied into another
// model's messages is found when that one is saved.
// Thread-safety: const members may be called from many threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx_struct.pb.h"
#include "tessera/base/error.h"
#include "tessera/onnx/external_data.h"
#include "tessera/types/limits.h"
#include "tessera/types/struct_view.h"

namespace tessera {

struct LoadOptions {
  Limits limits = {};
  uint64_t inline_bytes = 65'536;  // raw_data over this stays in the mapped file
};

struct SaveOptions {
  enum class Data : uint8_t {
    kKeep,      // as it is; in a data file if the model file would pass `model_bytes`
    kExternal,  // every tensor of `external_bytes` and more goes into `<file>.data`
    kInline,    // everything into the model file
  };
  Data data = Data::kKeep;
  uint64_t model_bytes = uint64_t{1} << 30;  // a model file over this gets a data file
  uint64_t external_bytes = 1024;            // smaller tensors stay inline
};

struct SaveReport {
  uint64_t model_bytes = 0;
  std::string data_file;  // name beside the model; "" if there is none
  uint64_t data_bytes = 0;
  bool data_reused = false;          // the data file stood there already with these bytes
  std::vector<std::string> removed;  // data files that only the replaced model used
};

class ModelSaver;

// Parses a message, leaving long raw_data where it is; returns the data of its placeholders (wire.h), which get the
// given owner. Errors: kWire*.
Result<std::vector<std::span<const uint8_t>>> ParseCut(std::span<const uint8_t> bytes, const LoadOptions& options,
                                                       google::protobuf::Message* message,
                                                       std::vector<Error>* conflicts, uint64_t owner = 0);

class Model {
 public:
  // Errors: kFileOpen, kFileKind, kFileRead, kWire*, kNotAModel. External data is resolved on use, not here.
  static Result<Model> Load(const std::filesystem::path& path, const LoadOptions& options = {});
  // A model from bytes; relative locations are resolved in `folder`. The bytes are kept.
  static Result<Model> FromBytes(std::vector<uint8_t> bytes, const std::filesystem::path& folder,
                                 const LoadOptions& options = {});
  // A new, empty model.
  explicit Model(ir::ModelProto proto = {}, const std::filesystem::path& folder = ".");
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  const ir::ModelProto& proto() const;
  ir::ModelProto& mutable_proto();
  const std::filesystem::path& path() const;    // "" for one that is not from a file
  const std::filesystem::path& folder() const;  // where relative locations start

  // The bytes of `raw_data` wherever they are: in the message or in the mapped file. Empty if there are none.
  std::span<const uint8_t> RawData(const ir::TensorProto& tensor) const;
  std::span<const uint8_t> RawData(const ir::StructProto& value) const;
  // Sets raw_data to bytes that the model takes over, without a copy into the message. It keeps them as long as it
  // lives, also when raw_data is set again.
  void SetRawData(ir::TensorProto* tensor, std::vector<uint8_t> bytes);
  void SetRawData(ir::StructProto* value, std::vector<uint8_t> bytes);

  // Messages that set two members of a oneof, found when the file was read; protobuf kept the last.
  const std::vector<Error>& conflicts() const;

  // Where a value's bytes are: from external_data (locations and numbers are checked, files are not looked at), or one
  // segment with the location "" for raw_data, its offset in the model file if it lies there. One for a tensor.
  // Errors: kExternal*; `where` names the value in them.
  Result<std::vector<DataSegment>> Segments(const ir::TensorProto& tensor, std::string_view where) const;
  Result<std::vector<DataSegment>> Segments(const ir::StructProto& value, std::string_view where) const;

  // The bytes of raw_data or external data, mapped. Empty for a tensor whose data stands in a typed field.
  // Errors: kExternal*, kTensorSize for external data that has not the size of type and dimensions, kFileRead.
  Result<std::span<const uint8_t>> Bytes(const ir::TensorProto& tensor, std::string_view where) const;
  Result<Payload> Bytes(const ir::StructProto& value, std::string_view where) const;

  // Size of a data file that a location names, after the same checks, without mapping it.
  Result<uint64_t> DataFileSize(std::string_view location, std::string_view where) const;

  // Writes the model to `path`, all or nothing: a kill or a full disk at any byte leaves what stood there. The rename
  // of the model file is the single commit point. Same model, same path: same names and bytes. Where data goes:
  // save.cc. Errors: kFileWrite, kWireSize, kForeignData; kExternal* of a value that has to be copied, or has a
  // location that no reader would follow.
  Result<SaveReport> Save(const std::filesystem::path& path, const SaveOptions& options = {}) const;
  // The whole model in one string; external data stays external. Errors: kWireSize, kForeignData.
  Result<std::string> SerializeToString() const;

 private:
  friend class ModelSaver;
  Result<void> Parse(std::span<const uint8_t> bytes, const LoadOptions& options);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera
