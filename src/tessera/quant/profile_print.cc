#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/quant/profile_fields.h"
#include "tessera/quant/profile_text.h"
#include "tessera/types/constant_text.h"
#include "tessera/types/element_text.h"
#include "tessera/types/lexer.h"

namespace tessera {
namespace {

constexpr size_t kIndent = 4;
constexpr size_t kWrapAt = 120;
// More levels of braces than that on one line are hard to read.
constexpr int kFlatMessages = 2;

// A piece of text that stands on one line where it fits, else between its brackets on several.
struct Entry {
  std::string text = {};           // all of it, or what stands before the bracket
  std::string_view brackets = {};  // "", "{}", "[]" or "()"
  std::vector<Entry> children = {};
  // A list of that many words in place of children, as many on a line as fit. They are made when they are printed:
  // codebooks are long.
  size_t words = 0;
  std::function<std::string(size_t)> word = {};
};

// Appends the entry on one line; false, having appended a part, if that passes `most` characters or nests too deep.
bool AppendFlat(const Entry& entry, size_t most, int messages, std::string* out) {
  const size_t start = out->size();
  *out += entry.text;
  if (entry.brackets.empty()) return out->size() - start <= most;
  const bool is_message = entry.brackets == "{}";
  if (is_message && --messages < 0) return false;
  *out += entry.brackets[0];
  if (is_message) *out += ' ';
  for (size_t i = 0; i < entry.children.size() + entry.words; ++i) {
    if (i > 0) *out += ", ";
    const size_t used = out->size() - start;
    if (used > most) return false;
    if (entry.words > 0)
      *out += entry.word(i);
    else if (!AppendFlat(entry.children[i], most - used, messages, out))
      return false;
  }
  if (is_message && !entry.children.empty()) *out += ' ';
  *out += entry.brackets[1];
  return out->size() - start <= most;
}

void AppendWords(const Entry& entry, size_t indent, std::string* out) {
  size_t line_start = out->size();
  out->append(indent, ' ');
  for (size_t i = 0; i < entry.words; ++i) {
    const std::string word = entry.word(i) + (i + 1 < entry.words ? "," : "");
    if (i > 0 && out->size() - line_start + 1 + word.size() > kWrapAt) {
      *out += '\n';
      line_start = out->size();
      out->append(indent, ' ');
    } else if (i > 0) {
      *out += ' ';
    }
    *out += word;
  }
  *out += '\n';
}

// Appends the entry from column `indent` on, which is reached already.
void Append(const Entry& entry, size_t indent, std::string* out) {
  const size_t start = out->size();
  const bool is_root = indent == 0 && !entry.children.empty();
  // A comma may follow.
  if (!is_root && AppendFlat(entry, indent < kWrapAt ? kWrapAt - 1 - indent : 0, kFlatMessages, out)) return;
  out->resize(start);
  *out += entry.text;
  if (entry.brackets.empty()) return;
  *out += entry.brackets[0];
  *out += '\n';
  if (entry.words > 0) AppendWords(entry, indent + kIndent, out);
  for (size_t i = 0; i < entry.children.size(); ++i) {
    out->append(indent + kIndent, ' ');
    Append(entry.children[i], indent + kIndent, out);
    if (entry.brackets != "{}" && i + 1 < entry.children.size()) *out += ',';
    *out += '\n';
  }
  out->append(indent, ' ');
  *out += entry.brackets[1];
}

// ---- profiles as entries

std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(float value) { return FormatElement(ElementType::kFloat, std::bit_cast<uint32_t>(value)); }
std::string Text(const std::string& value) { return QuotedString(value); }
std::string Text(const ScaleExponent& value) { return std::to_string(value.exponent); }
template <std::integral T>
std::string Text(T value) {
  return std::to_string(value);
}
template <typename T>
  requires std::is_enum_v<T>
std::string Text(T value) {
  return std::string(EnumName(value));
}

template <typename T>
concept IsScalar = requires(const T& value) { Text(value); };

bool IsDefault(float value) { return std::bit_cast<uint32_t>(value) == 0; }  // -0.0 is printed
bool IsDefault(const std::string& value) { return value.empty(); }
bool IsDefault(const Scale& value) { return std::holds_alternative<std::monostate>(value); }
bool IsDefault(const ZeroPoint& value) { return value == ZeroPoint(int64_t{0}); }
bool IsDefault(const FloatData& value) { return value.values.empty() && value.parameter.empty(); }
bool IsDefault(const Profile::Kind& value) { return std::holds_alternative<std::monostate>(value); }
template <typename T>
bool IsDefault(const std::optional<T>& value) {
  return !value;
}
template <typename T>
bool IsDefault(const std::vector<T>& value) {
  return value.empty();
}
template <typename T>
bool IsDefault(const T& value) {
  return value == T();
}

class EntryMaker {
 public:
  template <IsMessage Message>
  static Entry MessageEntry(std::string head, const Message& message) {
    Entry entry{.text = std::move(head.append(Fields<Message>::kName) += ' '), .brackets = "{}"};
    AddFields(message, &entry.children);
    return entry;
  }

