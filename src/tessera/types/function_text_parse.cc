#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/types/constant_text.h"
#include "tessera/types/element_text.h"
#include "tessera/types/element_value.h"
#include "tessera/types/function_text.h"
#include "tessera/types/notation.h"

namespace tessera {
namespace {

std::string UpperCase(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return upper;
}

class FunctionParser {
 public:
  FunctionParser(Lexer* lexer, ParameterScope* parameters) : lexer_(*lexer), parameters_(*parameters) {}

  // The function up to its body's closing brace; `first_name` is the name if it is taken already.
  Result<Function> Text(std::optional<std::string> first_name) {
    if (!first_name) {
      if (lexer_.TakeIf("<")) TESSERA_TRY(Header());
      if (!lexer_.peek().Is("(")) {
        TESSERA_ASSIGN(function_.name, Name("the function's name"));
      }
    } else {
      function_.name = std::move(first_name);
    }
    TESSERA_TRY(lexer_.Expect("("));
    TESSERA_ASSIGN(function_.inputs, Names(")"));
    TESSERA_TRY(lexer_.Expect("=>"));
    TESSERA_TRY(lexer_.Expect("("));
    TESSERA_ASSIGN(function_.outputs, Names(")"));
    if (lexer_.TakeIf("<")) {
      while (!lexer_.TakeIf(">")) {
        TESSERA_TRY(ReadValueInfo());
        TESSERA_TRY(Separator(">"));
      }
    }
    TESSERA_TRY(Body());
    return std::move(function_);
  }

  // The descriptive form; `key` is taken, ':' comes next.
  Result<Function> Described(Token key) {
    for (;;) {
      TESSERA_TRY(lexer_.Expect(":"));
      TESSERA_TRY(DescribedEntry(key));
      lexer_.TakeIf(",");
      if (lexer_.peek().Is("}")) return std::move(function_);
      if (lexer_.peek().kind != TokenKind::kIdentifier) return lexer_.Expected("a field of FunctionProto or '}'");
      key = lexer_.Take();
    }
  }

 private:
  Result<void> Separator(std::string_view close) {
    if (lexer_.TakeIf(",") || lexer_.peek().Is(close)) return {};
    return lexer_.Expected(fmt::format("',' or '{}'", close));
  }

  Result<std::string> Name(std::string_view what) {
    if (lexer_.peek().kind == TokenKind::kIdentifier) return std::string(lexer_.Take().text);
    return lexer_.ExpectString(what);
  }

  // Names up to `close`; nothing between two commas is an omitted input, "".
  Result<std::vector<std::string>> Names(std::string_view close) {
    std::vector<std::string> names;
    while (!lexer_.TakeIf(close)) {
      if (lexer_.TakeIf(",")) {
        names.emplace_back();
        continue;
      }
      TESSERA_ASSIGN(std::string name, Name(fmt::format("a name or '{}'", close)));
      names.push_back(std::move(name));
      TESSERA_TRY(Separator(close));
    }
    return names;
  }

  Result<void> SetOnce(const Token& key, std::optional<std::string>* slot) {
    if (*slot) return lexer_.ErrorAt(key, ErrorCode::kSyntax, fmt::format("{} is given twice", Quoted(key.text)), "once");
    TESSERA_ASSIGN(*slot, lexer_.ExpectString("a string"));
    return {};
  }

  tl::unexpected<Error> Unknown(const Token& key, std::string_view known) {
    return lexer_.ErrorAt(key, ErrorCode::kSyntax, fmt::format("{} is not known here", Quoted(key.text)),
                          fmt::format("one of: {}", known));
  }

  Result<int64_t> Integer(std::string_view what) {
    Token at = lexer_.peek();
    std::string text = lexer_.TakeIf("-") ? "-" : "";
    if (lexer_.peek().kind != TokenKind::kInteger) return lexer_.Expected(what);
    text += lexer_.Take().text;
    Result<uint64_t> code = ParseElement(ElementType::kInt64, text);
    if (!code) return lexer_.ErrorAt(at, code.error().code, code.error().what, code.error().fix);
    return static_cast<int64_t>(*code);
  }

