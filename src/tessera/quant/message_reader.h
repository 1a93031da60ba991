// Reads the messages of the profile notation, whatever their fields: what is read for a field follows from the type of
// its member (profile_fields.h). A parser of texts derives from it and adds what its messages have besides; overloads
// of Read, Second and Finish of the derived class go before those here. For .cc files of parsers only.
//
// Borrows the text and the options, as BlockReader does. One thread at a time.
#pragma once

#include <fmt/format.h>

#include <array>
#include <bit>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/quant/profile_fields.h"
#include "tessera/types/block_reader.h"
#include "tessera/types/constant_text.h"
#include "tessera/types/element_value.h"
#include "tessera/types/expression.h"

namespace tessera {

// True for fields that hold a list, to which every occurrence adds.
template <typename T>
constexpr bool kRepeated = false;
template <typename T>
constexpr bool kRepeated<std::vector<T>> = true;

template <typename Enum>
std::string EnumNames() {
  std::string names;
  for (int64_t number = 0;; ++number) {
    const std::optional<std::string_view> name = EnumText<Enum>::NameOf(number);
    if (!name) return names;
    names.append(number > 0 ? ", " : "").append(*name);
  }
}

template <IsMessage Message>
std::string FieldNames() {
  std::string names;
  ForEachField<Message>([&](const auto& row) {
    ForEachName(row, [&](std::string_view name) { names.append(names.empty() ? "" : ", ").append(name); });
  });
  return names;
}

template <typename Derived>
class MessageReader : protected BlockReader {
 protected:
  MessageReader(std::string_view text, const NotationOptions& options)
      : BlockReader(text, options.file_name), parameters_(options), limits_(options.limits) {}

  // ---- messages

  // `{ ... }`, with the message's name in front or without. `depth` is that of the profile it is a part of, the root
  // being 1.
  template <IsMessage Message>
  Result<void> ReadMessage(uint32_t depth, Message* message) {
    const Token start = lexer_.peek();
    if (start.IsName(Fields<Message>::kName)) {
      lexer_.Take();
    } else if (!start.Is("{")) {
      return lexer_.Expected(fmt::format("{} or '{{'", Fields<Message>::kName));
    }
    std::array<bool, std::tuple_size_v<decltype(Fields<Message>::kRows)>> seen{};
    TESSERA_TRY(Block([&](const Token& key) -> Result<void> {
      bool known = false;
      Result<void> read;
      size_t index = 0;
      ForEachField<Message>([&](const auto& row) {
        const size_t i = index++;
        bool named = false;
        ForEachName(row, [&](std::string_view name) { named |= name == key.text; });
        if (known || !named) return;
        known = true;
        auto* value = &(message->*row.member);
        if (std::exchange(seen[i], true) && !kRepeated<std::remove_pointer_t<decltype(value)>>)
          read = self().Second(key, *value);
        else
          read = self().Read(key, depth, value);
      });
      if (!known) return UnknownField(key, Fields<Message>::kName, FieldNames<Message>());
      return read;
    }));
    return self().Finish(start, message);
  }

  // The second occurrence of a field that may stand once.
  template <typename T>
  tl::unexpected<Error> Second(const Token& key, const T&) {
    return GivenTwice(key);
  }

  // What is known only at the end of a message; `start` is its first token.
  template <IsMessage Message>
  Result<void> Finish(const Token&, Message*) {
    return {};
  }

  // ---- values: `key` is the field's name, behind whose colon the value comes

  template <IsMessage Message>
  Result<void> Read(const Token&, uint32_t depth, Message* message) {
    return ReadMessage(depth, message);
  }

  template <typename T>
  Result<void> Read(const Token& key, uint32_t depth, std::optional<T>* slot) {
    return self().Read(key, depth, &slot->emplace());
  }

  template <typename T>
  Result<void> Read(const Token& key, uint32_t depth, std::vector<T>* list) {
    return OneOrList([&] { return self().Read(key, depth, &list->emplace_back()); });
  }

  // Also parameters that are bound to lists, such as `shape`.
  template <std::integral T>
  Result<void> Read(const Token& key, uint32_t depth, std::vector<T>* list) {
    return OneOrList([&]() -> Result<void> {
      const Token at = lexer_.peek();
      TESSERA_ASSIGN(const std::optional<std::vector<int64_t>> bound, TakeIntegerList(&lexer_, &parameters_));
      if (!bound) return Read(key, depth, &list->emplace_back());
      for (int64_t number : *bound) TESSERA_TRY(Fit(at, key, number, &list->emplace_back()));
      return {};
    });
  }

  Result<void> Read(const Token&, uint32_t, std::vector<Metadata>* metadata) {
    return OneOrList([&] { return MetadataEntry(metadata); });
  }

