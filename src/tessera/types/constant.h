// A small tensor held by value: a constant field of a structure, or a tensor attribute in a decoder. Its data is in
// the canonical bytes of TensorProto.raw_data: little-endian, row-major, sub-byte elements packed from the least
// significant bit, unused bits of the last byte zero.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/types/element_type.h"

namespace tessera {

struct Metadata {
  std::string key;
  std::string value;
  bool operator==(const Metadata&) const = default;
};

struct Constant {
  // Which member of TensorProto holds the data. It changes no value, only the message that is written.
  enum class Storage : uint8_t { kRaw, kTyped };

  ElementType type = ElementType::kUndefined;
  std::vector<int64_t> dims;  // empty for a scalar
  std::vector<uint8_t> bytes;
  Storage storage = Storage::kRaw;
  std::optional<std::string> name;
  std::optional<std::string> doc_string;
  std::vector<Metadata> metadata;

  bool operator==(const Constant&) const = default;
};

}  // namespace tessera
