#include "tessera/types/function_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include "tessera/types/element_value.h"
#include "tessera/types/operators.h"

namespace tessera {
namespace {

// Of numpy, as ONNX has it: sizes of 1 give way, missing ones in front are 1.
Dims Broadcast(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims dims = longer;
  const size_t lead = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    if (dims[lead + i] == 1) dims[lead + i] = shorter[i];
  }
  return dims;
}

// In a typed field of the message, which ONNX's own text syntax can say.
Constant Empty(ElementType type, Dims dims) {
  Constant constant;
  constant.type = type;
  constant.dims = std::move(dims);
  constant.storage = Constant::Storage::kTyped;
  return constant;
}

Attribute Named(std::string name, Attribute::Value value) { return {std::move(name), std::move(value), std::nullopt}; }

}  // namespace

int64_t CountOf(const Dims& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

Constant MakeConstant(ElementType type, Dims dims, std::span<const int64_t> values) {
  Constant constant = Empty(type, std::move(dims));
  constant.bytes.resize(PackedBytes(type, values.size()).value_or(0));
  for (size_t i = 0; i < values.size(); ++i) {
    StoreCode(constant.bytes, type, i, EncodeInteger(type, values[i]));
  }
  return constant;
}

Constant MakeConstant(Dims dims, std::span<const float> values) {
  Constant constant = Empty(ElementType::kFloat, std::move(dims));
  constant.bytes.resize(values.size() * sizeof(float));
  for (size_t i = 0; i < values.size(); ++i) {
    StoreCode(constant.bytes, ElementType::kFloat, i, std::bit_cast<uint32_t>(values[i]));
  }
  return constant;
}

Constant MakeFloats(ElementType type, Dims dims, std::span<const double> values) {
  Constant constant = Empty(type, std::move(dims));
  constant.bytes.resize(values.size() * BitWidth(type) / 8);
  for (size_t i = 0; i < values.size(); ++i) {
    StoreCode(constant.bytes, type, i, EncodeFloat(type, values[i], Overflow::kOverflow));
  }
  return constant;
}

bool FunctionBuilder::CanCast(ElementType type) const {
  return (Types(FindOperator("Cast")->types, opset_) & MaskOf(type)) != 0;
}

Value FunctionBuilder::Emit(std::string_view op, std::vector<std::string> inputs, ElementType type, Dims dims,
                            std::vector<Attribute> attributes) {
  Node node;
  node.op_type = op;
  node.inputs = std::move(inputs);
  node.outputs = {NewName()};
  node.attributes = std::move(attributes);
  Value value{node.outputs[0], type, std::move(dims)};
  function_.nodes.push_back(std::move(node));
  return value;
}

Value FunctionBuilder::Input(std::string name, ElementType type, Dims dims) {
  function_.inputs.push_back(name);
  inputs_.insert(name);
  return {std::move(name), type, std::move(dims)};
}

Value FunctionBuilder::Const(Constant given) {
  Constant constant = Empty(given.type, std::move(given.dims));
  constant.bytes = std::move(given.bytes);
  std::string key = fmt::format("{}[{}]", Name(constant.type), fmt::join(constant.dims, ","));
  key.append(constant.bytes.begin(), constant.bytes.end());
  auto [found, fresh] = constants_.try_emplace(std::move(key));
  if (fresh) {
    const ElementType type = constant.type;
    const Dims dims = constant.dims;
    found->second = Emit("Constant", {}, type, dims, {Named("value", std::move(constant))});
  }
  return found->second;
}

Value FunctionBuilder::Cast(const Value& x, ElementType type) {
  if (x.type == type) return x;
  return Emit("Cast", {x.name}, type, x.dims, {Named("to", static_cast<int64_t>(type))});
}

Value FunctionBuilder::Binary(std::string_view op, const Value& a, const Value& b) {
  return Emit(op, {a.name, b.name}, a.type, Broadcast(a.dims, b.dims));
}

Value FunctionBuilder::Compare(std::string_view op, const Value& a, const Value& b) {
  return Emit(op, {a.name, b.name}, ElementType::kBool, Broadcast(a.dims, b.dims));
}

Value FunctionBuilder::Where(const Value& condition, const Value& yes, const Value& no) {
  return Emit("Where", {condition.name, yes.name, no.name}, yes.type,
              Broadcast(condition.dims, Broadcast(yes.dims, no.dims)));
}

Value FunctionBuilder::Shift(std::string_view direction, const Value& x, uint32_t bits) {
  if (bits == 0) return x;
  return Emit("BitShift", {x.name, Scalar(x.type, bits).name}, x.type, x.dims,
              {Named("direction", std::string(direction))});
}

Value FunctionBuilder::Bits(const Value& x, uint32_t low, uint32_t count) {
  const auto width = static_cast<uint32_t>(BitWidth(x.type));
  if (low + count >= width) return ShiftRight(x, low);
  if (opset_ >= FindOperator("BitwiseAnd")->since) {
    const Value moved = ShiftRight(x, low);
    const auto mask = static_cast<int64_t>((uint64_t{1} << count) - 1);
    return Emit("BitwiseAnd", {moved.name, Scalar(x.type, mask).name}, x.type, x.dims);
  }
  // What lies above goes out at the top.
  return ShiftRight(ShiftLeft(x, width - low - count), width - count);
}

Value FunctionBuilder::Mod(const Value& x, int64_t base) {
  return Emit("Mod", {x.name, Scalar(x.type, base).name}, x.type, x.dims);
}

Value FunctionBuilder::Div(const Value& x, int64_t base) {
  return Emit("Div", {x.name, Scalar(x.type, base).name}, x.type, x.dims);
}

Value FunctionBuilder::Clip(const Value& x, int64_t low, int64_t high) {
  return Emit("Clip", {x.name, Scalar(x.type, low).name, Scalar(x.type, high).name}, x.type, x.dims);
}

Value FunctionBuilder::PowerOfTwo(const Value& x, ElementType type) {
  // One beyond the least and the largest power, which round to 0 and infinity.
  const int32_t first = type == ElementType::kDouble ? -1075 : -150;
  const int32_t last = type == ElementType::kDouble ? 1024 : 128;
  std::vector<double> powers;
  for (int32_t i = first; i <= last; ++i) powers.push_back(std::ldexp(1.0, i));
  const Value table = Const(MakeFloats(type, {last - first + 1}, powers));
  return Gather(table, Sub(Clip(x, first, last), Scalar(ElementType::kInt32, first)));
}

Value FunctionBuilder::Reshape(const Value& x, Dims dims) {
  if (x.dims == dims) return x;
  // A size of 0 means "as in the input" by default. There is no data to be moved then.
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) {
    if (opset_ >= 14)
      return Emit("Reshape", {x.name, Longs(dims).name}, x.type, dims, {Named("allowzero", int64_t{1})});
    return Expand(Const(x.type, {1}, {{0}}), std::move(dims));
  }
  // Two in a row are one.
  auto source = reshaped_.find(x.name);
  const std::string from = source == reshaped_.end() ? x.name : source->second;
  const Value shape = Longs(dims);
  Value result = Emit("Reshape", {from, shape.name}, x.type, std::move(dims));
  reshaped_[result.name] = from;
  return result;
}

