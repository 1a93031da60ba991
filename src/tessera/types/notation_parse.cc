#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/types/block_reader.h"
#include "tessera/types/constant_text.h"
#include "tessera/types/expression.h"
#include "tessera/types/function_text.h"
#include "tessera/types/lexer.h"
#include "tessera/types/notation.h"

namespace tessera {
namespace {

class NotationParser : private BlockReader {
 public:
  NotationParser(std::string_view text, const NotationOptions& options)
      : BlockReader(text, options.file_name), parameters_(options), limits_(options.limits) {}

  Result<NotationResult> Run() {
    TESSERA_TRY(parameters_.CheckShape());
    NotationResult result;
    do {
      if (lexer_.peek().IsName("ModelProto")) {
        lexer_.Take();
        TESSERA_TRY(Model(&result.types));
      } else if (lexer_.peek().IsName("StructTypeProto")) {
        lexer_.Take();
        TESSERA_TRY(Declaration(&result.types));
      } else if (lexer_.peek().IsName("QuantizationProto")) {
        return lexer_.ErrorAt(lexer_.peek(), ErrorCode::kSyntax, "is a quantization profile, not a struct type",
                              "StructTypeProto { ... }");
      } else {
        return lexer_.Expected("StructTypeProto or ModelProto");
      }
      lexer_.TakeIf(",");
    } while (lexer_.peek().kind != TokenKind::kEnd);
    TESSERA_TRY(ResolveNames(&result.types));
    result.unbound = parameters_.TakeUnbound();
    return result;
  }

 private:
  // ---- declarations

  Result<void> Model(std::vector<StructType>* types) {
    return Block([&](const Token& key) -> Result<void> {
      if (key.text != "struct_types") return UnknownField(key, "ModelProto", "struct_types");
      return OneOrList([&]() -> Result<void> {
        if (!lexer_.peek().IsName("StructTypeProto")) return lexer_.Expected("StructTypeProto");
        lexer_.Take();
        return Declaration(types);
      });
    });
  }

  Result<void> Declaration(std::vector<StructType>* types) {
    StructType type;
    constant_bytes_ = 0;
    bool has_kind = false;
    Result<void> ok = Block([&](const Token& key) -> Result<void> {
      if (key.text == "name") return SetString(key, &type.name);
      if (key.text == "doc_string") return SetString(key, &type.doc_string);
      if (key.text == "metadata_props") return OneOrList([&] { return MetadataEntry(&type.metadata); });
      if (key.text == "decoder" || key.text == "encoder") {
        std::optional<Function>& slot = key.text == "decoder" ? type.decoder : type.encoder;
        TESSERA_TRY(Once(key, slot));
        TESSERA_ASSIGN(slot, ParseFunctionBlock(&lexer_, &parameters_));
        return {};
      }
      if (key.text != "array" && key.text != "structure" && key.text != "bit_packing" && key.text != "type_index") {
        return UnknownField(key, "StructTypeProto",
                            "name, array, structure, bit_packing, decoder, encoder, doc_string, metadata_props");
      }
      if (has_kind)
        return lexer_.ErrorAt(key, ErrorCode::kSyntax, "a type has one kind, and this is a second", "one kind");
      has_kind = true;
      TESSERA_ASSIGN(type.root, Kind(key, 1));
      return {};
    });
    TESSERA_TRY(std::move(ok));
    types->push_back(std::move(type));
    return {};
  }

  // The value of `array:`, `structure:`, `bit_packing:` or `type_index:`.
  Result<PhysicalType> Kind(const Token& key, uint32_t depth) {
    if (key.text == "type_index") {
      TESSERA_ASSIGN(TypeReference reference, Reference());
      return PhysicalType{reference};
    }
    if (key.text != "structure" && lexer_.peek().IsName(key.text)) return Type(depth);
    std::string_view message = key.text == "array" ? "Array" : key.text == "structure" ? "Structure" : "BitPacking";
    if (lexer_.peek().IsName(message)) lexer_.Take();
    if (key.text == "array") return ArrayBlock(depth);
    if (key.text == "bit_packing") return PackingBlock();
    StructureType structure;
    TESSERA_TRY(Block([&](const Token& field) -> Result<void> {
      if (field.text != "field") return UnknownField(field, "Structure", "field");
      return OneOrList([&] { return ReadField(&structure.fields, depth); });
    }));
    return PhysicalType{std::move(structure)};
  }

