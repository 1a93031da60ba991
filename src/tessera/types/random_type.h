// Random declarations for tests: everything that the values of struct_type.h and function.h can hold, whether or not a
// checker would accept it, so that printing and parsing, and converting to messages and back, meet all of it.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/types/element_value.h"
#include "tessera/types/struct_type.h"

namespace tessera::build {

// The same values from the same seed, on every machine.
class RandomTypes {
 public:
  enum class Data : uint8_t {
    kWhole,  // constants hold the bytes that their type and dimensions need, as a message must
    kAny,    // now and then too few or too many, or a dimension is negative; in text that is raw="..."
  };

  RandomTypes(uint64_t seed, Data data) : random_(seed), data_(data) {}

  std::vector<StructType> Types() {
    return List<StructType>(4, [&] { return Type(); });
  }

  StructType Type() {
    StructType type;
    type.root = Root();
    if (Chance(2)) type.decoder = MakeFunction();
    if (Chance(4)) type.encoder = MakeFunction();
    type.name = MaybeText();
    type.doc_string = MaybeText();
    type.metadata = MetadataList();
    return type;
  }

  Function MakeFunction() {
    Function f;
    f.name = MaybeText();
    f.domain = MaybeText();
    f.overload = MaybeText();
    f.opset_imports = List<OpsetImport>(3, [&] { return OpsetImport{MaybeText(), Integer()}; });
    f.inputs = Names(4);
    f.outputs = Names(3);
    f.nodes = List<Node>(4, [&] { return MakeNode(); });
    f.value_infos = List<ValueInfo>(3, [&] { return MakeValueInfo(); });
    f.doc_string = MaybeText();
    f.metadata = MetadataList();
    return f;
  }

  tessera::Constant MakeConstant() {
    tessera::Constant constant;
    do constant.type = AnyElementType();
    while (!IsFixedWidth(constant.type));
    constant.dims = List<int64_t>(4, [&] { return static_cast<int64_t>(Below(4)); });
    const uint64_t count = *CheckedProduct(constant.dims);
    constant.bytes.resize(*PackedBytes(constant.type, count));
    for (uint8_t& byte : constant.bytes) byte = static_cast<uint8_t>(random_());
    constant.storage = Chance(2) ? tessera::Constant::Storage::kRaw : tessera::Constant::Storage::kTyped;
    MakeSpecial(&constant, count);
    // Bits behind the last element are the message's own only where it keeps the bytes as they are.
    const uint64_t used = count * BitWidth(constant.type) % 8;
    const bool keep = constant.storage == tessera::Constant::Storage::kRaw && Chance(4);
    if (used != 0 && !keep) constant.bytes.back() &= static_cast<uint8_t>((1u << used) - 1);
    if (data_ == Data::kAny && Chance(10)) {
      if (Chance(3)) constant.dims.push_back(-1 - static_cast<int64_t>(Below(5)));
      else constant.bytes.resize(Below(9), 0xA5);
    }
    constant.name = MaybeText();
    constant.doc_string = MaybeText();
    constant.metadata = MetadataList();
    return constant;
  }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  bool Chance(uint64_t one_in) { return Below(one_in) == 0; }

  // 0 to `below` - 1 items.
  template <typename T, typename Make>
  std::vector<T> List(uint64_t below, Make make) {
    std::vector<T> items;
    for (uint64_t n = Below(below); n > 0; --n) items.push_back(make());
    return items;
  }

