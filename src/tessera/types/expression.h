// Integer expressions over template parameters: + - * / % and parentheses, ceil_div(a, b). Division is exact: a
// remainder is an error that names it. Arithmetic is checked in 64 bits (values from -2^63 to 2^64 - 1).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/types/lexer.h"
#include "tessera/types/notation.h"

namespace tessera {

// Template parameters while a text is parsed: their values, and those that have none.
class ParameterScope {
 public:
  explicit ParameterScope(const NotationOptions& options) : options_(options) {}
  const Limits& limits() const { return options_.limits; }

  // Errors: kArgument where the shape has a negative dimension, or more elements than an integer parameter holds.
  Result<void> CheckShape() const;
  // REQUIRES: CheckShape() was right.
  // The value of a parameter, or of shape, elements, rows and cols where there is a shape. nullptr if it has none.
  const ParameterValue* Find(std::string_view name);

  // Notes that a parameter has no value; `use` says what it stands for.
  void NoteUnbound(const Token& name, std::string use);
  // How often parameters without a value were used so far; grows with every use, not only the first.
  size_t unbound_uses() const { return unbound_uses_; }
  std::vector<UnboundParameter> TakeUnbound();

 private:
  const NotationOptions& options_;
  std::map<std::string, ParameterValue, std::less<>> from_shape_;
  std::map<std::string, UnboundParameter, std::less<>> unbound_;
  size_t unbound_uses_ = 0;
};

// kUnbound with the names, uses and lines of the parameters.
tl::unexpected<Error> FailUnbound(std::span<const UnboundParameter> unbound);

// Wide enough that no checked 64-bit operation leaves it.
__extension__ using WideInteger = __int128;
// Decimal. REQUIRES: -2^63 <= value < 2^64, as all results of ParseExpression are.
std::string IntegerText(WideInteger value);

// Where a list of integers is read: takes the next token if it is a parameter bound to such a list, as `shape` is, and
// returns the list. nullopt where something else begins. Errors: kParameterData for a parameter bound to other data.
Result<std::optional<std::vector<int64_t>>> TakeIntegerList(Lexer* lexer, ParameterScope* parameters);

// Parses and evaluates an expression; an unbound parameter makes the whole expression 0.
// Errors: kSyntax, kExpression, kParameterData.
Result<WideInteger> ParseExpression(Lexer* lexer, ParameterScope* parameters, std::string_view use);

}  // namespace tessera
