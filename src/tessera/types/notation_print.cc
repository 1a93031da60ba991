#include <fmt/format.h>

#include <string>

#include "tessera/types/constant_text.h"
#include "tessera/types/function_text.h"
#include "tessera/types/lexer.h"
#include "tessera/types/notation.h"

namespace tessera {
namespace {

constexpr int kIndent = 4;

class NotationPrinter {
 public:
  std::string Declaration(const StructType& type, int depth) {
    Open("StructTypeProto {", depth);
    if (type.name) Line(depth + 1, "name: " + QuotedString(*type.name));
    if (type.doc_string) Line(depth + 1, "doc_string: " + QuotedString(*type.doc_string));
    Root(type.root, depth + 1);
    if (type.decoder) FunctionField("decoder", *type.decoder, depth + 1);
    if (type.encoder) FunctionField("encoder", *type.encoder, depth + 1);
    for (const Metadata& entry : type.metadata) Line(depth + 1, "metadata_props: " + Entry(entry));
    out_ += std::string(depth * kIndent, ' ') + "}";
    return std::move(out_);
  }

  static std::string Type(const PhysicalType& type) {
    if (const auto* scalar = std::get_if<ScalarType>(&type.kind)) return std::string(Name(scalar->type));
    if (const auto* reference = std::get_if<TypeReference>(&type.kind)) {
      return fmt::format("struct(type_index={})", reference->index);
    }
    if (const auto* array = std::get_if<ArrayType>(&type.kind)) {
      std::string dims = Dimensions(array->dims);
      return fmt::format("array({}{}{})", Type(*array->element), dims.empty() ? "" : ", ", dims);
    }
    if (const auto* packing = std::get_if<BitPackingType>(&type.kind)) {
      std::string components;
      for (const BitPackingType::Component& component : packing->components) {
        std::string name = IsIdentifier(component.name) ? component.name : QuotedString(component.name);
        components += fmt::format("{}{}:{}", components.empty() ? "" : ", ", name, component.bits);
      }
      std::string dims = Dimensions(packing->dims);
      return fmt::format("bit_packing({}{}components=[{}])", dims, dims.empty() ? "" : ", ", components);
    }
    return "TypeProto { }";
  }

 private:
  void Line(int depth, const std::string& text) { out_ += std::string(depth * kIndent, ' ') + text + "\n"; }
  void Open(const std::string& text, int depth) { Line(depth, text); }

  static std::string Dimensions(const std::vector<uint64_t>& dims) {
    if (dims.empty()) return {};
    if (dims.size() == 1) return fmt::format("dimension={}", dims[0]);
    return fmt::format("dimensions=[{}]", fmt::join(dims, ", "));
  }

  static std::string Entry(const Metadata& entry) {
    return fmt::format("{{ key: {}, value: {} }}", QuotedString(entry.key), QuotedString(entry.value));
  }

  void Root(const PhysicalType& root, int depth) {
    if (const auto* structure = std::get_if<StructureType>(&root.kind)) {
      Line(depth, "structure: Structure {");
      for (const Field& field : structure->fields) FieldLine(field, depth + 1);
      Line(depth, "}");
    } else if (std::holds_alternative<ArrayType>(root.kind)) {
      Line(depth, "array: " + Type(root));
    } else if (std::holds_alternative<BitPackingType>(root.kind)) {
      Line(depth, "bit_packing: " + Type(root));
    } else if (const auto* reference = std::get_if<TypeReference>(&root.kind)) {
      Line(depth, fmt::format("type_index: {}", reference->index));
    }
  }

  void FieldLine(const Field& field, int depth) {
    std::string text = "field: { name: " + QuotedString(field.name);
    if (const auto* part = std::get_if<PhysicalType>(&field.content)) text += ", type: " + Type(*part);
    if (const auto* constant = std::get_if<Constant>(&field.content))
      text += ", constant: " + Tensor(*constant, depth + 1);
    if (field.doc_string) text += ", doc_string: " + QuotedString(*field.doc_string);
    Line(depth, text + " }");
  }

  static std::string Tensor(const Constant& constant, int depth) {
    std::string text = fmt::format("tensor({}, [{}], ", Name(constant.type), fmt::join(constant.dims, ", "));
    if (!HasWholeData(constant))
      text += fmt::format("raw=\"{}\"", HexBytes(constant.bytes));
    else if (constant.dims.empty())
      text += ElementList(constant, ElementStyle::kNotation, depth * kIndent);
    else
      text += "[" + ElementList(constant, ElementStyle::kNotation, depth * kIndent) + "]";
    if (constant.storage == Constant::Storage::kTyped) text += ", storage=typed";
    if (constant.name) text += ", name=" + QuotedString(*constant.name);
    if (constant.doc_string) text += ", doc_string=" + QuotedString(*constant.doc_string);
    if (!constant.metadata.empty()) {
      text += ", metadata_props=[";
      for (size_t i = 0; i < constant.metadata.size(); ++i) text += (i == 0 ? "" : ", ") + Entry(constant.metadata[i]);
      text += ']';
    }
    return text + ")";
  }

  void FunctionField(const std::string& key, const Function& function, int depth) {
    Line(depth, key + ": FunctionProto {");
    out_ += PrintFunctionText(function, (depth + 1) * kIndent);
    Line(depth, "}");
  }

  std::string out_;
};

}  // namespace

std::string PrintNotation(const StructType& type) { return NotationPrinter().Declaration(type, 0) + "\n"; }

std::string PrintNotation(const std::vector<StructType>& types) {
  if (types.size() == 1) return PrintNotation(types[0]);
  std::string text = "ModelProto {\n    struct_types: [\n";
  for (size_t i = 0; i < types.size(); ++i) {
    text += NotationPrinter().Declaration(types[i], 2) + (i + 1 < types.size() ? ",\n" : "\n");
  }
  return text + "    ]\n}\n";
}

std::string PrintPhysicalType(const PhysicalType& type) { return NotationPrinter::Type(type); }

}  // namespace tessera
