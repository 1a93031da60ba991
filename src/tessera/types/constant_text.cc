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
  ElementParser(Lexer* lexer, ParameterScope* parameters, ElementStyle style, const ElementBounds& bounds,
                Constant* constant)
      : lexer_(*lexer),
        parameters_(*parameters),
        style_(style),
        bounds_(bounds),
        constant_(*constant),
        kind_(Info(constant->type).kind),
        is_integer_(kind_ == ElementKind::kSigned || kind_ == ElementKind::kUnsigned),
        use_(fmt::format("a value of {}", Name(constant->type))) {}

  Result<void> Run(std::string_view open, std::string_view close) {
    const Token first = lexer_.peek();
    const size_t unbound = parameters_.unbound_uses();
    TESSERA_TRY(List(open, close, 1));
    if (parameters_.unbound_uses() != unbound) {
      constant_.bytes.clear();  // a part of the data would look like all of it
    } else if (bounds_.count && *bounds_.count != count_ && !(bounds_.or_none && count_ == 0)) {
      return lexer_.ErrorAt(first, ErrorCode::kLiteral, fmt::format("has {} value{}", count_, count_ == 1 ? "" : "s"),
                            fmt::format("{} for {}", *bounds_.count, Described(constant_)));
    }
    return {};
  }

 private:
  static std::string Described(const Constant& constant) {
    return fmt::format("{}[{}]", Name(constant.type), fmt::join(constant.dims, ", "));
  }

  Result<void> List(std::string_view open, std::string_view close, int depth) {
    if (!lexer_.TakeIf(open)) return Element();
    if (depth > kMaxListDepth) {
      return lexer_.ErrorAt(lexer_.peek(), ErrorCode::kSyntax,
                            fmt::format("lists are nested more than {} deep", kMaxListDepth));
    }
    while (!lexer_.TakeIf(close)) {
      TESSERA_TRY(List(open, close, depth + 1));
      if (!lexer_.TakeIf(",") && !lexer_.peek().Is(close)) return lexer_.Expected(fmt::format("',' or '{}'", close));
    }
    return {};
  }

  // Appends the code of one element, packed; of a complex type, of one half.
  void Append(ElementType type, uint64_t code) {
    const uint32_t bits = BitWidth(type);
    if (bits % 8 == 0) {
      for (uint32_t b = 0; b < bits; b += 8) constant_.bytes.push_back(static_cast<uint8_t>(code >> b));
      return;
    }
    constant_.bytes.resize(CeilDiv((count_ + 1) * bits, 8));
    StoreCode(constant_.bytes, type, count_, code);
  }

  Result<void> Element() {
    if (constant_.bytes.size() >= bounds_.bytes) return TooLarge(lexer_.peek());
    const bool is_name = lexer_.peek().kind == TokenKind::kIdentifier;
    const bool is_literal = is_name && IsLiteralName(lexer_.peek().text);
    if (is_name && !is_literal) {
      // An integer parameter may begin an expression.
      const ParameterValue* value = parameters_.Find(lexer_.peek().text);
      const bool is_number = value == nullptr || std::holds_alternative<int64_t>(*value);
      if (!is_integer_ || !is_number) return Parameter(lexer_.Take(), value);
    }
    if (kind_ == ElementKind::kComplex) return Complex();
    if (is_integer_ && !is_literal) return IntegerExpression();
    TESSERA_ASSIGN(uint64_t code, Number(constant_.type));
    Append(constant_.type, code);
    ++count_;
    return {};
  }

  tl::unexpected<Error> TooLarge(const Token& at) const {
    return lexer_.ErrorAt(at, ErrorCode::kLimitConstant, "the constants of a declaration pass the limit",
                          "fewer elements, or a higher limit");
  }

  Result<void> Complex() {
    const ElementType half = HalfOf(constant_.type);
    const bool call = lexer_.peek().IsName("complex");
    if (call) {
      lexer_.Take();
      TESSERA_TRY(lexer_.Expect("("));
    } else if (style_ == ElementStyle::kNotation) {
      return lexer_.Expected("complex(re, im)");
    }
    TESSERA_ASSIGN(uint64_t re, Number(half));
    TESSERA_TRY(lexer_.Expect(","));
    TESSERA_ASSIGN(uint64_t im, Number(half));
    if (call) TESSERA_TRY(lexer_.Expect(")"));
    Append(half, re);
    Append(half, im);
    ++count_;
    return {};
  }

  Result<void> IntegerExpression() {
    const Token first = lexer_.peek();
    TESSERA_ASSIGN(WideInteger value, ParseExpression(&lexer_, &parameters_, use_));
    if (value < MinInteger(constant_.type) ||
        (value > 0 && static_cast<uint64_t>(value) > MaxInteger(constant_.type))) {
      return lexer_.ErrorAt(first, ErrorCode::kLiteral, fmt::format("the value does not fit {}", Name(constant_.type)),
                            fmt::format("{} to {}", MinInteger(constant_.type), MaxInteger(constant_.type)));
    }
    Append(constant_.type, EncodeInteger(constant_.type, static_cast<int64_t>(value)));
    ++count_;
    return {};
  }

  // A literal of the type, or the name of an element type, which stands for its number.
  Result<uint64_t> Number(ElementType type) {
    const Token first = lexer_.peek();
    if (first.IsName("bits")) return Bits(type);
    std::string text;
    if (lexer_.TakeIf("-")) text = "-";
    Token token = lexer_.peek();
    std::optional<ElementType> named =
        token.kind == TokenKind::kIdentifier ? ElementTypeFromName(token.text) : std::nullopt;
    if (named)
      text += std::to_string(static_cast<int>(*named));
    else
      text += token.text;
    if (token.kind != TokenKind::kIdentifier && token.kind != TokenKind::kInteger && token.kind != TokenKind::kFloat) {
      return lexer_.Expected(fmt::format("a value of {}", Name(type)));
    }
    bool is_code = style_ == ElementStyle::kOnnx && token.kind == TokenKind::kInteger && IsWrittenAsCode(type);
    Result<uint64_t> code = ParseElement(is_code ? CodeType(type) : type, text);
    if (!code) return lexer_.ErrorAt(first, code.error().code, code.error().what, code.error().fix);
    lexer_.Take();
    return code;
  }

  // bits(0x7fc00001): the code itself.
  Result<uint64_t> Bits(ElementType type) {
    lexer_.Take();
    TESSERA_TRY(lexer_.Expect("("));
    if (lexer_.peek().kind != TokenKind::kInteger) return lexer_.Expected("the bits of an element, 0x...");
    const Token number = lexer_.Take();
    Result<uint64_t> code = ParseElement(type, fmt::format("bits({})", number.text));
    if (!code) return lexer_.ErrorAt(number, code.error().code, code.error().what, code.error().fix);
    TESSERA_TRY(lexer_.Expect(")"));
    return code;
  }

  Result<void> Parameter(const Token& name, const ParameterValue* value) {
    if (value == nullptr) {
      parameters_.NoteUnbound(name, constant_.dims.empty() ? use_ : "data of " + Described(constant_));
      return {};
    }
    if (const Constant* data = std::get_if<Constant>(value)) return Data(name, *data);
    const int64_t* number = std::get_if<int64_t>(value);
    std::string literal = number ? std::to_string(*number) : std::get<std::string>(*value);
    if (auto named = ElementTypeFromName(literal)) literal = std::to_string(static_cast<int32_t>(*named));
    Result<uint64_t> code = ParseElement(constant_.type, literal);
    if (!code) {
      return lexer_.ErrorAt(
          name, ErrorCode::kParameterData,
          fmt::format("{} is bound to {}, but {}", Quoted(name.text), Quoted(literal), code.error().what),
          code.error().fix);
    }
    Append(constant_.type, *code);
    ++count_;
    return {};
  }

  // All data from a parameter.
  Result<void> Data(const Token& name, const Constant& data) {
    const bool same_shape = data.dims.size() <= 1 || data.dims == constant_.dims;
    const std::optional<uint64_t> count = CheckedProduct(data.dims);
    if (count_ != 0 || data.type != constant_.type || !same_shape || !HasWholeData(data) ||
        (bounds_.count && count != bounds_.count)) {
      return lexer_.ErrorAt(name, ErrorCode::kParameterData,
                            fmt::format("{} is bound to {}", Quoted(name.text), Described(data)),
                            fmt::format("{}, or flat", Described(constant_)));
    }
    if (data.bytes.size() > bounds_.bytes) return TooLarge(name);
    constant_.bytes = data.bytes;
    count_ = *count;
    return {};
  }

  Lexer& lexer_;
  ParameterScope& parameters_;
  ElementStyle style_;
  const ElementBounds& bounds_;
  Constant& constant_;
  const ElementKind kind_;
  const bool is_integer_;
  const std::string use_;
  uint64_t count_ = 0;
};

}  // namespace

