// Fuzz target: the evaluator on functions that the input's bytes choose: nodes of every operator, most of them well
// typed, with any shapes, attributes and data. Whatever a function is, it ends with a tensor that holds what its type
// and dimensions need, or with an error that says something, within its limits. An input that begins with `<` is a
// function in ONNX's text syntax instead.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/codecs/evaluator.h"
#include "tessera/types/element_value.h"
#include "tessera/types/notation.h"
#include "tessera/types/operators.h"

namespace {

using tessera::Attribute;
using tessera::ElementType;
using tessera::Tensor;

[[noreturn]] void Finding(std::string_view what, std::string_view more) {
  std::fprintf(stderr, "%.*s\n%.*s\n", static_cast<int>(what.size()), what.data(), static_cast<int>(more.size()),
               more.data());
  __builtin_trap();
}

// Small, so that an input of a few bytes cannot ask for much work.
tessera::EvaluatorOptions SmallOptions() {
  tessera::EvaluatorOptions options;
  options.max_elements = 1 << 14;
  options.max_total_bytes = 1 << 20;
  options.max_nodes = 64;
  options.max_steps = 1 << 20;
  options.max_rank = 8;
  return options;
}

// The input's bytes, and zeros behind them.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  uint8_t Next() { return at_ < size_ ? data_[at_++] : 0; }
  // 0 .. n - 1, n at most 256.
  size_t Below(size_t n) { return Next() % n; }
  int64_t Integer() {
    constexpr int64_t kOdd[] = {INT64_MIN, INT64_MAX, INT64_MIN + 1, int64_t{1} << 32, -1, 0, 1, 1'000'000'007};
    const uint8_t byte = Next();
    if (byte >= 248) return kOdd[byte - 248];
    return byte % 2 == 0 ? byte / 2 % 8 : -static_cast<int64_t>(byte / 2 % 5);
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

class Generator {
 public:
  Generator(const uint8_t* data, size_t size) : bytes_(data, size) {}

  void Run() {
    opset_ = tessera::kMinOpset + static_cast<int64_t>(bytes_.Below(14));
    tessera::Function function;
    function.opset_imports = {{std::string(), opset_}};
    std::vector<Tensor> inputs;
    for (size_t i = bytes_.Below(3); i > 0; --i) {
      const std::string name = "x" + std::to_string(i);
      inputs.push_back(RandomTensor(AnyType()));
      function.inputs.push_back(name);
      values_.push_back({name, inputs.back().type});
    }
    while (!bytes_.empty() && nodes_.size() < 48) AddNode();
    if (values_.empty()) return;
    function.nodes = std::move(nodes_);
    function.outputs = {values_.back().name};
    Check(function, std::move(inputs));
  }

  static void Check(const tessera::Function& function, std::vector<Tensor> inputs) {
    const tessera::EvaluatorOptions options = SmallOptions();
    const auto result = tessera::EvaluateFunction(function, std::move(inputs), options);
    if (!result) {
      if (result.error().what.empty()) Finding("an error that says nothing", tessera::PrintFunctionText(function, 0));
      return;
    }
    const auto count = tessera::ElementsOf(result->dims);
    if (!count || *count > options.max_elements ||
        result->bytes.size() != *count * tessera::UnpackedBytes(result->type))
      Finding("a tensor of other bytes than its type has", tessera::PrintFunctionText(function, 0));
    if (tessera::BitWidth(result->type) >= 8) return;
    for (uint64_t i = 0; i < *count; ++i) {
      if (result->Code(i) >> tessera::BitWidth(result->type) != 0)
        Finding("a code with bits above its type's width", tessera::PrintFunctionText(function, 0));
    }
  }

 private:
  struct Value {
    std::string name;
    ElementType type;
  };

  ElementType AnyType() {
    // The narrow and the usual ones more often.
    constexpr ElementType kUsual[] = {ElementType::kFloat, ElementType::kUint8, ElementType::kInt32,
                                      ElementType::kInt64};
    const uint8_t byte = bytes_.Next();
    if (byte >= 128) return kUsual[byte % 4];
    const auto all = tessera::AllElementTypes();
    const ElementType type = all[byte % all.size()].type;
    return tessera::IsFixedWidth(type) ? type : ElementType::kFloat;
  }

  std::vector<int64_t> Dims() {
    std::vector<int64_t> dims;
    for (size_t rank = bytes_.Below(5); rank > 0; --rank) dims.push_back(static_cast<int64_t>(bytes_.Below(5)));
    return dims;
  }

  Tensor RandomTensor(ElementType type) {
    Tensor tensor;
    tensor.type = type;
    tensor.dims = Dims();
    const uint32_t width = tessera::UnpackedBytes(type);
    const uint64_t count = *tessera::ElementsOf(tensor.dims);
    const bool small = bytes_.Below(2) == 0;  // integers that can be indices and dimensions
    tensor.bytes.resize(count * width);
    const uint32_t bits = tessera::BitWidth(type);
    for (uint64_t i = 0; i < count; ++i) {
      const int64_t number = small ? bytes_.Integer() : 0;
      for (uint32_t k = 0; k < width; ++k) {
        const auto byte = small ? static_cast<uint8_t>(static_cast<uint64_t>(number) >> (8 * (k % 8))) : bytes_.Next();
        tensor.bytes[i * width + k] = byte;
      }
      if (bits < 8) tensor.bytes[i] = static_cast<uint8_t>(tensor.bytes[i] & ((1U << bits) - 1));
      if (type == ElementType::kBool) tensor.bytes[i] &= 1;
    }
    return tensor;
  }

  std::string Fresh() { return "v" + std::to_string(counter_++); }

  // A value of that type: one that there is, or a constant.
  std::string ValueOf(ElementType type) {
    std::vector<const Value*> fitting;
    for (const Value& value : values_) {
      if (value.type == type) fitting.push_back(&value);
    }
    const size_t chosen = bytes_.Below(fitting.size() + 1);
    if (chosen < fitting.size()) return fitting[chosen]->name;
    tessera::Node node;
    node.op_type = "Constant";
    node.attributes = {{"value", tessera::ConstantOf(RandomTensor(type)), {}}};
    node.outputs = {Fresh()};
    const std::string name = node.outputs[0];
    nodes_.push_back(std::move(node));
    values_.push_back({name, type});
    return name;
  }

  ElementType TypeOfLetter(char letter, ElementType t) {
    switch (letter) {
      case 'B':
        return ElementType::kBool;
      case 'L':
        return ElementType::kInt64;
      case 'I':
        return bytes_.Below(2) == 0 ? ElementType::kInt32 : ElementType::kInt64;
      case 'N':
        return OneOf(tessera::TypeFamily::kNumbersFrom15);
      default:
        return t;
    }
  }

  ElementType OneOf(tessera::TypeFamily family) {
    std::vector<ElementType> types;
    for (const tessera::ElementInfo& info : tessera::AllElementTypes()) {
      if ((tessera::Types(family, opset_) & tessera::MaskOf(info.type)) != 0) types.push_back(info.type);
    }
    return types[bytes_.Below(types.size())];
  }

  Attribute RandomAttribute(std::string_view name) {
    Attribute attribute;
    attribute.name = std::string(name);
    if (name == "to") {
      attribute.value = int64_t{static_cast<int32_t>(AnyType())};
    } else if (name == "value") {
      attribute.value = tessera::ConstantOf(RandomTensor(AnyType()));
    } else if (name == "value_float") {
      attribute.value = static_cast<float>(bytes_.Integer());
    } else if (name == "value_floats") {
      attribute.value = std::vector<float>(bytes_.Below(5), static_cast<float>(bytes_.Integer()));
    } else if (name == "value_ints" || name == "perm") {
      std::vector<int64_t> integers(bytes_.Below(5));
      for (size_t i = 0; i < integers.size(); ++i) {
        integers[i] = bytes_.Below(2) == 0 ? static_cast<int64_t>(i) : bytes_.Integer();
      }
      attribute.value = integers;
    } else if (name == "direction") {
      attribute.value = std::string(bytes_.Below(2) == 0 ? "LEFT" : "RIGHT");
    } else if (name == "mode") {
      constexpr const char* kModes[] = {"DCR", "CRD", "constant", "reflect", "edge", "wrap", "odd"};
      attribute.value = std::string(kModes[bytes_.Below(std::size(kModes))]);
    } else if (name == "round_mode") {
      constexpr const char* kModes[] = {"up", "down", "nearest", "odd"};
      attribute.value = std::string(kModes[bytes_.Below(std::size(kModes))]);
    } else {
      attribute.value = bytes_.Integer();
    }
    return attribute;
  }

  void AddNode() {
    const auto operators = tessera::AllOperators();
    const tessera::Operator& op = operators[bytes_.Below(operators.size())];
    if (op.since > opset_) return;
    tessera::Node node;
    node.op_type = std::string(op.name);
    const ElementType t = bytes_.Below(16) == 0 ? AnyType() : OneOf(op.types);
    for (const tessera::OperatorInput& input : tessera::Inputs(op)) {
      if (input.since > opset_) continue;
      if (input.optional && bytes_.Below(2) == 0) {
        node.inputs.emplace_back();
        continue;
      }
      size_t copies = input.variadic ? 1 + bytes_.Below(3) : 1;
      while (copies-- > 0) node.inputs.push_back(ValueOf(TypeOfLetter(input.letter, t)));
    }
    while (!node.inputs.empty() && node.inputs.back().empty()) node.inputs.pop_back();
    std::string_view names = op.attributes;
    bool has_value = false;
    ElementType result = t;
    while (!names.empty()) {
      std::string_view name = names.substr(0, names.find(' '));
      names.remove_prefix(std::min(names.size(), name.size() + 1));
      name = name.substr(0, name.find('@'));
      if (!tessera::HasAttribute(op, name, opset_)) continue;
      const bool needed = name == "to" || name == "direction" || name == "blocksize";
      if (!needed && bytes_.Below(2) == 0) continue;
      if (name.starts_with("value") && has_value) continue;
      has_value = has_value || name.starts_with("value");
      Attribute attribute = RandomAttribute(name);
      if (name == "to") result = static_cast<ElementType>(std::get<int64_t>(attribute.value));
      if (const auto* constant = std::get_if<tessera::Constant>(&attribute.value)) result = constant->type;
      if (name.starts_with("value_i")) result = ElementType::kInt64;
      if (name.starts_with("value_f")) result = ElementType::kFloat;
      node.attributes.push_back(std::move(attribute));
    }
    const std::string_view kind = tessera::ResultOf(op);
    if (kind == "B") result = ElementType::kBool;
    if (kind == "L") result = ElementType::kInt64;
    if (kind == "value" && !has_value) result = ElementType::kFloat;
    const size_t outputs = op.max_outputs > 1 ? 1 + bytes_.Below(4) : 1;
    for (size_t i = 0; i < outputs; ++i) {
      node.outputs.push_back(Fresh());
      values_.push_back({node.outputs.back(), result});
    }
    nodes_.push_back(std::move(node));
  }

  Bytes bytes_;
  int64_t opset_ = tessera::kMaxOpset;
  std::vector<Value> values_;
  std::vector<tessera::Node> nodes_;
  int counter_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0 && data[0] == '<') {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto function = tessera::ParseFunctionText(text, {});
    if (function && function->inputs.empty()) Generator::Check(*function, {});
    return 0;
  }
  Generator(data, size).Run();
  return 0;
}
