// A schema for bytes: StructTypeProto without protobuf. These are plain values, not yet checked; TypeTable
// (type_table.h) turns a list of them into checked types with sizes and leaves.
//
// Sizes are in bits. Bit 0 is the least significant bit of byte 0, multi-byte values are little-endian, and nothing is
// padded unless a field says so. The rules are those of docs/structured-views.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tessera/base/box.h"
#include "tessera/types/constant.h"
#include "tessera/types/element_type.h"
#include "tessera/types/function.h"

namespace tessera {

struct PhysicalType;

// A scalar leaf: TypeProto.tensor_type with an element type and an empty shape.
struct ScalarType {
  ElementType type = ElementType::kUndefined;
  bool operator==(const ScalarType&) const = default;
};

struct ArrayType {
  Box<PhysicalType> element;
  std::vector<uint64_t> dims;  // row-major; at least one, each may be 0
  bool operator==(const ArrayType&) const = default;
};

struct BitPackingType {
  struct Component {
    std::string name;
    uint32_t bits = 0;  // 1..64
    bool operator==(const Component&) const = default;
  };
  std::vector<Component> components;  // from the most to the least significant bits of one element
  std::vector<uint64_t> dims;         // as in ArrayType
  bool operator==(const BitPackingType&) const = default;
};

struct Field;
struct StructureType {
  std::vector<Field> fields;
  bool operator==(const StructureType&) const;
};

// An exact reference to ModelProto.struct_types[index].
struct TypeReference {
  int32_t index = 0;
  bool operator==(const TypeReference&) const = default;
};

// The monostate stands for "no kind is set", which the checker rejects. A structure occurs only as the root of a
// declaration; inside another type it is always a reference.
struct PhysicalType {
  using Kind = std::variant<std::monostate, ScalarType, ArrayType, BitPackingType, StructureType, TypeReference>;
  Kind kind;
  bool operator==(const PhysicalType&) const = default;
};

struct Field {
  std::string name;
  // A serialized part, or a constant that takes no payload bytes. The monostate is rejected by the checker.
  std::variant<std::monostate, PhysicalType, Constant> content;
  std::optional<std::string> doc_string;
  bool operator==(const Field&) const = default;
};

// One concrete declaration: a root of kind array, structure or bit packing.
struct StructType {
  PhysicalType root;
  std::optional<Function> decoder;  // leaves -> one ONNX value
  std::optional<Function> encoder;  // value -> canonical bytes, UINT8[size]
  std::optional<std::string> name;
  std::optional<std::string> doc_string;
  std::vector<Metadata> metadata;
  bool operator==(const StructType&) const = default;

  const std::string& Name() const;  // "" when absent
};

}  // namespace tessera
