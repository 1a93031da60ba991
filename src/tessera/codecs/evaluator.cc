#include "tessera/codecs/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/codecs/node_run.h"
#include "tessera/types/function_check.h"

namespace tessera {
namespace {

constexpr size_t kAbsent = ~size_t{0};

// A value of the function: an input, or an output of a node.
struct Value {
  Tensor tensor;
  size_t uses_left = 0;  // by later nodes, and one more for the function's output
};

// The nodes' names resolved to numbers of values.
struct Plan {
  std::vector<Value> values;
  std::vector<std::vector<size_t>> inputs;   // of each node; kAbsent for an omitted one
  std::vector<std::vector<size_t>> outputs;  // likewise
  size_t result = kAbsent;
};

// REQUIRES: CheckNodes found nothing.
Plan PlanOf(const Function& function) {
  Plan plan;
  std::map<std::string_view, size_t> numbers;
  auto define = [&](const std::string& name) {
    if (name.empty()) return kAbsent;
    numbers.emplace(name, plan.values.size());
    plan.values.emplace_back();
    return plan.values.size() - 1;
  };
  for (const std::string& name : function.inputs) {
    numbers.emplace(name, plan.values.size());
    plan.values.emplace_back();
  }
  for (const Node& node : function.nodes) {
    std::vector<size_t> inputs;
    for (const std::string& name : node.inputs) {
      inputs.push_back(name.empty() ? kAbsent : numbers.find(name)->second);
      if (inputs.back() != kAbsent) ++plan.values[inputs.back()].uses_left;
    }
    plan.inputs.push_back(std::move(inputs));
    std::vector<size_t> outputs;
    for (const std::string& name : node.outputs) outputs.push_back(define(name));
    plan.outputs.push_back(std::move(outputs));
  }
  plan.result = numbers.find(function.outputs[0])->second;
  ++plan.values[plan.result].uses_left;
  return plan;
}

std::string NodePlace(const Function& function, size_t index) {
  const Node& node = function.nodes[index];
  return fmt::format("node[{}] {} {}", index, node.op_type, Quoted(node.outputs[0]));
}

Result<void> CheckInput(const Tensor& tensor, std::string_view name, const EvaluatorOptions& options) {
  std::string where = "input " + Quoted(name);
  if (!IsFixedWidth(tensor.type)) {
    return Fail(ErrorCode::kEvaluate, std::move(where), fmt::format("holds {}", Name(tensor.type)),
                "elements of fixed width");
  }
  const std::optional<uint64_t> count = ElementsOf(tensor.dims);
  if (!count || CheckedMul(*count, UnpackedBytes(tensor.type)) != tensor.bytes.size()) {
    return Fail(ErrorCode::kEvaluate, std::move(where), fmt::format("has {} bytes", tensor.bytes.size()),
                "what " + TypeText(tensor.type, tensor.dims) + " needs");
  }
  if (*count > options.max_elements) {
    return Fail(ErrorCode::kEvaluateLimit, std::move(where), fmt::format("has {} elements", *count),
                fmt::format("at most {}", options.max_elements));
  }
  if (tensor.Rank() > options.max_rank) {
    return Fail(ErrorCode::kEvaluateLimit, std::move(where), fmt::format("has {} dimensions", tensor.Rank()),
                fmt::format("at most {}", options.max_rank));
  }
  return {};
}

Error WithPrefix(Error error, const std::string& prefix) {
  error.where = error.where.empty() ? prefix : prefix + "." + error.where;
  return error;
}

}  // namespace

Result<Tensor> EvaluateFunction(const Function& function, std::vector<Tensor> inputs, const EvaluatorOptions& options) {
  if (inputs.size() != function.inputs.size()) {
    return Fail(ErrorCode::kEvaluate, "input", fmt::format("{} values are given", inputs.size()),
                fmt::format("{}, one for each input", function.inputs.size()));
  }
  if (function.nodes.size() > options.max_nodes) {
    return Fail(ErrorCode::kEvaluateLimit, "node", fmt::format("there are {} nodes", function.nodes.size()),
                fmt::format("at most {}", options.max_nodes));
  }
  Budget budget{.options = options};
  std::vector<ElementType> types;
  for (size_t i = 0; i < inputs.size(); ++i) {
    TESSERA_TRY(CheckInput(inputs[i], function.inputs[i], options));
    types.push_back(inputs[i].type);
    budget.bytes += inputs[i].bytes.size();  // held already, so the sum fits
  }
  if (budget.bytes > options.max_total_bytes) {
    return Fail(ErrorCode::kEvaluateLimit, "input", fmt::format("the inputs take {} bytes", budget.bytes),
                fmt::format("at most {}", options.max_total_bytes));
  }
  Problems problems(1);
  CheckNodes(function, types, Path(), &problems);
  if (!problems.empty()) return tl::unexpected<Error>(problems.list().front());

  Plan plan = PlanOf(function);
  auto release = [&](size_t number) {
    Value& value = plan.values[number];
    budget.bytes -= value.tensor.bytes.size();
    value.tensor = Tensor();
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    plan.values[i].tensor = std::move(inputs[i]);
    if (plan.values[i].uses_left == 0) release(i);
  }
  const int64_t opset = function.opset_imports[0].version;
  std::vector<const Tensor*> arguments;
  for (size_t n = 0; n < function.nodes.size(); ++n) {
    const Node& node = function.nodes[n];
    arguments.clear();
    for (size_t number : plan.inputs[n]) {
      arguments.push_back(number == kAbsent ? nullptr : &plan.values[number].tensor);
    }
    const NodeRun run(node, NodePlace(function, n), opset, arguments, &budget);
    const Implementation* implementation = FindImplementation(node.op_type);
    if (implementation == nullptr) return run.Fail("has no implementation", "an operator of docs/operators.md");
    const uint64_t before = budget.bytes;
    TESSERA_ASSIGN(std::vector<Tensor> results, implementation->run(run));
    budget.bytes = before;  // without what was only used on the way
    for (size_t i = 0; i < results.size() && i < plan.outputs[n].size(); ++i) {
      const size_t number = plan.outputs[n][i];
      if (number == kAbsent || plan.values[number].uses_left == 0) continue;
      budget.bytes += results[i].bytes.size();
      plan.values[number].tensor = std::move(results[i]);
    }
    for (size_t number : plan.inputs[n]) {
      if (number != kAbsent && --plan.values[number].uses_left == 0) release(number);
    }
  }
  return std::move(plan.values[plan.result].tensor);
}

Result<Tensor> DecodeWithDeclaration(const StructView& value, const EvaluatorOptions& options) {
  const StructType& declaration = value.type().declaration;
  const std::string name = declaration.Name().empty() ? "the type" : Quoted(declaration.Name());
  if (!declaration.decoder) {
    return Fail(ErrorCode::kUnsupported, name, "declares no decoder", "a type with a decoder");
  }
  const std::string place = name + ": decoder";
  const std::optional<OutputSignature> declared = DeclaredOutput(*declaration.decoder);
  if (!declared) {
    return Fail(ErrorCode::kDecoderOutputType, place, "declares no type and shape of its output",
                "one entry with elem_type and a shape of numbers");
  }
  // The sizes of all leaves before the bytes of any.
  uint64_t total = 0;
  for (size_t i = 0; i < value.leaf_count(); ++i) {
    const Leaf& leaf = value.type().leaves[i];
    const uint64_t count = leaf.Count();
    const auto bytes = CheckedMul(count, UnpackedBytes(leaf.type));
    const auto sum = bytes ? CheckedAdd(total, *bytes) : std::nullopt;
    if (count > options.max_elements || !sum || *sum > options.max_total_bytes) {
      return Fail(ErrorCode::kEvaluateLimit, fmt::format("{}.input {}", place, Quoted(leaf.path)),
                  fmt::format("has {} elements", count),
                  fmt::format("at most {}, and {} bytes in all", options.max_elements, options.max_total_bytes));
    }
    total = *sum;
  }
  std::vector<Tensor> leaves;
  for (size_t i = 0; i < value.leaf_count(); ++i) {
    Result<Tensor> leaf = TensorOf(value.leaf(i));
    if (!leaf) return tl::unexpected<Error>(WithPrefix(std::move(leaf).error(), place));
    leaves.push_back(*std::move(leaf));
  }
  Result<Tensor> result = EvaluateFunction(*declaration.decoder, std::move(leaves), options);
  if (!result) return tl::unexpected<Error>(WithPrefix(std::move(result).error(), place));
  if (result->type != declared->type || result->dims != declared->dims) {
    return Fail(ErrorCode::kEvaluate, place + ".value_info",
                fmt::format("{} came out as {}", Quoted(declared->name), TypeText(result->type, result->dims)),
                "the declared " + TypeText(declared->type, declared->dims));
  }
  return result;
}

}  // namespace tessera
