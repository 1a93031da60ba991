// Operators of somebody else, by which values of a Function profile are decoded and encoded.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>

#include <cstring>

#include "bindings.h"
#include "tessera/codecs/custom_operators.h"

namespace tessera::python {
namespace {

// What a callable raises becomes the error; its traceback stays behind.
template <typename Call>
Result<void> Guarded(const std::string& name, Call call) {
  nb::gil_scoped_acquire acquire;
  try {
    return call();
  } catch (nb::python_error& error) {
    return Fail(ErrorCode::kEvaluate, name, error.what(), "an operator that takes these values");
  } catch (const nb::cast_error&) {
    return Fail(ErrorCode::kEvaluate, name, "gives no array", "an array, or bytes");
  }
}

nb::object Contiguous(const nb::object& data, const char* dtype) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  return numpy.attr("ascontiguousarray")(data, nb::arg("dtype") = numpy.attr(dtype));
}

Result<void> Copy(const std::string& name, const nb::object& array, std::span<uint8_t> out) {
  const HeldBytes held = BytesOf(array, false);
  if (held.bytes.size() != out.size()) {
    return Fail(ErrorCode::kEvaluate, name, fmt::format("gives {} bytes", held.bytes.size()),
                fmt::format("{} bytes", out.size()));
  }
  std::memcpy(out.data(), held.bytes.data(), out.size());
  return {};
}

CustomDequantizer DequantizerOf(std::string name, nb::callable call) {
  return [name = std::move(name), call = std::move(call)](const FunctionProfile&, std::span<const int64_t> shape,
                                                          std::span<const uint8_t> codes, std::span<float> values) {
    return Guarded(name, [&]() -> Result<void> {
      const std::vector<uint64_t> size = {codes.size()};
      const Array bytes = UnpackedArray({codes.begin(), codes.end()}, size, ElementType::kUint8, name);
      const nb::object result = Contiguous(call(bytes, ShapeOf(shape)), "float32");
      return Copy(name, result, {reinterpret_cast<uint8_t*>(values.data()), values.size_bytes()});
    });
  };
}

CustomQuantizer QuantizerOf(std::string name, nb::callable call) {
  return [name = std::move(name), call = std::move(call)](const FunctionProfile&, std::span<const int64_t> shape,
                                                          std::span<const float> values, std::span<uint8_t> codes) {
    return Guarded(name, [&]() -> Result<void> {
      const std::vector<uint64_t> dims(shape.begin(), shape.end());
      const auto* first = reinterpret_cast<const uint8_t*>(values.data());
      const Array array = UnpackedArray({first, first + values.size_bytes()}, dims, ElementType::kFloat, name);
      return Copy(name, call(array, codes.size()), codes);
    });
  };
}

void Register(const Text& name, const std::optional<nb::callable>& dequantize,
              const std::optional<nb::callable>& quantize) {
  if (dequantize) Unwrap(RegisterDequantizer(name.bytes, DequantizerOf(name.bytes, *dequantize)));
  if (quantize) Unwrap(RegisterQuantizer(name.bytes, QuantizerOf(name.bytes, *quantize)));
  if (!dequantize && !quantize) throw nb::value_error("dequantize or quantize has to be given");
}

}  // namespace

void BindOperators(nb::module_& m) {
  m.def("register_operator", &Register, nb::arg("name"), nb::kw_only(), nb::arg("dequantize") = nb::none(),
        nb::arg("quantize") = nb::none(),
        nb::sig("def register_operator(name: str, *, dequantize: collections.abc.Callable[[NDArray[typing.Any], "
                "tuple[int, ...]], ArrayLike] | None = None, quantize: collections.abc.Callable[[NDArray[typing.Any], "
                "int], bytes | bytearray | memoryview | NDArray[typing.Any]] | None = None) -> None"),
        R"(Gives a Function profile's operator, `domain::Operator`, a meaning for Format.decode and Format.quantize.

dequantize(codes, shape): the values of a tensor of this shape, or of a tile, from its bytes, a uint8 array.
quantize(values, size): the bytes, `size` of them, that stand for a float32 array.
Raises TesseraError for a name that is registered already. Portable models cannot hold such operators.)");
  m.def(
      "unregister_operator",
      [](const Text& name) {
        const bool decodes = UnregisterDequantizer(name.bytes);
        const bool encodes = UnregisterQuantizer(name.bytes);
        return decodes || encodes;
      },
      nb::arg("name"), "Forgets an operator; False if there was none.");
}

}  // namespace tessera::python
