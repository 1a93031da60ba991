#include "tessera/types/element_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

#include "tessera/types/element_value.h"

namespace tessera {
namespace {

template <typename Float>
std::string Shortest(Float value) {
  std::array<char, 64> buffer{};
  auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), end);
  // A float always looks like one.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string Bits(ElementType type, uint64_t code) {
  return fmt::format("bits(0x{:0{}x})", code, (BitWidth(type) + 3) / 4);
}

std::string FormatFloat(ElementType type, uint64_t code) {
  double value = DecodeFloat(type, code);
  if (std::isnan(value)) {
    return code == EncodeFloat(type, value, Overflow::kOverflow) ? "nan" : Bits(type, code);
  }
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return type == ElementType::kDouble ? Shortest(value) : Shortest(static_cast<float>(value));
}

Result<uint64_t> DoesNotFit(ElementType type, std::string_view text) {
  return Fail(ErrorCode::kLiteral, "", fmt::format("{} does not fit {}", text, Name(type)), "a value of the type");
}

Result<uint64_t> ParseFloat(ElementType type, std::string_view text) {
  bool negative = text.starts_with('-');
  std::string_view number = text.substr(negative ? 1 : 0);
  const FloatFormat& format = Info(type).format;
  bool has_infinity = format.specials == FloatSpecials::kIeee;
  bool has_nan = format.specials != FloatSpecials::kNone;
  if (number == "nan") return has_nan ? Result<uint64_t>(EncodeFloat(type, NAN, Overflow::kOverflow)) : DoesNotFit(type, text);
  if (number == "inf") {
    if (!has_infinity) return DoesNotFit(type, text);
    return EncodeFloat(type, negative ? -INFINITY : INFINITY, Overflow::kOverflow);
  }
  double value = 0;
  const char* end = number.data() + number.size();
  std::from_chars_result parsed{};
  if (type == ElementType::kFloat || type == ElementType::kComplex64) {
    float single = 0;  // one rounding, not two
    parsed = std::from_chars(number.data(), end, single);
    value = single;
  } else {
    parsed = std::from_chars(number.data(), end, value);
  }
  if (parsed.ec == std::errc::result_out_of_range) {
    // Either too large, or so small that it rounds to zero.
    double wide = std::strtod(std::string(number).c_str(), nullptr);
    if (std::fabs(wide) > 1) return DoesNotFit(type, text);
    value = 0;
  } else if (parsed.ec != std::errc() || parsed.ptr != end) {
    return Fail(ErrorCode::kLiteral, "", fmt::format("{} is not a number", Quoted(text)), "a number");
  }
  if (negative) value = -value;
  uint64_t code = EncodeFloat(type, value, Overflow::kOverflow);
  double stored = DecodeFloat(type, code);
  bool saturated = format.specials == FloatSpecials::kNone &&
                   code == EncodeFloat(type, std::copysign(1e300, value), Overflow::kSaturate) &&
                   std::fabs(value) > std::fabs(stored);
  if (std::isinf(stored) || std::isnan(stored) || saturated) return DoesNotFit(type, text);
  return code;
}

}  // namespace

ElementType HalfOf(ElementType type) {
  if (type == ElementType::kComplex64) return ElementType::kFloat;
  return type == ElementType::kComplex128 ? ElementType::kDouble : type;
}

std::string FormatElement(ElementType type, uint64_t code) {
  switch (Info(type).kind) {
    case ElementKind::kBool:
      return code == 0 ? "false" : code == 1 ? "true" : Bits(type, code);
    case ElementKind::kUnsigned:
      return std::to_string(code);
    case ElementKind::kSigned:
      return std::to_string(DecodeInteger(type, code));
    case ElementKind::kFloat:
      return FormatFloat(type, code);
    default:
      return Bits(type, code);
  }
}

Result<uint64_t> ParseElement(ElementType type, std::string_view text) {
  const ElementKind kind = Info(type).kind;
  if (kind == ElementKind::kBool && (text == "true" || text == "false")) return text == "true" ? 1 : 0;
  bool negative = text.starts_with('-');
  std::string_view digits = text.substr(negative ? 1 : 0);
  if (kind == ElementKind::kFloat && !digits.starts_with("0x")) return ParseFloat(type, text);
  if (kind != ElementKind::kBool && kind != ElementKind::kUnsigned && kind != ElementKind::kSigned &&
      kind != ElementKind::kFloat) {
    return Fail(ErrorCode::kLiteral, "", fmt::format("{} has no literals", Name(type)), "another element type");
  }
  int base = 10;
  if (digits.starts_with("0x")) {
    digits.remove_prefix(2);
    base = 16;
  }
  uint64_t magnitude = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (error == std::errc::result_out_of_range) return DoesNotFit(type, text);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Fail(ErrorCode::kLiteral, "", fmt::format("{} is not a whole number", Quoted(text)),
                fmt::format("a value of {}", Name(type)));
  }
  if (kind == ElementKind::kFloat) {
    double value = static_cast<double>(magnitude);
    return ParseFloat(type, fmt::format("{}{}", negative ? "-" : "", value));
  }
  uint64_t limit = negative ? uint64_t{0} - static_cast<uint64_t>(MinInteger(type)) : MaxInteger(type);
  if (magnitude > limit) return DoesNotFit(type, text);
  uint64_t code = negative ? uint64_t{0} - magnitude : magnitude;
  return BitWidth(type) == 64 ? code : code & ((uint64_t{1} << BitWidth(type)) - 1);
}

}  // namespace tessera