  // `["key": "value", ...]`
  Result<std::vector<Metadata>> MetadataList() {
    std::vector<Metadata> metadata;
    TESSERA_TRY(lexer_.Expect("["));
    while (!lexer_.TakeIf("]")) {
      Metadata entry;
      TESSERA_ASSIGN(entry.key, lexer_.ExpectString("a key in quotes"));
      TESSERA_TRY(lexer_.Expect(":"));
      TESSERA_ASSIGN(entry.value, lexer_.ExpectString("a value in quotes"));
      metadata.push_back(std::move(entry));
      TESSERA_TRY(Separator("]"));
    }
    return metadata;
  }

  Result<void> Imports() {
    TESSERA_TRY(lexer_.Expect("["));
    while (!lexer_.TakeIf("]")) {
      OpsetImport import;
      if (lexer_.peek().IsName("none")) {
        lexer_.Take();
      } else {
        TESSERA_ASSIGN(import.domain, lexer_.ExpectString("a domain in quotes"));
      }
      TESSERA_TRY(lexer_.Expect(":"));
      TESSERA_ASSIGN(import.version, Integer("a version"));
      function_.opset_imports.push_back(std::move(import));
      TESSERA_TRY(Separator("]"));
    }
    return {};
  }

  // Calls read(key) for each `key: value` up to '>'; '<' is taken.
  template <typename Read>
  Result<void> Angle(Read read) {
    while (!lexer_.TakeIf(">")) {
      if (lexer_.peek().kind != TokenKind::kIdentifier) return lexer_.Expected("a key or '>'");
      Token key = lexer_.Take();
      TESSERA_TRY(lexer_.Expect(":"));
      TESSERA_TRY(read(key));
      TESSERA_TRY(Separator(">"));
    }
    return {};
  }

  Result<void> Header() {
    return Angle([&](const Token& key) -> Result<void> {
      if (key.text == "domain") return SetOnce(key, &function_.domain);
      if (key.text == "overload") return SetOnce(key, &function_.overload);
      if (key.text == "doc_string") return SetOnce(key, &function_.doc_string);
      if (key.text == "opset_import") return Imports();
      if (key.text != "metadata_props") return Unknown(key, "opset_import, domain, overload, doc_string, metadata_props");
      TESSERA_ASSIGN(function_.metadata, MetadataList());
      return {};
    });
  }

  // ---- values

  // `float[4, N, ?] Y`; `float Y` is a scalar, `float[] Y` of unknown rank.
  Result<void> ReadValueInfo() {
    ValueInfo info;
    TESSERA_ASSIGN(info.type, TypeKeyword());
    TESSERA_ASSIGN(info.shape, Shape());
    TESSERA_ASSIGN(info.name, Name("a name"));
    if (lexer_.TakeIf("<")) {
      TESSERA_TRY(Angle([&](const Token& key) -> Result<void> {
        if (key.text == "doc_string") return SetOnce(key, &info.doc_string);
        if (key.text != "metadata_props") return Unknown(key, "doc_string, metadata_props");
        TESSERA_ASSIGN(info.metadata, MetadataList());
        return {};
      }));
    }
    function_.value_infos.push_back(std::move(info));
    return {};
  }

  Result<ElementType> TypeKeyword() {
    std::optional<ElementType> type = ElementTypeFromName(UpperCase(lexer_.peek().text));
    if (lexer_.peek().kind != TokenKind::kIdentifier || !type) return lexer_.Expected("an element type such as float");
    lexer_.Take();
    return *type;
  }

  Result<std::optional<std::vector<Dimension>>> Shape() {
    std::vector<Dimension> shape;
    if (!lexer_.TakeIf("[")) return std::optional(shape);
    if (lexer_.TakeIf("]")) return std::optional<std::vector<Dimension>>();
    while (!lexer_.TakeIf("]")) {
      if (lexer_.TakeIf("?")) {
        shape.emplace_back();
      } else if (lexer_.peek().kind == TokenKind::kIdentifier || lexer_.peek().kind == TokenKind::kString) {
        TESSERA_ASSIGN(std::string symbol, Name("a dimension"));
        shape.emplace_back(std::move(symbol));
      } else {
        TESSERA_ASSIGN(int64_t number, Integer("a dimension: a number, a name or ?"));
        shape.emplace_back(number);
      }
      TESSERA_TRY(Separator("]"));
    }
    return std::optional(std::move(shape));
  }

