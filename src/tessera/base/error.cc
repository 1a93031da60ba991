#include "tessera/base/error.h"

#include <array>
#include <fmt/format.h>

namespace tessera {
namespace {

constexpr std::array kCodes = {
#define TESSERA_X(enumerator, slug, kind, summary) \
  ErrorCodeInfo{ErrorCode::enumerator, slug, ErrorKind::kind, summary},
    TESSERA_ERROR_CODES(TESSERA_X)
#undef TESSERA_X
};

// Length of the well-formed UTF-8 sequence at the start of `s`, 0 if there is none (Unicode 15, table 3-7).
size_t Utf8Length(std::string_view s) {
  auto byte = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  auto tail = [&](size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xBF; };
  unsigned c = byte(0);
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c <= 0xDF) return tail(1) ? 2 : 0;
  if (c >= 0xE0 && c <= 0xEF) {
    bool second = c == 0xE0 ? byte(1) >= 0xA0 && byte(1) <= 0xBF : c == 0xED ? byte(1) >= 0x80 && byte(1) <= 0x9F : tail(1);
    return second && tail(2) ? 3 : 0;
  }
  if (c >= 0xF0 && c <= 0xF4) {
    bool second = c == 0xF0 ? byte(1) >= 0x90 && byte(1) <= 0xBF : c == 0xF4 ? byte(1) >= 0x80 && byte(1) <= 0x8F : tail(1);
    return second && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

std::string Escaped(std::string_view text, size_t max_bytes) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (out.size() >= max_bytes) return out + "...";
    size_t n = Utf8Length(text.substr(i));
    unsigned char c = static_cast<unsigned char>(text[i]);
    if (n == 0 || c < 0x20 || c == 0x7F) {
      out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : fmt::format("\\x{:02x}", c);
      ++i;
    } else {
      out.append(text, i, n);
      i += n;
    }
  }
  return out;
}

}  // namespace

std::span<const ErrorCodeInfo> AllErrorCodes() { return kCodes; }

const ErrorCodeInfo& Info(ErrorCode code) { return kCodes[static_cast<size_t>(code)]; }

std::string Error::Format() const {
  constexpr size_t kLongest = 4000;
  std::string out;
  if (!where.empty()) out += Escaped(where, kLongest) + ": ";
  out += Escaped(what, kLongest);
  if (!fix.empty()) out += " (" + Escaped(fix, kLongest) + ")";
  return out + " [" + std::string(Info(code).slug) + "]";
}

std::string Path::Str() const {
  std::string out;
  if (parent_ != nullptr) out = parent_->Str();
  if (!name_.empty()) {
    if (!out.empty()) out += '.';
    out += name_;
  }
  if (index_ >= 0) out += fmt::format("[{}]", index_);
  return out;
}

std::string Printable(std::string_view text) { return Escaped(text, text.size() * 4 + 1); }

std::string Quoted(std::string_view text) { return "'" + Escaped(text, 120) + "'"; }

}  // namespace tessera
