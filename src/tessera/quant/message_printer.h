// Prints the messages of the profile notation, whatever their fields: what is printed for a field follows from the type
// of its member (profile_fields.h). A printer derives from MessagePrinter and adds what its messages have besides;
// overloads of Add and IsDefault of the derived class go before those here. For .cc files of printers only.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/quant/profile_fields.h"
#include "tessera/types/element_text.h"
#include "tessera/types/lexer.h"

namespace tessera {

// A piece of text that stands on one line where it fits, else between its brackets on several.
struct TextEntry {
  std::string text = {};           // all of it, or what stands before the bracket
  std::string_view brackets = {};  // "", "{}", "[]" or "()"
  std::vector<TextEntry> children = {};
  // A list of that many words in place of children, as many on a line as fit. They are made when they are printed:
  // codebooks are long.
  size_t words = 0;
  std::function<std::string(size_t)> word = {};
};

// Appends the entry on one line; false, having appended a part, if that passes `most` characters or nests too deep.
bool AppendFlat(const TextEntry& entry, size_t most, int messages, std::string* out);
// Appends the entry from column `indent` on, which is reached already.
void AppendEntry(const TextEntry& entry, size_t indent, std::string* out);

// ---- one value as text

inline std::string FieldText(bool value) { return value ? "true" : "false"; }
inline std::string FieldText(float value) { return FormatElement(ElementType::kFloat, std::bit_cast<uint32_t>(value)); }
inline std::string FieldText(const std::string& value) { return QuotedString(value); }
inline std::string FieldText(const ScaleExponent& value) { return std::to_string(value.exponent); }
template <std::integral T>
std::string FieldText(T value) {
  return std::to_string(value);
}
template <typename T>
  requires std::is_enum_v<T>
std::string FieldText(T value) {
  return std::string(EnumName(value));
}

template <typename T>
concept IsScalarField = requires(const T& value) { FieldText(value); };

template <typename Derived>
class MessagePrinter {
 public:
  template <IsMessage Message>
  static TextEntry MessageEntry(std::string head, const Message& message) {
    TextEntry entry{.text = std::move(head.append(Fields<Message>::kName) += ' '), .brackets = "{}"};
    AddFields(message, &entry.children);
    return entry;
  }

 protected:
  using Entries = std::vector<TextEntry>;
  static std::string Head(std::string_view name) { return std::string(name) + ": "; }

  template <IsMessage Message>
  static void AddFields(const Message& message, Entries* out) {
    ForEachField<Message>([&](const auto& row) {
      const auto& value = message.*row.member;
      if (row.shown == Shown::kAlways || !Derived::IsDefault(value)) Derived::Add(row.name, value, out);
    });
  }

  static bool IsDefault(float value) { return std::bit_cast<uint32_t>(value) == 0; }  // -0.0 is printed
  static bool IsDefault(const std::string& value) { return value.empty(); }
  template <typename T>
  static bool IsDefault(const std::optional<T>& value) {
    return !value;
  }
  template <typename T>
  static bool IsDefault(const std::vector<T>& value) {
    return value.empty();
  }
  template <typename T>
  static bool IsDefault(const T& value) {
    return value == T();
  }

  template <IsScalarField T>
  static void Add(std::string_view name, const T& value, Entries* out) {
    out->push_back({.text = Head(name) + FieldText(value)});
  }
  template <IsMessage Message>
  static void Add(std::string_view name, const Message& message, Entries* out) {
    out->push_back(MessageEntry(Head(name), message));
  }
  template <typename T>
  static void Add(std::string_view name, const std::optional<T>& value, Entries* out) {
    if (value) Derived::Add(name, *value, out);
  }
  template <IsScalarField T>
  static void Add(std::string_view name, const std::vector<T>& values, Entries* out) {
    out->push_back(Words(name, values.size(), [&values](size_t i) { return FieldText(values[i]); }));
  }
  template <IsMessage Message>
  static void Add(std::string_view name, const std::vector<Message>& messages, Entries* out) {
    TextEntry list{.text = Head(name), .brackets = "[]"};
    for (const Message& message : messages) list.children.push_back(MessageEntry("", message));
    out->push_back(std::move(list));
  }
  static void Add(std::string_view name, const std::vector<Metadata>& metadata, Entries* out) {
    for (const Metadata& entry : metadata) {
      out->push_back(
          {.text = Head(name),
           .brackets = "{}",
           .children = {{.text = "key: " + FieldText(entry.key)}, {.text = "value: " + FieldText(entry.value)}}});
    }
  }

  static TextEntry Words(std::string_view name, size_t count, std::function<std::string(size_t)> word) {
    return {.text = Head(name), .brackets = "[]", .words = count, .word = std::move(word)};
  }
};

}  // namespace tessera
