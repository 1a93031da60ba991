// The checker of physical types. TypeTable takes the declarations of a model (ModelProto.struct_types) and reports
// everything that is wrong with them; what it hands out as CheckedType is right, and nothing behind it checks again.
//
// Owns its declarations; CheckedTypes are shared and immutable, so any number of threads may use them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/types/limits.h"
#include "tessera/types/struct_type.h"

namespace tessera {

// One leaf of a type: where its elements lie in the payload. Element (i0, i1, ...) starts at bit
//   bit_offset + i0 * bit_strides[0] + i1 * bit_strides[1] + ...
// and is `bits` wide. A constant has no place in the payload; its elements are in `constant`.
struct Leaf {
  std::string path;        // "blocks.scale"; "values" for a root array of scalars
  std::string input_name;  // the decoder's name for it: characters outside [A-Za-z0-9_] replaced by _
  // The element type, or for a component of a bit packing the narrowest of UINT8, UINT16, UINT32 and UINT64 that
  // holds `bits`.
  ElementType type = ElementType::kUndefined;
  bool component = false;  // of a bit packing: `bits` may be less than the type's width
  uint32_t bits = 0;       // of one element in the payload
  uint64_t bit_offset = 0;
  std::vector<uint64_t> dims;
  std::vector<uint64_t> bit_strides;
  const Constant* constant = nullptr;  // owned by the CheckedType's declaration

  uint64_t Count() const;  // product of dims; of the constant's dims for a constant
  // Bits from the start of the payload to the end of its last element; bit_offset if it has none.
  uint64_t EndBit() const;
};

// A declaration that passed the checker.
struct CheckedType {
  StructType declaration;
  uint64_t size_bits = 0;  // whole bytes, except for a declaration that can only be a part of others
  std::vector<Leaf> leaves;
  // The nested declarations that `leaves` take constants from; kept alive here.
  std::shared_ptr<const std::vector<StructType>> table;

  const Leaf* FindLeaf(std::string_view path) const;  // nullptr if there is none
};

class TypeTable {
 public:
  struct Summary;  // sizes of a declaration; private to type_table.cc

  // Checks `types` as ModelProto.struct_types. Problems have paths such as `struct_types[3].structure.field[1]`.
  // A table is always returned; Get() gives nothing for declarations that have a problem or refer to one that has.
  // A declaration that others refer to may end inside a byte; every other one is whole bytes.
  // `refused` (empty, or one a type) marks declarations in which something else is wrong already.
  static TypeTable Build(std::vector<StructType> types, const Limits& limits, Problems* problems,
                         const std::vector<bool>& refused = {});

  size_t size() const { return types_->size(); }
  const StructType& declaration(size_t index) const { return (*types_)[index]; }
  std::span<const StructType> declarations() const { return *types_; }
  // The index of the declaration of that name, -1 if there is none.
  int32_t Find(std::string_view name) const;

  // The checked declaration; nullptr if it is out of range or was found wrong. Leaves are expanded on first use.
  // Thread-compatible: call it from one thread at a time.
  std::shared_ptr<const CheckedType> Get(int64_t index) const;

  // Checks a declaration that stands inline in a value (StructProto.struct_type), whose references point into this
  // table; `path` is its place. nullptr when something was reported.
  std::shared_ptr<const CheckedType> CheckInline(StructType type, const Path& path, Problems* problems) const;

 private:
  class Checker;
  std::shared_ptr<const CheckedType> Expand(StructType type, uint64_t size_bits) const;

  std::shared_ptr<const std::vector<StructType>> types_;
  std::shared_ptr<const std::vector<Summary>> summaries_;  // parallel to *types_
  mutable std::vector<std::shared_ptr<const CheckedType>> checked_;
  Limits limits_;
  mutable uint64_t leaves_left_ = 0;
};

}  // namespace tessera
