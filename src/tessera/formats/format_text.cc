// The text of a format: header, comment and body.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tessera/formats/format.h"
#include "tessera/quant/message_printer.h"
#include "tessera/quant/message_reader.h"

namespace tessera {

template <>
struct Fields<FormatData> {
  static constexpr std::string_view kName = "FormatDataProto";
  static constexpr std::tuple kRows = {
      Row("parameter", &FormatData::parameter, Shown::kAlways),
      Row("values", &FormatData::values, Shown::kAlways),
  };
};

template <>
struct Fields<Spelling> {
  static constexpr std::string_view kName = "SpellingProto";
  static constexpr std::tuple kRows = {
      Row("name", &Spelling::name),           Row("codes", &Spelling::codes), Row("codebook", &Spelling::codebook),
      Row("code_type", &Spelling::code_type), Row("parts", &Spelling::parts),
  };
};

template <>
struct Fields<Format> {
  static constexpr std::string_view kName = "FormatProto";
  static constexpr std::tuple kRows = {
      Row("name", &Format::name, Shown::kAlways),
      Row("title", &Format::title, Shown::kAlways),
      Row("author", &Format::author, Shown::kAlways),
      Row("aliases", &Format::aliases),
      Row("sources", &Format::sources),
      Row("block", &Format::block),
      Row("blocks", &Format::blocks),
      Row("default_block", &Format::default_block),
      Row("partial_blocks", &Format::partial_blocks),
      Row("codec", &Format::codec),
      Row("shape", &Format::shape),
      Row("doc_string", &Format::doc_string),
      Row("spelling", &Format::spelling),
      Row("data", &Format::data),
  };
};

namespace {

constexpr std::string_view kBlockMark = "{block}";

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Without the mark of a family, which may stand once.
std::string WithoutMark(std::string_view name) {
  std::string plain(name);
  if (const size_t at = plain.find(kBlockMark); at != std::string::npos) plain.erase(at, kBlockMark.size());
  return plain;
}

bool HasMark(std::string_view name) { return name.find(kBlockMark) != std::string_view::npos; }

bool IsFormatName(std::string_view name) {
  const std::string plain = WithoutMark(name);
  return !plain.empty() && IsLower(name[0]) && std::all_of(plain.begin(), plain.end(), [](char c) {
    return IsLower(c) || IsDigit(c) || c == '_' || c == '.';
  });
}

// Like a name, but in any case, and `-` is usual in some.
bool IsAlias(std::string_view name) {
  const std::string plain = WithoutMark(name);
  return !plain.empty() && std::all_of(plain.begin(), plain.end(), [](char c) {
    return IsLower(c) || (c >= 'A' && c <= 'Z') || IsDigit(c) || c == '_' || c == '.' || c == '-';
  });
}

std::string_view TrimBlankLines(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  const size_t line = text.rfind('\n', begin);
  begin = line == std::string_view::npos ? 0 : line + 1;
  const size_t end = text.find_last_not_of(" \t\r\n");
  return text.substr(begin, end + 1 - begin);
}

class FormatReader : private MessageReader<FormatReader> {
 public:
  FormatReader(std::string_view text, const NotationOptions& options) : MessageReader(text, options), text_(text) {}

  Result<Format> Run() {
    Format format;
    const Token first = lexer_.peek();
    if (!first.IsName(Fields<Format>::kName)) return lexer_.Expected(Fields<Format>::kName);
    format.comment = TrimBlankLines(text_.substr(0, static_cast<size_t>(first.text.data() - text_.data())));
    TESSERA_TRY(ReadMessage(0, &format));
    TESSERA_TRY(CheckHeader(format));
    const Token body = lexer_.peek();
    format.by_profile = body.IsName(Fields<Profile>::kName);
    if (!format.by_profile && !body.IsName("StructTypeProto") && !body.IsName("ModelProto")) {
      return lexer_.Expected("a profile (QuantizationProto) or struct types (StructTypeProto) behind the header");
    }
    const std::string_view rest = text_.substr(lexer_.taken_end());
    format.body = TrimBlankLines(rest);
    const auto start = static_cast<size_t>(format.body.empty() ? 0 : rest.find(format.body));
    const size_t at = lexer_.taken_end() + start;
    format.line =
        static_cast<uint32_t>(1 + std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at), '\n'));
    const size_t line_start = text_.rfind('\n', at == 0 ? 0 : at - 1);
    format.column = static_cast<uint32_t>(line_start == std::string_view::npos ? at + 1 : at - line_start);
    return format;
  }

