// What a Model holds; shared by model.cc (reading) and save.cc (writing).
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "onnx_struct.pb.h"
#include "tessera/base/file.h"
#include "tessera/onnx/external_data.h"
#include "tessera/onnx/model.h"
#include "tessera/onnx/wire.h"

namespace tessera {

struct Model::State {
  ir::ModelProto proto;
  std::filesystem::path path;
  DataFolder folder;
  std::shared_ptr<const MappedFile> file;      // cuts point into it,
  std::vector<uint8_t> bytes;                  // or into this,
  std::deque<std::vector<uint8_t>> owned;      // or into one of these
  std::vector<std::span<const uint8_t>> cuts;  // data of placeholders
  std::vector<Error> conflicts;
  Limits limits;

  const uint64_t id;  // owner of the placeholders; random, so that no file can hold one of ours

  std::mutex mutex;                                                     // guards data_files
  std::map<std::string, std::shared_ptr<const MappedFile>> data_files;  // by location; once mapped, used ever after

  State();
  CutOptions Cuts(uint64_t inline_bytes) const { return {limits.message_depth, inline_bytes, id}; }

  std::span<const uint8_t> Raw(const std::string& raw_data) const;
  std::string Adopt(std::vector<uint8_t> data);
  // The file of a location if it is mapped already, else nullptr.
  std::shared_ptr<const MappedFile> Mapped(const std::string& location);
  Result<std::span<const uint8_t>> Map(const DataSegment& segment, std::string_view where);
};

}  // namespace tessera
