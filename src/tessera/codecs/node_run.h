// One node while it is carried out: its inputs and attributes, and the memory that its results may take. What the
// operators in operators/ are written against.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/codecs/evaluator.h"
#include "tessera/codecs/tensor.h"
#include "tessera/types/function.h"

namespace tessera {

// Counts what is in use against the limits.
struct Budget {
  const EvaluatorOptions& options;
  uint64_t bytes = 0;  // of all values alive
  uint64_t steps = 0;
};

class NodeRun {
 public:
  using Dims = std::vector<int64_t>;

  // `inputs` has nullptr for an omitted one. Borrows everything.
  NodeRun(const Node& node, std::string where, int64_t opset, std::span<const Tensor* const> inputs, Budget* budget)
      : node_(node), where_(std::move(where)), opset_(opset), inputs_(inputs), budget_(budget) {}

  int64_t opset() const { return opset_; }
  size_t input_count() const { return inputs_.size(); }
  size_t output_count() const { return node_.outputs.size(); }
  bool HasInput(size_t index) const { return index < inputs_.size() && inputs_[index] != nullptr; }
  // REQUIRES: HasInput(index), which the checker sees to for inputs that are not optional.
  const Tensor& Input(size_t index) const { return *inputs_[index]; }

  tl::unexpected<Error> Fail(std::string what, std::string fix = {}) const {
    return tessera::Fail(ErrorCode::kEvaluate, where_, std::move(what), std::move(fix));
  }

  // A value with all bytes 0, within the limits. Errors: kEvaluateLimit.
  Result<Tensor> New(ElementType type, Dims dims) const;
  // Counts work that writes no element. Errors: kEvaluateLimit.
  Result<void> Spend(std::optional<uint64_t> steps) const;

  // Attributes. Errors: kEvaluate for one of another kind.
  const Attribute* FindAttribute(std::string_view name) const;
  Result<int64_t> Int(std::string_view name, int64_t otherwise) const;
  Result<std::string> Text(std::string_view name, std::string_view otherwise) const;
  Result<std::optional<std::vector<int64_t>>> Ints(std::string_view name) const;
  // Attribute `name` as an axis of something of `rank` dimensions; `past` allows the place behind the last one.
  Result<size_t> Axis(std::string_view name, int64_t otherwise, size_t rank, bool past = false) const;

  // -rank..rank-1 to 0..rank-1.
  Result<size_t> ToAxis(int64_t axis, size_t rank) const;
  // The numbers of an input of rank 1 with INT32 or INT64 elements, at most `most` of them.
  Result<std::vector<int64_t>> Numbers(size_t input, uint64_t most, std::string_view what) const;
  // Axes without repetition.
  Result<std::vector<size_t>> Axes(size_t input, size_t rank) const;
  // An input that holds one element: a scalar, or [1].
  Result<const Tensor*> Single(size_t input, std::string_view what) const;

 private:
  const Node& node_;
  std::string where_;
  int64_t opset_;
  std::span<const Tensor* const> inputs_;
  Budget* budget_;
};

// An operator's implementation; one result an output of the node.
struct Implementation {
  std::string_view name;
  Result<std::vector<Tensor>> (*run)(const NodeRun& run);
};

// Makes an Implementation of a function that gives one tensor.
template <Result<Tensor> (*kRun)(const NodeRun&)>
constexpr Implementation One(std::string_view name) {
  return {name, [](const NodeRun& run) -> Result<std::vector<Tensor>> {
            Result<Tensor> result = kRun(run);
            if (!result) return tl::unexpected<Error>(std::move(result).error());
            std::vector<Tensor> results;
            results.push_back(*std::move(result));
            return results;
          }};
}

// The rows, a file of operators/ each.
std::span<const Implementation> ElementwiseOperators();
std::span<const Implementation> LogicOperators();
std::span<const Implementation> CastOperators();
std::span<const Implementation> MovementOperators();
std::span<const Implementation> IndexingOperators();
std::span<const Implementation> ShapeOperators();
std::span<const Implementation> ProductOperators();

// nullptr for an operator that has none.
const Implementation* FindImplementation(std::string_view name);

}  // namespace tessera
