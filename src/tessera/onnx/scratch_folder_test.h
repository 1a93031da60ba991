// For tests: a folder that goes away with the test, and files in it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/onnx/model.h"

namespace tessera {

class ScratchFolderTest : public testing::Test {
 protected:
  ScratchFolderTest() {
    std::string name = testing::TempDir() + "tessera_onnx_XXXXXX";
    folder_ = std::filesystem::canonical(mkdtemp(name.data()));
  }
  ~ScratchFolderTest() override { std::filesystem::remove_all(folder_); }

  static void Put(const std::filesystem::path& path, std::string_view bytes) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static std::string Get(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Names and contents of all files below the folder.
  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file()) files[entry.path().lexically_relative(folder_).string()] = Get(entry.path());
    }
    return files;
  }

  static std::vector<uint8_t> Pattern(size_t bytes, uint32_t seed) {
    std::vector<uint8_t> out(bytes);
    for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<uint8_t>((seed + i) * 2654435761u >> 24);
    return out;
  }
  // A model with UINT8 initializers of the given sizes, named w0, w1, ...
  static Model MakeModel(const std::vector<size_t>& sizes, uint32_t seed, const std::filesystem::path& folder = ".") {
    ir::ModelProto proto;
    proto.set_ir_version(14);
    proto.mutable_graph()->set_name("g" + std::to_string(seed));
    Model model(proto, folder);
    for (size_t i = 0; i < sizes.size(); ++i) {
      ir::TensorProto* tensor = model.mutable_proto().mutable_graph()->add_initializer();
      tensor->set_name("w" + std::to_string(i));
      tensor->set_data_type(ir::TensorProto::UINT8);
      tensor->add_dims(static_cast<int64_t>(sizes[i]));
      model.SetRawData(tensor, Pattern(sizes[i], seed + static_cast<uint32_t>(i)));
    }
    return model;
  }
  // A tensor of 4 bytes in a data file.
  static void AddExternal(ir::ModelProto* model, std::string_view location, std::string_view offset = "0",
                          std::string_view length = "4", std::string_view name = "w") {
    ir::TensorProto* tensor = model->mutable_graph()->add_initializer();
    tensor->set_name(std::string(name));
    tensor->set_data_type(ir::TensorProto::UINT8);
    tensor->add_dims(4);
    tensor->set_data_location(ir::TensorProto::EXTERNAL);
    AddEntry(tensor, "location", location);
    AddEntry(tensor, "offset", offset);
    AddEntry(tensor, "length", length);
  }
  template <typename Proto>
  static void AddEntry(Proto* value, std::string_view key, std::string_view text) {
    ir::StringStringEntryProto* entry = value->add_external_data();
    entry->set_key(std::string(key));
    entry->set_value(std::string(text));
  }
  static std::string Text(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

  std::filesystem::path folder_;
};

}  // namespace tessera
