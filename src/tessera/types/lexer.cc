#include "tessera/types/lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "tessera/base/utf8.h"

namespace tessera {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

std::string Token::Describe() const {
  switch (kind) {
    case TokenKind::kEnd:
      return "the end of the text";
    case TokenKind::kString:
      return "the string " + Quoted(value);
    case TokenKind::kBad:
      return std::string(text);
    default:
      return Quoted(text);
  }
}

Lexer::Lexer(std::string_view text, std::string file_name) : text_(text), file_name_(std::move(file_name)) {
  Advance();
}

Token Lexer::Take() {
  Token token = std::move(next_);
  Advance();
  return token;
}

bool Lexer::TakeIf(std::string_view symbol) {
  if (!next_.Is(symbol)) return false;
  Advance();
  return true;
}

tl::unexpected<Error> Lexer::ErrorAt(const Token& token, ErrorCode code, std::string what, std::string fix) const {
  return Fail(code, fmt::format("{}:{}:{}", file_name_.empty() ? "text" : file_name_, token.line, token.column),
              std::move(what), std::move(fix));
}

tl::unexpected<Error> Lexer::Expected(std::string_view what) const {
  return ErrorAt(next_, ErrorCode::kSyntax, fmt::format("expected {}, found {}", what, next_.Describe()));
}

Result<void> Lexer::Expect(std::string_view symbol) {
  if (!TakeIf(symbol)) return Expected(fmt::format("'{}'", symbol));
  return {};
}

Result<std::string> Lexer::ExpectString(std::string_view what) {
  if (next_.kind != TokenKind::kString) return Expected(what);
  return Take().value;
}

// False if a comment has no end.
bool Lexer::SkipBlanks() {
  for (;;) {
    char c = At(at_);
    if (at_ >= text_.size()) return true;
    if (c == '\n') {
      ++line_;
      line_start_ = ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '#' || (c == '/' && At(at_ + 1) == '/')) {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == '/' && At(at_ + 1) == '*') {
      size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) return false;
      for (; at_ < end + 2; ++at_) {
        if (text_[at_] == '\n') {
          ++line_;
          line_start_ = at_ + 1;
        }
      }
    } else {
      return true;
    }
  }
}

void Lexer::Advance() {
  taken_end_ = at_;
  bool closed = SkipBlanks();
  next_ = Token();
  next_.line = line_;
  next_.column = static_cast<uint32_t>(at_ - line_start_ + 1);
  if (!closed) {
    next_.kind = TokenKind::kBad;
    next_.text = "a comment without an end";
    at_ = text_.size();
    return;
  }
  if (at_ >= text_.size()) return;
  char c = text_[at_];
  size_t start = at_;
  if (IsLetter(c)) {
    while (IsLetter(At(at_)) || IsDigit(At(at_))) ++at_;
    next_.kind = TokenKind::kIdentifier;
  } else if (IsDigit(c)) {
    LexNumber();
    if (next_.kind == TokenKind::kBad) return;
  } else if (c == '"') {
    return LexString();
  } else if (text_.substr(at_, 3) == "...") {
    at_ += 3;
    next_.kind = TokenKind::kSymbol;
  } else if (text_.substr(at_, 2) == "=>") {
    at_ += 2;
    next_.kind = TokenKind::kSymbol;
  } else if (c > ' ' && c < 0x7F) {
    ++at_;
    next_.kind = TokenKind::kSymbol;
  } else {
    ++at_;
    next_.kind = TokenKind::kBad;
    next_.text = "a character that is neither ASCII nor in a string";
    return;
  }
  next_.text = text_.substr(start, at_ - start);
}

void Lexer::LexNumber() {
  next_.kind = TokenKind::kInteger;
  auto finish = [&](size_t digits) {
    if (digits == 0)
      next_.text = "a number without digits";
    else if (IsLetter(At(at_)) || IsDigit(At(at_)))
      next_.text = "a number that goes on with letters";
    else
      return;
    next_.kind = TokenKind::kBad;
    at_ = text_.size();
  };
  if (text_[at_] == '0' && (At(at_ + 1) == 'x' || At(at_ + 1) == 'X')) {
    const size_t start = at_ += 2;
    while (HexValue(At(at_)) >= 0) ++at_;
    return finish(at_ - start);
  }
  auto digits = [&] {
    while (IsDigit(At(at_))) ++at_;
  };
  digits();
  if (At(at_) == '.' && At(at_ + 1) != '.') {
    next_.kind = TokenKind::kFloat;
    ++at_;
    digits();
  }
  if (At(at_) == 'e' || At(at_) == 'E') {
    size_t exponent = at_ + 1;
    if (At(exponent) == '+' || At(exponent) == '-') ++exponent;
    if (IsDigit(At(exponent))) {
      next_.kind = TokenKind::kFloat;
      at_ = exponent;
      digits();
    }
  }
  finish(1);
}

void Lexer::LexString() {
  size_t start = ++at_;
  auto bad = [&](std::string_view what) {
    next_.kind = TokenKind::kBad;
    next_.text = what;
    at_ = text_.size();
  };
  for (;;) {
    if (at_ >= text_.size() || text_[at_] == '\n') return bad("a string without an end");
    char c = text_[at_++];
    if (c == '"') break;
    if (c != '\\') {
      next_.value += c;
      continue;
    }
    char escape = At(at_++);
    if (escape == 'n')
      next_.value += '\n';
    else if (escape == 't')
      next_.value += '\t';
    else if (escape == 'r')
      next_.value += '\r';
    else if (escape == '"' || escape == '\\')
      next_.value += escape;
    else if (escape == 'x' && HexValue(At(at_)) >= 0 && HexValue(At(at_ + 1)) >= 0) {
      next_.value += static_cast<char>(HexValue(At(at_)) * 16 + HexValue(At(at_ + 1)));
      at_ += 2;
    } else {
      return bad("a string with an unknown escape");
    }
  }
  next_.kind = TokenKind::kString;
  next_.text = text_.substr(start, at_ - 1 - start);
}

std::string QuotedString(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t length = Utf8Length(text.substr(i));
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (length == 0 || static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out.append(text, i, length);
    }
    i += std::max<size_t>(length, 1);
  }
  return out + "\"";
}

bool IsIdentifier(std::string_view text) {
  if (text.empty() || !IsLetter(text[0])) return false;
  for (char c : text) {
    if (!IsLetter(c) && !IsDigit(c)) return false;
  }
  return true;
}

}  // namespace tessera
