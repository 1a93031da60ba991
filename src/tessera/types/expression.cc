#include "tessera/types/expression.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/types/constant_text.h"
#include "tessera/types/element_value.h"

namespace tessera {
namespace {

constexpr int kMaxNesting = 64;
constexpr WideInteger kSmallest = -(WideInteger{1} << 63);
constexpr WideInteger kLargest = (WideInteger{1} << 64) - 1;

class ExpressionParser {
 public:
  ExpressionParser(Lexer* lexer, ParameterScope* parameters, std::string_view use)
      : lexer_(*lexer), parameters_(*parameters), use_(use) {}

  Result<WideInteger> Run() {
    TESSERA_ASSIGN(std::optional<WideInteger> value, Sum(0));
    return value.value_or(0);
  }

 private:
  using Value = std::optional<WideInteger>;  // nullopt: depends on an unbound parameter

  Result<Value> Checked(const Token& at, WideInteger value) {
    if (value < kSmallest || value > kLargest) {
      return lexer_.ErrorAt(at, ErrorCode::kExpression, "the result does not fit into 64 bits", "smaller numbers");
    }
    return Value(value);
  }

  Result<Value> Sum(int depth) {
    TESSERA_ASSIGN(Value left, Product(depth));
    while (lexer_.peek().Is("+") || lexer_.peek().Is("-")) {
      Token op = lexer_.Take();
      TESSERA_ASSIGN(Value right, Product(depth));
      if (!left || !right) {
        left.reset();
      } else {
        TESSERA_ASSIGN(left, Checked(op, op.Is("+") ? *left + *right : *left - *right));
      }
    }
    return left;
  }

  Result<Value> Product(int depth) {
    TESSERA_ASSIGN(Value left, Unary(depth));
    while (lexer_.peek().Is("*") || lexer_.peek().Is("/") || lexer_.peek().Is("%")) {
      Token op = lexer_.Take();
      TESSERA_ASSIGN(Value right, Unary(depth));
      if (!left || !right) {
        left.reset();
      } else if (op.Is("*")) {
        // Two factors of at most 64 bits and a sign fit into 128 bits only if one of them is smaller.
        WideInteger product = 0;
        if (__builtin_mul_overflow(*left, *right, &product)) product = kLargest + 1;
        TESSERA_ASSIGN(left, Checked(op, product));
      } else {
        TESSERA_ASSIGN(left, Divide(op, *left, *right));
      }
    }
    return left;
  }

  Result<Value> Divide(const Token& op, WideInteger left, WideInteger right) {
    if (right == 0) return lexer_.ErrorAt(op, ErrorCode::kExpression, "division by zero", "another divisor");
    if (op.Is("%")) return Value(left % right);
    if (left % right != 0) {
      return lexer_.ErrorAt(op, ErrorCode::kExpression,
                            fmt::format("{} is not a multiple of {}", IntegerText(left), IntegerText(right)),
                            "use ceil_div(a, b) to round up");
    }
    return Checked(op, left / right);
  }

  Result<Value> Unary(int depth) {
    if (lexer_.peek().Is("-")) {
      Token op = lexer_.Take();
      if (depth >= kMaxNesting) return TooDeep(op);
      TESSERA_ASSIGN(Value value, Unary(depth + 1));
      if (!value) return value;
      return Checked(op, -*value);
    }
    return Primary(depth);
  }

  tl::unexpected<Error> TooDeep(const Token& at) {
    return lexer_.ErrorAt(at, ErrorCode::kExpression, fmt::format("is nested more than {} deep", kMaxNesting),
                          "a flatter one");
  }

  Result<Value> Primary(int depth) {
    if (depth >= kMaxNesting) return TooDeep(lexer_.peek());
    if (lexer_.TakeIf("(")) {
      TESSERA_ASSIGN(Value value, Sum(depth + 1));
      TESSERA_TRY(lexer_.Expect(")"));
      return value;
    }
    if (lexer_.peek().kind == TokenKind::kInteger) return Number(lexer_.Take());
    if (lexer_.peek().kind != TokenKind::kIdentifier) return lexer_.Expected("a number or a parameter");
    Token name = lexer_.Take();
    if (name.text == "ceil_div" && lexer_.TakeIf("(")) {
      TESSERA_ASSIGN(Value left, Sum(depth + 1));
      TESSERA_TRY(lexer_.Expect(","));
      TESSERA_ASSIGN(Value right, Sum(depth + 1));
      TESSERA_TRY(lexer_.Expect(")"));
      if (!left || !right) return Value();
      if (*left < 0 || *right <= 0) {
        return lexer_.ErrorAt(name, ErrorCode::kExpression, "ceil_div needs a >= 0 and b > 0", "positive numbers");
      }
      return Value(CeilDiv(static_cast<uint64_t>(*left), static_cast<uint64_t>(*right)));
    }
    const ParameterValue* value = parameters_.Find(name.text);
    if (value == nullptr) {
      parameters_.NoteUnbound(name, std::string(use_));
      return Value();
    }
    if (const int64_t* number = std::get_if<int64_t>(value)) return Value(*number);
    const std::string* literal = std::get_if<std::string>(value);
    return lexer_.ErrorAt(name, ErrorCode::kParameterData,
                          fmt::format("{} is bound to {}", Quoted(name.text), literal ? Quoted(*literal) : "data"),
                          "an integer here");
  }