  // ---- nodes

  Result<void> Body() {
    TESSERA_TRY(lexer_.Expect("{"));
    while (!lexer_.TakeIf("}")) {
      TESSERA_TRY(ReadNode());
      lexer_.TakeIf(";");
    }
    return {};
  }

  // [label] y, z = domain.Op:overload <attribute = value> (a, b) <extensions>
  Result<void> ReadNode() {
    Node node;
    if (lexer_.TakeIf("[")) {
      TESSERA_ASSIGN(node.name, Name("a label"));
      TESSERA_TRY(lexer_.Expect("]"));
    }
    if (!lexer_.TakeIf("=")) {
      for (;;) {
        TESSERA_ASSIGN(std::string name, Name("a node `y = Op (x)` or '}'"));
        node.outputs.push_back(std::move(name));
        if (lexer_.TakeIf("=")) break;
        if (!lexer_.TakeIf(",")) return lexer_.Expected("',' or '='");
      }
    }
    TESSERA_ASSIGN(std::string op, Name("an operator"));
    while (lexer_.TakeIf(".")) {
      node.domain = node.domain ? *node.domain + "." + op : op;
      TESSERA_ASSIGN(op, Name("an operator"));
    }
    node.op_type = std::move(op);
    if (lexer_.TakeIf(":")) {
      TESSERA_ASSIGN(node.overload, Name("an overload"));
    }
    if (lexer_.peek().Is("<")) TESSERA_TRY(Attributes(&node));
    TESSERA_TRY(lexer_.Expect("("));
    TESSERA_ASSIGN(node.inputs, Names(")"));
    if (lexer_.peek().Is("<")) {
      lexer_.Take();
      TESSERA_TRY(Angle([&](const Token& key) -> Result<void> {
        if (key.text == "doc_string") return SetOnce(key, &node.doc_string);
        if (key.text == "domain") return SetOnce(key, &node.domain);
        if (key.text == "overload") return SetOnce(key, &node.overload);
        if (key.text != "metadata_props") return Unknown(key, "doc_string, domain, overload, metadata_props");
        TESSERA_ASSIGN(node.metadata, MetadataList());
        return {};
      }));
    }
    function_.nodes.push_back(std::move(node));
    return {};
  }

  Result<void> Attributes(Node* node) {
    TESSERA_TRY(lexer_.Expect("<"));
    while (!lexer_.TakeIf(">")) {
      Attribute attribute;
      TESSERA_ASSIGN(attribute.name, Name("an attribute's name"));
      std::string type;
      if (lexer_.TakeIf(":")) {
        TESSERA_ASSIGN(type, Name("int, float, string, tensor, ints, floats, strings or tensors"));
      }
      TESSERA_TRY(lexer_.Expect("="));
      TESSERA_TRY(AttributeValue(type, &attribute.value));
      if (lexer_.TakeIf("<")) {
        TESSERA_TRY(Angle([&](const Token& key) -> Result<void> {
          if (key.text != "doc_string") return Unknown(key, "doc_string");
          return SetOnce(key, &attribute.doc_string);
        }));
      }
      node->attributes.push_back(std::move(attribute));
      TESSERA_TRY(Separator(">"));
    }
    return {};
  }

  using Value = Attribute::Value;

  Result<void> AttributeValue(const std::string& type, Value* value) {
    const Token first = lexer_.peek();
    if (first.Is("[")) return AttributeList(type, value);
    TESSERA_ASSIGN(*value, Single());
    if (type == "float" && std::holds_alternative<int64_t>(*value)) *value = static_cast<float>(std::get<int64_t>(*value));
    static constexpr std::string_view kTypes[] = {"int", "float", "string", "tensor"};
    if (!type.empty() && kTypes[value->index()] != type) {
      return lexer_.ErrorAt(first, ErrorCode::kSyntax, fmt::format("is a value of type {}", kTypes[value->index()]),
                            fmt::format("a value of type {}", type));
    }
    return {};
  }

