#include "tessera/types/function_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "tessera/base/checked.h"
#include "tessera/types/operators.h"

namespace tessera {
namespace {

std::string MaskText(TypeMask mask) {
  std::string text;
  for (const ElementInfo& info : AllElementTypes()) {
    if ((mask & MaskOf(info.type)) != 0) text += (text.empty() ? "" : ", ") + std::string(info.name);
  }
  return text;
}

bool IsOnnxDomain(const std::optional<std::string>& domain) {
  return !domain || domain->empty() || *domain == "ai.onnx";
}

std::string ShapeText(const std::vector<int64_t>& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

// One pass over the nodes with the element type of every value known so far. kUndefined stands for a type that could
// not be found because of a problem already reported; nothing is said twice.
class FunctionChecker {
 public:
  FunctionChecker(const Function& function, const Path& path, Problems* problems)
      : function_(function), path_(path), problems_(problems) {}

  void DefineInput(const std::string& name, ElementType type) { values_.emplace(name, type); }

  void Run() {
    RunNodes();
    if (const std::string* name = CheckProduced()) CheckDeclared(*name);
  }

  void RunNodes() {
    CheckOpset();
    for (size_t i = 0; i < function_.nodes.size(); ++i) CheckNode(function_.nodes[i], path_.Index("node", i));
  }

  // The name of the one output; nullptr if there are none or several.
  const std::string* CheckProduced() {
    if (function_.outputs.size() != 1) {
      Add(ErrorCode::kDecoderOutput, path_.Field("output"), fmt::format("has {} outputs", function_.outputs.size()),
          "exactly one");
      return nullptr;
    }
    const std::string& name = function_.outputs[0];
    if (values_.find(name) == values_.end()) {
      Add(ErrorCode::kDecoderOutput, path_.Index("output", 0), fmt::format("nothing produces {}", Quoted(name)),
          "the output of a node");
    }
    return &name;
  }

 private:
  void Add(ErrorCode code, const Path& at, std::string what, std::string fix) {
    problems_->Add(code, at.Str(), std::move(what), std::move(fix));
  }

  void CheckOpset() {
    const std::string range = fmt::format("one import of ai.onnx, version {} to {}", kMinOpset, kMaxOpset);
    if (function_.opset_imports.size() != 1 || !IsOnnxDomain(function_.opset_imports[0].domain)) {
      Add(ErrorCode::kDecoderOpset, path_.Field("opset_import"),
          fmt::format("imports {} operator sets", function_.opset_imports.size()), range);
      if (function_.opset_imports.empty()) return;
    }
    opset_ = function_.opset_imports[0].version;
    if (opset_ < kMinOpset || opset_ > kMaxOpset) {
      Add(ErrorCode::kDecoderOpset, path_.Index("opset_import", 0).Field("version"), fmt::format("is {}", opset_),
          range);
      opset_ = std::clamp(opset_, kMinOpset, kMaxOpset);
    }
  }

  void CheckNode(const Node& node, const Path& at) {
    std::vector<ElementType> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const std::string& name = node.inputs[i];
      auto value = values_.find(name);
      inputs.push_back(value == values_.end() ? ElementType::kUndefined : value->second);
      if (!name.empty() && value == values_.end()) {
        Add(ErrorCode::kDecoderCapture, at.Index("input", i),
            fmt::format("reads {}, which nothing before it produces", Quoted(name)),
            "an input of the function or the output of an earlier node");
      }
    }
    const Operator* op = IsOnnxDomain(node.domain) ? FindOperator(node.op_type) : nullptr;
    ElementType result = ElementType::kUndefined;
    if (op == nullptr || opset_ < op->since) {
      std::string name = IsOnnxDomain(node.domain) ? node.op_type : *node.domain + "::" + node.op_type;
      Add(ErrorCode::kDecoderOperator, at.Field("op_type"),
          op == nullptr ? fmt::format("{} is not an operator that decoders may use", Quoted(name))
                        : fmt::format("{} exists from opset {}, and this function imports {}", name, op->since, opset_),
          "an operator of the table in docs/operators.md");
    } else {
      if (node.overload && !node.overload->empty()) {
        Add(ErrorCode::kDecoderOperator, at.Field("overload"), "a standard operator has no overloads", "no overload");
      }
      result = CheckOperator(node, *op, inputs, at);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const std::string& name = node.outputs[i];
      if (name.empty()) continue;
      if (!values_.emplace(name, result).second) {
        Add(ErrorCode::kDecoderTwice, at.Index("output", i), fmt::format("{} is defined twice", Quoted(name)),
            "a name of its own for every value");
      }
    }
  }

  // The element type of the results.
  ElementType CheckOperator(const Node& node, const Operator& op, const std::vector<ElementType>& inputs,
                            const Path& at) {
    for (size_t i = 0; i < node.attributes.size(); ++i) {
      const std::string& name = node.attributes[i].name;
      if (!HasAttribute(op, name, opset_)) {
        Add(ErrorCode::kDecoderAttribute, at.Index("attribute", i),
            fmt::format("{} has no attribute {} that decoders may use at opset {}", op.name, Quoted(name), opset_),
            op.attributes.empty() ? "no attribute" : fmt::format("one of: {}", op.attributes));
      }
    }
    if (node.outputs.empty() || node.outputs.size() > static_cast<size_t>(op.max_outputs)) {
      Add(ErrorCode::kDecoderOperator, at.Field("output"),
          fmt::format("{} has {} outputs", op.name, node.outputs.size()),
          op.max_outputs == 1 ? "one output" : "at least one output");
    }
    TypeMask types = Types(op.types, opset_);
    ElementType t = CheckInputs(node, op, types, inputs, at);
    std::string_view result = ResultOf(op);
    if (result == "T") return t;
    if (result == "B") return ElementType::kBool;
    if (result == "L") return ElementType::kInt64;
    ElementType named = result == "to" ? AttributeTo(node, at) : AttributeValue(node, op, at);
    if (named != ElementType::kUndefined && (types & MaskOf(named)) == 0) {
      Add(ErrorCode::kDecoderOperator, at,
          fmt::format("{} has no result of type {} at opset {}", op.name, Name(named), opset_),
          "one of " + MaskText(types));
    }
    return named;
  }

  // The type that T stands for.
  ElementType CheckInputs(const Node& node, const Operator& op, TypeMask types, const std::vector<ElementType>& inputs,
                          const Path& at) {
    std::vector<OperatorInput> expected = Inputs(op);
    std::erase_if(expected, [&](const OperatorInput& input) { return input.since > opset_; });
    bool variadic = !expected.empty() && expected.back().variadic;
    size_t least = std::count_if(expected.begin(), expected.end(), [](const auto& input) { return !input.optional; });
    if (node.inputs.size() < least || (!variadic && node.inputs.size() > expected.size())) {
      Add(ErrorCode::kDecoderOperator, at.Field("input"), fmt::format("{} has {} inputs", op.name, node.inputs.size()),
          variadic ? fmt::format("at least {}", least) : fmt::format("{} to {}", least, expected.size()));
      return ElementType::kUndefined;
    }
    ElementType t = ElementType::kUndefined;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const OperatorInput& input = expected[std::min(i, expected.size() - 1)];
      if (node.inputs[i].empty()) {
        if (!input.optional) {
          Add(ErrorCode::kDecoderOperator, at.Index("input", i), fmt::format("{} needs this input", op.name),
              "a value");
        }
        continue;
      }
      if (inputs[i] == ElementType::kUndefined) continue;
      TypeMask allowed =
          input.letter == 'T' ? (t == ElementType::kUndefined ? types : MaskOf(t)) : LetterMask(input.letter);
      if ((MaskOf(inputs[i]) & allowed) == 0) {
        Add(ErrorCode::kDecoderOperator, at.Index("input", i),
            fmt::format("{} takes no {} here at opset {}", op.name, Name(inputs[i]), opset_),
            "one of " + MaskText(allowed));
      } else if (input.letter == 'T') {
        t = inputs[i];
      }
    }
    return t;
  }

