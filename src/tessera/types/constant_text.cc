#include "tessera/types/constant_text.h"

#include <fmt/format.h>
#include <optional>
#include <variant>

#include "tessera/base/checked.h"
#include "tessera/types/element_text.h"
#include "tessera/types/element_value.h"

namespace tessera {
namespace {

constexpr int kMaxListDepth = 16;

// Floats of up to 16 bits, of which ONNX's syntax writes the bits.
bool IsWrittenAsCode(ElementType type) { return Info(type).kind == ElementKind::kFloat && BitWidth(type) <= 16; }
ElementType CodeType(ElementType type) {
  return BitWidth(type) == 16 ? ElementType::kUint16 : BitWidth(type) == 4 ? ElementType::kUint4 : ElementType::kUint8;
}

class ElementParser {
 public:
  ElementParser(Lexer* lexer, ParameterScope* parameters, ElementStyle style, Constant* constant, uint64_t* count)
      : lexer_(*lexer), parameters_(*parameters), style_(style), constant_(*constant), count_(*count) {}

  Result<void> List(std::string_view open, std::string_view close, int depth) {
    if (!lexer_.TakeIf(open)) return Element();
    if (depth > kMaxListDepth) {
      return lexer_.ErrorAt(lexer_.peek(), ErrorCode::kSyntax, fmt::format("lists are nested more than {} deep", kMaxListDepth));
    }
    while (!lexer_.TakeIf(close)) {
      TESSERA_TRY(List(open, close, depth + 1));
      if (!lexer_.TakeIf(",") && !lexer_.peek().Is(close)) return lexer_.Expected(fmt::format("',' or '{}'", close));
    }
    return {};
  }

 private:
  // Appends one element, packed.
  void Append(ElementType type, uint64_t code) {
    const uint32_t bits = BitWidth(type);
    const uint64_t index = type == constant_.type ? count_ : 0;
    if (bits % 8 == 0) {
      for (uint32_t b = 0; b < bits; b += 8) constant_.bytes.push_back(static_cast<uint8_t>(code >> b));
      return;
    }
    constant_.bytes.resize(CeilDiv((index + 1) * bits, 8));
    StoreCode(constant_.bytes, type, index, code);
  }

  Result<void> Element() {
    const Token first = lexer_.peek();
    const ElementKind kind = Info(constant_.type).kind;
    if (kind == ElementKind::kComplex) TESSERA_TRY(Complex(first));
    else TESSERA_TRY(Scalar(first, kind));
    return {};
  }

  Result<void> Complex(const Token& first) {
    const ElementType half = HalfOf(constant_.type);
    if (!first.IsName("complex")) return lexer_.Expected("complex(re, im)");
    lexer_.Take();
    TESSERA_TRY(lexer_.Expect("("));
    TESSERA_ASSIGN(uint64_t re, Number(half));
    TESSERA_TRY(lexer_.Expect(","));
    TESSERA_ASSIGN(uint64_t im, Number(half));
    TESSERA_TRY(lexer_.Expect(")"));
    Append(half, re);
    Append(half, im);
    ++count_;
    return {};
  }

  Result<void> Scalar(const Token& first, ElementKind kind) {
    bool is_integer = kind == ElementKind::kSigned || kind == ElementKind::kUnsigned;
    bool is_parameter = first.kind == TokenKind::kIdentifier && !IsLiteralName(first);
    if (is_parameter && !is_integer) return Parameter(lexer_.Take());
    if (is_parameter) {
      const ParameterValue* value = parameters_.Find(first.text);
      if (value != nullptr && std::holds_alternative<Constant>(*value)) return Parameter(lexer_.Take());
    }
    if (is_integer && (is_parameter || first.Is("(") || first.Is("-") || first.kind == TokenKind::kInteger)) {
      return IntegerExpression(first);
    }
    TESSERA_ASSIGN(uint64_t code, Number(constant_.type));
    Append(constant_.type, code);
    ++count_;
    return {};
  }