  Result<void> ReadField(std::vector<Field>* fields, uint32_t depth) {
    if (lexer_.peek().IsName("Field")) lexer_.Take();
    Field field;
    std::optional<std::string> name;
    TESSERA_TRY(Block([&](const Token& key) -> Result<void> {
      if (key.text == "name") return SetString(key, &name);
      if (key.text == "doc_string") return SetString(key, &field.doc_string);
      if (key.text != "type" && key.text != "constant")
        return UnknownField(key, "Field", "name, type, constant, doc_string");
      if (!std::holds_alternative<std::monostate>(field.content)) {
        return lexer_.ErrorAt(key, ErrorCode::kSyntax, "a field has one of type and constant, and this is a second",
                              "one of the two");
      }
      if (key.text == "type") {
        TESSERA_ASSIGN(field.content, Type(depth + 1));
      } else {
        TESSERA_ASSIGN(field.content, ConstantTensor());
      }
      return {};
    }));
    field.name = name.value_or("");
    fields->push_back(std::move(field));
    return {};
  }

  Result<PhysicalType> ArrayBlock(uint32_t depth) {
    ArrayType array;
    std::optional<PhysicalType> element;
    TESSERA_TRY(Block([&](const Token& key) -> Result<void> {
      if (key.text == "element_type") {
        TESSERA_TRY(Once(key, element));
        TESSERA_ASSIGN(element, Type(depth + 1));
        return {};
      }
      if (key.text != "dimension") return UnknownField(key, "Array", "element_type, dimension");
      return OneOrList([&] { return ReadDimension(&array.dims); });
    }));
    if (element) array.element = *std::move(element);
    return PhysicalType{std::move(array)};
  }

  Result<PhysicalType> PackingBlock() {
    BitPackingType packing;
    TESSERA_TRY(Block([&](const Token& key) -> Result<void> {
      if (key.text == "dimension") return OneOrList([&] { return ReadDimension(&packing.dims); });
      if (key.text != "component") return UnknownField(key, "BitPacking", "component, dimension");
      return OneOrList([&]() -> Result<void> {
        BitPackingType::Component component;
        TESSERA_TRY(Block([&](const Token& inner) -> Result<void> {
          if (inner.text == "name") {
            TESSERA_ASSIGN(component.name, lexer_.ExpectString("a string"));
          } else if (inner.text == "bit_width") {
            TESSERA_ASSIGN(component.bits, Width());
          } else {
            return UnknownField(inner, "Component", "name, bit_width");
          }
          return {};
        }));
        packing.components.push_back(std::move(component));
        return {};
      });
    }));
    return PhysicalType{std::move(packing)};
  }

  // ---- types on one line

  Result<PhysicalType> Type(uint32_t depth) {
    const Token token = lexer_.peek();
    if (depth > limits_.depth) {
      return lexer_.ErrorAt(token, ErrorCode::kLimitDepth,
                            fmt::format("types are nested more than {} deep", limits_.depth), "a flatter type");
    }
    if (token.kind != TokenKind::kIdentifier) return lexer_.Expected("a type");
    if (token.text == "array") return ArrayCall(depth);
    if (token.text == "bit_packing") return PackingCall();
    if (token.text == "struct") return StructCall();
    if (token.text == "TypeProto") return TypeMessage(depth);
    std::optional<ElementType> scalar = ElementTypeFromName(token.text);
    if (!scalar) return lexer_.Expected("an element type, array(...), bit_packing(...) or struct(...)");
    lexer_.Take();
    return PhysicalType{ScalarType{*scalar}};
  }

  Result<PhysicalType> ArrayCall(uint32_t depth) {
    lexer_.Take();
    TESSERA_TRY(lexer_.Expect("("));
    ArrayType array;
    TESSERA_ASSIGN(array.element, Type(depth + 1));
    while (!lexer_.TakeIf(")")) {
      TESSERA_TRY(lexer_.Expect(","));
      if (lexer_.TakeIf(")")) break;
      if (!lexer_.peek().IsName("dimension") && !lexer_.peek().IsName("dimensions")) {
        return lexer_.Expected("dimension=... or dimensions=[...]");
      }
      lexer_.Take();
      TESSERA_TRY(lexer_.Expect("="));
      TESSERA_TRY(OneOrList([&] { return ReadDimension(&array.dims); }));
    }
    return PhysicalType{std::move(array)};
  }