bool IsLiteralName(std::string_view name) {
  return name == "true" || name == "false" || name == "inf" || name == "nan" || name == "bits" || name == "complex" ||
         ElementTypeFromName(name);
}

Result<void> ParseElements(Lexer* lexer, ParameterScope* parameters, std::string_view open, std::string_view close,
                           ElementStyle style, const ElementBounds& bounds, Constant* constant) {
  return ElementParser(lexer, parameters, style, bounds, constant).Run(open, close);
}

Result<std::vector<uint8_t>> ParseHexBytes(Lexer* lexer) {
  const Token token = lexer->peek();
  TESSERA_ASSIGN(std::string text, lexer->ExpectString("bytes in hexadecimal"));
  std::vector<uint8_t> bytes;
  auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
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
  const bool is_bool = Info(constant.type).kind == ElementKind::kBool;
  const bool as_code = style == ElementStyle::kOnnx && (IsWrittenAsCode(constant.type) || is_bool);
  std::string text;
  size_t line_start = 0;
  for (uint64_t i = 0; i < count; ++i) {
    // Of a BOOL ONNX's syntax has the codes 0 and 1; others are bits(...).
    const bool plain = as_code && (!is_bool || LoadCode(constant.bytes, constant.type, i) <= 1);
    std::string element = plain ? std::to_string(LoadCode(constant.bytes, constant.type, i))
                          : half == constant.type
                              ? FormatElement(constant.type, LoadCode(constant.bytes, constant.type, i))
                              : fmt::format(fmt::runtime(style == ElementStyle::kOnnx ? "{}, {}" : "complex({}, {})"),
                                            FormatElement(half, LoadCode(constant.bytes, half, 2 * i)),
                                            FormatElement(half, LoadCode(constant.bytes, half, 2 * i + 1)));
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

std::optional<uint64_t> ElementCount(const std::vector<int64_t>& dims) {
  for (int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
  }
  return CheckedProduct(dims);
}

bool HasWholeData(const Constant& constant) {
  if (!IsFixedWidth(constant.type)) return false;
  std::optional<uint64_t> count = ElementCount(constant.dims);
  std::optional<uint64_t> bytes = count ? PackedBytes(constant.type, *count) : std::nullopt;
  if (bytes != constant.bytes.size()) return false;
  uint32_t used = static_cast<uint32_t>(*count * BitWidth(constant.type) % 8);
  return used == 0 || constant.bytes.back() >> used == 0;
}

}  // namespace tessera
