// The value that operators take and give: an element type, dimensions, and elements one to a slot. A slot has
// UnpackedBytes(type) bytes: elements of less than a byte have one each, with the code in the low bits and zeros above,
// and a BOOL is 0 or 1. Row-major, little-endian.
//
// A tensor owns its bytes. Values; share them between threads as you share a std::vector.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/types/constant.h"
#include "tessera/types/element_type.h"
#include "tessera/types/struct_view.h"

namespace tessera {

struct Tensor {
  ElementType type = ElementType::kUndefined;
  std::vector<int64_t> dims;   // empty for a scalar
  std::vector<uint8_t> bytes;  // Count() * UnpackedBytes(type)

  // REQUIRES for all: `bytes` has the size that type and dims need.
  uint64_t Count() const { return type == ElementType::kUndefined ? 0 : bytes.size() / UnpackedBytes(type); }
  size_t Rank() const { return dims.size(); }
  // The code of an element of at most 64 bits (types/element_value.h).
  uint64_t Code(uint64_t index) const {
    uint64_t code = 0;
    const uint32_t width = UnpackedBytes(type);
    std::memcpy(&code, bytes.data() + index * width, width < 8 ? width : 8);
    return code;
  }
  // An element of an integer type or BOOL; of UINT64 the bits of the value.
  int64_t Integer(uint64_t index) const;

  bool operator==(const Tensor&) const = default;  // NaN equal to itself, 0 not to -0
};

// Elements of a constant, a leaf. `where` is the place for errors.
// Errors: kConstantDims, kConstantData for a constant that does not hold what its type and dims say.
Result<Tensor> TensorOf(const Constant& constant, std::string_view where);
// Errors: kConstantDims for a dimension beyond 2^63 - 1, which only a leaf without elements can have.
Result<Tensor> TensorOf(const LeafView& leaf);
Constant ConstantOf(const Tensor& tensor);

// The number of elements of these dimensions; nullopt if one is negative, or the number passes 2^63 - 1.
std::optional<uint64_t> ElementsOf(const std::vector<int64_t>& dims);

// `FLOAT[2, 3]`, for messages.
std::string TypeText(ElementType type, const std::vector<int64_t>& dims);

}  // namespace tessera