  Result<PhysicalType> PackingCall() {
    lexer_.Take();
    TESSERA_TRY(lexer_.Expect("("));
    BitPackingType packing;
    while (!lexer_.TakeIf(")")) {
      Token key = lexer_.peek();
      if (key.IsName("dimension") || key.IsName("dimensions")) {
        lexer_.Take();
        TESSERA_TRY(lexer_.Expect("="));
        TESSERA_TRY(OneOrList([&] { return ReadDimension(&packing.dims); }));
      } else if (key.IsName("components")) {
        lexer_.Take();
        TESSERA_TRY(lexer_.Expect("="));
        TESSERA_TRY(OneOrList([&]() -> Result<void> {
          BitPackingType::Component component;
          if (lexer_.peek().kind == TokenKind::kString)
            component.name = lexer_.Take().value;
          else if (lexer_.peek().kind == TokenKind::kIdentifier)
            component.name = std::string(lexer_.Take().text);
          else
            return lexer_.Expected("name:bits");
          TESSERA_TRY(lexer_.Expect(":"));
          TESSERA_ASSIGN(component.bits, Width());
          packing.components.push_back(std::move(component));
          return {};
        }));
      } else {
        return lexer_.Expected("dimension=..., components=[...] or ')'");
      }
      if (!lexer_.TakeIf(",") && !lexer_.peek().Is(")")) return lexer_.Expected("',' or ')'");
    }
    return PhysicalType{std::move(packing)};
  }

  Result<PhysicalType> StructCall() {
    lexer_.Take();
    TESSERA_TRY(lexer_.Expect("("));
    TypeReference reference;
    if (lexer_.peek().kind == TokenKind::kString) {
      // A declaration of this text by name, which may come later.
      Token name = lexer_.Take();
      reference.index = -1 - static_cast<int32_t>(named_.size());
      named_.push_back(std::move(name));
    } else if (lexer_.peek().IsName("type_index")) {
      lexer_.Take();
      TESSERA_TRY(lexer_.Expect("="));
      TESSERA_ASSIGN(reference, Reference());
    } else {
      return lexer_.Expected("type_index=... or the name of a type in quotes");
    }
    TESSERA_TRY(lexer_.Expect(")"));
    return PhysicalType{reference};
  }

  // TypeProto { } | TypeProto { tensor_type: Tensor { elem_type: FLOAT shape: TensorShapeProto { } } }
  // | TypeProto { struct_type: StructTypeProto { array: ... } }
  Result<PhysicalType> TypeMessage(uint32_t depth) {
    lexer_.Take();
    PhysicalType type;
    TESSERA_TRY(Block([&](const Token& key) -> Result<void> {
      if (!std::holds_alternative<std::monostate>(type.kind)) {
        return lexer_.ErrorAt(key, ErrorCode::kSyntax, "a type has one kind, and this is a second", "one kind");
      }
      if (key.text == "struct_type") {
        if (lexer_.peek().IsName("StructTypeProto")) lexer_.Take();
        return Block([&](const Token& inner) -> Result<void> {
          if (inner.text != "array" && inner.text != "bit_packing" && inner.text != "type_index") {
            return UnknownField(inner, "a part", "array, bit_packing, type_index");
          }
          TESSERA_ASSIGN(type, Kind(inner, depth));
          return {};
        });
      }
      if (key.text != "tensor_type") return UnknownField(key, "a physical type", "tensor_type, struct_type");
      if (lexer_.peek().IsName("Tensor")) lexer_.Take();
      return Block([&](const Token& inner) -> Result<void> {
        if (inner.text == "shape") {
          if (lexer_.peek().IsName("TensorShapeProto")) lexer_.Take();
          TESSERA_TRY(lexer_.Expect("{"));
          return lexer_.Expect("}");
        }
        if (inner.text != "elem_type") return UnknownField(inner, "Tensor", "elem_type, shape");
        std::optional<ElementType> scalar = ElementTypeFromName(lexer_.peek().text);
        if (lexer_.peek().kind != TokenKind::kIdentifier || !scalar) return lexer_.Expected("an element type");
        lexer_.Take();
        type = {ScalarType{*scalar}};
        return {};
      });
    }));
    return type;
  }

  // ---- numbers

