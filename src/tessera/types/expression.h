// Integer expressions over template parameters: + - * / % and parentheses, ceil_div(a, b). Division is exact: a
// remainder is an error that names it. Arithmetic is checked in 64 bits (values from -2^63 to 2^64 - 1).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tessera/base/error.h"
#include "tessera/types/lexer.h"
#include "tessera/types/notation.h"

namespace tessera {

// Template parameters while a text is parsed: their values, and those that have none.
class ParameterScope {
 public:
  explicit ParameterScope(const NotationOptions& options) : options_(options) {}

  // The value of a parameter, or of elements, rows and cols where there is a shape. nullptr if it has none.
  const ParameterValue* Find(std::string_view name);

  // Notes that a parameter has no value; `use` says what it stands for.
  void NoteUnbound(const Token& name, std::string use);
  size_t unbound_count() const { return unbound_.size(); }
  std::vector<UnboundParameter> TakeUnbound();

 private:
  const NotationOptions& options_;
  std::map<std::string, ParameterValue, std::less<>> from_shape_;
  std::map<std::string, UnboundParameter, std::less<>> unbound_;
};

// Wide enough that no checked 64-bit operation leaves it.
__extension__ using WideInteger = __int128;

// Parses and evaluates an expression; an unbound parameter makes the whole expression 0.
// Errors: kSyntax, kExpression, kParameterData.
Result<WideInteger> ParseExpression(Lexer* lexer, ParameterScope* parameters, std::string_view use);

}  // namespace tessera
