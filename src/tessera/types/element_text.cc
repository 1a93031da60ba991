#include "tessera/types/element_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace tessera {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view Trim(std::string_view s) {
  while (!s.empty() && IsBlank(s.front())) s.remove_prefix(1);
  while (!s.empty() && IsBlank(s.back())) s.remove_suffix(1);
  return s;
}

// What stands between the parentheses of `name( ... )`; nullopt for any other text.
std::optional<std::string_view> Argument(std::string_view text, std::string_view name) {
  if (text.substr(0, name.size()) != name) return std::nullopt;
  text = Trim(text.substr(name.size()));
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return std::nullopt;
  return Trim(text.substr(1, text.size() - 2));
}

tl::unexpected<Error> NotALiteral(ElementType type, std::string_view text, std::string_view expected) {
  return Fail(ErrorCode::kLiteral, "", fmt::format("{} is not a {} literal", Quoted(text), Name(type)),
              fmt::format("expected {}", expected));
}

tl::unexpected<Error> OutOfRange(ElementType type, std::string_view text, std::string range) {
  return Fail(ErrorCode::kLiteral, "", fmt::format("{} is out of range for {}", Quoted(text), Name(type)),
              std::move(range));
}

// --- Numbers in decimal digits.

// A decimal number as +-0.d1 d2 d3... * 10^point, without leading or trailing zeros among the digits; 0 has none.
struct Decimal {
  bool negative = false;
  std::string digits;
  int64_t point = 0;
};

// [sign] (digits [. digits*] | . digits) [e [sign] digits]
std::optional<Decimal> ParseDecimal(std::string_view text) {
  Decimal d;
  size_t i = 0;
  if (i < text.size() && (text[i] == '-' || text[i] == '+')) d.negative = text[i++] == '-';
  size_t seen = 0;
  bool after_point = false;
  for (; i < text.size() && (IsDigit(text[i]) || (text[i] == '.' && !after_point)); ++i) {
    if (text[i] == '.') {
      after_point = true;
      continue;
    }
    ++seen;
    const bool leading = d.digits.empty() && text[i] == '0';
    if (!leading) d.digits += text[i];
    d.point += (leading ? 0 : 1) - (after_point ? 1 : 0);
  }
  if (seen == 0) return std::nullopt;
  // So far `point` counts the digits before the point as if all stood there; with those after it taken off it is the
  // power of ten of the last digit plus the number of digits.
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    bool negative = false;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) negative = text[i++] == '-';
    if (i == text.size()) return std::nullopt;
    int64_t exponent = 0;
    constexpr int64_t kHuge = int64_t{1} << 50;  // beyond every format and every length of a text
    for (; i < text.size() && IsDigit(text[i]); ++i) exponent = std::min(exponent * 10 + (text[i] - '0'), kHuge);
    d.point += negative ? -exponent : exponent;
  }
  if (i != text.size()) return std::nullopt;
  while (!d.digits.empty() && d.digits.back() == '0') d.digits.pop_back();
  if (d.digits.empty()) d.point = 0;
  return d;
}

// The double nearest to a decimal; infinity beyond the range.
double NearestDouble(const Decimal& d) {
  if (d.digits.empty()) return d.negative ? -0.0 : 0.0;
  double value = 0;
  // Outside these powers of ten the result is known: 0.1e310 > DBL_MAX and 1e-330 < DBL_TRUE_MIN / 2.
  if (d.point > 310)
    value = std::numeric_limits<double>::infinity();
  else if (d.point >= -330) {
    const std::string text = fmt::format("0.{}e{}", d.digits, d.point);
    auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    if (result.ec == std::errc::result_out_of_range) {
      value = d.point > 0 ? std::numeric_limits<double>::infinity() : 0.0;
    }
  }
  return d.negative ? -value : value;
}

// The sign of |d| - value, exactly. REQUIRES: value is finite and not negative.
int CompareMagnitude(const Decimal& d, double value) {
  std::array<char, 800> buffer;  // a double has at most 767 significant digits
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific, 770).ptr;
  const Decimal exact = *ParseDecimal({buffer.data(), static_cast<size_t>(end - buffer.data())});
  if (d.digits.empty() || exact.digits.empty()) return static_cast<int>(exact.digits.empty()) - d.digits.empty();
  if (d.point != exact.point) return d.point < exact.point ? -1 : 1;
  return d.digits.compare(exact.digits);
}

// The code nearest to a decimal, rounded once; nullopt as in EncodeFinite. The double nearest to the decimal may lie
// on a middle between two codes while the decimal does not, so rounding that double could go the wrong way.
std::optional<uint64_t> EncodeDecimal(ElementType type, const Decimal& d) {
  double nearest = NearestDouble(d);
  if (type == ElementType::kDouble || !std::isfinite(nearest)) return EncodeFinite(type, nearest);
  const double magnitude = std::fabs(nearest);
  const double below = magnitude == 0 ? 0 : std::nextafter(magnitude, 0.0);
  const double above = std::nextafter(magnitude, std::numeric_limits<double>::infinity());
  auto encode = [&](double m) { return EncodeFinite(type, d.negative ? -m : m); };
  if (encode(below) == encode(above)) return encode(magnitude);
  // Rounding to odd: of the two doubles around an inexact decimal take the one whose last bit is 1. It lies on the
  // right side of every middle, for all other formats have at least two bits less.
  const int side = CompareMagnitude(d, magnitude);
  if (side == 0 || (std::bit_cast<uint64_t>(magnitude) & 1) != 0) return encode(magnitude);
  return encode(side < 0 ? below : above);
}

// --- One kind of literal each. `text` is trimmed.

