// Writes the body of a decoder or encoder: each call adds a node of a standard operator for one opset and returns its
// result, whose element type and shape are known. What an opset lacks is written with what it has (below 18 there is
// no BitwiseAnd, below 14 no Add of small integers), here and nowhere else.
//
// It writes what onnxruntime runs as well, which is less than the operators' schemas allow: arithmetic on INT32,
// INT64, FLOAT and DOUBLE only, shifts on UINT8, UINT32 and UINT64 only.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/types/constant.h"
#include "tessera/types/element_type.h"
#include "tessera/types/function.h"

namespace tessera {

using Dims = std::vector<int64_t>;

// A value of the function: an input, or the result of a node. All sizes are known.
struct Value {
  std::string name;
  ElementType type = ElementType::kUndefined;
  Dims dims;  // empty for a scalar
};

// The number of elements. REQUIRES: sizes of a checked type, whose product fits into 63 bits.
int64_t CountOf(const Dims& dims);

// Elements as they lie in a Constant: little-endian, sub-byte types packed.
Constant MakeConstant(ElementType type, Dims dims, std::span<const int64_t> values);
Constant MakeConstant(Dims dims, std::span<const float> values);
// FLOAT or DOUBLE; each value is rounded once.
Constant MakeFloats(ElementType type, Dims dims, std::span<const double> values);

class FunctionBuilder {
 public:
  // REQUIRES: kMinOpset <= opset <= kMaxOpset.
  explicit FunctionBuilder(int64_t opset) : opset_(opset) {}

  int64_t opset() const { return opset_; }
  // True if values of the type can be the input of a Cast at this opset.
  bool CanCast(ElementType type) const;

  // ---- Where values come from. All inputs come first.
  Value Input(std::string name, ElementType type, Dims dims);
  // Equal constants are one node; how one was stored, and its name, are not kept.
  Value Const(Constant constant);
  Value Const(ElementType type, Dims dims, std::span<const int64_t> values) {
    return Const(MakeConstant(type, std::move(dims), values));
  }
  Value Scalar(ElementType type, int64_t value) { return Const(type, {}, {{value}}); }
  Value Scalar(float value) { return Const(MakeConstant({}, {{value}})); }
  Value Floats(Dims dims, std::span<const float> values) { return Const(MakeConstant(std::move(dims), values)); }

  // ---- Elementwise; shapes broadcast as in ONNX, and the types are equal
  Value Cast(const Value& x, ElementType type);  // x itself where it has the type
  Value Add(const Value& a, const Value& b) { return Binary("Add", a, b); }
  Value Sub(const Value& a, const Value& b) { return Binary("Sub", a, b); }
  Value Mul(const Value& a, const Value& b) { return Binary("Mul", a, b); }
  Value Div(const Value& a, const Value& b) { return Binary("Div", a, b); }
  Value Max(const Value& a, const Value& b) { return Binary("Max", a, b); }
  Value Min(const Value& a, const Value& b) { return Binary("Min", a, b); }
  Value Neg(const Value& x) { return Emit("Neg", {x.name}, x.type, x.dims); }
  Value Abs(const Value& x) { return Emit("Abs", {x.name}, x.type, x.dims); }
  Value Round(const Value& x) { return Emit("Round", {x.name}, x.type, x.dims); }  // half to even
  Value IsNan(const Value& x) { return Emit("IsNaN", {x.name}, ElementType::kBool, x.dims); }
  Value Pow(const Value& a, const Value& b) { return Binary("Pow", a, b); }
  Value Equal(const Value& a, const Value& b) { return Compare("Equal", a, b); }
  Value Less(const Value& a, const Value& b) { return Compare("Less", a, b); }
  Value And(const Value& a, const Value& b) { return Compare("And", a, b); }
  Value Or(const Value& a, const Value& b) { return Compare("Or", a, b); }
  Value Where(const Value& condition, const Value& yes, const Value& no);
  // Bits [low, low + count) of each element. REQUIRES: UINT8, UINT32 or UINT64.
  Value Bits(const Value& x, uint32_t low, uint32_t count);
  // x << bits; what passes the width is lost. REQUIRES: as above.
  Value ShiftLeft(const Value& x, uint32_t bits) { return Shift("LEFT", x, bits); }
  Value ShiftRight(const Value& x, uint32_t bits) { return Shift("RIGHT", x, bits); }
  // x modulo base and x divided by it, both of whole numbers. REQUIRES: INT32 or INT64, x >= 0, base > 0.
  Value Mod(const Value& x, int64_t base);
  Value Div(const Value& x, int64_t base);
  Value Clip(const Value& x, int64_t low, int64_t high);  // REQUIRES: INT32 or INT64
  // 2^x rounded once to FLOAT or DOUBLE, so 0 and infinity beyond its range. REQUIRES: INT32.
  Value PowerOfTwo(const Value& x, ElementType type);

  // ---- Data movement
  Value Reshape(const Value& x, Dims dims);  // x itself where it has the shape
  Value Transpose(const Value& x, std::vector<int64_t> perm);
  // REQUIRES: shapes that agree outside the axis; at least one value.
  Value Concat(const std::vector<Value>& parts, int64_t axis);
  // Elements start, start + step, ... below end along an axis.
  Value Slice(const Value& x, int64_t axis, int64_t start, int64_t end, int64_t step = 1);
  // A negative or too large index is an error where the function runs. REQUIRES: indices INT32 or INT64.
  Value Gather(const Value& x, const Value& indices, int64_t axis = 0);
  // `updates` at the positions that the rows of `indices` (INT64) give.
  Value ScatterNd(const Value& x, const Value& indices, const Value& updates);
  Value Expand(const Value& x, Dims dims);
  Value MatMul(const Value& a, const Value& b);  // of matrices, or stacks of them with equal leading sizes

  // The nodes of another function of the same opset on these inputs, under names of their own: its one output.
  Value Call(const Function& function, std::span<const Value> inputs, ElementType type, Dims dims);

  // The function with that one result, declared with its type and shape, without nodes that it does not need. The
  // output's name gets a _ at its end for as long as an input has it. The builder is used up.
  Function Finish(const Value& result, std::string output_name);

 private:
  Value Emit(std::string_view op, std::vector<std::string> inputs, ElementType type, Dims dims,
             std::vector<Attribute> attributes = {});
  std::string NewName();
  Value Binary(std::string_view op, const Value& a, const Value& b);
  Value Compare(std::string_view op, const Value& a, const Value& b);
  Value Shift(std::string_view direction, const Value& x, uint32_t bits);
  Value Longs(std::span<const int64_t> values) {
    return Const(ElementType::kInt64, {static_cast<int64_t>(values.size())}, values);
  }

  int64_t opset_;
  Function function_;
  uint64_t next_name_ = 0;
  std::set<std::string, std::less<>> inputs_;
  std::map<std::string, Value> constants_;                    // by type, dims and bytes
  std::map<std::string, std::string, std::less<>> reshaped_;  // results of Reshape, and what was reshaped
};

}  // namespace tessera
