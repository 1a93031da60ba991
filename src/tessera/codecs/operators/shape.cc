// Operators whose result is a shape, or made from numbers alone.
#include <array>
#include <bit>
#include <cmath>

#include "tessera/base/checked.h"
#include "tessera/codecs/operators/elements.h"

namespace tessera {
namespace {

template <typename T>
Result<Tensor> ListOf(const NodeRun& run, ElementType type, std::vector<int64_t> dims, const std::vector<T>& values) {
  TESSERA_ASSIGN(Tensor result, run.New(type, std::move(dims)));
  for (size_t i = 0; i < values.size(); ++i) Number<T>::Store(result.bytes.data(), i, values[i]);
  return result;
}

Result<Tensor> Shape(const NodeRun& run) {
  const Tensor& x = run.Input(0);
  const auto rank = static_cast<int64_t>(x.Rank());
  TESSERA_ASSIGN(int64_t start, run.Int("start", 0));
  TESSERA_ASSIGN(int64_t end, run.Int("end", rank));
  auto clamp = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  start = clamp(start);
  end = std::max(start, clamp(end));
  const std::vector<int64_t> dims(x.dims.begin() + start, x.dims.begin() + end);
  return ListOf(run, ElementType::kInt64, {end - start}, dims);
}

Result<Tensor> Size(const NodeRun& run) {
  return ListOf<int64_t>(run, ElementType::kInt64, {}, {static_cast<int64_t>(run.Input(0).Count())});
}

Result<Tensor> ConstantTensor(const NodeRun& run, const Constant& constant) {
  TESSERA_ASSIGN(Tensor value, TensorOf(constant, "value"));
  TESSERA_ASSIGN(Tensor result, run.New(value.type, value.dims));
  result.bytes = std::move(value.bytes);
  return result;
}

Result<Tensor> ConstantOf(const NodeRun& run) {
  if (const Attribute* value = run.FindAttribute("value")) {
    const auto* constant = std::get_if<Constant>(&value->value);
    if (constant == nullptr) return run.Fail("value is no tensor", "a tensor");
    return ConstantTensor(run, *constant);
  }
  for (const char* name : {"value_float", "value_floats", "value_int", "value_ints"}) {
    const Attribute* attribute = run.FindAttribute(name);
    if (attribute == nullptr) continue;
    if (const auto* one = std::get_if<float>(&attribute->value))
      return ListOf<float>(run, ElementType::kFloat, {}, {*one});
    if (const auto* one = std::get_if<int64_t>(&attribute->value)) {
      return ListOf<int64_t>(run, ElementType::kInt64, {}, {*one});
    }
    if (const auto* list = std::get_if<std::vector<float>>(&attribute->value)) {
      return ListOf(run, ElementType::kFloat, {static_cast<int64_t>(list->size())}, *list);
    }
    if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute->value)) {
      return ListOf(run, ElementType::kInt64, {static_cast<int64_t>(list->size())}, *list);
    }
  }
  return run.Fail("there is no value", "the attribute value");
}

Result<Tensor> ConstantOfShape(const NodeRun& run) {
  TESSERA_ASSIGN(std::vector<int64_t> dims, run.Numbers(0, 1'024, "the shape"));
  const Attribute* attribute = run.FindAttribute("value");
  if (attribute == nullptr) return run.New(ElementType::kFloat, std::move(dims));
  const auto* constant = std::get_if<Constant>(&attribute->value);
  if (constant == nullptr) return run.Fail("value is no tensor", "a tensor of one element");
  TESSERA_ASSIGN(const Tensor value, TensorOf(*constant, "value"));
  if (value.Count() != 1) return run.Fail("value is " + TypeText(value.type, value.dims), "one element");
  TESSERA_ASSIGN(Tensor result, run.New(value.type, std::move(dims)));
  const size_t width = value.bytes.size();
  for (size_t at = 0; at < result.bytes.size(); at += width) {
    std::memcpy(result.bytes.data() + at, value.bytes.data(), width);
  }
  return result;
}

// start, start + delta, ... before limit; the k-th number is start + k * delta.
Result<Tensor> Range(const NodeRun& run) {
  const Tensor* numbers[3];
  for (size_t i = 0; i < 3; ++i) {
    constexpr const char* kNames[] = {"start", "limit", "delta"};
    TESSERA_ASSIGN(numbers[i], run.Single(i, kNames[i]));
  }
  return WithNumber(numbers[0]->type, [&](auto number) -> Result<Tensor> {
    using N = decltype(number);
    using T = typename N::Work;
    const T start = N::Load(numbers[0]->bytes.data(), 0);
    const T limit = N::Load(numbers[1]->bytes.data(), 0);
    const T delta = N::Load(numbers[2]->bytes.data(), 0);
    uint64_t count = 0;
    if constexpr (std::is_floating_point_v<T>) {
      const double steps =
          std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
      if (delta == 0 || std::isnan(steps))
        return run.Fail("there is no number of steps", "finite numbers, and a delta that is not 0");
      if (steps >= 0x1p62) return run.Fail("there are too many steps", "fewer");
      if (steps > 0) count = static_cast<uint64_t>(steps);
    } else {
      if (delta == 0) return run.Fail("delta is 0", "a delta that is not 0");
      const bool up = delta > 0;
      if (up ? limit > start : limit < start) {
        // Differences of 64-bit numbers fit into 64 bits without a sign.
        const auto distance = up ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                 : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
        const auto step =
            up ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(static_cast<int64_t>(delta));
        count = (distance - 1) / step + 1;
      }
    }
    if (count > static_cast<uint64_t>(INT64_MAX)) return run.Fail("there are too many steps", "fewer");
    TESSERA_ASSIGN(Tensor result, run.New(numbers[0]->type, {static_cast<int64_t>(count)}));
    for (uint64_t i = 0; i < count; ++i) {
      if constexpr (std::is_floating_point_v<T>)
        N::Store(result.bytes.data(), i, start + static_cast<T>(i) * delta);
      else
        N::Store(result.bytes.data(), i,
                 static_cast<T>(static_cast<uint64_t>(start) + i * static_cast<uint64_t>(delta)));
    }
    return result;
  });
}

}  // namespace

std::span<const Implementation> ShapeOperators() {
  static constexpr std::array kRows = {
      One<ConstantOf>("Constant"), One<ConstantOfShape>("ConstantOfShape"), One<Range>("Range"), One<Shape>("Shape"),
      One<Size>("Size"),
  };
  return kRows;
}

}  // namespace tessera
