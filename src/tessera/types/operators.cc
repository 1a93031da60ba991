#include "tessera/types/operators.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace tessera {
namespace {

using F = TypeFamily;

constexpr std::array kOperators = {
    Operator{"Abs", 13, F::kNumbers, "T->T", ""},
    Operator{"Add", 13, F::kNumbersFrom14, "T,T->T", ""},
    Operator{"And", 13, F::kBool, "T,T->T", ""},
    Operator{"BitCast", 26, F::kBitCast, "T->to", "to"},
    Operator{"BitShift", 13, F::kUnsigned, "T,T->T", "direction"},
    Operator{"BitwiseAnd", 18, F::kIntegers, "T,T->T", ""},
    Operator{"BitwiseNot", 18, F::kIntegers, "T->T", ""},
    Operator{"BitwiseOr", 18, F::kIntegers, "T,T->T", ""},
    Operator{"BitwiseXor", 18, F::kIntegers, "T,T->T", ""},
    Operator{"Cast", 13, F::kCast, "T->to", "to saturate@19 round_mode@24"},
    Operator{"Ceil", 13, F::kFloats, "T->T", ""},
    Operator{"Clip", 13, F::kNumbers, "T,T?,T?->T", ""},
    Operator{"Concat", 13, F::kPlain, "T...->T", "axis"},
    Operator{"Constant", 13, F::kGrowingFrom19, "->value", "value value_float value_floats value_int value_ints"},
    Operator{"ConstantOfShape", 13, F::kFilled, "L->value", "value"},
    Operator{"DepthToSpace", 13, F::kPlain, "T->T", "blocksize mode"},
    Operator{"Div", 13, F::kNumbersFrom14, "T,T->T", ""},
    Operator{"Equal", 13, F::kComparable, "T,T->B", ""},
    Operator{"Expand", 13, F::kPlain, "T,L->T", ""},
    Operator{"Flatten", 13, F::kGrowingFrom21, "T->T", "axis"},
    Operator{"Floor", 13, F::kFloats, "T->T", ""},
    Operator{"Gather", 13, F::kPlain, "T,I->T", "axis"},
    Operator{"GatherElements", 13, F::kPlain, "T,I->T", "axis"},
    Operator{"GatherND", 13, F::kPlain, "T,L->T", "batch_dims"},
    Operator{"Greater", 13, F::kNumbers, "T,T->B", ""},
    Operator{"GreaterOrEqual", 13, F::kNumbersFrom16, "T,T->B", ""},
    Operator{"Identity", 13, F::kGrowingFrom19, "T->T", ""},
    Operator{"IsInf", 13, F::kInfTypes, "T->B", "detect_negative detect_positive"},
    Operator{"IsNaN", 13, F::kNanTypes, "T->B", ""},
    Operator{"Less", 13, F::kNumbers, "T,T->B", ""},
    Operator{"LessOrEqual", 13, F::kNumbersFrom16, "T,T->B", ""},
    Operator{"MatMul", 13, F::kWideNumbers, "T,T->T", ""},
    Operator{"Max", 13, F::kNumbers, "T...->T", ""},
    Operator{"Min", 13, F::kNumbers, "T...->T", ""},
    Operator{"Mod", 13, F::kNumbers, "T,T->T", "fmod"},
    Operator{"Mul", 13, F::kNumbersFrom14, "T,T->T", ""},
    Operator{"Neg", 13, F::kSignedNumbers, "T->T", ""},
    Operator{"Not", 13, F::kBool, "T->T", ""},
    Operator{"Or", 13, F::kBool, "T,T->T", ""},
    Operator{"Pad", 13, F::kGrowingFrom21, "T,L,T?,I?@18->T", "mode"},
    Operator{"Pow", 13, F::kPowBases, "T,N->T", ""},
    Operator{"Range", 13, F::kRangeTypes, "T,T,T->T", ""},
    Operator{"Reciprocal", 13, F::kFloats, "T->T", ""},
    Operator{"Reshape", 13, F::kGrowingFrom19, "T,L->T", "allowzero@14"},
    Operator{"Round", 13, F::kRoundTypes, "T->T", ""},
    Operator{"ScatterElements", 13, F::kPlain, "T,I,T->T", "axis"},
    Operator{"ScatterND", 13, F::kPlain, "T,L,T->T", ""},
    Operator{"Shape", 13, F::kGrowingFrom19, "T->L", "start@15 end@15"},
    Operator{"Sign", 13, F::kNumbers, "T->T", ""},
    Operator{"Size", 13, F::kGrowingFrom19, "T->L", ""},
    Operator{"Slice", 13, F::kPlain, "T,I,I,I?,I?->T", ""},
    Operator{"Split", 13, F::kPlain, "T,L?->T", "axis num_outputs@18", 65'536},
    Operator{"Squeeze", 13, F::kGrowingFrom21, "T,L?->T", ""},
    Operator{"Sub", 13, F::kNumbersFrom14, "T,T->T", ""},
    Operator{"Tile", 13, F::kPlain, "T,L->T", ""},
    Operator{"Transpose", 13, F::kGrowingFrom21, "T->T", "perm"},
    Operator{"Unsqueeze", 13, F::kGrowingFrom21, "T,L->T", ""},
    Operator{"Where", 13, F::kPlainFrom16, "B,T,T->T", ""},
    Operator{"Xor", 13, F::kBool, "T,T->T", ""},
};

template <typename... T>
constexpr TypeMask Masks(T... types) {
  return (MaskOf(types) | ...);
}

constexpr TypeMask kBfloat16 = MaskOf(ElementType::kBfloat16);
constexpr TypeMask kFloats =
    Masks(ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16, ElementType::kBfloat16);
constexpr TypeMask kUnsigned =
    Masks(ElementType::kUint8, ElementType::kUint16, ElementType::kUint32, ElementType::kUint64);
constexpr TypeMask kSigned = Masks(ElementType::kInt8, ElementType::kInt16, ElementType::kInt32, ElementType::kInt64);
constexpr TypeMask kSmall = Masks(ElementType::kUint8, ElementType::kInt8, ElementType::kUint16, ElementType::kInt16);
constexpr TypeMask kNumbers = kFloats | kUnsigned | kSigned;
constexpr TypeMask kComparable = kNumbers | MaskOf(ElementType::kBool);
constexpr TypeMask kComplex = Masks(ElementType::kComplex64, ElementType::kComplex128);
constexpr TypeMask kPlain = kComparable | kComplex;
constexpr TypeMask kFloat8 = Masks(ElementType::kFloat8E4M3FN, ElementType::kFloat8E4M3FNUZ, ElementType::kFloat8E5M2,
                                   ElementType::kFloat8E5M2FNUZ);
constexpr TypeMask kFourBits = Masks(ElementType::kUint4, ElementType::kInt4);
constexpr TypeMask kTwoBits = Masks(ElementType::kUint2, ElementType::kInt2);

// What ONNX added to `base` by the given opset, the float8 kinds from `float8_since` on.
constexpr TypeMask Grown(TypeMask base, int64_t float8_since, int64_t opset) {
  TypeMask mask = base;
  if (opset >= float8_since) mask |= kFloat8;
  if (opset >= 21) mask |= kFourBits;
  if (opset >= 23) mask |= MaskOf(ElementType::kFloat4E2M1);
  if (opset >= 24) mask |= MaskOf(ElementType::kFloat8E8M0);
  if (opset >= 25) mask |= kTwoBits;
  return mask;
}

// Splits `text` at `separator`; calls f for each non-empty part.
template <typename Visit>
void ForEachPart(std::string_view text, char separator, Visit visit) {
  while (!text.empty()) {
    size_t end = std::min(text.find(separator), text.size());
    if (end > 0) visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Takes `@18` off the end of `text`; 0 if there is none.
int64_t TakeSince(std::string_view* text) {
  size_t at = text->find('@');
  if (at == std::string_view::npos) return 0;
  int64_t since = 0;
  std::from_chars(text->data() + at + 1, text->data() + text->size(), since);
  *text = text->substr(0, at);
  return since;
}

}  // namespace

std::span<const Operator> AllOperators() { return kOperators; }

const Operator* FindOperator(std::string_view name) {
  auto row = std::lower_bound(kOperators.begin(), kOperators.end(), name,
                              [](const Operator& op, std::string_view wanted) { return op.name < wanted; });
  return row != kOperators.end() && row->name == name ? &*row : nullptr;
}

TypeMask Types(TypeFamily family, int64_t opset) {
  switch (family) {
    case F::kBool:
      return MaskOf(ElementType::kBool);
    case F::kFloats:
      return kFloats;
    case F::kNumbers:
      return kNumbers;
    case F::kNumbersFrom14:
      return opset >= 14 ? kNumbers : kNumbers & ~kSmall;
    case F::kNumbersFrom15:
      return opset >= 15 ? kNumbers : kNumbers & ~kBfloat16;
    case F::kNumbersFrom16:
      return opset >= 16 ? kNumbers : kNumbers & ~kBfloat16;
    case F::kWideNumbers:
      return kNumbers & ~kSmall;
    case F::kSignedNumbers:
      return kFloats | kSigned;
    case F::kIntegers:
      return kUnsigned | kSigned;
    case F::kUnsigned:
      return kUnsigned;
    case F::kPowBases:
      return kFloats | Masks(ElementType::kInt32, ElementType::kInt64);
    case F::kRangeTypes:
      return Masks(ElementType::kFloat, ElementType::kDouble, ElementType::kInt16, ElementType::kInt32,
                   ElementType::kInt64);
    case F::kRoundTypes:
      return opset >= 22 ? kFloats : kFloats & ~kBfloat16;
    case F::kNanTypes:
      return opset >= 20 ? kFloats | kFloat8 : kFloats;
    case F::kInfTypes:
      return opset >= 20 ? kFloats | kFloat8 : Masks(ElementType::kFloat, ElementType::kDouble);
    case F::kComparable:
      return kComparable;
    case F::kPlain:
      return kPlain;
    case F::kPlainFrom16:
      return opset >= 16 ? kPlain : kPlain & ~kBfloat16;
    case F::kGrowingFrom19:
      return Grown(kPlain, 19, opset);
    case F::kGrowingFrom21:
      return Grown(kPlain, 21, opset);
    case F::kFilled:
      return Grown(opset >= 20 ? kComparable : kComparable & ~kBfloat16, 20, opset);
    case F::kCast:
      return Grown(kComparable, 19, opset);
    case F::kBitCast:
      return Grown(kPlain, 19, kMaxOpset);
  }
  return 0;
}

std::vector<OperatorInput> Inputs(const Operator& op) {
  std::vector<OperatorInput> inputs;
  ForEachPart(op.signature.substr(0, op.signature.find("->")), ',', [&](std::string_view part) {
    OperatorInput input;
    input.since = TakeSince(&part);
    input.letter = part[0];
    input.optional = part.ends_with('?');
    input.variadic = part.ends_with("...");
    inputs.push_back(input);
  });
  return inputs;
}

std::string_view ResultOf(const Operator& op) { return op.signature.substr(op.signature.find("->") + 2); }

bool HasAttribute(const Operator& op, std::string_view attribute, int64_t opset) {
  bool found = false;
  ForEachPart(op.attributes, ' ', [&](std::string_view part) {
    int64_t since = TakeSince(&part);
    if (part == attribute && opset >= since) found = true;
  });
  return found;
}

}  // namespace tessera
