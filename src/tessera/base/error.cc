#include "tessera/base/error.h"

#include <fmt/format.h>

#include <array>

#include "tessera/base/utf8.h"

namespace tessera {
namespace {

constexpr std::array kCodes = {
#define TESSERA_X(enumerator, slug, kind, summary) ErrorCodeInfo{ErrorCode::enumerator, slug, ErrorKind::kind, summary},
    TESSERA_ERROR_CODES(TESSERA_X)
#undef TESSERA_X
};

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
