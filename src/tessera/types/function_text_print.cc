#include <fmt/format.h>

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "tessera/types/constant_text.h"
#include "tessera/types/element_text.h"
#include "tessera/types/function_text.h"
#include "tessera/types/notation.h"

namespace tessera {
namespace {

std::string NameText(const std::string& name) { return IsIdentifier(name) ? name : QuotedString(name); }

std::string TypeText(ElementType type) {
  std::string text(Name(type));
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string NamesText(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : ", ") + NameText(names[i]);
  return text;
}

std::string MetadataText(const std::vector<Metadata>& metadata) {
  std::string text = "metadata_props: [";
  for (size_t i = 0; i < metadata.size(); ++i) {
    text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", QuotedString(metadata[i].key), QuotedString(metadata[i].value));
  }
  return text + "]";
}

// `<a, b>` with `prefix` in front; nothing for no parts.
std::string Angle(std::string_view prefix, const std::vector<std::string>& parts) {
  return parts.empty() ? "" : fmt::format("{}<{}>", prefix, fmt::join(parts, ", "));
}

void AddText(std::string_view key, const std::optional<std::string>& value, std::vector<std::string>* parts) {
  if (value) parts->push_back(fmt::format("{}: {}", key, QuotedString(*value)));
}

std::string TensorText(const Constant& constant, int indent) {
  std::string text = TypeText(constant.type);
  if (!constant.dims.empty()) text += fmt::format("[{}]", fmt::join(constant.dims, ","));
  std::vector<std::string> extras;
  // ONNX's syntax has room for a name, but none in quotes.
  const bool plain_name = constant.name && IsIdentifier(*constant.name);
  if (plain_name) text += " " + *constant.name;
  if (HasWholeData(constant)) {
    text += " {" + ElementList(constant, ElementStyle::kOnnx, indent) + "}";
  } else {
    text += " {}";
    extras.push_back(fmt::format("raw: \"{}\"", HexBytes(constant.bytes)));
  }
  if (constant.storage == Constant::Storage::kRaw) extras.emplace_back("storage: raw");
  if (!plain_name) AddText("name", constant.name, &extras);
  AddText("doc_string", constant.doc_string, &extras);
  if (!constant.metadata.empty()) extras.push_back(MetadataText(constant.metadata));
  return text + Angle(" ", extras);
}

std::string FloatText(float value) {
  uint32_t code;
  std::memcpy(&code, &value, sizeof code);
  return FormatElement(ElementType::kFloat, code);
}

template <typename T, typename Print>
std::string ListText(const std::vector<T>& items, Print print) {
  std::string text = "[";
  for (size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ", ") + print(items[i]);
  return text + "]";
}

std::string AttributeText(const Attribute& attribute, int indent) {
  static constexpr std::string_view kTypes[] = {"int",  "float",  "string",  "tensor",
                                                "ints", "floats", "strings", "tensors"};
  std::vector<std::string> extras;
  AddText("doc_string", attribute.doc_string, &extras);
  std::string text =
      fmt::format("{}{}: {} = ", NameText(attribute.name), Angle(" ", extras), kTypes[attribute.value.index()]);
  auto tensor = [&](const Constant& constant) { return TensorText(constant, indent); };
  text += std::visit(
      [&](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, int64_t>)
          return std::to_string(value);
        else if constexpr (std::is_same_v<T, float>)
          return FloatText(value);
        else if constexpr (std::is_same_v<T, std::string>)
          return QuotedString(value);
        else if constexpr (std::is_same_v<T, Constant>)
          return tensor(value);
        else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
          return fmt::format("[{}]", fmt::join(value, ", "));
        else if constexpr (std::is_same_v<T, std::vector<float>>)
          return ListText(value, FloatText);
        else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return ListText(value, [](const std::string& item) { return QuotedString(item); });
        } else {
          return ListText(value, tensor);
        }
      },
      attribute.value);
  return text;
}

// A domain that can stand in front of the operator: identifiers with dots between them.
bool IsDottedName(const std::string& domain) {
  size_t start = 0;
  for (;;) {
    size_t end = domain.find('.', start);
    if (!IsIdentifier(domain.substr(start, end == std::string::npos ? end : end - start))) return false;
    if (end == std::string::npos) return true;
    start = end + 1;
  }
}

std::string NodeText(const Node& node, int indent) {
  std::string text;
  std::vector<std::string> extras;
  if (node.name) text += "[" + NameText(*node.name) + "] ";
  text += NamesText(node.outputs) + (node.outputs.empty() ? "= " : " = ");
  if (node.domain && IsDottedName(*node.domain))
    text += *node.domain + ".";
  else
    AddText("domain", node.domain, &extras);
  text += NameText(node.op_type);
  if (node.overload && IsIdentifier(*node.overload))
    text += ":" + *node.overload;
  else
    AddText("overload", node.overload, &extras);
  std::vector<std::string> attributes;
  for (const Attribute& attribute : node.attributes) attributes.push_back(AttributeText(attribute, indent + 8));
  text += Angle(" ", attributes) + " (" + NamesText(node.inputs) + ")";
  AddText("doc_string", node.doc_string, &extras);
  if (!node.metadata.empty()) extras.push_back(MetadataText(node.metadata));
  return text + Angle(" ", extras);
}

std::string ValueInfoText(const ValueInfo& info) {
  std::string text = TypeText(info.type);
  if (!info.shape) {
    text += "[]";
  } else if (!info.shape->empty()) {
    std::vector<std::string> dims;
    for (const Dimension& dim : *info.shape) {
      if (const auto* number = std::get_if<int64_t>(&dim))
        dims.push_back(std::to_string(*number));
      else if (const auto* symbol = std::get_if<std::string>(&dim))
        dims.push_back(NameText(*symbol));
      else
        dims.emplace_back("?");
    }
    text += fmt::format("[{}]", fmt::join(dims, ","));
  }
  std::vector<std::string> extras;
  AddText("doc_string", info.doc_string, &extras);
  if (!info.metadata.empty()) extras.push_back(MetadataText(info.metadata));
  return text + " " + NameText(info.name) + Angle(" ", extras);
}

}  // namespace

std::string PrintFunctionText(const Function& function, int indent) {
  const std::string margin(indent, ' ');
  std::vector<std::string> header;
  if (!function.opset_imports.empty()) {
    std::vector<std::string> imports;
    for (const OpsetImport& import : function.opset_imports) {
      imports.push_back(fmt::format("{} : {}", import.domain ? QuotedString(*import.domain) : "none", import.version));
    }
    header.push_back(fmt::format("opset_import: [{}]", fmt::join(imports, ", ")));
  }
  AddText("domain", function.domain, &header);
  AddText("overload", function.overload, &header);
  AddText("doc_string", function.doc_string, &header);
  if (!function.metadata.empty()) header.push_back(MetadataText(function.metadata));
  // Without a header a leading name could be read as a field of the descriptive form only if ':' followed it; it does
  // not.
  std::string text;
  if (!header.empty()) text += margin + Angle("", header) + "\n";
  text += margin + (function.name ? NameText(*function.name) + " " : "") + "(" + NamesText(function.inputs) + ") => (" +
          NamesText(function.outputs) + ")";
  std::vector<std::string> infos;
  for (const ValueInfo& info : function.value_infos) infos.push_back(ValueInfoText(info));
  text += Angle(" ", infos) + " {\n";
  for (const Node& node : function.nodes) text += margin + "    " + NodeText(node, indent + 4) + "\n";
  return text + margin + "}\n";
}

}  // namespace tessera