  TypeMask LetterMask(char letter) const {
    if (letter == 'B') return MaskOf(ElementType::kBool);
    if (letter == 'L') return MaskOf(ElementType::kInt64);
    if (letter == 'I') return MaskOf(ElementType::kInt64) | MaskOf(ElementType::kInt32);
    return Types(TypeFamily::kNumbersFrom15, opset_);
  }

  static const Attribute* Find(const Node& node, std::string_view name) {
    for (const Attribute& attribute : node.attributes) {
      if (attribute.name == name) return &attribute;
    }
    return nullptr;
  }

  ElementType AttributeTo(const Node& node, const Path& at) {
    const Attribute* to = Find(node, "to");
    const int64_t* number = to == nullptr ? nullptr : std::get_if<int64_t>(&to->value);
    std::optional<ElementType> type = number == nullptr ? std::nullopt : ElementTypeFromNumber(*number);
    if (!type || *type == ElementType::kUndefined) {
      Add(ErrorCode::kDecoderAttribute, at, fmt::format("{} has no attribute `to` with an element type", node.op_type),
          "to = the number of an element type");
      return ElementType::kUndefined;
    }
    return *type;
  }

  ElementType AttributeValue(const Node& node, const Operator& op, const Path& at) {
    if (node.attributes.size() > 1 || (node.attributes.empty() && op.name == "Constant")) {
      Add(ErrorCode::kDecoderAttribute, at, fmt::format("{} has {} attributes", op.name, node.attributes.size()),
          "one attribute with the value");
      return ElementType::kUndefined;
    }
    if (node.attributes.empty()) return ElementType::kFloat;
    const Attribute& attribute = node.attributes[0];
    if (const auto* constant = std::get_if<Constant>(&attribute.value); constant && attribute.name == "value") {
      return constant->type;
    }
    if (std::holds_alternative<float>(attribute.value) && attribute.name == "value_float") return ElementType::kFloat;
    if (std::holds_alternative<int64_t>(attribute.value) && attribute.name == "value_int") return ElementType::kInt64;
    if (std::holds_alternative<std::vector<float>>(attribute.value) && attribute.name == "value_floats") {
      return ElementType::kFloat;
    }
    if (std::holds_alternative<std::vector<int64_t>>(attribute.value) && attribute.name == "value_ints") {
      return ElementType::kInt64;
    }
    Add(ErrorCode::kDecoderAttribute, at.Index("attribute", 0),
        fmt::format("{} does not hold a value of its kind", Quoted(attribute.name)), "a tensor in `value`");
    return ElementType::kUndefined;
  }