  Result<void> AttributeList(const std::string& type, Value* value) {
    const Token open = lexer_.Take();
    std::vector<Value> items;
    while (!lexer_.TakeIf("]")) {
      TESSERA_ASSIGN(Value item, Single());
      items.push_back(std::move(item));
      TESSERA_TRY(Separator("]"));
    }
    bool any_float = std::any_of(items.begin(), items.end(), [](const Value& v) { return std::holds_alternative<float>(v); });
    std::string list = type;
    if (list.empty()) {
      if (items.empty()) return lexer_.ErrorAt(open, ErrorCode::kSyntax, "an empty list has no type", "name: ints = []");
      static constexpr std::string_view kLists[] = {"ints", "floats", "strings", "tensors"};
      list = any_float ? "floats" : std::string(kLists[items[0].index()]);
    }
    if (list == "ints") return Fill<int64_t>(open, items, value);
    if (list == "strings") return Fill<std::string>(open, items, value);
    if (list == "tensors") return Fill<Constant>(open, items, value);
    if (list != "floats") return lexer_.ErrorAt(open, ErrorCode::kSyntax, fmt::format("a list is not of type {}", Quoted(list)), "ints, floats, strings or tensors");
    for (Value& item : items) {
      if (std::holds_alternative<int64_t>(item)) item = static_cast<float>(std::get<int64_t>(item));
    }
    return Fill<float>(open, items, value);
  }

  template <typename T>
  Result<void> Fill(const Token& at, std::vector<Value>& items, Value* value) {
    std::vector<T> list;
    for (Value& item : items) {
      if (!std::holds_alternative<T>(item)) return lexer_.ErrorAt(at, ErrorCode::kSyntax, "the list mixes types", "values of one type");
      list.push_back(std::get<T>(std::move(item)));
    }
    *value = std::move(list);
    return {};
  }

  // An int, float, string or tensor.
  Result<Value> Single() {
    const Token token = lexer_.peek();
    if (token.kind == TokenKind::kString) return Value(lexer_.Take().value);
    bool is_number_name = token.text == "inf" || token.text == "nan" || token.text == "bits";
    if (token.kind == TokenKind::kIdentifier && !is_number_name) {
      TESSERA_ASSIGN(Constant tensor, Tensor());
      return Value(std::move(tensor));
    }
    // A lone FLOAT constant holds the number; an integer literal is an int.
    Constant number;
    bool negative = token.Is("-");
    if (negative) lexer_.Take();
    if (lexer_.peek().kind == TokenKind::kInteger) {
      Token digits = lexer_.Take();
      Result<uint64_t> code = ParseElement(ElementType::kInt64, (negative ? "-" : "") + std::string(digits.text));
      if (!code) return lexer_.ErrorAt(digits, code.error().code, code.error().what, code.error().fix);
      return Value(static_cast<int64_t>(*code));
    }
    number.type = ElementType::kFloat;
    uint64_t count = 0;
    TESSERA_TRY(ParseElements(&lexer_, &parameters_, "[", "]", ElementStyle::kOnnx, &number, &count));
    if (number.bytes.size() != 4) return lexer_.ErrorAt(token, ErrorCode::kSyntax, "is not a number", "a number");
    float value = static_cast<float>(DecodeFloat(ElementType::kFloat, LoadCode(number.bytes, ElementType::kFloat, 0)));
    uint32_t code = static_cast<uint32_t>(LoadCode(number.bytes, ElementType::kFloat, 0));
    if (negative) code ^= 0x80000000u;
    std::memcpy(&value, &code, sizeof value);
    return Value(value);
  }