  // Words, words that mean something to a parser, and bytes that have to be escaped.
  std::string Text() {
    static const std::string kTexts[] = {
        "x",      "Y",        "scale",       "a_1",         "_",           "",          "none",     "bits",
        "inf",    "nan",      "true",        "float",       "FLOAT",       "int4",      "array",    "type_index",
        "name",   "raw",      "storage",     "tensor",      "a b",         "9lives",    "-1",       "a.b",
        "ai.onnx", "a..b",    ".",           "\"quoted\"",  "back\\slash", "line\nend", "tab\t\r",  "}",
        "]>",     "/* */",    "// x",        "# x",         "\xC3\xA9",    "\xFF\xFE",  "\x7F\x01", "?",
        std::string("nul\0byte", 8), "ModelProto", "StructTypeProto", "=>",            "\\x41"};
    if (Chance(3)) return kTexts[Below(std::size(kTexts))];
    return "v" + std::to_string(Below(1000));
  }
  std::optional<std::string> MaybeText() {
    if (Chance(2)) return std::nullopt;
    return Chance(4) ? std::string() : Text();
  }
  std::vector<std::string> Names(uint64_t below) {
    return List<std::string>(below, [&] { return Text(); });
  }
  std::vector<Metadata> MetadataList() {
    if (!Chance(4)) return {};
    return List<Metadata>(3, [&] { return Metadata{Text(), Text()}; });
  }

  int64_t Integer() {
    static constexpr int64_t kEdges[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, int64_t{1} << 53};
    return Chance(3) ? kEdges[Below(std::size(kEdges))] : static_cast<int64_t>(Below(2000)) - 1000;
  }
  uint64_t Unsigned() {
    static constexpr uint64_t kEdges[] = {0, 1, UINT64_MAX, uint64_t{1} << 63, UINT32_MAX};
    return Chance(4) ? kEdges[Below(std::size(kEdges))] : Below(500);
  }
  float Float() {
    // Infinities, NaN with payload, sign and signal, zeros, subnormals, and numbers that need nine digits.
    static constexpr uint32_t kCodes[] = {0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7FC00001, 0x7F800001,
                                          0xFFFFFFFF, 0x00000000, 0x80000000, 0x00000001, 0x3F800000, 0x7F7FFFFF,
                                          0x3DCCCCCD, 0x4B7FFFFF};
    uint32_t code = Chance(2) ? kCodes[Below(std::size(kCodes))] : static_cast<uint32_t>(random_());
    float value;
    std::memcpy(&value, &code, sizeof value);
    return value;
  }

  ElementType AnyElementType() { return AllElementTypes()[Below(AllElementTypes().size())].type; }

  // Puts exceptional codes among the random ones: random wide floats are hardly ever NaN, random BOOLs never 0 or 1.
  void MakeSpecial(tessera::Constant* constant, uint64_t count) {
    const ElementType type = constant->type;
    const ElementKind kind = Info(type).kind;
    if (kind == ElementKind::kBool) {
      const bool odd = Chance(8);
      for (uint8_t& byte : constant->bytes) byte = odd ? byte : byte & 1;
    }
    if (kind != ElementKind::kFloat || BitWidth(type) < 16) return;
    const FloatFormat& f = Info(type).format;
    const uint64_t top = ((uint64_t{1} << f.exponent_bits) - 1) << f.mantissa_bits;
    const uint64_t sign = uint64_t{1} << (f.exponent_bits + f.mantissa_bits);
    const uint64_t quiet = uint64_t{1} << (f.mantissa_bits - 1);
    const uint64_t codes[] = {top, top | sign, top | quiet, top | quiet | sign, top | quiet | 1, top | 1, sign, 0, 1, top - 1};
    for (uint64_t i = 0; i < count; ++i) {
      if (Chance(2)) StoreCode(constant->bytes, type, i, codes[Below(std::size(codes))]);
    }
  }

  Attribute MakeAttribute() {
    Attribute attribute;
    attribute.name = Text();
    attribute.doc_string = MaybeText();
    switch (Below(8)) {
      case 0: attribute.value = Integer(); break;
      case 1: attribute.value = Float(); break;
      case 2: attribute.value = Text(); break;
      case 3: attribute.value = MakeConstant(); break;
      case 4: attribute.value = List<int64_t>(4, [&] { return Integer(); }); break;
      case 5: attribute.value = List<float>(4, [&] { return Float(); }); break;
      case 6: attribute.value = List<std::string>(4, [&] { return Text(); }); break;
      default: attribute.value = List<tessera::Constant>(3, [&] { return MakeConstant(); });
    }
    return attribute;
  }