  // Without the word `stored` in front of its brackets.
  static Entry StoredEntry(std::string head, const Stored& stored) {
    Entry entry{.text = std::move(head.append(Fields<Stored>::kName)), .brackets = "()"};
    if (const auto* profile = std::get_if<Box<Profile>>(&stored.type))
      entry.children.push_back(MessageEntry("", **profile));
    else
      entry.children.push_back({.text = Text(std::get<ElementType>(stored.type))});
    ForEachField<Stored>([&](const auto& row) {
      entry.children.push_back({.text = std::string(row.name) + "=" + Text(stored.*row.member)});
    });
    return entry;
  }

 private:
  using Entries = std::vector<Entry>;
  static std::string Head(std::string_view name) { return std::string(name) + ": "; }

  template <IsMessage Message>
  static void AddFields(const Message& message, Entries* out) {
    ForEachField<Message>([&](const auto& row) {
      const auto& value = message.*row.member;
      if (row.shown == Shown::kAlways || !IsDefault(value)) Add(row.name, value, out);
    });
  }

  template <IsScalar T>
  static void Add(std::string_view name, const T& value, Entries* out) {
    out->push_back({.text = Head(name) + Text(value)});
  }
  template <IsMessage Message>
  static void Add(std::string_view name, const Message& message, Entries* out) {
    out->push_back(MessageEntry(Head(name), message));
  }
  static void Add(std::string_view name, const Stored& stored, Entries* out) {
    out->push_back(StoredEntry(Head(name), stored));
  }
  static void Add(std::string_view name, const Box<Profile>& profile, Entries* out) { Add(name, *profile, out); }
  template <typename T>
  static void Add(std::string_view name, const std::optional<T>& value, Entries* out) {
    if (value) Add(name, *value, out);
  }

  template <std::integral T>
  static void Add(std::string_view name, const std::vector<T>& values, Entries* out) {
    out->push_back(Words(name, values.size(), [&values](size_t i) { return Text(values[i]); }));
  }
  template <IsMessage Message>
  static void Add(std::string_view name, const std::vector<Message>& messages, Entries* out) {
    Entry list{.text = Head(name), .brackets = "[]"};
    for (const Message& message : messages) list.children.push_back(MessageEntry("", message));
    out->push_back(std::move(list));
  }
  static void Add(std::string_view name, const std::vector<Metadata>& metadata, Entries* out) {
    for (const Metadata& entry : metadata) {
      out->push_back({.text = Head(name),
                      .brackets = "{}",
                      .children = {{.text = "key: " + Text(entry.key)}, {.text = "value: " + Text(entry.value)}}});
    }
  }

  static void Add(std::string_view name, const FloatData& data, Entries* out) {
    if (data.parameter == name) {
      out->push_back({.text = Head(name) + "[...]"});
    } else if (!data.parameter.empty()) {
      const bool plain = IsIdentifier(data.parameter) && !IsLiteralName(data.parameter);
      out->push_back({.text = Head(name) + (plain ? data.parameter : QuotedString(data.parameter))});
    } else {
      out->push_back(Words(name, data.values.size(), [&data](size_t i) { return Text(data.values[i]); }));
    }
  }
  static Entry Words(std::string_view name, size_t count, std::function<std::string(size_t)> word) {
    return {.text = Head(name), .brackets = "[]", .words = count, .word = std::move(word)};
  }

  static void Add(std::string_view, const Scale& scale, Entries* out) {
    std::visit([&](const auto& value) { AddUnlessEmpty(kScaleNames[scale.index() - 1], value, out); }, scale);
  }
  static void Add(std::string_view name, const ZeroPoint& zero_point, Entries* out) {
    std::visit([&](const auto& value) { Add(name, value, out); }, zero_point);
  }
  static void Add(std::string_view, const Profile::Kind& kind, Entries* out) {
    std::visit([&](const auto& family) { AddUnlessEmpty(kFamilyNames[kind.index() - 1].field, family, out); }, kind);
  }
  static void AddUnlessEmpty(std::string_view, std::monostate, Entries*) {}
  template <typename T>
  static void AddUnlessEmpty(std::string_view name, const T& value, Entries* out) {
    Add(name, value, out);
  }
};

}  // namespace

std::string PrintProfile(const Profile& profile) {
  std::string text;
  Append(EntryMaker::MessageEntry("", profile), 0, &text);
  return text + "\n";
}

std::string PrintProfiles(const std::vector<Profile>& profiles) {
  std::string text;
  for (const Profile& profile : profiles) text += PrintProfile(profile);
  return text;
}

std::string PrintStored(const Stored& stored) {
  std::string text;
  AppendFlat(EntryMaker::StoredEntry("", stored), SIZE_MAX, INT32_MAX, &text);
  return text;
}

}  // namespace tessera
