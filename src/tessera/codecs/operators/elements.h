// Elements of tensors as C++ numbers, and shapes that broadcast: what the operators are written in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "tessera/codecs/node_run.h"
#include "tessera/codecs/tensor.h"
#include "tessera/types/element_value.h"

namespace tessera {

// How elements of a type are read and written as numbers to compute with. `kUndefined` for the types that C++ has.
template <typename T, ElementType kSmall = ElementType::kUndefined>
struct Number {
  using Work = T;
  static T Load(const uint8_t* bytes, uint64_t index) {
    T value;
    std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
    return value;
  }
  static void Store(uint8_t* bytes, uint64_t index, T value) {
    std::memcpy(bytes + index * sizeof(T), &value, sizeof(T));
  }
};

// Floats of 16 bits: every operation is done in float and rounded once.
template <ElementType kSmall>
struct Number<float, kSmall> {
  using Work = float;
  static float Load(const uint8_t* bytes, uint64_t index) {
    uint16_t code;
    std::memcpy(&code, bytes + index * 2, 2);
    return DecodeToFloat(kSmall, code);
  }
  static void Store(uint8_t* bytes, uint64_t index, float value) {
    const auto code = static_cast<uint16_t>(EncodeFloat(kSmall, value, Overflow::kOverflow));
    std::memcpy(bytes + index * 2, &code, 2);
  }
};
template <>
struct Number<float, ElementType::kUndefined> {
  using Work = float;
  static float Load(const uint8_t* bytes, uint64_t index) {
    float value;
    std::memcpy(&value, bytes + index * 4, 4);
    return value;
  }
  static void Store(uint8_t* bytes, uint64_t index, float value) { std::memcpy(bytes + index * 4, &value, 4); }
};

// Calls f(Number<...>()) for a type with arithmetic: integers of 8 bits and more, BOOL as uint8_t, floats of 16 bits
// and more. REQUIRES: one of them, as the checker sees to.
template <typename F>
auto WithNumber(ElementType type, F f) {
  switch (type) {
    case ElementType::kInt8:
      return f(Number<int8_t>());
    case ElementType::kInt16:
      return f(Number<int16_t>());
    case ElementType::kInt32:
      return f(Number<int32_t>());
    case ElementType::kInt64:
      return f(Number<int64_t>());
    case ElementType::kUint16:
      return f(Number<uint16_t>());
    case ElementType::kUint32:
      return f(Number<uint32_t>());
    case ElementType::kUint64:
      return f(Number<uint64_t>());
    case ElementType::kFloat16:
      return f(Number<float, ElementType::kFloat16>());
    case ElementType::kBfloat16:
      return f(Number<float, ElementType::kBfloat16>());
    case ElementType::kFloat:
      return f(Number<float>());
    case ElementType::kDouble:
      return f(Number<double>());
    default:  // UINT8 and BOOL
      return f(Number<uint8_t>());
  }
}

// The shape that inputs broadcast to, and where their elements are in it.
class Broadcast {
 public:
  // Errors: kEvaluate where shapes do not go together.
  static Result<Broadcast> Of(const NodeRun& run, const std::vector<const Tensor*>& inputs);

  const std::vector<int64_t>& dims() const { return dims_; }

  // Calls f(index, positions) for each element of the result; positions[k] is that of the k-th input's element.
  template <typename F>
  void ForEach(F f) const {
    uint64_t total = 1;
    for (int64_t dim : dims_) total *= static_cast<uint64_t>(dim);
    if (total == 0) return;
    const size_t rank = dims_.size();
    std::vector<uint64_t> at(strides_.size(), 0);
    std::vector<int64_t> counter(rank, 0);
    const int64_t inner = rank == 0 ? 1 : dims_[rank - 1];
    for (uint64_t index = 0; index < total;) {
      std::vector<uint64_t>& positions = at;
      for (int64_t i = 0; i < inner; ++i, ++index) {
        f(index, positions.data());
        if (rank > 0) {
          for (size_t k = 0; k < strides_.size(); ++k) positions[k] += strides_[k][rank - 1];
        }
      }
      if (rank == 0) return;
      for (size_t k = 0; k < strides_.size(); ++k) at[k] -= strides_[k][rank - 1] * static_cast<uint64_t>(inner);
      for (size_t axis = rank - 1; axis-- > 0;) {
        for (size_t k = 0; k < strides_.size(); ++k) at[k] += strides_[k][axis];
        if (++counter[axis] < dims_[axis]) break;
        for (size_t k = 0; k < strides_.size(); ++k) at[k] -= strides_[k][axis] * static_cast<uint64_t>(dims_[axis]);
        counter[axis] = 0;
      }
    }
  }

 private:
  std::vector<int64_t> dims_;
  std::vector<std::vector<uint64_t>> strides_;  // of each input, in elements; 0 where it is repeated
};

// The product of dims[from, to).
inline int64_t Product(const std::vector<int64_t>& dims, size_t from, size_t to) {
  int64_t product = 1;
  for (size_t i = from; i < to; ++i) product *= dims[i];
  return product;
}

}  // namespace tessera
