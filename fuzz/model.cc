// Fuzz target: any bytes as a model file, or as a container of struct values beside a model, go through the wire pass,
// the checker and `inspect`; a model that loads is the same after it was written and read again.
//
// The first byte chooses what the rest is: a model, a SequenceProto, a MapProto, an OptionalProto or a StructProto.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/jobs/inspect.h"
#include "tessera/onnx/check_model.h"
#include "tessera/onnx/convert.h"
#include "tessera/onnx/model.h"
#include "tessera/types/notation.h"

namespace {

using namespace tessera;

LoadOptions Options() {
  LoadOptions options;
  options.inline_bytes = 64;  // so that small inputs have data that is cut
  return options;
}

// A folder with a data file of 4,096 bytes, for external data that exists.
const std::filesystem::path& Folder() {
  static const std::filesystem::path folder = [] {
    std::filesystem::path path = std::filesystem::temp_directory_path() / "tessera-fuzz-model";
    std::filesystem::create_directories(path);
    std::ofstream(path / "data.bin", std::ios::binary) << std::string(4096, '\x5A');
    return path;
  }();
  return folder;
}

// A type that converts without a problem is the same after it was a message again.
void CheckConversion(const ir::ModelProto& model) {
  for (const ir::StructTypeProto& proto : model.struct_types()) {
    Problems problems;
    StructType type = FromProto(proto, Path(), &problems);
    if (!problems.empty()) continue;
    ir::StructTypeProto again;
    ToProto(type, &again);
    if (FromProto(again, Path(), &problems) != type || !problems.empty()) __builtin_trap();
  }
}

void FuzzModel(std::span<const uint8_t> bytes) {
  Result<Model> model = Model::FromBytes({bytes.begin(), bytes.end()}, Folder(), Options());
  if (!model) {
    if (model.error().what.empty()) __builtin_trap();
    return;
  }
  Problems problems;
  CheckModel(*model, {}, &problems);
  for (const Error& problem : problems.list()) {
    if (problem.Format().empty()) __builtin_trap();
  }
  Inspection inspection = Inspect(*model);
  if (InspectionText(inspection).empty() || InspectionJson(inspection).empty()) __builtin_trap();
  (void)TypesText(*model);

  CheckConversion(model->proto());

  Result<std::string> written = model->SerializeToString();
  if (!written) return;
  Result<Model> again = Model::FromBytes({written->begin(), written->end()}, Folder(), Options());
  // What protobuf writes has no unknown groups that are nested deeper than before, so it is read again.
  if (!again || again->SerializeToString() != *written) __builtin_trap();
}

// A model whose inputs are containers of every kind, with two types, one of them without a decoder.
const Model& ModelWithContainers() {
  static const Model model = [] {
    ir::ModelProto proto;
    for (const char* name : {"BYTES", "HALVES"}) {
      ir::StructTypeProto* type = proto.add_struct_types();
      type->set_name(name);
      ir::TypeProto* element = type->mutable_array()->mutable_element_type();
      element->mutable_tensor_type()->set_elem_type(name[0] == 'B' ? 2 : 10);
      element->mutable_tensor_type()->mutable_shape();
      type->mutable_array()->add_dimension(4);
    }
    auto add = [&](const char* name) {
      ir::ValueInfoProto* info = proto.mutable_graph()->add_input();
      info->set_name(name);
      return info->mutable_type();
    };
    add("sequence")->mutable_sequence_type()->mutable_elem_type()->mutable_struct_type();
    add("map")->mutable_map_type()->mutable_value_type()->mutable_struct_type()->set_type_index(1);
    proto.mutable_graph()->mutable_input(1)->mutable_type()->mutable_map_type()->set_key_type(7);
    add("optional")->mutable_optional_type()->mutable_elem_type()->mutable_struct_type();
    add("struct")->mutable_struct_type()->set_type_index(0);
    auto* entry = proto.mutable_graph()->mutable_input(0)->add_metadata_props();
    entry->set_key(std::string(kAllowedTypesKey));
    entry->set_value("BYTES, HALVES");
    return Model(std::move(proto), Folder());
  }();
  return model;
}

template <typename Proto>
void FuzzContainer(std::span<const uint8_t> bytes, std::string_view name) {
  Proto value;
  std::vector<Error> conflicts;
  LoadOptions options;
  options.inline_bytes = UINT64_MAX;
  if (!ParseCut(bytes, options, &value, &conflicts)) return;
  Problems problems;
  CheckValue(ModelWithContainers(), name, value, {}, &problems);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::span<const uint8_t> rest(data + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      FuzzModel(rest);
      break;
    case 1:
      FuzzContainer<ir::SequenceProto>(rest, "sequence");
      break;
    case 2:
      FuzzContainer<ir::MapProto>(rest, "map");
      break;
    case 3:
      FuzzContainer<ir::OptionalProto>(rest, "optional");
      break;
    default:
      FuzzContainer<ir::StructProto>(rest, "struct");
  }
  return 0;
}
