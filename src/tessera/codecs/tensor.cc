#include "tessera/codecs/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "tessera/base/checked.h"
#include "tessera/types/element_value.h"
#include "tessera/types/unpack.h"

namespace tessera {
namespace {

constexpr uint64_t kMaxDim = std::numeric_limits<int64_t>::max();

// Codes above a byte's low bits are cut, and a BOOL becomes 0 or 1.
void Normalize(Tensor* tensor) {
  if (tensor->type == ElementType::kBool) {
    for (uint8_t& value : tensor->bytes) value = value != 0;
  } else if (const uint32_t bits = BitWidth(tensor->type); bits < 8) {
    for (uint8_t& code : tensor->bytes) code &= static_cast<uint8_t>((1u << bits) - 1);
  }
}

}  // namespace

int64_t Tensor::Integer(uint64_t index) const { return DecodeInteger(type, Code(index)); }

std::optional<uint64_t> ElementsOf(const std::vector<int64_t>& dims) {
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; })) return std::nullopt;
  std::optional<uint64_t> count = CheckedProduct(dims);
  if (count && *count > kMaxDim) return std::nullopt;
  return count;
}

std::string TypeText(ElementType type, const std::vector<int64_t>& dims) {
  return fmt::format("{}[{}]", Name(type), fmt::join(dims, ", "));
}

Result<Tensor> TensorOf(const Constant& constant, std::string_view where) {
  if (!IsFixedWidth(constant.type)) {
    return Fail(ErrorCode::kConstantData, std::string(where), fmt::format("holds {}", Name(constant.type)),
                "elements of fixed width");
  }
  const std::optional<uint64_t> count = ElementsOf(constant.dims);
  if (!count) {
    return Fail(ErrorCode::kConstantDims, std::string(where),
                fmt::format("has the dimensions [{}]", fmt::join(constant.dims, ", ")),
                "no negative dimension, and fewer than 2^63 elements");
  }
  if (PackedBytes(constant.type, *count) != constant.bytes.size()) {
    return Fail(ErrorCode::kConstantData, std::string(where),
                fmt::format("has {} bytes of data", constant.bytes.size()),
                fmt::format("what {} needs", TypeText(constant.type, constant.dims)));
  }
  Tensor tensor{.type = constant.type, .dims = constant.dims, .bytes = {}};
  if (const uint32_t bits = BitWidth(constant.type); bits % 8 == 0) {
    tensor.bytes = constant.bytes;
  } else {
    tensor.bytes.resize(*count);
    BitUnpacker(bits, bits, 1, false).Run(constant.bytes, 0, *count, tensor.bytes.data());
  }
  Normalize(&tensor);
  return tensor;
}

Result<Tensor> TensorOf(const LeafView& leaf) {
  Tensor tensor;
  tensor.type = leaf.leaf().type;
  for (uint64_t dim : leaf.leaf().dims) {
    if (dim > kMaxDim) {
      return Fail(ErrorCode::kConstantDims, leaf.leaf().path, fmt::format("has a dimension of {}", dim),
                  "at most 2^63 - 1");
    }
    tensor.dims.push_back(static_cast<int64_t>(dim));
  }
  tensor.bytes.resize(leaf.count() * UnpackedBytes(tensor.type));
  TESSERA_TRY(leaf.Unpack(0, leaf.count(), tensor.bytes));
  Normalize(&tensor);
  return tensor;
}

Constant ConstantOf(const Tensor& tensor) {
  Constant constant;
  constant.type = tensor.type;
  constant.dims = tensor.dims;
  if (const uint32_t bits = BitWidth(tensor.type); bits % 8 == 0) {
    constant.bytes = tensor.bytes;
  } else {
    constant.bytes.resize(CeilDiv(tensor.bytes.size() * bits, 8));
    PackBits(tensor.bytes, bits, constant.bytes.data());
  }
  return constant;
}

}  // namespace tessera