  Result<Value> Number(const Token& token) {
    uint64_t value = 0;
    std::string_view digits = token.text;
    int base = 10;
    if (digits.starts_with("0x")) {
      digits.remove_prefix(2);
      base = 16;
    }
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      return lexer_.ErrorAt(token, ErrorCode::kExpression,
                            fmt::format("{} does not fit into 64 bits", Quoted(token.text)), "a number below 2^64");
    }
    return Value(value);
  }

  Lexer& lexer_;
  ParameterScope& parameters_;
  std::string_view use_;
};

}  // namespace

Result<void> ParameterScope::CheckShape() const {
  if (!options_.shape) return {};
  // The product without zeros, so that no partial product of a shape that passes can overflow.
  uint64_t product = 1;
  for (int64_t dim : *options_.shape) {
    if (dim < 0) return Fail(ErrorCode::kArgument, "shape", fmt::format("dimension {} is negative", dim), "0 or more");
    std::optional<uint64_t> next = CheckedMul(product, dim == 0 ? 1 : static_cast<uint64_t>(dim));
    if (!next || *next > INT64_MAX) {
      return Fail(ErrorCode::kArgument, "shape", "has more than 2^63 - 1 elements", "smaller dimensions");
    }
    product = *next;
  }
  return {};
}

const ParameterValue* ParameterScope::Find(std::string_view name) {
  if (auto bound = options_.parameters.find(name); bound != options_.parameters.end()) return &bound->second;
  if (!options_.shape || (name != "shape" && name != "elements" && name != "rows" && name != "cols")) return nullptr;
  if (from_shape_.empty()) {
    int64_t elements = 1;
    for (int64_t dim : *options_.shape) elements *= dim;
    const int64_t cols = options_.shape->empty() ? 1 : options_.shape->back();
    int64_t rows = 1;
    for (size_t i = 0; i + 1 < options_.shape->size(); ++i) rows *= (*options_.shape)[i];
    Constant list;
    list.type = ElementType::kInt64;
    list.dims = {static_cast<int64_t>(options_.shape->size())};
    list.bytes.resize(options_.shape->size() * sizeof(int64_t));
    for (size_t i = 0; i < options_.shape->size(); ++i) {
      StoreCode(list.bytes, list.type, i, static_cast<uint64_t>((*options_.shape)[i]));
    }
    from_shape_ = {{"elements", elements}, {"rows", rows}, {"cols", cols}, {"shape", std::move(list)}};
  }
  auto value = from_shape_.find(name);
  return value == from_shape_.end() ? nullptr : &value->second;
}

void ParameterScope::NoteUnbound(const Token& name, std::string use) {
  ++unbound_uses_;
  if (unbound_.find(name.text) != unbound_.end()) return;
  unbound_.try_emplace(std::string(name.text),
                       UnboundParameter{std::string(name.text), name.line, name.column, std::move(use)});
}

std::vector<UnboundParameter> ParameterScope::TakeUnbound() {
  std::vector<UnboundParameter> list;
  for (auto& [name, parameter] : unbound_) list.push_back(std::move(parameter));
  unbound_.clear();
  return list;
}

tl::unexpected<Error> FailUnbound(std::span<const UnboundParameter> unbound) {
  std::string list;
  for (const UnboundParameter& parameter : unbound) {
    list += fmt::format("{}{} ({}, line {})", list.empty() ? "" : ", ", parameter.name, parameter.use, parameter.line);
  }
  return Fail(ErrorCode::kUnbound, "",
              fmt::format("{} parameter{} without a value: {}", unbound.size(), unbound.size() == 1 ? "" : "s", list),
              "--set NAME=VALUE, --set NAME=@file.npy for data; --shape gives shape, elements, rows and cols");
}

Result<std::optional<std::vector<int64_t>>> TakeIntegerList(Lexer* lexer, ParameterScope* parameters) {
  const Token name = lexer->peek();
  if (name.kind != TokenKind::kIdentifier) return std::nullopt;
  const ParameterValue* value = parameters->Find(name.text);
  const Constant* data = value == nullptr ? nullptr : std::get_if<Constant>(value);
  if (data == nullptr) return std::nullopt;
  const ElementKind kind = Info(data->type).kind;
  std::optional<std::vector<int64_t>> list;
  if (data->dims.size() == 1 && HasWholeData(*data) &&
      (kind == ElementKind::kUnsigned || kind == ElementKind::kSigned)) {
    list.emplace();
    for (int64_t i = 0; i < data->dims[0] && list; ++i) {
      list->push_back(DecodeInteger(data->type, LoadCode(data->bytes, data->type, static_cast<uint64_t>(i))));
      if (kind == ElementKind::kUnsigned && list->back() < 0) list.reset();  // beyond INT64
    }
  }
  if (!list) {
    return lexer->ErrorAt(
        name, ErrorCode::kParameterData,
        fmt::format("{} is bound to {}[{}]", Quoted(name.text), Name(data->type), fmt::join(data->dims, ", ")),
        "an integer, or a list of integers below 2^63");
  }
  lexer->Take();
  return list;
}

std::string IntegerText(WideInteger value) {
  if (value < 0) return value == kSmallest ? "-9223372036854775808" : "-" + IntegerText(-value);
  return std::to_string(static_cast<uint64_t>(value));
}

Result<WideInteger> ParseExpression(Lexer* lexer, ParameterScope* parameters, std::string_view use) {
  return ExpressionParser(lexer, parameters, use).Run();
}

}  // namespace tessera