  Result<void> Read(const Token&, uint32_t, std::string* value) {
    TESSERA_ASSIGN(*value, lexer_.ExpectString("a string"));
    return {};
  }

  template <std::integral T>
  Result<void> Read(const Token& key, uint32_t, T* value) {
    const Token at = lexer_.peek();
    TESSERA_ASSIGN(WideInteger number, Integer(key, "an integer"));
    return Fit(at, key, number, value);
  }

  template <std::integral T>
  Result<void> Fit(const Token& at, const Token& key, WideInteger number, T* value) {
    using Range = std::numeric_limits<T>;
    if (number < Range::min() || number > Range::max()) {
      return lexer_.ErrorAt(at, ErrorCode::kExpression, fmt::format("{} is {}", key.text, IntegerText(number)),
                            fmt::format("{} to {}", Range::min(), Range::max()));
    }
    *value = static_cast<T>(number);
    return {};
  }

  Result<void> Read(const Token&, uint32_t, bool* value) {
    const Token at = lexer_.peek();
    TESSERA_ASSIGN(std::optional<uint64_t> code, Element(ElementType::kBool, "true or false"));
    if (code && *code > 1) return lexer_.ErrorAt(at, ErrorCode::kLiteral, "is neither true nor false", "true or false");
    *value = code == uint64_t{1};
    return {};
  }

  Result<void> Read(const Token&, uint32_t, float* value) {
    TESSERA_ASSIGN(std::optional<uint64_t> code, Element(ElementType::kFloat, "a number"));
    *value = std::bit_cast<float>(static_cast<uint32_t>(code.value_or(0)));
    return {};
  }

  // A name, the number of one, or a parameter that is bound to either. A name that is none of these is more likely
  // misspelt than a parameter.
  template <typename Enum>
    requires std::is_enum_v<Enum>
  Result<void> Read(const Token& key, uint32_t, Enum* value) {
    const Token at = lexer_.peek();
    if (at.kind == TokenKind::kIdentifier) {
      if (const std::optional<Enum> named = EnumFromName<Enum>(at.text)) return TakeAs(*named, value);
      const ParameterValue* bound = parameters_.Find(at.text);
      if (bound == nullptr) {
        return lexer_.ErrorAt(at, ErrorCode::kSyntax,
                              fmt::format("expected {}, found {}", EnumText<Enum>::kWhat, Quoted(at.text)),
                              OneOf(at.text, EnumNames<Enum>()));
      }
      if (const std::string* literal = std::get_if<std::string>(bound)) {
        if (const std::optional<Enum> named = EnumFromName<Enum>(*literal)) return TakeAs(*named, value);
        return lexer_.ErrorAt(at, ErrorCode::kParameterData,
                              fmt::format("{} is bound to {}", Quoted(at.text), Quoted(*literal)),
                              OneOf(*literal, EnumNames<Enum>()));
      }
    }
    TESSERA_ASSIGN(WideInteger number, Integer(key, EnumText<Enum>::kWhat));
    if (number < 0 || number > INT32_MAX || !EnumText<Enum>::NameOf(static_cast<int64_t>(number))) {
      return lexer_.ErrorAt(at, ErrorCode::kLiteral,
                            fmt::format("{} is not the number of {}", IntegerText(number), EnumText<Enum>::kWhat),
                            fmt::format("one of: {}", EnumNames<Enum>()));
    }
    *value = static_cast<Enum>(number);
    return {};
  }
  template <typename Enum>
  Result<void> TakeAs(Enum named, Enum* value) {
    lexer_.Take();
    *value = named;
    return {};
  }

  // An expression; `what` is expected. The names of literals are no parameters.
  Result<WideInteger> Integer(const Token& key, std::string_view what) {
    const Token& at = lexer_.peek();
    const bool begins = at.kind == TokenKind::kInteger || at.Is("-") || at.Is("(") ||
                        (at.kind == TokenKind::kIdentifier && !IsLiteralName(at.text));
    if (!begins) return lexer_.Expected(what);
    return ParseExpression(&lexer_, &parameters_, key.text);
  }

  // The code of a literal or parameter; nullopt if the parameter has no value.
  Result<std::optional<uint64_t>> Element(ElementType type, std::string_view what) {
    const Token& at = lexer_.peek();
    if (at.Is("[") || (at.kind == TokenKind::kIdentifier && ElementTypeFromName(at.text))) return lexer_.Expected(what);
    Constant element;
    element.type = type;
    const ElementBounds bounds{.count = 1};
    TESSERA_TRY(ParseElements(&lexer_, &parameters_, "[", "]", ElementStyle::kNotation, bounds, &element));
    if (element.bytes.empty()) return std::nullopt;
    return LoadCode(element.bytes, type, 0);
  }

  ParameterScope parameters_;
  const Limits& limits_;

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
};

}  // namespace tessera
