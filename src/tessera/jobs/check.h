// The verb `check` as a function: everything that is wrong with a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/onnx/check_model.h"

namespace tessera {

// A value in a file of its own (a serialized SequenceProto, MapProto, OptionalProto or StructProto, as the graph's type
// says) that stands for an input or output of the model's main graph.
struct ValueFile {
  std::string name;
  std::filesystem::path path;
};

struct CheckReport {
  uint64_t tensors = 0;
  uint64_t struct_values = 0;
  uint64_t struct_types = 0;
  Problems problems;
};

// Errors: a file that cannot be opened or is not an ONNX model. What is wrong inside is in the report.
Result<CheckReport> CheckFile(const std::filesystem::path& path, const CheckOptions& options,
                              const std::vector<ValueFile>& values = {});

}  // namespace tessera
