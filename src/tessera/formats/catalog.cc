#include "tessera/formats/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tessera/types/block_reader.h"

namespace tessera {
namespace {

constexpr std::string_view kBlockMark = "{block}";
// Larger blocks are no use, and small enough that no sum or product with them overflows.
constexpr int64_t kLargestBlock = int64_t{1} << 31;

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

bool HasMark(std::string_view name) { return name.find(kBlockMark) != std::string_view::npos; }

// The block size that makes `pattern`, a family's name, into `name`.
std::optional<int64_t> BlockOf(std::string_view pattern, std::string_view name) {
  const size_t at = pattern.find(kBlockMark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = pattern.substr(0, at);
  const std::string_view behind = pattern.substr(at + kBlockMark.size());
  if (name.size() <= before.size() + behind.size() || !name.starts_with(before) || !name.ends_with(behind)) {
    return std::nullopt;
  }
  const std::string_view digits = name.substr(before.size(), name.size() - before.size() - behind.size());
  int64_t block = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), block);
  if (error != std::errc() || end != digits.data() + digits.size() || digits[0] == '0' || block <= 0 ||
      block > kLargestBlock) {
    return std::nullopt;
  }
  return block;
}

std::optional<Format> FindIn(std::span<const Format> formats, const std::string& name) {
  for (const Format& format : formats) {
    for (const std::string& candidate : NamesOf(format)) {
      if (candidate != name || HasMark(candidate)) continue;
      return WithBlock(format, format.default_block);
    }
  }
  for (const Format& format : formats) {
    for (const std::string& candidate : NamesOf(format)) {
      if (const std::optional<int64_t> block = BlockOf(candidate, name)) return WithBlock(format, *block);
    }
  }
  return std::nullopt;
}

// The catalogue as it is written. A test sees to it that nothing is wrong with it.
std::span<const Format> Written() {
  static const std::vector<Format> formats = [] {
    Problems problems;
    return LoadCatalog(CatalogFiles(), &problems);
  }();
  return formats;
}

std::vector<Format> Listed(std::span<const Format> written) {
  std::vector<Format> formats;
  for (const Format& format : written) {
    if (!format.IsFamily()) formats.push_back(format);
    for (int64_t block : format.blocks) formats.push_back(WithBlock(format, block));
  }
  return formats;
}

}  // namespace

std::vector<std::string> NamesOf(const Format& format) {
  std::vector<std::string> names = {format.name};
  for (const std::string& alias : format.aliases) names.push_back(LowerCase(alias));
  return names;
}

std::vector<Format> LoadCatalog(std::span<const CatalogFile> files, Problems* problems) {
  std::vector<Format> formats;
  std::map<std::string, std::string> taken;  // name -> the file that has it
  for (const CatalogFile& file : files) {
    const std::string file_name = "catalog/" + std::string(file.name) + ".txt";
    Result<Format> format = ParseFormatHeader(file.text, {}, file_name);
    if (!format) {
      problems->Add(std::move(format).error());
      continue;
    }
    std::string expected = format->name;
    if (const size_t at = expected.find(kBlockMark); at != std::string::npos) expected.erase(at, kBlockMark.size());
    bool in_order = true;
    auto refuse = [&](std::string what, std::string fix) {
      problems->Add(ErrorCode::kFormatName, file_name, std::move(what), std::move(fix));
      in_order = false;
    };
    if (expected != file.name) refuse(fmt::format("is the file of {}", format->name), expected + ".txt");
    std::vector<std::string> names = NamesOf(*format);
    if (format->IsFamily()) std::erase_if(names, [](const std::string& name) { return !HasMark(name); });
    for (int64_t block : format->blocks) {
      for (const std::string& name : NamesOf(WithBlock(*format, block))) names.push_back(name);
    }
    for (const std::string& name : names) {
      const auto [at, added] = taken.try_emplace(name, file_name);
      if (!added) refuse(fmt::format("the name {} is taken by {}", Quoted(name), at->second), "another name");
    }
    if (in_order) formats.push_back(*std::move(format));
  }
  std::sort(formats.begin(), formats.end(), [](const Format& a, const Format& b) { return a.name < b.name; });
  return formats;
}

std::span<const Format> AllFormats() {
  static const std::vector<Format> formats = Listed(Written());
  return formats;
}

Result<Format> FindFormat(std::string_view name, std::span<const Format> own) {
  const std::string lower = LowerCase(name);
  if (std::optional<Format> found = FindIn(own, lower)) return *std::move(found);
  if (std::optional<Format> found = FindIn(Written(), lower)) return *std::move(found);
  std::string names;
  for (const std::vector<Format>& list : {Listed(own), Listed(Written())}) {
    for (const Format& format : list) {
      for (const std::string& candidate : NamesOf(format)) names += (names.empty() ? "" : ", ") + candidate;
    }
  }
  const std::string_view nearest = Nearest(lower, names);
  return Fail(ErrorCode::kFormatName, Quoted(name), "no format goes by that name",
              nearest.empty() ? "a name that `tessera formats` lists" : fmt::format("did you mean '{}'?", nearest));
}

}  // namespace tessera