  Node MakeNode() {
    static const char* kOperators[] = {"Add", "Cast", "Constant", "Gather", "Mul"};
    Node node;
    node.inputs = Names(4);
    node.outputs = Names(3);
    node.op_type = Chance(4) ? Text() : kOperators[Below(std::size(kOperators))];
    node.attributes = List<Attribute>(4, [&] { return MakeAttribute(); });
    node.name = MaybeText();
    node.domain = MaybeText();
    node.overload = MaybeText();
    node.doc_string = MaybeText();
    node.metadata = MetadataList();
    return node;
  }

  ValueInfo MakeValueInfo() {
    ValueInfo info;
    info.name = Text();
    info.type = AnyElementType();
    if (!Chance(4)) {
      info.shape = List<Dimension>(4, [&]() -> Dimension {
        if (Chance(4)) return std::monostate();
        if (Chance(3)) return Text();
        return Integer();
      });
    }
    info.doc_string = MaybeText();
    info.metadata = MetadataList();
    return info;
  }

  std::vector<uint64_t> Dimensions() {
    return List<uint64_t>(4, [&] { return Unsigned(); });
  }

  PhysicalType MakePacking() {
    BitPackingType packing;
    packing.components = List<BitPackingType::Component>(4, [&] {
      return BitPackingType::Component{Text(), static_cast<uint32_t>(Chance(8) ? random_() : Below(66))};
    });
    packing.dims = Dimensions();
    return {std::move(packing)};
  }
  PhysicalType MakeReference() {
    return {TypeReference{Chance(4) ? static_cast<int32_t>(random_()) : static_cast<int32_t>(Below(5)) - 1}};
  }

  PhysicalType MakePart(int depth) {
    switch (Below(10)) {
      case 0: return {};
      case 1: return MakePacking();
      case 2: return MakeReference();
      case 3:
      case 4:
      case 5:
        if (depth < 6) return {ArrayType{MakePart(depth + 1), Dimensions()}};
        [[fallthrough]];
      default: return {ScalarType{AnyElementType()}};
    }
  }

  PhysicalType Root() {
    switch (Below(8)) {
      case 0: return {};
      case 1: return {ArrayType{MakePart(2), Dimensions()}};
      case 2: return MakePacking();
      case 3: return MakeReference();
      default: break;
    }
    return {StructureType{List<Field>(6, [&] {
      Field field;
      field.name = Text();
      field.doc_string = MaybeText();
      if (Chance(3)) field.content = MakeConstant();
      else if (!Chance(10)) field.content = MakePart(2);
      return field;
    })}};
  }

  std::mt19937_64 random_;
  Data data_;
};

// A copy in which FLOAT attributes stand as their bits, for comparisons: as floats NaN differ from themselves and -0
// equals 0.
inline Function WithFloatBits(Function function) {
  auto bits = [](float value) {
    uint32_t code;
    std::memcpy(&code, &value, sizeof code);
    return int64_t{code};
  };
  for (Node& node : function.nodes) {
    for (Attribute& attribute : node.attributes) {
      if (const float* value = std::get_if<float>(&attribute.value)) {
        attribute.name += " (float)";
        attribute.value = bits(*value);
      } else if (const auto* values = std::get_if<std::vector<float>>(&attribute.value)) {
        attribute.name += " (floats)";
        std::vector<int64_t> codes;
        for (float item : *values) codes.push_back(bits(item));
        attribute.value = std::move(codes);
      }
    }
  }
  return function;
}
inline std::vector<StructType> WithFloatBits(std::vector<StructType> types) {
  for (StructType& type : types) {
    if (type.decoder) type.decoder = WithFloatBits(*std::move(type.decoder));
    if (type.encoder) type.encoder = WithFloatBits(*std::move(type.encoder));
  }
  return types;
}

}  // namespace tessera::build