 private:
  friend class MessageReader<FormatReader>;
  using MessageReader::Finish;
  using MessageReader::Read;
  using MessageReader::Second;

  // A field of the header; where its value stands is kept for what is wrong with it.
  template <typename T>
  Result<void> ReadAt(const Token& key, T* value) {
    places_.try_emplace(std::string(key.text), lexer_.peek());
    return MessageReader::Read(key, 0, value);
  }
  Result<void> Read(const Token& key, uint32_t, std::string* value) { return ReadAt(key, value); }
  Result<void> Read(const Token& key, uint32_t, int64_t* value) { return ReadAt(key, value); }
  Result<void> Read(const Token& key, uint32_t, std::vector<int64_t>* value) { return ReadAt(key, value); }

  Result<void> Read(const Token&, uint32_t depth, Spelling* spelling) {
    if (depth >= limits_.depth) {
      return lexer_.ErrorAt(lexer_.peek(), ErrorCode::kLimitDepth,
                            fmt::format("spellings are nested more than {} deep", limits_.depth), "a flatter one");
    }
    // The names of its parts are not those of the header.
    const std::map<std::string, Token, std::less<>> outer = places_;
    TESSERA_TRY(ReadMessage(depth + 1, spelling));
    places_ = outer;
    return {};
  }
  Result<void> Read(const Token& key, uint32_t depth, FormatData* data) {
    places_.try_emplace(std::string(key.text), lexer_.peek());
    return ReadMessage(depth, data);
  }

  Result<void> Finish(const Token& start, Format*) {
    places_.try_emplace("", start);
    return {};
  }

  tl::unexpected<Error> Wrong(std::string_view field, std::string what, std::string fix) const {
    auto place = places_.find(field);
    if (place == places_.end()) place = places_.find("");
    return lexer_.ErrorAt(place->second, ErrorCode::kFormatValue, std::move(what), std::move(fix));
  }

  Result<void> CheckHeader(const Format& format) const {
    TESSERA_TRY(CheckNames(format));
    if (format.title.empty()) return Wrong("title", "a format has no title", "title: \"...\"");
    if (format.author.empty()) return Wrong("author", "a format has no author", "author: whose layout it is");
    if (format.block < 0) return Wrong("block", fmt::format("a block has {} values", format.block), "1 or more");
    if (format.IsFamily()) {
      if (format.block != 0) {
        return Wrong("block", "the blocks of a family have the size in its name", "blocks: [...], and no block");
      }
      if (format.blocks.empty()) {
        return Wrong("name", "a family lists none of its block sizes", "blocks: [32] or others");
      }
    } else if (!format.blocks.empty()) {
      return Wrong("blocks", "only a family has several block sizes", "block: N, or {block} in the name");
    }
    for (size_t i = 0; i < format.blocks.size(); ++i) {
      const auto begin = format.blocks.begin();
      const auto here = begin + static_cast<ptrdiff_t>(i);
      if (*here <= 0) return Wrong("blocks", fmt::format("a block has {} values", *here), "1 or more");
      if (std::find(begin, here, *here) != here) {
        return Wrong("blocks", fmt::format("the block size {} is listed twice", *here), "once");
      }
    }
    if (format.default_block != 0 &&
        std::find(format.blocks.begin(), format.blocks.end(), format.default_block) == format.blocks.end()) {
      return Wrong("default_block", fmt::format("the block size {} is not listed", format.default_block),
                   "one of `blocks`");
    }
    for (int64_t dim : format.shape) {
      if (dim < 0) return Wrong("shape", fmt::format("dimension {} is negative", dim), "0 or more");
    }
    std::set<std::string_view> parameters;
    for (const FormatData& data : format.data) {
      if (!IsIdentifier(data.parameter)) {
        return Wrong("data", fmt::format("{} is not the name of a parameter", Quoted(data.parameter)),
                     "parameter: a name in the text behind the header");
      }
      if (!parameters.insert(data.parameter).second) {
        return Wrong("data", fmt::format("{} is listed twice", Quoted(data.parameter)), "once");
      }
      if (data.values < 0 || data.values > INT32_MAX) {
        return Wrong("data", fmt::format("{} has {} values", Quoted(data.parameter), data.values), "0 to 2^31 - 1");
      }
    }
    return {};
  }

