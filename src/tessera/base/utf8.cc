#include "tessera/base/utf8.h"

namespace tessera {

size_t Utf8Length(std::string_view s) {
  auto byte = [&](size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u; };
  auto tail = [&](size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xBF; };
  unsigned c = byte(0);
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c <= 0xDF) return tail(1) ? 2 : 0;
  if (c >= 0xE0 && c <= 0xEF) {
    bool second = c == 0xE0   ? byte(1) >= 0xA0 && byte(1) <= 0xBF
                  : c == 0xED ? byte(1) >= 0x80 && byte(1) <= 0x9F
                              : tail(1);
    return second && tail(2) ? 3 : 0;
  }
  if (c >= 0xF0 && c <= 0xF4) {
    bool second = c == 0xF0   ? byte(1) >= 0x90 && byte(1) <= 0xBF
                  : c == 0xF4 ? byte(1) >= 0x80 && byte(1) <= 0x8F
                              : tail(1);
    return second && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace tessera
