// The library's tables and conversions, for the tests that compare them with onnx and ml_dtypes. Not part of the API.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "tessera/onnx/convert.h"
#include "tessera/types/element_value.h"
#include "tessera/types/notation.h"
#include "tessera/types/operators.h"

namespace tessera::python {
namespace {

ElementType FloatType(const std::string& name) {
  std::optional<ElementType> type = ElementTypeFromName(name);
  if (!type || Info(*type).kind != ElementKind::kFloat) throw nb::value_error(("no float type " + name).c_str());
  return *type;
}

std::vector<std::string> NamesOf(TypeMask mask) {
  std::vector<std::string> names;
  for (const ElementInfo& row : AllElementTypes()) {
    if ((mask & MaskOf(row.type)) != 0) names.emplace_back(row.name);
  }
  return names;
}

using OperatorRow = std::tuple<std::string, int64_t, std::string, std::string, int,
                               std::map<int64_t, std::vector<std::string>>>;

std::vector<OperatorRow> OperatorRows() {
  std::vector<OperatorRow> rows;
  for (const Operator& op : AllOperators()) {
    std::map<int64_t, std::vector<std::string>> types;
    for (int64_t opset = kMinOpset; opset <= kMaxOpset; ++opset) types[opset] = NamesOf(Types(op.types, opset));
    rows.emplace_back(op.name, op.since, op.signature, op.attributes, op.max_outputs, std::move(types));
  }
  return rows;
}

std::vector<std::tuple<std::string, int, int>> ElementRows() {
  std::vector<std::tuple<std::string, int, int>> rows;
  for (const ElementInfo& row : AllElementTypes()) rows.emplace_back(row.name, static_cast<int>(row.type), row.bits);
  return rows;
}

uint64_t Encode(const std::string& type, double value, bool saturate, const std::string& rounding) {
  ScaleRounding mode = rounding == "down" ? ScaleRounding::kDown : rounding == "nearest" ? ScaleRounding::kNearest : ScaleRounding::kUp;
  return EncodeFloat(FloatType(type), value, saturate ? Overflow::kSaturate : Overflow::kOverflow, mode);
}

// A serialized FunctionProto in ONNX's text syntax, and back.
Text PrintFunction(const nb::bytes& serialized) {
  ir::FunctionProto proto;
  if (!proto.ParseFromArray(serialized.data(), static_cast<int>(serialized.size()))) throw nb::value_error("no FunctionProto");
  Problems problems;
  Function function = FromProto(proto, Path("function"), &problems);
  if (!problems.empty()) throw Raised(problems.list().front());
  return {PrintFunctionText(function, 0)};
}

nb::bytes ParseFunction(const Text& text) {
  ir::FunctionProto proto;
  ToProto(Unwrap(ParseFunctionText(text.bytes, {})), &proto);
  std::string bytes = proto.SerializeAsString();
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void BindTables(nb::module_& m) {
  m.def("_operators", &OperatorRows, "Rows (name, since, signature, attributes, max_outputs, types of T by opset).");
  m.def("_element_types", &ElementRows, "Rows (name, number, bits).");
  m.def("_error_codes", [] {
    std::vector<std::string> slugs;
    for (const ErrorCodeInfo& info : AllErrorCodes()) slugs.emplace_back(info.slug);
    return slugs;
  });
  m.def("_dtype", [](const std::string& name) {
    std::optional<ElementType> type = ElementTypeFromName(name);
    if (!type) throw nb::value_error(("no type " + name).c_str());
    return DtypeOf(*type);
  });
  m.def("_decode_float", [](const std::string& type, uint64_t code) { return DecodeFloat(FloatType(type), code); });
  m.def("_encode_float", &Encode, nb::arg("type"), nb::arg("value"), nb::arg("saturate"), nb::arg("rounding") = "up");
  m.def("_print_function", &PrintFunction);
  m.def("_parse_function", &ParseFunction);
}

}  // namespace tessera::python