Value FunctionBuilder::Transpose(const Value& x, std::vector<int64_t> perm) {
  Dims dims;
  bool moves = false;
  for (size_t i = 0; i < perm.size(); ++i) {
    dims.push_back(x.dims[static_cast<size_t>(perm[i])]);
    moves = moves || perm[i] != static_cast<int64_t>(i);
  }
  if (!moves) return x;
  return Emit("Transpose", {x.name}, x.type, std::move(dims), {Named("perm", std::move(perm))});
}

Value FunctionBuilder::Concat(const std::vector<Value>& parts, int64_t axis) {
  if (parts.size() == 1) return parts.front();
  std::vector<std::string> names;
  Dims dims = parts.front().dims;
  dims[static_cast<size_t>(axis)] = 0;
  for (const Value& part : parts) {
    names.push_back(part.name);
    dims[static_cast<size_t>(axis)] += part.dims[static_cast<size_t>(axis)];
  }
  return Emit("Concat", std::move(names), parts.front().type, std::move(dims), {Named("axis", axis)});
}

Value FunctionBuilder::Slice(const Value& x, int64_t axis, int64_t start, int64_t end, int64_t step) {
  const auto at = static_cast<size_t>(axis);
  if (start == 0 && end == x.dims[at] && step == 1) return x;
  Dims dims = x.dims;
  dims[at] = (end - start + step - 1) / step;
  return Emit("Slice", {x.name, Longs({{start}}).name, Longs({{end}}).name, Longs({{axis}}).name, Longs({{step}}).name},
              x.type, std::move(dims));
}