  // float[2, 2] {0.5, 1.0, ...} <storage: raw, name: "t", ...>
  Result<Constant> Tensor() {
    Constant constant;
    constant.storage = Constant::Storage::kTyped;
    const Token at = lexer_.peek();
    TESSERA_ASSIGN(constant.type, TypeKeyword());
    if (lexer_.TakeIf("[")) {
      while (!lexer_.TakeIf("]")) {
        TESSERA_ASSIGN(int64_t dim, Integer("a dimension"));
        constant.dims.push_back(dim);
        TESSERA_TRY(Separator("]"));
      }
    }
    if (!lexer_.peek().Is("{")) return lexer_.Expected("'{' and the tensor's values");
    if (!IsFixedWidth(constant.type)) {
      return lexer_.ErrorAt(at, ErrorCode::kLiteral, fmt::format("{} has no fixed width", tessera::Name(constant.type)),
                            "an element type with a width in bits");
    }
    uint64_t count = 0;
    TESSERA_TRY(ParseElements(&lexer_, &parameters_, "{", "}", ElementStyle::kOnnx, &constant, &count));
    bool raw = false;
    if (lexer_.TakeIf("<")) {
      TESSERA_TRY(Angle([&](const Token& key) -> Result<void> {
        if (key.text == "name") return SetOnce(key, &constant.name);
        if (key.text == "doc_string") return SetOnce(key, &constant.doc_string);
        if (key.text == "metadata_props") {
          TESSERA_ASSIGN(constant.metadata, MetadataList());
          return {};
        }
        if (key.text == "raw") {
          TESSERA_ASSIGN(constant.bytes, ParseHexBytes(&lexer_));
          raw = true;
          return {};
        }
        if (key.text != "storage") return Unknown(key, "storage, name, doc_string, metadata_props, raw");
        if (lexer_.peek().IsName("raw")) constant.storage = Constant::Storage::kRaw;
        else if (!lexer_.peek().IsName("typed")) return lexer_.Expected("raw or typed");
        lexer_.Take();
        return {};
      }));
    }
    std::optional<uint64_t> expected = CheckedProduct(constant.dims);
    if (!raw && expected != count) {
      return lexer_.ErrorAt(at, ErrorCode::kLiteral, fmt::format("has {} values", count),
                            expected ? fmt::format("{} for dimensions [{}]", *expected, fmt::join(constant.dims, ", "))
                                     : std::string("fewer dimensions"));
    }
    return constant;
  }

  // ---- the descriptive form

  Result<void> DescribedEntry(const Token& key) {
    if (key.text == "name") return SetOnce(key, &function_.name);
    if (key.text == "domain") return SetOnce(key, &function_.domain);
    if (key.text == "overload") return SetOnce(key, &function_.overload);
    if (key.text == "doc_string") return SetOnce(key, &function_.doc_string);
    if (key.text == "input" || key.text == "output") {
      TESSERA_ASSIGN(std::string name, lexer_.ExpectString("a name in quotes"));
      (key.text == "input" ? function_.inputs : function_.outputs).push_back(std::move(name));
      return {};
    }
    if (key.text == "body") return Body();
    if (key.text == "opset_import") {
      OpsetImport import;
      TESSERA_TRY(Braces([&](const Token& inner) -> Result<void> {
        if (inner.text == "domain") return SetOnce(inner, &import.domain);
        if (inner.text != "version") return Unknown(inner, "domain, version");
        TESSERA_ASSIGN(import.version, Integer("a version"));
        return {};
      }));
      function_.opset_imports.push_back(std::move(import));
      return {};
    }
    if (key.text == "value_info") return DescribedValueInfo();
    return Unknown(key, "name, domain, overload, input, output, opset_import, value_info, doc_string, body");
  }

  template <typename Read>
  Result<void> Braces(Read read) {
    TESSERA_TRY(lexer_.Expect("{"));
    while (!lexer_.TakeIf("}")) {
      if (lexer_.peek().kind != TokenKind::kIdentifier) return lexer_.Expected("a field name or '}'");
      Token key = lexer_.Take();
      TESSERA_TRY(lexer_.Expect(":"));
      TESSERA_TRY(read(key));
      lexer_.TakeIf(",");
    }
    return {};
  }