  static bool IsLiteralName(const Token& token) {
    return token.text == "true" || token.text == "false" || token.text == "inf" || token.text == "nan" ||
           token.text == "bits" || ElementTypeFromName(token.text);
  }

  Result<void> IntegerExpression(const Token& first) {
    TESSERA_ASSIGN(WideInteger value, ParseExpression(&lexer_, &parameters_, fmt::format("a value of {}", Name(constant_.type))));
    if (value < MinInteger(constant_.type) ||
        (value > 0 && static_cast<uint64_t>(value) > MaxInteger(constant_.type))) {
      return lexer_.ErrorAt(first, ErrorCode::kLiteral, fmt::format("the value does not fit {}", Name(constant_.type)),
                            fmt::format("{} to {}", MinInteger(constant_.type), MaxInteger(constant_.type)));
    }
    uint64_t mask = BitWidth(constant_.type) == 64 ? ~uint64_t{0} : (uint64_t{1} << BitWidth(constant_.type)) - 1;
    Append(constant_.type, static_cast<uint64_t>(value) & mask);
    ++count_;
    return {};
  }

  // A literal of the type, or the name of an element type, which stands for its number.
  Result<uint64_t> Number(ElementType type) {
    Token token = lexer_.peek();
    std::string text;
    if (token.Is("-")) {
      text = "-";
      lexer_.Take();
    }
    token = lexer_.peek();
    if (token.IsName("bits")) {
      lexer_.Take();
      TESSERA_TRY(lexer_.Expect("("));
      Token number = lexer_.Take();
      TESSERA_TRY(lexer_.Expect(")"));
      uint64_t limit = BitWidth(type) >= 64 ? ~uint64_t{0} : (uint64_t{1} << BitWidth(type)) - 1;
      Result<uint64_t> code = ParseElement(ElementType::kUint64, number.text);
      if (!code || *code > limit) {
        return lexer_.ErrorAt(number, ErrorCode::kLiteral, fmt::format("is no code of {}", Name(type)),
                              fmt::format("a number of {} bits", BitWidth(type)));
      }
      return *code;
    }
    std::optional<ElementType> named = token.kind == TokenKind::kIdentifier ? ElementTypeFromName(token.text) : std::nullopt;
    if (named) text += std::to_string(static_cast<int>(*named));
    else text += token.text;
    if (token.kind != TokenKind::kIdentifier && token.kind != TokenKind::kInteger && token.kind != TokenKind::kFloat) {
      return lexer_.Expected(fmt::format("a value of {}", Name(type)));
    }
    bool is_code = style_ == ElementStyle::kOnnx && token.kind == TokenKind::kInteger && IsWrittenAsCode(type);
    Result<uint64_t> code = ParseElement(is_code ? CodeType(type) : type, text);
    if (!code) return lexer_.ErrorAt(token, code.error().code, code.error().what, code.error().fix);
    lexer_.Take();
    return code;
  }

  Result<void> Parameter(const Token& name) {
    const ParameterValue* value = parameters_.Find(name.text);
    if (value == nullptr) {
      parameters_.NoteUnbound(name, constant_.dims.empty()
                                        ? fmt::format("a value of {}", tessera::Name(constant_.type))
                                        : fmt::format("data of {}[{}]", tessera::Name(constant_.type), fmt::join(constant_.dims, ", ")));
      return {};
    }
    if (const int64_t* number = std::get_if<int64_t>(value)) {
      Result<uint64_t> code = ParseElement(constant_.type, std::to_string(*number));
      if (!code) return lexer_.ErrorAt(name, code.error().code, code.error().what, code.error().fix);
      Append(constant_.type, *code);
      ++count_;
      return {};
    }
    const Constant& data = std::get<Constant>(*value);
    std::optional<uint64_t> data_count = CheckedProduct(data.dims);
    bool flat = data.dims.size() <= 1;
    if (data.type != constant_.type || !data_count || count_ != 0 || (!flat && data.dims != constant_.dims)) {
      return lexer_.ErrorAt(name, ErrorCode::kParameterData,
                            fmt::format("{} is bound to {}[{}]", Quoted(name.text), tessera::Name(data.type), fmt::join(data.dims, ", ")),
                            fmt::format("{}[{}], or flat", tessera::Name(constant_.type), fmt::join(constant_.dims, ", ")));
    }
    constant_.bytes = data.bytes;
    count_ = *data_count;
    return {};
  }

