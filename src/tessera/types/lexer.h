// The tokens of the text notations: struct types, functions in ONNX's syntax, and later profiles. A view of the text,
// which must outlive it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/base/error.h"

namespace tessera {

enum class TokenKind : uint8_t {
  kEnd,
  kIdentifier,
  kInteger,  // 42, 0x2a; a letter may not follow
  kFloat,    // 0.5, 1e-3
  kString,   // "..." on one line, with \" \\ \n \t \r \xNN; other bytes stand for themselves
  kSymbol,   // one character, or =>, or ...
  kBad,      // text that is no token; `text` says what is wrong
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // as written, without a string's quotes
  std::string value;      // a string's content
  uint32_t line = 1;
  uint32_t column = 1;  // in bytes

  bool Is(std::string_view symbol) const { return kind == TokenKind::kSymbol && text == symbol; }
  bool IsName(std::string_view name) const { return kind == TokenKind::kIdentifier && text == name; }
  // For messages: `'{'`, `the string 'text'`, `the end of the text`.
  std::string Describe() const;
};

// White space separates tokens; `//` and `#` begin comments that end with the line, `/*` one that ends with `*/`.
class Lexer {
 public:
  explicit Lexer(std::string_view text, std::string file_name = {});

  const Token& peek() const { return next_; }
  Token Take();
  // Where the last token that was taken ends, in bytes of the text.
  size_t taken_end() const { return taken_end_; }
  bool TakeIf(std::string_view symbol);

  // An error at a token: `file:line:column`.
  tl::unexpected<Error> ErrorAt(const Token& token, ErrorCode code, std::string what, std::string fix = {}) const;
  // kSyntax: `expected WHAT, found TOKEN` at the next token.
  tl::unexpected<Error> Expected(std::string_view what) const;
  Result<void> Expect(std::string_view symbol);
  Result<std::string> ExpectString(std::string_view what);

 private:
  void Advance();
  bool SkipBlanks();
  char At(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  void LexNumber();
  void LexString();

  std::string_view text_;
  std::string file_name_;
  size_t at_ = 0;
  size_t taken_end_ = 0;
  size_t line_start_ = 0;
  uint32_t line_ = 1;
  Token next_;
};

// `text` in double quotes with the escapes that the lexer reads, UTF-8 as it is; any bytes.
std::string QuotedString(std::string_view text);
bool IsIdentifier(std::string_view text);

}  // namespace tessera