  void SkipName(std::string_view name) {
    if (lexer_.peek().IsName(name)) lexer_.Take();
  }

  Result<void> DescribedValueInfo() {
    ValueInfo info;
    TESSERA_TRY(Braces([&](const Token& key) -> Result<void> {
      if (key.text == "name") {
        TESSERA_ASSIGN(info.name, lexer_.ExpectString("a name in quotes"));
        return {};
      }
      if (key.text == "doc_string") return SetOnce(key, &info.doc_string);
      if (key.text != "type") return Unknown(key, "name, type, doc_string");
      SkipName("TypeProto");
      return Braces([&](const Token& kind) -> Result<void> {
        if (kind.text != "tensor_type") return Unknown(kind, "tensor_type");
        SkipName("Tensor");
        return Braces([&](const Token& part) -> Result<void> {
          if (part.text == "elem_type") {
            TESSERA_ASSIGN(info.type, TypeKeyword());
            return {};
          }
          if (part.text != "shape") return Unknown(part, "elem_type, shape");
          SkipName("TensorShapeProto");
          info.shape.emplace();
          return Braces([&](const Token& dim) -> Result<void> {
            if (dim.text != "dim") return Unknown(dim, "dim");
            info.shape->emplace_back();
            return Braces([&](const Token& value) -> Result<void> {
              if (value.text == "dim_param") {
                TESSERA_ASSIGN(info.shape->back(), lexer_.ExpectString("a symbol in quotes"));
                return {};
              }
              if (value.text != "dim_value") return Unknown(value, "dim_value, dim_param");
              const Token at = lexer_.peek();
              TESSERA_ASSIGN(WideInteger number, ParseExpression(&lexer_, &parameters_, "a dimension"));
              if (number > INT64_MAX) return lexer_.ErrorAt(at, ErrorCode::kExpression, "the dimension does not fit into 63 bits", "a smaller one");
              info.shape->back() = static_cast<int64_t>(number);
              return {};
            });
          });
        });
      });
    }));
    function_.value_infos.push_back(std::move(info));
    return {};
  }

  Lexer& lexer_;
  ParameterScope& parameters_;
  Function function_;
};

}  // namespace

Result<Function> ParseFunctionBlock(Lexer* lexer, ParameterScope* parameters) {
  if (lexer->peek().IsName("FunctionProto")) lexer->Take();
  TESSERA_TRY(lexer->Expect("{"));
  FunctionParser parser(lexer, parameters);
  if (lexer->peek().Is("...") || lexer->peek().Is("}")) {
    return lexer->ErrorAt(lexer->peek(), ErrorCode::kSyntax, "the function has no body",
                          "name (inputs) => (outputs) { nodes }, or leave the decoder out");
  }
  Function function;
  if (lexer->peek().kind == TokenKind::kIdentifier) {
    Token name = lexer->Take();
    if (lexer->peek().Is(":")) {
      TESSERA_ASSIGN(function, parser.Described(std::move(name)));
    } else {
      TESSERA_ASSIGN(function, parser.Text(std::string(name.text)));
    }
  } else {
    TESSERA_ASSIGN(function, parser.Text(std::nullopt));
  }
  TESSERA_TRY(lexer->Expect("}"));
  return function;
}

Result<Function> ParseFunctionText(std::string_view text, const Limits& limits) {
  NotationOptions options;
  options.limits = limits;
  ParameterScope parameters(options);
  Lexer lexer(text);
  TESSERA_ASSIGN(Function function, FunctionParser(&lexer, &parameters).Text(std::nullopt));
  if (lexer.peek().kind != TokenKind::kEnd) return lexer.Expected("the end of the text");
  if (parameters.unbound_count() > 0) {
    std::vector<UnboundParameter> unbound = parameters.TakeUnbound();
    return Fail(ErrorCode::kUnbound, fmt::format("text:{}:{}", unbound[0].line, unbound[0].column),
                fmt::format("{} has no value", Quoted(unbound[0].name)), "a literal");
  }
  return function;
}

}  // namespace tessera
