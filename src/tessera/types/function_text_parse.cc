#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
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

// In the order of Attribute::Value.
constexpr std::string_view kAttributeTypes[] = {"int",  "float",  "string",  "tensor",
                                                "ints", "floats", "strings", "tensors"};

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
    TESSERA_TRY(Signature(&function_.inputs));
    TESSERA_TRY(lexer_.Expect("=>"));
    TESSERA_TRY(Signature(&function_.outputs));
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

  // `(a, float[4] b)`: a type in front of a name is a value info as well.
  Result<void> Signature(std::vector<std::string>* names) {
    TESSERA_TRY(lexer_.Expect("("));
    while (!lexer_.TakeIf(")")) {
      if (lexer_.TakeIf(",")) {
        names->emplace_back();
        continue;
      }
      const Token first = lexer_.peek();
      TESSERA_ASSIGN(std::string name, Name("a name or ')'"));
      std::optional<ElementType> type = ElementTypeFromName(UpperCase(first.text));
      const bool typed =
          first.kind == TokenKind::kIdentifier && type && !lexer_.peek().Is(",") && !lexer_.peek().Is(")");
      if (typed) {
        ValueInfo info{.name = {}, .type = *type, .shape = {}, .doc_string = {}, .metadata = {}};
        TESSERA_TRY(Shaped(&info));
        name = info.name;
        function_.value_infos.push_back(std::move(info));
      }
      names->push_back(std::move(name));
      TESSERA_TRY(Separator(")"));
    }
    return {};
  }

  Result<void> SetOnce(const Token& key, std::optional<std::string>* slot) {
    if (*slot)
      return lexer_.ErrorAt(key, ErrorCode::kSyntax, fmt::format("{} is given twice", Quoted(key.text)), "once");
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
  Result<void> MetadataList(std::vector<Metadata>* metadata) {
    TESSERA_TRY(lexer_.Expect("["));
    while (!lexer_.TakeIf("]")) {
      Metadata entry;
      TESSERA_ASSIGN(entry.key, lexer_.ExpectString("a key in quotes"));
      TESSERA_TRY(lexer_.Expect(":"));
      TESSERA_ASSIGN(entry.value, lexer_.ExpectString("a value in quotes"));
      metadata->push_back(std::move(entry));
      TESSERA_TRY(Separator("]"));
    }
    return {};
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
      if (key.text != "metadata_props")
        return Unknown(key, "opset_import, domain, overload, doc_string, metadata_props");
      return MetadataList(&function_.metadata);
    });
  }

  // ---- values

  // `float[4, N, ?] Y`; `float Y` is a scalar, `float[] Y` of unknown rank.
  Result<void> ReadValueInfo() {
    ValueInfo info;
    TESSERA_ASSIGN(info.type, TypeKeyword());
    TESSERA_TRY(Shaped(&info));
    function_.value_infos.push_back(std::move(info));
    return {};
  }

  // What follows the element type.
  Result<void> Shaped(ValueInfo* info) {
    TESSERA_ASSIGN(info->shape, Shape());
    TESSERA_ASSIGN(info->name, Name("a name"));
    if (!lexer_.TakeIf("<")) return {};
    return Angle([&](const Token& key) -> Result<void> {
      if (key.text == "doc_string") return SetOnce(key, &info->doc_string);
      if (key.text != "metadata_props") return Unknown(key, "doc_string, metadata_props");
      return MetadataList(&info->metadata);
    });
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
      } else if (lexer_.peek().kind == TokenKind::kString) {
        shape.emplace_back(lexer_.Take().value);
      } else if (IsSymbol()) {
        shape.emplace_back(std::string(lexer_.Take().text));
      } else {
        std::vector<int64_t> dims;
        TESSERA_TRY(Dims(&dims));
        shape.insert(shape.end(), dims.begin(), dims.end());
      }
      TESSERA_TRY(Separator("]"));
    }
    return std::optional(std::move(shape));
  }

  // A lone name without a value is a symbolic dimension; any other name begins an expression.
  bool IsSymbol() {
    if (lexer_.peek().kind != TokenKind::kIdentifier || parameters_.Find(lexer_.peek().text) != nullptr) return false;
    Lexer ahead = lexer_;
    ahead.Take();
    return ahead.peek().Is(",") || ahead.peek().Is("]");
  }

  // One dimension, or all of a list such as `shape`.
  Result<void> Dims(std::vector<int64_t>* dims) {
    TESSERA_ASSIGN(const std::optional<std::vector<int64_t>> list, TakeIntegerList(&lexer_, &parameters_));
    if (list) {
      dims->insert(dims->end(), list->begin(), list->end());
      return {};
    }
    TESSERA_ASSIGN(const int64_t dim, Dim());
    dims->push_back(dim);
    return {};
  }

  Result<int64_t> Dim() {
    const Token at = lexer_.peek();
    TESSERA_ASSIGN(WideInteger number, ParseExpression(&lexer_, &parameters_, "a dimension"));
    if (number > INT64_MAX) {
      return lexer_.ErrorAt(at, ErrorCode::kExpression, "the dimension does not fit into 63 bits", "a smaller one");
    }
    return static_cast<int64_t>(number);
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
        return MetadataList(&node.metadata);
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
      // In front of the value, for behind it the same words would document a tensor.
      if (lexer_.TakeIf("<")) {
        TESSERA_TRY(Angle([&](const Token& key) -> Result<void> {
          if (key.text != "doc_string") return Unknown(key, "doc_string");
          return SetOnce(key, &attribute.doc_string);
        }));
      }
      std::string type;
      if (lexer_.TakeIf(":")) {
        const Token at = lexer_.peek();
        constexpr std::string_view kKinds = "int, float, string, tensor, ints, floats, strings or tensors";
        TESSERA_ASSIGN(type, Name(kKinds));
        if (std::find(std::begin(kAttributeTypes), std::end(kAttributeTypes), type) == std::end(kAttributeTypes)) {
          return lexer_.ErrorAt(at, ErrorCode::kSyntax,
                                fmt::format("an attribute here is not of type {}", Quoted(type)), std::string(kKinds));
        }
      }
      TESSERA_TRY(lexer_.Expect("="));
      TESSERA_TRY(AttributeValue(type, &attribute.value));
      node->attributes.push_back(std::move(attribute));
      TESSERA_TRY(Separator(">"));
    }
    return {};
  }

  using Value = Attribute::Value;

  Result<void> AttributeValue(const std::string& type, Value* value) {
    const Token first = lexer_.peek();
    if (first.Is("[")) return AttributeList(type, value);
    if (type.empty() || type == "ints") {
      TESSERA_ASSIGN(std::optional<std::vector<int64_t>> list, TakeIntegerList(&lexer_, &parameters_));
      if (list) {
        *value = *std::move(list);
        return {};
      }
    }
    if (type == "ints" && first.kind == TokenKind::kIdentifier && parameters_.Find(first.text) == nullptr &&
        !IsLiteralName(first.text)) {
      parameters_.NoteUnbound(lexer_.Take(), "a list of integers");
      *value = std::vector<int64_t>();
      return {};
    }
    TESSERA_ASSIGN(*value, Single());
    if (type == "float" && std::holds_alternative<int64_t>(*value))
      *value = static_cast<float>(std::get<int64_t>(*value));
    if (!type.empty() && kAttributeTypes[value->index()] != type) {
      return lexer_.ErrorAt(
          first, ErrorCode::kSyntax,
          fmt::format("expected {}, found one value of type {}", type, kAttributeTypes[value->index()]));
    }
    return {};
  }

  Result<void> AttributeList(const std::string& type, Value* value) {
    const Token open = lexer_.Take();
    std::vector<Value> items;
    while (!lexer_.TakeIf("]")) {
      TESSERA_ASSIGN(const std::optional<std::vector<int64_t>> bound, TakeIntegerList(&lexer_, &parameters_));
      if (bound) {
        items.insert(items.end(), bound->begin(), bound->end());
      } else {
        TESSERA_ASSIGN(Value item, Single());
        items.push_back(std::move(item));
      }
      TESSERA_TRY(Separator("]"));
    }
    bool any_float =
        std::any_of(items.begin(), items.end(), [](const Value& v) { return std::holds_alternative<float>(v); });
    std::string list = type;
    if (list.empty()) {
      if (items.empty())
        return lexer_.ErrorAt(open, ErrorCode::kSyntax, "an empty list has no type", "name: ints = []");
      list = any_float ? "floats" : std::string(kAttributeTypes[items[0].index() + 4]);
    }
    if (list == "ints") return Fill<int64_t>(open, items, value);
    if (list == "strings") return Fill<std::string>(open, items, value);
    if (list == "tensors") return Fill<Constant>(open, items, value);
    if (list != "floats") {
      return lexer_.ErrorAt(open, ErrorCode::kSyntax, fmt::format("expected one value of type {}, found a list", list));
    }
    for (Value& item : items) {
      if (std::holds_alternative<int64_t>(item)) item = static_cast<float>(std::get<int64_t>(item));
    }
    return Fill<float>(open, items, value);
  }

  template <typename T>
  Result<void> Fill(const Token& at, std::vector<Value>& items, Value* value) {
    std::vector<T> list;
    for (Value& item : items) {
      if (!std::holds_alternative<T>(item))
        return lexer_.ErrorAt(at, ErrorCode::kSyntax, "the list mixes types", "values of one type");
      list.push_back(std::get<T>(std::move(item)));
    }
    *value = std::move(list);
    return {};
  }

  // An int, float, string or tensor.
  Result<Value> Single() {
    const Token token = lexer_.peek();
    if (token.kind == TokenKind::kString) return Value(lexer_.Take().value);
    if (token.kind == TokenKind::kIdentifier && ElementTypeFromName(UpperCase(token.text))) {
      TESSERA_ASSIGN(Constant tensor, Tensor());
      return Value(std::move(tensor));
    }
    const bool is_float_name = token.IsName("inf") || token.IsName("nan") || token.IsName("bits");
    if ((token.kind == TokenKind::kIdentifier && !is_float_name) || token.Is("(")) return Parameter();
    if (token.Is("-")) {
      Lexer ahead = lexer_;
      ahead.Take();
      const Token& next = ahead.peek();
      const bool names_float = next.IsName("inf") || next.IsName("nan") || next.IsName("bits");
      if ((next.kind == TokenKind::kIdentifier && !names_float) || next.Is("(") || next.Is("-")) return Parameter();
    }
    const bool negative = lexer_.TakeIf("-");
    if (lexer_.peek().kind == TokenKind::kInteger) {
      Token digits = lexer_.Take();
      Result<uint64_t> code = ParseElement(ElementType::kInt64, (negative ? "-" : "") + std::string(digits.text));
      if (!code) return lexer_.ErrorAt(token, code.error().code, code.error().what, code.error().fix);
      return Value(static_cast<int64_t>(*code));
    }
    if (lexer_.peek().kind != TokenKind::kFloat && lexer_.peek().kind != TokenKind::kIdentifier) {
      return lexer_.Expected("a number, a string or a tensor such as int64[2] {1, 2}");
    }
    // A lone FLOAT constant holds the number.
    Constant number{.type = ElementType::kFloat,
                    .dims = {},
                    .bytes = {},
                    .storage = {},
                    .name = {},
                    .doc_string = {},
                    .metadata = {}};
    TESSERA_TRY(ParseElements(&lexer_, &parameters_, "[", "]", ElementStyle::kOnnx,
                              {.count = 1, .or_none = false, .bytes = 4}, &number));
    uint32_t code = static_cast<uint32_t>(LoadCode(number.bytes, ElementType::kFloat, 0));
    if (negative) code ^= 0x80000000u;
    return Value(std::bit_cast<float>(code));
  }

  // An expression of template parameters, or a parameter whose literal is a float.
  Result<Value> Parameter() {
    const Token first = lexer_.peek();
    const ParameterValue* bound = parameters_.Find(first.text);
    if (bound != nullptr && std::holds_alternative<std::string>(*bound)) {
      lexer_.Take();
      Result<uint64_t> code = ParseElement(ElementType::kFloat, std::get<std::string>(*bound));
      if (!code) return lexer_.ErrorAt(first, ErrorCode::kParameterData, code.error().what, code.error().fix);
      return Value(std::bit_cast<float>(static_cast<uint32_t>(*code)));
    }
    TESSERA_ASSIGN(WideInteger value, ParseExpression(&lexer_, &parameters_, "an attribute's value"));
    if (value > INT64_MAX) {
      return lexer_.ErrorAt(first, ErrorCode::kExpression, "the value does not fit into 64 bits with a sign",
                            "a smaller one");
    }
    return Value(static_cast<int64_t>(value));
  }

  // float[2, 2] name {0.5, 1.0, ...} <storage: raw, doc_string: "t", ...>
  Result<Constant> Tensor() {
    Constant constant;
    constant.storage = Constant::Storage::kTyped;
    const Token at = lexer_.peek();
    const size_t unbound = parameters_.unbound_uses();
    TESSERA_ASSIGN(constant.type, TypeKeyword());
    if (lexer_.TakeIf("[")) {
      while (!lexer_.TakeIf("]")) {
        TESSERA_TRY(Dims(&constant.dims));
        TESSERA_TRY(Separator("]"));
      }
    }
    if (lexer_.peek().kind == TokenKind::kIdentifier) constant.name = std::string(lexer_.Take().text);
    const Token open = lexer_.peek();
    if (!open.Is("{")) return lexer_.Expected("'{' and the tensor's values");
    TESSERA_TRY(TensorElements(at, parameters_.unbound_uses() != unbound, &constant));
    const bool empty = constant.bytes.empty() && parameters_.unbound_uses() == unbound;
    bool raw = false;
    if (lexer_.TakeIf("<")) {
      TESSERA_TRY(Angle([&](const Token& key) -> Result<void> {
        if (key.text == "name") return SetOnce(key, &constant.name);
        if (key.text == "doc_string") return SetOnce(key, &constant.doc_string);
        if (key.text == "metadata_props") return MetadataList(&constant.metadata);
        if (key.text == "raw" && !empty) {
          return lexer_.ErrorAt(key, ErrorCode::kSyntax, "raw is a second spelling of the data", "{} in front of raw");
        }
        if (key.text == "raw") {
          TESSERA_ASSIGN(constant.bytes, ParseHexBytes(&lexer_));
          raw = true;
          return {};
        }
        if (key.text != "storage") return Unknown(key, "storage, name, doc_string, metadata_props, raw");
        if (lexer_.peek().IsName("raw"))
          constant.storage = Constant::Storage::kRaw;
        else if (!lexer_.peek().IsName("typed"))
          return lexer_.Expected("raw or typed");
        lexer_.Take();
        return {};
      }));
    }
    if (empty && !raw && !HasWholeData(constant)) {
      return lexer_.ErrorAt(open, ErrorCode::kLiteral, "has 0 values",
                            fmt::format("as many as the dimensions [{}] make", fmt::join(constant.dims, ", ")));
    }
    return constant;
  }

  // `{1, 2}`, or `{}` where the data may follow as raw: "...".
  Result<void> TensorElements(const Token& type, bool unbound_dims, Constant* constant) {
    if (!IsFixedWidth(constant->type)) {
      lexer_.Take();
      if (lexer_.TakeIf("}")) return {};
      return lexer_.ErrorAt(type, ErrorCode::kLiteral, fmt::format("{} has no literals", tessera::Name(constant->type)),
                            "an element type of fixed width");
    }
    const uint64_t limit = parameters_.limits().constant_bytes;
    ElementBounds bounds{.count = std::nullopt, .or_none = true, .bytes = limit - std::min(limit, tensor_bytes_)};
    // A negative dimension, or too many, leaves only the empty list.
    if (!unbound_dims) bounds.count = ElementCount(constant->dims).value_or(0);
    TESSERA_TRY(ParseElements(&lexer_, &parameters_, "{", "}", ElementStyle::kOnnx, bounds, constant));
    tensor_bytes_ += constant->bytes.size();
    return {};
  }

  // ---- the descriptive form

  Result<void> DescribedEntry(const Token& key) {
    if (key.text == "name") return SetOnce(key, &function_.name);
    if (key.text == "domain") return SetOnce(key, &function_.domain);
    if (key.text == "overload") return SetOnce(key, &function_.overload);
    if (key.text == "doc_string") return SetOnce(key, &function_.doc_string);
    if (key.text == "input" || key.text == "output") {
      std::vector<std::string>& names = key.text == "input" ? function_.inputs : function_.outputs;
      return OneOrList([&]() -> Result<void> {
        TESSERA_ASSIGN(std::string name, lexer_.ExpectString("a name in quotes"));
        names.push_back(std::move(name));
        return {};
      });
    }
    if (key.text == "metadata_props") return OneOrList([&] { return DescribedMetadata(&function_.metadata); });
    if (key.text == "body") return Body();
    if (key.text == "opset_import") {
      return OneOrList([&]() -> Result<void> {
        OpsetImport import;
        TESSERA_TRY(Braces([&](const Token& inner) -> Result<void> {
          if (inner.text == "domain") return SetOnce(inner, &import.domain);
          if (inner.text != "version") return Unknown(inner, "domain, version");
          TESSERA_ASSIGN(import.version, Integer("a version"));
          return {};
        }));
        function_.opset_imports.push_back(std::move(import));
        return {};
      });
    }
    if (key.text == "value_info") return OneOrList([&] { return DescribedValueInfo(); });
    return Unknown(key,
                   "name, domain, overload, input, output, opset_import, value_info, doc_string, metadata_props, body");
  }

  // One value, or a list of them in brackets.
  template <typename Read>
  Result<void> OneOrList(Read read) {
    if (!lexer_.TakeIf("[")) return read();
    while (!lexer_.TakeIf("]")) {
      TESSERA_TRY(read());
      TESSERA_TRY(Separator("]"));
    }
    return {};
  }

  // `{ key: "k" value: "v" }`
  Result<void> DescribedMetadata(std::vector<Metadata>* metadata) {
    std::optional<std::string> key;
    std::optional<std::string> value;
    TESSERA_TRY(Braces([&](const Token& inner) -> Result<void> {
      if (inner.text == "key") return SetOnce(inner, &key);
      if (inner.text != "value") return Unknown(inner, "key, value");
      return SetOnce(inner, &value);
    }));
    metadata->push_back({key.value_or(""), value.value_or("")});
    return {};
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
      if (key.text == "metadata_props") return OneOrList([&] { return DescribedMetadata(&info.metadata); });
      if (key.text != "type") return Unknown(key, "name, type, doc_string, metadata_props");
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
              TESSERA_ASSIGN(info.shape->back(), Dim());
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
  uint64_t tensor_bytes_ = 0;
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
  if (parameters.unbound_uses() > 0) {
    std::vector<UnboundParameter> unbound = parameters.TakeUnbound();
    return Fail(ErrorCode::kUnbound, fmt::format("text:{}:{}", unbound[0].line, unbound[0].column),
                fmt::format("{} has no value", Quoted(unbound[0].name)), "a literal");
  }
  return function;
}

}  // namespace tessera