  void CheckDeclared(const std::string& name) {
    auto produced = values_.find(name);
    std::optional<OutputSignature> declared = DeclaredOutput(function_);
    if (!declared) {
      Add(ErrorCode::kDecoderOutputType, path_.Field("value_info"),
          fmt::format("has no element type and concrete shape for {}", Quoted(name)),
          "one entry with elem_type and a shape of numbers");
      return;
    }
    if (produced != values_.end() && produced->second != ElementType::kUndefined &&
        produced->second != declared->type) {
      Add(ErrorCode::kDecoderOutputType, path_.Field("value_info"),
          fmt::format("{} is declared as {}, and the nodes produce {}", Quoted(name), Name(declared->type),
                      Name(produced->second)),
          "the type that the nodes produce");
    }
  }

  const Function& function_;
  const Path& path_;
  Problems* problems_;
  int64_t opset_ = kMaxOpset;
  std::map<std::string, ElementType, std::less<>> values_;
};

}  // namespace

std::optional<OutputSignature> DeclaredOutput(const Function& function) {
  if (function.outputs.size() != 1) return std::nullopt;
  const ValueInfo* found = nullptr;
  for (const ValueInfo& info : function.value_infos) {
    if (info.name != function.outputs[0]) continue;
    if (found != nullptr) return std::nullopt;
    found = &info;
  }
  if (found == nullptr || !IsFixedWidth(found->type) || !found->shape) return std::nullopt;
  OutputSignature output{.name = found->name, .type = found->type, .dims = {}};
  for (const Dimension& dim : *found->shape) {
    const int64_t* number = std::get_if<int64_t>(&dim);
    if (number == nullptr || *number < 0) return std::nullopt;
    output.dims.push_back(*number);
  }
  return output;
}

