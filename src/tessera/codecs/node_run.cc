#include "tessera/codecs/node_run.h"

#include <algorithm>
#include <array>
#include <map>

#include "tessera/base/checked.h"

namespace tessera {

Result<Tensor> NodeRun::New(ElementType type, Dims dims) const {
  const EvaluatorOptions& limits = budget_->options;
  auto refuse = [&](std::string what, std::string fix) {
    return tessera::Fail(ErrorCode::kEvaluateLimit, where_, std::move(what), std::move(fix));
  };
  if (dims.size() > limits.max_rank) {
    return refuse(fmt::format("the result has {} dimensions", dims.size()), fmt::format("at most {}", limits.max_rank));
  }
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; })) {
    return Fail("the result would have the shape " + TypeText(type, dims), "dimensions of 0 and more");
  }
  const std::optional<uint64_t> count = ElementsOf(dims);
  if (!count || *count > limits.max_elements) {
    return refuse("the result would be " + TypeText(type, dims),
                  fmt::format("at most {} elements", limits.max_elements));
  }
  const std::optional<uint64_t> bytes = CheckedMul(*count, UnpackedBytes(type));
  const std::optional<uint64_t> total = bytes ? CheckedAdd(*bytes, budget_->bytes) : std::nullopt;
  if (!total || *total > limits.max_total_bytes) {
    return refuse(fmt::format("{} more, with {} bytes in use", TypeText(type, dims), budget_->bytes),
                  fmt::format("at most {} bytes at one time", limits.max_total_bytes));
  }
  TESSERA_TRY(Spend(count));
  budget_->bytes = *total;
  return Tensor{.type = type, .dims = std::move(dims), .bytes = std::vector<uint8_t>(*bytes)};
}

Result<void> NodeRun::Spend(std::optional<uint64_t> steps) const {
  const std::optional<uint64_t> total = steps ? CheckedAdd(*steps, budget_->steps) : std::nullopt;
  if (!total || *total > budget_->options.max_steps) {
    return tessera::Fail(ErrorCode::kEvaluateLimit, where_, "the function takes too many steps up to here",
                         fmt::format("at most {}", budget_->options.max_steps));
  }
  budget_->steps = *total;
  return {};
}

const Attribute* NodeRun::FindAttribute(std::string_view name) const {
  for (const Attribute& attribute : node_.attributes) {
    if (attribute.name == name) return &attribute;
  }
  return nullptr;
}

Result<int64_t> NodeRun::Int(std::string_view name, int64_t otherwise) const {
  const Attribute* attribute = FindAttribute(name);
  if (attribute == nullptr) return otherwise;
  if (const auto* value = std::get_if<int64_t>(&attribute->value)) return *value;
  return Fail(fmt::format("the attribute {} is no integer", name), "an integer");
}

Result<std::string> NodeRun::Text(std::string_view name, std::string_view otherwise) const {
  const Attribute* attribute = FindAttribute(name);
  if (attribute == nullptr) return std::string(otherwise);
  if (const auto* value = std::get_if<std::string>(&attribute->value)) return *value;
  return Fail(fmt::format("the attribute {} is no string", name), "a string");
}

Result<std::optional<std::vector<int64_t>>> NodeRun::Ints(std::string_view name) const {
  const Attribute* attribute = FindAttribute(name);
  if (attribute == nullptr) return std::nullopt;
  if (const auto* value = std::get_if<std::vector<int64_t>>(&attribute->value)) return *value;
  return Fail(fmt::format("the attribute {} is no list of integers", name), "a list of integers");
}

Result<size_t> NodeRun::Axis(std::string_view name, int64_t otherwise, size_t rank, bool past) const {
  TESSERA_ASSIGN(const int64_t axis, Int(name, otherwise));
  if (past && axis == static_cast<int64_t>(rank)) return rank;
  return ToAxis(axis, rank);
}

Result<size_t> NodeRun::ToAxis(int64_t axis, size_t rank) const {
  const auto count = static_cast<int64_t>(rank);
  if (axis < -count || axis >= count) {
    return Fail(fmt::format("there is no axis {} of {} dimensions", axis, rank),
                rank == 0 ? "an input that is no scalar" : fmt::format("an axis from {} to {}", -count, count - 1));
  }
  return static_cast<size_t>(axis < 0 ? axis + count : axis);
}

Result<std::vector<int64_t>> NodeRun::Numbers(size_t input, uint64_t most, std::string_view what) const {
  const Tensor& tensor = Input(input);
  if (tensor.Rank() != 1) {
    return Fail(fmt::format("{} is {}", what, TypeText(tensor.type, tensor.dims)), "a list: one dimension");
  }
  if (tensor.Count() > most) {
    return Fail(fmt::format("{} has {} entries", what, tensor.Count()), fmt::format("at most {}", most));
  }
  std::vector<int64_t> numbers;
  for (uint64_t i = 0; i < tensor.Count(); ++i) numbers.push_back(tensor.Integer(i));
  return numbers;
}

Result<std::vector<size_t>> NodeRun::Axes(size_t input, size_t rank) const {
  TESSERA_ASSIGN(const std::vector<int64_t> numbers, Numbers(input, rank, "the list of axes"));
  std::vector<size_t> axes;
  for (int64_t number : numbers) {
    TESSERA_ASSIGN(const size_t axis, ToAxis(number, rank));
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) {
      return Fail(fmt::format("the axis {} is named twice", axis), "each axis once");
    }
    axes.push_back(axis);
  }
  return axes;
}

Result<const Tensor*> NodeRun::Single(size_t input, std::string_view what) const {
  const Tensor& tensor = Input(input);
  if (tensor.Rank() > 1 || tensor.Count() != 1) {
    return Fail(fmt::format("{} is {}", what, TypeText(tensor.type, tensor.dims)), "a scalar");
  }
  return &tensor;
}

const Implementation* FindImplementation(std::string_view name) {
  static const auto* const kRows = [] {
    auto* rows = new std::map<std::string_view, const Implementation*>;
    for (std::span<const Implementation> list :
         {ElementwiseOperators(), LogicOperators(), CastOperators(), MovementOperators(), IndexingOperators(),
          ShapeOperators(), ProductOperators()}) {
      for (const Implementation& row : list) rows->emplace(row.name, &row);
    }
    return rows;
  }();
  auto row = kRows->find(name);
  return row == kRows->end() ? nullptr : row->second;
}

}  // namespace tessera