  Result<void> CheckNames(const Format& format) const {
    if (!IsFormatName(format.name)) {
      return Wrong("name",
                   format.name.empty() ? "a format has no name" : fmt::format("{} is no name", Quoted(format.name)),
                   "a-z, 0-9, _ and ., a letter first; {block} once for a family");
    }
    for (size_t i = 0; i < format.aliases.size(); ++i) {
      const std::string& alias = format.aliases[i];
      if (!IsAlias(alias)) {
        return Wrong("aliases", fmt::format("{} is no name", Quoted(alias)),
                     "letters, digits, _, . and -; {block} once for a family");
      }
      if (HasMark(alias) && !format.IsFamily()) {
        return Wrong("aliases", fmt::format("{} is no family, but has {{block}}", Quoted(alias)), "as in the name");
      }
      if (!HasMark(alias) && format.IsFamily() && format.default_block == 0) {
        return Wrong("aliases", fmt::format("{} lacks {{block}}", Quoted(alias)),
                     "as in the name, or a default_block that it means");
      }
    }
    return {};
  }

  std::string_view text_;
  std::map<std::string, Token, std::less<>> places_;
};

class FormatPrinter : public MessagePrinter<FormatPrinter> {
 private:
  friend class MessagePrinter<FormatPrinter>;
};

}  // namespace

std::string WithBlock(std::string_view text, int64_t block) {
  const std::string size = std::to_string(block);
  std::string result(text);
  for (size_t at = 0; (at = result.find(kBlockMark, at)) != std::string::npos; at += size.size()) {
    result.replace(at, kBlockMark.size(), size);
  }
  return result;
}

bool Format::IsFamily() const { return HasMark(name); }

bool Format::operator==(const Format& other) const {
  bool equal = comment == other.comment && body == other.body && by_profile == other.by_profile;
  ForEachField<Format>([&](const auto& row) { equal = equal && this->*row.member == other.*row.member; });
  return equal;
}

Result<Format> ParseFormatHeader(std::string_view text, const Limits& limits, const std::string& file_name) {
  NotationOptions options;
  options.limits = limits;
  options.file_name = file_name;
  TESSERA_ASSIGN(Format format, FormatReader(text, options).Run());
  format.file_name = file_name;
  return format;
}

std::string PrintFormatHeader(const Format& format) {
  std::string text;
  AppendEntry(FormatPrinter::MessageEntry("", format), 0, &text);
  return text + "\n";
}

std::string PrintFormat(const Format& format) {
  std::string text = format.comment;
  if (!text.empty()) text += "\n";
  return text + PrintFormatHeader(format) + "\n" + format.body + "\n";
}

bool IsFormatText(std::string_view text) { return Lexer(text).peek().IsName(Fields<Format>::kName); }

Format WithBlock(const Format& family, int64_t block) {
  Format format = family;
  if (!family.IsFamily()) return format;
  format.name = WithBlock(family.name, block);
  if (block != family.default_block) std::erase_if(format.aliases, [](const auto& alias) { return !HasMark(alias); });
  for (std::string& alias : format.aliases) alias = WithBlock(alias, block);
  format.title = WithBlock(family.title, block);
  format.block = block;
  format.blocks.clear();
  format.default_block = 0;
  return format;
}

}  // namespace tessera