Result<uint64_t> ParseBits(ElementType type, std::string_view text, std::string_view argument) {
  uint64_t code = 0;
  const bool hex = argument.substr(0, 2) == "0x" || argument.substr(0, 2) == "0X";
  const char* end = argument.data() + argument.size();
  if (!hex) return NotALiteral(type, text, "bits(0x...)");
  auto result = std::from_chars(argument.data() + 2, end, code, 16);
  const bool overflow = result.ec == std::errc::result_out_of_range;
  if (result.ptr != end || (result.ec != std::errc() && !overflow)) return NotALiteral(type, text, "bits(0x...)");
  if (overflow || (BitWidth(type) < 64 && code >> BitWidth(type) != 0)) {
    return OutOfRange(type, text, fmt::format("the type has {} bits", BitWidth(type)));
  }
  return code;
}

// [sign] decimal digits, or [sign] 0x and hexadecimal digits.
struct Whole {
  bool negative = false;
  bool overflow = false;  // the magnitude passes 64 bits
  bool hex = false;
  uint64_t magnitude = 0;
};
std::optional<Whole> ParseWhole(std::string_view text) {
  Whole whole;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    whole.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  whole.hex = text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X";
  if (whole.hex) text.remove_prefix(2);
  const char* end = text.data() + text.size();
  auto result = std::from_chars(text.data(), end, whole.magnitude, whole.hex ? 16 : 10);
  whole.overflow = result.ec == std::errc::result_out_of_range;
  if (result.ptr != end || (result.ec != std::errc() && !whole.overflow)) return std::nullopt;
  return whole;
}

Result<uint64_t> ParseInteger(ElementType type, std::string_view text) {
  auto whole = ParseWhole(text);
  if (!whole) return NotALiteral(type, text, "an integer");
  const uint64_t largest = whole->negative ? 0 - static_cast<uint64_t>(MinInteger(type)) : MaxInteger(type);
  if (whole->overflow || whole->magnitude > largest) {
    return OutOfRange(type, text, fmt::format("the range is {} to {}", MinInteger(type), MaxInteger(type)));
  }
  return EncodeInteger(type, static_cast<int64_t>(whole->negative ? 0 - whole->magnitude : whole->magnitude));
}

Result<uint64_t> ParseBool(ElementType type, std::string_view text) {
  if (text == "true" || text == "1") return 1;
  if (text == "false" || text == "0") return 0;
  return NotALiteral(type, text, "true or false");
}

Result<uint64_t> ParseFloat(ElementType type, std::string_view text) {
  if (text == "nan") {
    if (auto code = CanonicalNan(type)) return *code;
    return Fail(ErrorCode::kLiteral, "", fmt::format("{} has no NaN", Name(type)));
  }
  if (text == "inf" || text == "+inf" || text == "-inf") {
    const double infinity = std::numeric_limits<double>::infinity();
    const uint64_t code = EncodeFloat(type, text[0] == '-' ? -infinity : infinity, Overflow::kOverflow);
    if (IsInfinite(type, code)) return code;
    return Fail(ErrorCode::kLiteral, "", fmt::format("{} has no infinity", Name(type)));
  }
  auto decimal = ParseDecimal(text);
  if (auto whole = ParseWhole(text); whole && whole->hex && !whole->overflow) {
    decimal = ParseDecimal(fmt::format("{}{}", whole->negative ? "-" : "", whole->magnitude));
  }
  if (!decimal) return NotALiteral(type, text, "a decimal number, inf, -inf, nan or bits(0x...)");
  if (auto code = EncodeDecimal(type, *decimal)) return *code;
  const bool has_sign = Info(type).format.sign_bits != 0;
  return OutOfRange(type, text,
                    fmt::format("finite values go from {} to {}",
                                FormatElement(type, has_sign ? EncodeFloat(type, -INFINITY, Overflow::kSaturate) : 0),
                                FormatElement(type, LargestFinite(type))));
}

std::string FormatBits(ElementType type, uint64_t code) {
  return fmt::format("bits(0x{:0{}x})", code, (BitWidth(type) + 3) / 4);
}

std::string FormatFloat(ElementType type, uint64_t code) {
  if (IsNan(type, code)) return code == CanonicalNan(type) ? "nan" : FormatBits(type, code);
  const double value = DecodeFloat(type, code);
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer;
  char* const first = buffer.data();
  char* const last = first + buffer.size();
  char* end = BitWidth(type) > 32 ? std::to_chars(first, last, value).ptr
                                  : std::to_chars(first, last, static_cast<float>(value)).ptr;
  std::string text(first, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string FormatElement(ElementType type, uint64_t code) {
  switch (Info(type).kind) {
    case ElementKind::kBool:
      return code > 1 ? FormatBits(type, code) : code == 1 ? "true" : "false";
    case ElementKind::kFloat:
      return FormatFloat(type, code);
    case ElementKind::kUnsigned:
      return fmt::format("{}", code);
    default:
      return fmt::format("{}", DecodeInteger(type, code));
  }
}

Result<uint64_t> ParseElement(ElementType type, std::string_view text) {
  text = Trim(text);
  const ElementKind kind = Info(type).kind;
  if (!IsFixedWidth(type) || kind == ElementKind::kComplex) {
    return Fail(ErrorCode::kLiteral, "", fmt::format("{} has no literals", Name(type)), "a scalar type of fixed width");
  }
  if (auto argument = Argument(text, "bits")) return ParseBits(type, text, *argument);
  if (kind == ElementKind::kBool) return ParseBool(type, text);
  return kind == ElementKind::kFloat ? ParseFloat(type, text) : ParseInteger(type, text);
}

}  // namespace tessera
