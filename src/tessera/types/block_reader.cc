#include "tessera/types/block_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

constexpr size_t kNear = 2;

// Insertions, deletions and replacements that make `a` into `b`; more than kNear where the lengths say so already.
size_t EditDistance(std::string_view a, std::string_view b) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > kNear) return kNear + 1;
  std::vector<size_t> row(b.size() + 1);  // from the first i characters of a to the first j of b
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view Nearest(std::string_view name, std::string_view names) {
  std::string_view nearest;
  size_t least = kNear + 1;
  for (size_t start = 0; start < names.size();) {
    const size_t end = std::min(names.find(", ", start), names.size());
    const std::string_view candidate = names.substr(start, end - start);
    // Of names as short as the allowed edits every other one would be near.
    const size_t distance = candidate.size() > kNear ? EditDistance(name, candidate) : kNear + 1;
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
    start = end + 2;
  }
  return nearest;
}

std::string OneOf(std::string_view name, std::string_view names) {
  const std::string_view nearest = Nearest(name, names);
  return nearest.empty() ? fmt::format("one of: {}", names)
                         : fmt::format("did you mean '{}'? one of: {}", nearest, names);
}

tl::unexpected<Error> BlockReader::UnknownField(const Token& key, std::string_view message,
                                                std::string_view fields) const {
  return lexer_.ErrorAt(key, ErrorCode::kSyntax, fmt::format("{} has no field {}", message, Quoted(key.text)),
                        OneOf(key.text, fields));
}

tl::unexpected<Error> BlockReader::GivenTwice(const Token& key) const {
  return lexer_.ErrorAt(key, ErrorCode::kSyntax, fmt::format("{} is given twice", Quoted(key.text)), "once");
}

tl::unexpected<Error> BlockReader::NoColon(const Token& key) const {
  return lexer_.Expected(fmt::format("':' after {}", Quoted(key.text)));
}

Result<void> BlockReader::SetString(const Token& key, std::optional<std::string>* slot) {
  TESSERA_TRY(Once(key, *slot));
  TESSERA_ASSIGN(*slot, lexer_.ExpectString("a string"));
  return {};
}

Result<void> BlockReader::MetadataEntry(std::vector<Metadata>* metadata) {
  std::optional<std::string> entry_key;
  std::optional<std::string> entry_value;
  if (lexer_.peek().IsName("StringStringEntryProto")) lexer_.Take();
  TESSERA_TRY(Block([&](const Token& key) -> Result<void> {
    if (key.text == "key") return SetString(key, &entry_key);
    if (key.text == "value") return SetString(key, &entry_value);
    return UnknownField(key, "metadata_props", "key, value");
  }));
  metadata->push_back({entry_key.value_or(""), entry_value.value_or("")});
  return {};
}

}  // namespace tessera
