// The evaluator of functions: what a type's own declaration makes of bytes.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "tessera/codecs/declared_value.h"
#include "tessera/codecs/evaluator.h"
#include "tessera/onnx/convert.h"

namespace tessera::python {
namespace {

Array ArrayOf(Tensor tensor) {
  const std::vector<uint64_t> dims(tensor.dims.begin(), tensor.dims.end());
  const ElementType type = tensor.type;
  return UnpackedArray(std::move(tensor.bytes), dims, type, "result");
}

// The one output of a FunctionProto's bytes.
Array Evaluate(const nb::bytes& function, const std::vector<nb::object>& inputs) {
  ir::FunctionProto proto;
  if (!proto.ParsePartialFromArray(function.data(), static_cast<int>(function.size()))) {
    throw nb::value_error("no FunctionProto");
  }
  Problems problems;
  const Function parsed = FromProto(proto, Path("function"), &problems);
  if (!problems.empty()) throw Raised(problems.list().front());
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < inputs.size(); ++i)
    tensors.push_back(Unwrap(TensorOf(ConstantOf(inputs[i], "input"), "input")));
  auto run = [&] {
    nb::gil_scoped_release release;
    return EvaluateFunction(parsed, std::move(tensors), {});
  };
  return ArrayOf(Unwrap(run()));
}

}  // namespace

Array DecodeBytes(const TypeObject& type, const nb::object& buffer) {
  const ViewObject view = ViewOfBuffer(type, buffer);
  auto run = [&] {
    nb::gil_scoped_release release;
    return DecodeDeclared(type.Closed(), view.held()->view);
  };
  return ArrayOf(Unwrap(run()));
}

void BindEvaluate(nb::module_& m) { m.def("_evaluate", &Evaluate, nb::arg("function"), nb::arg("inputs")); }

}  // namespace tessera::python