  // One dimension, or all of a list such as `shape`.
  Result<void> ReadDimension(std::vector<uint64_t>* dims) {
    const Token at = lexer_.peek();
    TESSERA_ASSIGN(const std::optional<std::vector<int64_t>> list, TakeIntegerList(&lexer_, &parameters_));
    if (list) {
      for (int64_t dim : *list) {
        if (dim < 0) return lexer_.ErrorAt(at, ErrorCode::kExpression, "a dimension is negative", "0 or more");
        dims->push_back(static_cast<uint64_t>(dim));
      }
      return {};
    }
    TESSERA_ASSIGN(WideInteger value, ParseExpression(&lexer_, &parameters_, "a dimension"));
    if (value < 0) return lexer_.ErrorAt(at, ErrorCode::kExpression, "a dimension is negative", "0 or more");
    dims->push_back(static_cast<uint64_t>(value));
    return {};
  }

  Result<uint32_t> Width() {
    const Token at = lexer_.peek();
    TESSERA_ASSIGN(WideInteger value, ParseExpression(&lexer_, &parameters_, "a bit width"));
    if (value < 0 || value > UINT32_MAX)
      return lexer_.ErrorAt(at, ErrorCode::kExpression, "is no bit width", "1 to 64");
    return static_cast<uint32_t>(value);
  }

  Result<TypeReference> Reference() {
    const Token at = lexer_.peek();
    TESSERA_ASSIGN(WideInteger value, ParseExpression(&lexer_, &parameters_, "a type index"));
    if (value < INT32_MIN || value > INT32_MAX) {
      return lexer_.ErrorAt(at, ErrorCode::kExpression, "is no type index", "the position of a declaration, from 0");
    }
    // Negative numbers stand for names until these are resolved; one that was written is kept by a name of its own.
    if (value < 0) {
      Token literal = at;
      literal.kind = TokenKind::kInteger;
      literal.value = std::to_string(static_cast<int64_t>(value));
      named_.push_back(std::move(literal));
      return TypeReference{-static_cast<int32_t>(named_.size())};
    }
    return TypeReference{static_cast<int32_t>(value)};
  }

  // ---- constants

  Result<Constant> ConstantTensor() {
    if (!lexer_.peek().IsName("tensor")) return lexer_.Expected("tensor(TYPE, [dimensions], values)");
    lexer_.Take();
    TESSERA_TRY(lexer_.Expect("("));
    Constant constant;
    const Token type_name = lexer_.peek();
    std::optional<ElementType> type = ElementTypeFromName(type_name.text);
    if (type_name.kind != TokenKind::kIdentifier || !type) return lexer_.Expected("an element type");
    lexer_.Take();
    constant.type = *type;
    TESSERA_TRY(lexer_.Expect(","));
    const size_t unbound = parameters_.unbound_uses();
    const Token dims = lexer_.peek();
    if (!lexer_.peek().Is("[")) return lexer_.Expected("'[' and the dimensions");
    TESSERA_TRY(OneOrList([&]() -> Result<void> {
      const Token at = lexer_.peek();
      TESSERA_ASSIGN(const std::optional<std::vector<int64_t>> list, TakeIntegerList(&lexer_, &parameters_));
      if (list) {
        constant.dims.insert(constant.dims.end(), list->begin(), list->end());
        return {};
      }
      TESSERA_ASSIGN(WideInteger dim, ParseExpression(&lexer_, &parameters_, "a dimension"));
      if (dim > INT64_MAX)
        return lexer_.ErrorAt(at, ErrorCode::kExpression, "the dimension does not fit into 63 bits", "a smaller one");
      constant.dims.push_back(static_cast<int64_t>(dim));
      return {};
    }));
    TESSERA_TRY(lexer_.Expect(","));
    const Token data = lexer_.peek();
    if (data.IsName("raw")) {
      lexer_.Take();
      TESSERA_TRY(lexer_.Expect("="));
      TESSERA_ASSIGN(constant.bytes, ParseHexBytes(&lexer_));
    } else if (!IsFixedWidth(constant.type)) {
      return lexer_.ErrorAt(type_name, ErrorCode::kLiteral, fmt::format("{} has no fixed width", Name(constant.type)),
                            "an element type with a width in bits");
    } else {
      ElementBounds bounds{.count = std::nullopt, .or_none = false, .bytes = limits_.constant_bytes - constant_bytes_};
      if (parameters_.unbound_uses() == unbound) {
        bounds.count = ElementCount(constant.dims);
        if (!bounds.count) {
          return lexer_.ErrorAt(dims, ErrorCode::kExpression,
                                "a dimension is negative, or there are more than 2^64 elements",
                                "smaller dimensions, or raw=\"...\"");
        }
      }
      TESSERA_TRY(ParseElements(&lexer_, &parameters_, "[", "]", ElementStyle::kNotation, bounds, &constant));
    }
    if (constant.bytes.size() > limits_.constant_bytes - constant_bytes_) {
      return lexer_.ErrorAt(data, ErrorCode::kLimitConstant, "the constants of a declaration pass the limit",
                            fmt::format("at most {} bytes", limits_.constant_bytes));
    }
    constant_bytes_ += constant.bytes.size();
    TESSERA_TRY(ConstantArguments(&constant));
    return constant;
  }