Value FunctionBuilder::Gather(const Value& x, const Value& indices, int64_t axis) {
  Dims dims(x.dims.begin(), x.dims.begin() + axis);
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), x.dims.begin() + axis + 1, x.dims.end());
  return Emit("Gather", {x.name, indices.name}, x.type, std::move(dims), {Named("axis", axis)});
}

Value FunctionBuilder::ScatterNd(const Value& x, const Value& indices, const Value& updates) {
  return Emit("ScatterND", {x.name, indices.name, updates.name}, x.type, x.dims);
}

Value FunctionBuilder::Expand(const Value& x, Dims dims) {
  if (x.dims == dims) return x;
  const Value shape = Longs(dims);
  return Emit("Expand", {x.name, shape.name}, x.type, std::move(dims));
}

Value FunctionBuilder::MatMul(const Value& a, const Value& b) {
  const Dims& longer = a.dims.size() >= b.dims.size() ? a.dims : b.dims;
  Dims dims = longer;
  dims[dims.size() - 2] = a.dims[a.dims.size() - 2];
  dims[dims.size() - 1] = b.dims[b.dims.size() - 1];
  return Emit("MatMul", {a.name, b.name}, a.type, std::move(dims));
}

Value FunctionBuilder::Call(const Function& function, std::span<const Value> inputs, ElementType type, Dims dims) {
  std::map<std::string, std::string, std::less<>> names = {{"", ""}};  // an omitted input stays one
  for (size_t i = 0; i < inputs.size(); ++i) names[function.inputs[i]] = inputs[i].name;
  for (const Node& node : function.nodes) {
    Node copy = node;
    for (std::string& name : copy.inputs) name = names[name];
    for (std::string& name : copy.outputs) {
      if (name.empty()) continue;
      const std::string fresh = NewName();
      names[name] = fresh;
      name = fresh;
    }
    function_.nodes.push_back(std::move(copy));
  }
  return {names[function.outputs[0]], type, std::move(dims)};
}

std::string FunctionBuilder::NewName() {
  std::string name;
  do {
    name = fmt::format("v{}", next_name_++);
  } while (inputs_.contains(name));
  return name;
}

Function FunctionBuilder::Finish(const Value& result, std::string output_name) {
  // An output of its own: the result may be an input, or a constant that others read.
  while (inputs_.contains(output_name)) output_name += '_';
  Node node;
  node.op_type = "Identity";
  node.inputs = {result.name};
  node.outputs = {output_name};
  const bool last = !function_.nodes.empty() && function_.nodes.back().outputs[0] == result.name;
  if (last)
    function_.nodes.back().outputs[0] = output_name;
  else
    function_.nodes.push_back(std::move(node));
  // What nobody reads goes.
  std::set<std::string, std::less<>> read = {output_name};
  std::vector<Node> used;
  for (auto it = function_.nodes.rbegin(); it != function_.nodes.rend(); ++it) {
    if (std::none_of(it->outputs.begin(), it->outputs.end(), [&](const auto& name) { return read.contains(name); })) {
      continue;
    }
    read.insert(it->inputs.begin(), it->inputs.end());
    used.push_back(std::move(*it));
  }
  function_.nodes.assign(std::make_move_iterator(used.rbegin()), std::make_move_iterator(used.rend()));
  ValueInfo info;
  info.name = output_name;
  info.type = result.type;
  info.shape.emplace();
  for (int64_t dim : result.dims) info.shape->emplace_back(dim);
  function_.value_infos.push_back(std::move(info));
  function_.outputs = {std::move(output_name)};
  function_.opset_imports = {{std::string(), opset_}};
  return std::move(function_);
}

}  // namespace tessera
