// Short spellings of types, functions and problems. Not for programs; only tests include it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/types/struct_type.h"

namespace tessera::build {

inline PhysicalType Scalar(ElementType type) { return {ScalarType{type}}; }
inline PhysicalType Array(PhysicalType element, std::vector<uint64_t> dims) {
  return {ArrayType{std::move(element), std::move(dims)}};
}
inline PhysicalType Array(ElementType element, std::vector<uint64_t> dims) {
  return Array(Scalar(element), std::move(dims));
}
inline PhysicalType Packing(std::vector<BitPackingType::Component> components, std::vector<uint64_t> dims) {
  return {BitPackingType{std::move(components), std::move(dims)}};
}
inline PhysicalType Ref(int32_t index) { return {TypeReference{index}}; }

inline Field Part(std::string name, PhysicalType type) { return {std::move(name), std::move(type), {}}; }
inline Field Part(std::string name, ElementType type) { return Part(std::move(name), Scalar(type)); }
inline Constant Tensor(ElementType type, std::vector<int64_t> dims, std::vector<uint8_t> bytes) {
  Constant constant;
  constant.type = type;
  constant.dims = std::move(dims);
  constant.bytes = std::move(bytes);
  return constant;
}
inline Field Const(std::string name, Constant constant) { return {std::move(name), std::move(constant), {}}; }

inline StructType Declare(std::string name, PhysicalType root) {
  StructType type;
  type.name = std::move(name);
  type.root = std::move(root);
  return type;
}
inline StructType Structure(std::string name, std::vector<Field> fields) {
  return Declare(std::move(name), {StructureType{std::move(fields)}});
}

// What is inside, where the test knows the kind.
inline std::vector<Field>& Fields(StructType& type) { return std::get<StructureType>(type.root.kind).fields; }
inline PhysicalType& TypeOfField(StructType& type, size_t field) {
  return std::get<PhysicalType>(Fields(type)[field].content);
}
inline Constant& ConstantOfField(StructType& type, size_t field) {
  return std::get<Constant>(Fields(type)[field].content);
}

// ---- functions

inline Node Op(std::string op_type, std::vector<std::string> inputs, std::vector<std::string> outputs,
               std::vector<Attribute> attributes = {}) {
  Node node;
  node.op_type = std::move(op_type);
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.attributes = std::move(attributes);
  return node;
}
inline Attribute Attr(std::string name, Attribute::Value value) { return {std::move(name), std::move(value), {}}; }
inline Attribute To(ElementType type) { return Attr("to", static_cast<int64_t>(type)); }
inline ValueInfo Info(std::string name, ElementType type, std::vector<Dimension> shape) {
  ValueInfo info;
  info.name = std::move(name);
  info.type = type;
  info.shape = std::move(shape);
  return info;
}

// codes UINT8[4] and scale FLOAT16 (6 bytes) to FLOAT[4]: Y = codes * scale.
inline Function ScaleDecoder() {
  Function f;
  f.name = "decode";
  f.opset_imports = {{"", 21}};
  f.inputs = {"codes", "scale"};
  f.outputs = {"Y"};
  f.nodes = {Op("Cast", {"codes"}, {"c"}, {To(ElementType::kFloat)}),
             Op("Cast", {"scale"}, {"s"}, {To(ElementType::kFloat)}), Op("Mul", {"c", "s"}, {"Y"})};
  f.value_infos = {Info("Y", ElementType::kFloat, {int64_t{4}})};
  return f;
}

// FLOAT[4] to the same six bytes, with a scale of 1.
inline Function ScaleEncoder() {
  Function f;
  f.name = "encode";
  f.opset_imports = {{"", 21}};
  f.inputs = {"Y"};
  f.outputs = {"bytes"};
  f.nodes = {Op("Cast", {"Y"}, {"q"}, {To(ElementType::kUint8)}),
             Op("Constant", {}, {"one"}, {Attr("value", Tensor(ElementType::kUint8, {2}, {0x00, 0x3C}))}),
             Op("Concat", {"q", "one"}, {"bytes"}, {Attr("axis", int64_t{0})})};
  f.value_infos = {Info("Y", ElementType::kFloat, {int64_t{4}}), Info("bytes", ElementType::kUint8, {int64_t{6}})};
  return f;
}

inline StructType ScaledType(std::string name) {
  StructType type = Structure(std::move(name),
                              {Part("codes", Array(ElementType::kUint8, {4})), Part("scale", ElementType::kFloat16)});
  type.decoder = ScaleDecoder();
  return type;
}

// ---- problems

inline std::string Listing(const Problems& problems) {
  std::string text;
  for (const Error& error : problems.list()) text += "\n  " + error.Format();
  return text.empty() ? "\n  (no problems)" : text;
}

inline ::testing::AssertionResult None(const Problems& problems) {
  if (problems.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "expected no problem, found" << Listing(problems);
}

// Exactly one problem, with that code and place, which says what is wrong.
inline ::testing::AssertionResult Only(const Problems& problems, ErrorCode code, std::string_view where) {
  if (problems.count() == 1 && problems.list()[0].code == code && problems.list()[0].where == where &&
      !problems.list()[0].what.empty()) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "expected only [" << tessera::Info(code).slug << "] at " << where << ", found"
                                       << Listing(problems);
}

// `where [slug]` of every problem, in order.
inline std::vector<std::string> Places(const Problems& problems) {
  std::vector<std::string> places;
  for (const Error& error : problems.list()) {
    places.push_back(error.where + " [" + std::string(tessera::Info(error.code).slug) + "]");
  }
  return places;
}

}  // namespace tessera::build