  // `, storage=typed, name="x", doc_string="y", metadata_props=[...])`
  Result<void> ConstantArguments(Constant* constant) {
    while (!lexer_.TakeIf(")")) {
      TESSERA_TRY(lexer_.Expect(","));
      if (lexer_.TakeIf(")")) break;
      Token key = lexer_.Take();
      if (key.kind != TokenKind::kIdentifier) {
        return lexer_.ErrorAt(key, ErrorCode::kSyntax,
                              fmt::format("expected an argument or ')', found {}", key.Describe()));
      }
      TESSERA_TRY(lexer_.Expect("="));
      if (key.text == "name") {
        TESSERA_TRY(SetString(key, &constant->name));
      } else if (key.text == "doc_string") {
        TESSERA_TRY(SetString(key, &constant->doc_string));
      } else if (key.text == "metadata_props") {
        TESSERA_TRY(OneOrList([&] { return MetadataEntry(&constant->metadata); }));
      } else if (key.text == "storage" && (lexer_.peek().IsName("typed") || lexer_.peek().IsName("raw"))) {
        constant->storage = lexer_.Take().text == "typed" ? Constant::Storage::kTyped : Constant::Storage::kRaw;
      } else {
        return UnknownField(key, "tensor", "storage=typed|raw, name, doc_string, metadata_props");
      }
    }
    return {};
  }

  // ---- references by name

  Result<void> ResolveNames(std::vector<StructType>* types) {
    if (named_.empty()) return {};
    std::unordered_map<std::string, int32_t> index;
    for (size_t i = 0; i < types->size(); ++i) index.emplace((*types)[i].Name(), static_cast<int32_t>(i));
    std::vector<int32_t> resolved;
    for (const Token& token : named_) {
      if (token.kind == TokenKind::kInteger) {
        resolved.push_back(static_cast<int32_t>(std::stoll(token.value)));
        continue;
      }
      auto found = index.find(token.value);
      if (found == index.end()) {
        return lexer_.ErrorAt(token, ErrorCode::kSyntax,
                              fmt::format("no type of this text is called {}", Quoted(token.value)),
                              "the name of a declaration");
      }
      resolved.push_back(found->second);
    }
    for (StructType& type : *types) ResolveIn(&type.root, resolved);
    return {};
  }

  static void ResolveIn(PhysicalType* type, const std::vector<int32_t>& resolved) {
    if (auto* reference = std::get_if<TypeReference>(&type->kind); reference && reference->index < 0) {
      reference->index = resolved[-1 - reference->index];
    } else if (auto* array = std::get_if<ArrayType>(&type->kind)) {
      ResolveIn(&*array->element, resolved);
    } else if (auto* structure = std::get_if<StructureType>(&type->kind)) {
      for (Field& field : structure->fields) {
        if (auto* part = std::get_if<PhysicalType>(&field.content)) ResolveIn(part, resolved);
      }
    }
  }

  ParameterScope parameters_;
  const Limits& limits_;
  uint64_t constant_bytes_ = 0;  // of the declaration so far
  std::vector<Token> named_;     // references by name; their index is -1 - position until the end of the text
};

}  // namespace

Result<std::vector<StructType>> NotationResult::Concrete() && {
  if (unbound.empty()) return std::move(types);
  return FailUnbound(unbound);
}

Result<NotationResult> ParseNotation(std::string_view text, const NotationOptions& options) {
  return NotationParser(text, options).Run();
}

}  // namespace tessera
