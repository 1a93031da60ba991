#include "tessera/types/testing/random_type.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "tessera/types/constant_text.h"
#include "tessera/types/element_type.h"
#include "tessera/types/element_value.h"

namespace tessera {
namespace {

ElementType RandomElementType(RandomSource* random) {
  return AllElementTypes()[random->Below(AllElementTypes().size())].type;
}

std::optional<std::string> MaybeString(RandomSource* random) {
  if (!random->OneIn(3)) return std::nullopt;
  return RandomString(random);
}

std::vector<Metadata> SomeMetadata(RandomSource* random) {
  std::vector<Metadata> list;
  if (!random->OneIn(4)) return list;
  for (uint64_t n = random->Below(3) + 1; n > 0; --n) list.push_back({RandomString(random), RandomString(random)});
  return list;
}

// Numbers near the edges as often as others.
uint64_t RandomNumber(RandomSource* random) {
  constexpr uint64_t kEdges[] = {0,
                                 1,
                                 std::numeric_limits<int32_t>::max(),
                                 std::numeric_limits<uint32_t>::max(),
                                 std::numeric_limits<int64_t>::max(),
                                 uint64_t{1} << 63,
                                 std::numeric_limits<uint64_t>::max()};
  if (random->OneIn(4)) return kEdges[random->Below(std::size(kEdges))];
  return random->OneIn(3) ? random->Next() : random->Below(40);
}

int64_t RandomSigned(RandomSource* random) { return static_cast<int64_t>(RandomNumber(random)); }

std::vector<uint64_t> RandomDims(RandomSource* random) {
  std::vector<uint64_t> dims;
  for (uint64_t n = random->Below(4); n > 0; --n) dims.push_back(RandomNumber(random));
  return dims;
}

std::vector<std::string> SomeStrings(RandomSource* random, uint64_t most) {
  std::vector<std::string> list;
  for (uint64_t n = random->Below(most + 1); n > 0; --n) list.push_back(RandomString(random));
  return list;
}

PhysicalType RandomPart(RandomSource* random, int depth) {
  switch (random->Below(depth == 0 ? 3 : 6)) {
    case 0:
    case 1:
      return {ScalarType{RandomElementType(random)}};
    case 2:
      if (random->OneIn(4)) return {};
      return {TypeReference{static_cast<int32_t>(RandomNumber(random))}};
    case 3: {
      BitPackingType packing;
      for (uint64_t n = random->Below(4); n > 0; --n) {
        packing.components.push_back({RandomString(random), static_cast<uint32_t>(RandomNumber(random))});
      }
      packing.dims = RandomDims(random);
      return {std::move(packing)};
    }
    default: {
      ArrayType array;
      array.element = RandomPart(random, depth - 1);
      array.dims = RandomDims(random);
      return {std::move(array)};
    }
  }
}

Field RandomField(RandomSource* random) {
  Field field;
  field.name = RandomString(random);
  if (random->OneIn(2))
    field.content = RandomPart(random, 3);
  else if (!random->OneIn(6))
    field.content = RandomConstant(random);
  field.doc_string = MaybeString(random);
  return field;
}

// A root is an array, a structure, a bit packing or a reference, or absent; a scalar it cannot be.
PhysicalType RandomRoot(RandomSource* random) {
  if (!random->OneIn(3)) {
    StructureType structure;
    for (uint64_t n = random->Below(6); n > 0; --n) structure.fields.push_back(RandomField(random));
    return {std::move(structure)};
  }
  PhysicalType root = RandomPart(random, 4);
  return std::holds_alternative<ScalarType>(root.kind) ? PhysicalType{} : root;
}

float RandomFloat(RandomSource* random) {
  constexpr uint32_t kEdges[] = {0,           0x80000000u, 0x3F800000u, 0x7F800000u, 0xFF800000u,
                                 0x7FC00000u, 0xFFC00000u, 0x7F800001u, 0x00000001u, 0x7F7FFFFFu};
  return std::bit_cast<float>(random->OneIn(2) ? kEdges[random->Below(std::size(kEdges))]
                                               : static_cast<uint32_t>(random->Next()));
}

template <typename T, typename Make>
std::vector<T> SomeOf(RandomSource* random, Make make) {
  std::vector<T> list;
  for (uint64_t n = random->Below(4); n > 0; --n) list.push_back(make(random));
  return list;
}

Attribute RandomAttribute(RandomSource* random) {
  Attribute attribute{RandomString(random), {}, MaybeString(random)};
  switch (random->Below(8)) {
    case 0:
      attribute.value = RandomSigned(random);
      break;
    case 1:
      attribute.value = RandomFloat(random);
      break;
    case 2:
      attribute.value = RandomString(random);
      break;
    case 3:
      attribute.value = RandomConstant(random);
      break;
    case 4:
      attribute.value = SomeOf<int64_t>(random, RandomSigned);
      break;
    case 5:
      attribute.value = SomeOf<float>(random, RandomFloat);
      break;
    case 6:
      attribute.value = SomeOf<std::string>(random, RandomString);
      break;
    default:
      attribute.value = SomeOf<Constant>(random, RandomConstant);
      break;
  }
  return attribute;
}

Node RandomNode(RandomSource* random) {
  Node node;
  node.inputs = SomeStrings(random, 3);
  node.outputs = SomeStrings(random, 2);
  node.op_type = RandomString(random);
  for (uint64_t n = random->Below(3); n > 0; --n) node.attributes.push_back(RandomAttribute(random));
  node.name = MaybeString(random);
  node.domain = random->OneIn(6) ? std::optional<std::string>("ai.onnx.ml") : MaybeString(random);
  node.overload = MaybeString(random);
  node.doc_string = MaybeString(random);
  node.metadata = SomeMetadata(random);
  return node;
}

ValueInfo RandomValueInfo(RandomSource* random) {
  ValueInfo info;
  info.name = RandomString(random);
  info.type = RandomElementType(random);
  if (!random->OneIn(4)) {
    info.shape.emplace();
    for (uint64_t n = random->Below(4); n > 0; --n) {
      switch (random->Below(3)) {
        case 0:
          info.shape->emplace_back();
          break;
        case 1:
          info.shape->emplace_back(RandomSigned(random));
          break;
        default:
          info.shape->emplace_back(RandomString(random));
          break;
      }
    }
  }
  info.doc_string = MaybeString(random);
  info.metadata = SomeMetadata(random);
  return info;
}

}  // namespace

uint64_t RandomSource::Next() {
  uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

std::string RandomString(RandomSource* random) {
  // Words that mean something to the parsers are the names most likely to be mistaken for it.
  constexpr const char* kWords[] = {"",       "values",   "scale",  "none",          "float", "INT4",
                                    "tensor", "raw",      "struct", "array",         "inf",   "nan",
                                    "bits",   "ceil_div", "true",   "FunctionProto", "rows",  "name",
                                    "domain", "body",     "a b",    "block[0].x",    "9",     "\xC3\xA9\xE2\x82\xAC"};
  std::string text;
  switch (random->Below(4)) {
    case 0:
    case 1:
      return kWords[random->Below(std::size(kWords))];
    case 2:
      for (uint64_t n = random->Below(8) + 1; n > 0; --n) text += static_cast<char>('a' + random->Below(26));
      return text;
    default:
      for (uint64_t n = random->Below(13); n > 0; --n) {
        text += random->OneIn(3) ? "\"\\\n\t\r<>{}#/"[random->Below(11)] : static_cast<char>(random->Next());
      }
      return text;
  }
}

Constant RandomConstant(RandomSource* random) {
  Constant constant;
  constant.type = RandomElementType(random);
  for (uint64_t n = random->Below(4); n > 0; --n) {
    constant.dims.push_back(random->OneIn(12) ? RandomSigned(random) : static_cast<int64_t>(random->Below(5)));
  }
  const std::optional<uint64_t> count = IsFixedWidth(constant.type) ? ElementCount(constant.dims) : std::nullopt;
  const bool whole = count && *count <= 64 && !random->OneIn(16);
  const uint64_t bytes = whole ? *PackedBytes(constant.type, *count) : random->Below(9);
  for (uint64_t i = 0; i < bytes; ++i) {
    constexpr uint8_t kEdges[] = {0x00, 0x7F, 0x80, 0xFF, 0xC0};
    constant.bytes.push_back(random->OneIn(2) ? kEdges[random->Below(std::size(kEdges))]
                                              : static_cast<uint8_t>(random->Next()));
  }
  const uint32_t used = whole ? static_cast<uint32_t>(*count * BitWidth(constant.type) % 8) : 0;
  if (used != 0) constant.bytes.back() &= static_cast<uint8_t>((1u << used) - 1);
  constant.storage = random->OneIn(2) ? Constant::Storage::kTyped : Constant::Storage::kRaw;
  constant.name = MaybeString(random);
  constant.doc_string = MaybeString(random);
  constant.metadata = SomeMetadata(random);
  return constant;
}

Function RandomFunction(RandomSource* random) {
  Function function;
  function.name = MaybeString(random);
  function.domain = MaybeString(random);
  function.overload = MaybeString(random);
  for (uint64_t n = random->Below(3); n > 0; --n) {
    function.opset_imports.push_back({MaybeString(random), RandomSigned(random)});
  }
  function.inputs = SomeStrings(random, 3);
  function.outputs = SomeStrings(random, 2);
  for (uint64_t n = random->Below(4); n > 0; --n) function.nodes.push_back(RandomNode(random));
  for (uint64_t n = random->Below(3); n > 0; --n) function.value_infos.push_back(RandomValueInfo(random));
  function.doc_string = MaybeString(random);
  function.metadata = SomeMetadata(random);
  return function;
}

StructType RandomStructType(RandomSource* random) {
  StructType type;
  type.root = RandomRoot(random);
  if (random->OneIn(3)) type.decoder = RandomFunction(random);
  if (random->OneIn(5)) type.encoder = RandomFunction(random);
  type.name = MaybeString(random);
  type.doc_string = MaybeString(random);
  type.metadata = SomeMetadata(random);
  return type;
}

}  // namespace tessera
