// The function graph of a decoder or encoder: FunctionProto without protobuf, holding exactly what the contract of
// structured views allows (no graph attributes, no references to function attributes). An optional string is absent or
// present as in the message, so that a message goes through these types unchanged.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tessera/types/constant.h"
#include "tessera/types/element_type.h"

namespace tessera {

struct Attribute {
  using Value = std::variant<int64_t, float, std::string, Constant, std::vector<int64_t>, std::vector<float>,
                             std::vector<std::string>, std::vector<Constant>>;
  std::string name;
  Value value;
  std::optional<std::string> doc_string;

  // Floats are equal if their bits are: a NaN equals itself, and 0 is not -0.
  bool operator==(const Attribute& other) const {
    if (name != other.name || doc_string != other.doc_string || value.index() != other.value.index()) return false;
    auto same = [](float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); };
    if (const auto* a = std::get_if<float>(&value)) return same(*a, std::get<float>(other.value));
    if (const auto* a = std::get_if<std::vector<float>>(&value)) {
      const auto& b = std::get<std::vector<float>>(other.value);
      return std::equal(a->begin(), a->end(), b.begin(), b.end(), same);
    }
    return value == other.value;
  }
};

struct Node {
  std::vector<std::string> inputs;  // "" is an omitted optional input
  std::vector<std::string> outputs;
  std::string op_type;
  std::vector<Attribute> attributes;
  std::optional<std::string> name;
  std::optional<std::string> domain;  // absent and "" both mean ai.onnx
  std::optional<std::string> overload;
  std::optional<std::string> doc_string;
  std::vector<Metadata> metadata;
  bool operator==(const Node&) const = default;
};

// A dimension of a value's shape: a number, a symbol, or unknown.
using Dimension = std::variant<std::monostate, int64_t, std::string>;

struct ValueInfo {
  std::string name;
  ElementType type = ElementType::kUndefined;
  std::optional<std::vector<Dimension>> shape;  // absent: rank unknown
  std::optional<std::string> doc_string;
  std::vector<Metadata> metadata;
  bool operator==(const ValueInfo&) const = default;
};

struct OpsetImport {
  std::optional<std::string> domain;  // absent and "" both mean ai.onnx
  int64_t version = 0;
  bool operator==(const OpsetImport&) const = default;
};

struct Function {
  std::optional<std::string> name;
  std::optional<std::string> domain;
  std::optional<std::string> overload;
  std::vector<OpsetImport> opset_imports;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<Node> nodes;
  std::vector<ValueInfo> value_infos;
  std::optional<std::string> doc_string;
  std::vector<Metadata> metadata;
  bool operator==(const Function&) const = default;
};

}  // namespace tessera