void CheckNodes(const Function& function, std::span<const ElementType> input_types, const Path& path,
                Problems* problems) {
  FunctionChecker checker(function, path, problems);
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    const std::string& name = function.inputs[i];
    if (std::find(function.inputs.begin(), function.inputs.begin() + static_cast<std::ptrdiff_t>(i), name) !=
        function.inputs.begin() + static_cast<std::ptrdiff_t>(i)) {
      problems->Add(ErrorCode::kDecoderTwice, path.Index("input", i).Str(),
                    fmt::format("{} is defined twice", Quoted(name)), "a name of its own for every value");
    }
    checker.DefineInput(name, i < input_types.size() ? input_types[i] : ElementType::kUndefined);
  }
  checker.RunNodes();
  checker.CheckProduced();
}

void CheckDecoder(const Function& decoder, const std::vector<Leaf>& leaves, const Path& path, Problems* problems) {
  FunctionChecker checker(decoder, path, problems);
  if (decoder.inputs.size() != leaves.size()) {
    problems->Add(ErrorCode::kDecoderInputs, path.Field("input").Str(),
                  fmt::format("has {} inputs, and the type has {} leaves", decoder.inputs.size(), leaves.size()),
                  "one input a leaf, in declaration order");
  }
  for (size_t i = 0; i < leaves.size() && i < decoder.inputs.size(); ++i) {
    if (decoder.inputs[i] != leaves[i].input_name) {
      problems->Add(ErrorCode::kDecoderInputs, path.Index("input", i).Str(), "is " + Quoted(decoder.inputs[i]),
                    fmt::format("{} for the leaf {}", Quoted(leaves[i].input_name), Quoted(leaves[i].path)));
    }
    checker.DefineInput(decoder.inputs[i], leaves[i].type);
  }
  for (size_t i = leaves.size(); i < decoder.inputs.size(); ++i) {
    checker.DefineInput(decoder.inputs[i], ElementType::kUndefined);
  }
  checker.Run();
}

void CheckEncoder(const Function& encoder, const Function* decoder, uint64_t size_bytes, const Path& path,
                  Problems* problems) {
  FunctionChecker checker(encoder, path, problems);
  std::optional<OutputSignature> value = decoder == nullptr ? std::nullopt : DeclaredOutput(*decoder);
  if (encoder.inputs.size() != 1) {
    problems->Add(ErrorCode::kEncoderInput, path.Field("input").Str(),
                  fmt::format("has {} inputs", encoder.inputs.size()), "one: the decoder's output");
  }
  for (const std::string& input : encoder.inputs) {
    checker.DefineInput(input, value ? value->type : ElementType::kUndefined);
    if (!value) continue;
    for (const ValueInfo& info : encoder.value_infos) {
      if (info.name != input) continue;
      std::vector<Dimension> dims(value->dims.begin(), value->dims.end());
      if (info.type != value->type || (info.shape && *info.shape != dims)) {
        problems->Add(ErrorCode::kEncoderInput, path.Field("value_info").Str(),
                      fmt::format("declares {} otherwise than the decoder's output", Quoted(input)),
                      fmt::format("{}{}", Name(value->type), ShapeText(value->dims)));
      }
    }
  }
  checker.Run();
  if (std::optional<OutputSignature> output = DeclaredOutput(encoder);
      output && (output->type != ElementType::kUint8 || output->dims.size() != 1 ||
                 static_cast<uint64_t>(output->dims[0]) != size_bytes)) {
    problems->Add(ErrorCode::kEncoderOutput, path.Field("value_info").Str(),
                  fmt::format("the output is {}{}", Name(output->type), ShapeText(output->dims)),
                  fmt::format("UINT8[{}]", size_bytes));
  }
}

}  // namespace tessera
