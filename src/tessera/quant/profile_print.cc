#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/quant/message_printer.h"
#include "tessera/quant/profile_text.h"
#include "tessera/types/constant_text.h"

namespace tessera {
namespace {

class ProfilePrinter : public MessagePrinter<ProfilePrinter> {
 public:
  // Without the word `stored` in front of its brackets.
  static TextEntry StoredEntry(std::string head, const Stored& stored) {
    TextEntry entry{.text = std::move(head.append(Fields<Stored>::kName)), .brackets = "()"};
    if (const auto* profile = std::get_if<Box<Profile>>(&stored.type))
      entry.children.push_back(MessageEntry("", **profile));
    else
      entry.children.push_back({.text = FieldText(std::get<ElementType>(stored.type))});
    ForEachField<Stored>([&](const auto& row) {
      entry.children.push_back({.text = std::string(row.name) + "=" + FieldText(stored.*row.member)});
    });
    return entry;
  }

 private:
  friend class MessagePrinter<ProfilePrinter>;
  using MessagePrinter::Add;
  using MessagePrinter::IsDefault;

  static bool IsDefault(const Scale& value) { return std::holds_alternative<std::monostate>(value); }
  static bool IsDefault(const ZeroPoint& value) { return value == ZeroPoint(int64_t{0}); }
  static bool IsDefault(const FloatData& value) { return value.values.empty() && value.parameter.empty(); }
  static bool IsDefault(const Profile::Kind& value) { return std::holds_alternative<std::monostate>(value); }

  static void Add(std::string_view name, const Stored& stored, Entries* out) {
    out->push_back(StoredEntry(Head(name), stored));
  }
  static void Add(std::string_view name, const Box<Profile>& profile, Entries* out) { Add(name, *profile, out); }

  static void Add(std::string_view name, const FloatData& data, Entries* out) {
    if (data.parameter == name) {
      out->push_back({.text = Head(name) + "[...]"});
    } else if (!data.parameter.empty()) {
      const bool plain = IsIdentifier(data.parameter) && !IsLiteralName(data.parameter);
      out->push_back({.text = Head(name) + (plain ? data.parameter : QuotedString(data.parameter))});
    } else {
      out->push_back(Words(name, data.values.size(), [&data](size_t i) { return FieldText(data.values[i]); }));
    }
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
  AppendEntry(ProfilePrinter::MessageEntry("", profile), 0, &text);
  return text + "\n";
}

std::string PrintProfiles(const std::vector<Profile>& profiles) {
  std::string text;
  for (const Profile& profile : profiles) text += PrintProfile(profile);
  return text;
}

std::string PrintStored(const Stored& stored) {
  std::string text;
  AppendFlat(ProfilePrinter::StoredEntry("", stored), SIZE_MAX, INT32_MAX, &text);
  return text;
}

}  // namespace tessera