  Lexer& lexer_;
  ParameterScope& parameters_;
  ElementStyle style_;
  Constant& constant_;
  uint64_t& count_;
};

}  // namespace

Result<void> ParseElements(Lexer* lexer, ParameterScope* parameters, std::string_view open, std::string_view close,
                           ElementStyle style, Constant* constant, uint64_t* count) {
  return ElementParser(lexer, parameters, style, constant, count).List(open, close, 1);
}

Result<std::vector<uint8_t>> ParseHexBytes(Lexer* lexer) {
  const Token token = lexer->peek();
  TESSERA_ASSIGN(std::string text, lexer->ExpectString("bytes in hexadecimal"));
  std::vector<uint8_t> bytes;
  auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  for (size_t i = 0; i < text.size(); i += 2) {
    int high = digit(text[i]);
    int low = i + 1 < text.size() ? digit(text[i + 1]) : -1;
    if (high < 0 || low < 0) {
      return lexer->ErrorAt(token, ErrorCode::kLiteral, "is not hexadecimal", "two digits 0-9, a-f for each byte");
    }
    bytes.push_back(static_cast<uint8_t>(high * 16 + low));
  }
  return bytes;
}

std::string HexBytes(const std::vector<uint8_t>& bytes) {
  std::string text;
  for (uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string ElementList(const Constant& constant, ElementStyle style, int indent) {
  constexpr size_t kWrapAt = 100;
  const uint64_t count = CheckedProduct(constant.dims).value_or(0);
  const ElementType half = HalfOf(constant.type);
  // A BOOL code that is neither 0 nor 1 has no number.
  auto as_code = [&](uint64_t code) {
    return style == ElementStyle::kOnnx &&
           (IsWrittenAsCode(constant.type) || (constant.type == ElementType::kBool && code <= 1));
  };
  std::string text;
  size_t line_start = 0;
  for (uint64_t i = 0; i < count; ++i) {
    std::string element;
    if (half != constant.type) {
      element = fmt::format("complex({}, {})", FormatElement(half, LoadCode(constant.bytes, half, 2 * i)),
                            FormatElement(half, LoadCode(constant.bytes, half, 2 * i + 1)));
    } else {
      const uint64_t code = LoadCode(constant.bytes, constant.type, i);
      element = as_code(code) ? std::to_string(code) : FormatElement(constant.type, code);
    }
    if (i > 0) {
      text += ',';
      if (text.size() - line_start + element.size() + indent > kWrapAt) {
        text += "\n" + std::string(indent, ' ');
        line_start = text.size();
      } else {
        text += ' ';
      }
    }
    text += element;
  }
  return text;
}

bool HasWholeData(const Constant& constant) {
  if (!IsFixedWidth(constant.type)) return false;
  for (int64_t dim : constant.dims) {
    if (dim < 0) return false;
  }
  std::optional<uint64_t> count = CheckedProduct(constant.dims);
  std::optional<uint64_t> bytes = count ? PackedBytes(constant.type, *count) : std::nullopt;
  if (bytes != constant.bytes.size()) return false;
  uint32_t used = static_cast<uint32_t>(*count * BitWidth(constant.type) % 8);
  return used == 0 || constant.bytes.back() >> used == 0;
}

}  // namespace tessera
