// What the text notations of messages have in common: `{ key: value key: value }`, `x` or `[x, y]`, metadata. The
// parsers of struct types (notation_parse.cc) and of profiles (quant/profile_parse.cc) derive from it.
//
// Borrows the text, as its lexer does. One thread at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/types/constant.h"
#include "tessera/types/lexer.h"

namespace tessera {

// The one of `names` that `name` is two edits or fewer away from; empty if there is none. `names` are separated by ",
// ".
std::string_view Nearest(std::string_view name, std::string_view names);
// What would be right in place of `name`: `one of: a, b, c`, and before that the one that it is two edits or fewer away
// from. `names` are separated by ", ".
std::string OneOf(std::string_view name, std::string_view names);

class BlockReader {
 protected:
  BlockReader(std::string_view text, std::string file_name) : lexer_(text, std::move(file_name)) {}

  // Calls read(key token) for each entry; it reads the value. `{` is the next token. Entries are separated by commas,
  // white space or nothing.
  template <typename Read>
  Result<void> Block(Read read) {
    TESSERA_TRY(lexer_.Expect("{"));
    while (!lexer_.TakeIf("}")) {
      if (lexer_.peek().kind != TokenKind::kIdentifier) return lexer_.Expected("a field name or '}'");
      const Token key = lexer_.Take();
      if (!lexer_.TakeIf(":")) return NoColon(key);
      TESSERA_TRY(read(key));
      lexer_.TakeIf(",");
    }
    return {};
  }

  // One value, or a list of them in brackets.
  template <typename Read>
  Result<void> OneOrList(Read read) {
    if (!lexer_.TakeIf("[")) return read();
    while (!lexer_.TakeIf("]")) {
      TESSERA_TRY(read());
      if (!lexer_.TakeIf(",") && !lexer_.peek().Is("]")) return lexer_.Expected("',' or ']'");
    }
    return {};
  }

  // `fields` are separated by ", ".
  tl::unexpected<Error> UnknownField(const Token& key, std::string_view message, std::string_view fields) const;
  tl::unexpected<Error> GivenTwice(const Token& key) const;

  template <typename T>
  Result<void> Once(const Token& key, const std::optional<T>& slot) const {
    if (slot) return GivenTwice(key);
    return {};
  }

  Result<void> SetString(const Token& key, std::optional<std::string>* slot);
  // `{ key: "k" value: "v" }`
  Result<void> MetadataEntry(std::vector<Metadata>* metadata);

  Lexer lexer_;

 private:
  tl::unexpected<Error> NoColon(const Token& key) const;
};

}  // namespace tessera
