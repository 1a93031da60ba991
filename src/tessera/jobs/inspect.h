// What is in a model file: every tensor and struct value with type, shape, size and place. Reads no weights.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/onnx/model.h"

namespace tessera {

struct InspectedValue {
  std::string name;  // as in the file, may be empty
  std::string path;  // `graph.initializer[3]`
  bool is_struct = false;
  std::string type;                       // element type, or the name of the struct type
  std::vector<int64_t> shape;             // of a struct value: its decoder's output
  bool has_shape = true;                  // false for a struct value whose type has no decoder
  std::optional<uint64_t> bytes;          // stored; nullopt if the file does not say
  std::optional<uint64_t> elements;       // logical
  std::optional<double> bits_per_weight;  // 8 * bytes / elements
  std::vector<DataSegment> segments;      // where the bytes are
  std::string problem;                    // why something above is missing
};

struct Inspection {
  std::string file;
  int64_t ir_version = 0;
  std::string producer;
  std::vector<std::pair<std::string, int64_t>> opsets;
  uint64_t nodes = 0;
  std::vector<InspectedValue> values;
  uint64_t struct_types = 0;
  uint64_t total_bytes = 0;
  uint64_t total_elements = 0;  // of the values whose elements are known
};

Inspection Inspect(const Model& model, const Limits& limits = {});

// A table for people, columns aligned, names made printable.
std::string InspectionText(const Inspection& inspection);
// One JSON object; keys as in the structs above. Text that is not UTF-8 is replaced.
std::string InspectionJson(const Inspection& inspection);

// The model's struct types in the text notation.
// Errors: the first part that the notation cannot hold.
Result<std::string> TypesText(const Model& model);

}  // namespace tessera
