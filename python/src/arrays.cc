#include <algorithm>
#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "tessera/base/checked.h"
#include "tessera/types/element_value.h"
#include "tessera/types/unpack.h"

namespace tessera::python {
namespace {

// NumPy's limit is 64 dimensions, and one more is needed on the way.
constexpr size_t kMaxDimensions = 63;

struct DtypeRow {
  ElementType type;
  const char* module;
  const char* name;
};

constexpr DtypeRow kDtypes[] = {
    {ElementType::kFloat, "numpy", "float32"},
    {ElementType::kUint8, "numpy", "uint8"},
    {ElementType::kInt8, "numpy", "int8"},
    {ElementType::kUint16, "numpy", "uint16"},
    {ElementType::kInt16, "numpy", "int16"},
    {ElementType::kInt32, "numpy", "int32"},
    {ElementType::kInt64, "numpy", "int64"},
    {ElementType::kString, "numpy", "object_"},
    {ElementType::kBool, "numpy", "bool"},
    {ElementType::kFloat16, "numpy", "float16"},
    {ElementType::kDouble, "numpy", "float64"},
    {ElementType::kUint32, "numpy", "uint32"},
    {ElementType::kUint64, "numpy", "uint64"},
    {ElementType::kComplex64, "numpy", "complex64"},
    {ElementType::kComplex128, "numpy", "complex128"},
    {ElementType::kBfloat16, "ml_dtypes", "bfloat16"},
    {ElementType::kFloat8E4M3FN, "ml_dtypes", "float8_e4m3fn"},
    {ElementType::kFloat8E4M3FNUZ, "ml_dtypes", "float8_e4m3fnuz"},
    {ElementType::kFloat8E5M2, "ml_dtypes", "float8_e5m2"},
    {ElementType::kFloat8E5M2FNUZ, "ml_dtypes", "float8_e5m2fnuz"},
    {ElementType::kUint4, "ml_dtypes", "uint4"},
    {ElementType::kInt4, "ml_dtypes", "int4"},
    {ElementType::kFloat4E2M1, "ml_dtypes", "float4_e2m1fn"},
    {ElementType::kFloat8E8M0, "ml_dtypes", "float8_e8m0fnu"},
    {ElementType::kUint2, "ml_dtypes", "uint2"},
    {ElementType::kInt2, "ml_dtypes", "int2"},
    {ElementType::kFloat6E2M3, "ml_dtypes", "float6_e2m3fn"},
    {ElementType::kFloat6E3M2, "ml_dtypes", "float6_e3m2fn"},
};

uint64_t SaturatingMul(uint64_t a, uint64_t b) { return CheckedMul(a, b).value_or(UINT64_MAX); }

// Row-major strides of elements of so many bytes. They saturate only in shapes that have a dimension 0.
std::vector<uint64_t> RowMajor(std::span<const uint64_t> dims, uint64_t element_bytes) {
  std::vector<uint64_t> strides(dims.size());
  uint64_t stride = element_bytes;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride = SaturatingMul(stride, dims[i] == 0 ? 1 : dims[i]);
  }
  return strides;
}

nb::capsule CapsuleOf(const Owner& owner) {
  return nb::capsule(new Owner(owner), [](void* pointer) noexcept { delete static_cast<Owner*>(pointer); });
}

// Raises kUnsupported for shapes that NumPy cannot hold, which only shapes without elements can be.
void CheckShape(std::span<const uint64_t> dims, uint64_t element_bytes, std::string_view where) {
  uint64_t bytes = element_bytes;
  for (uint64_t dim : dims) bytes = SaturatingMul(bytes, dim == 0 ? 1 : dim);
  if (dims.size() > kMaxDimensions || bytes > uint64_t{INT64_MAX}) {
    throw Raised({ErrorCode::kUnsupported, std::string(where),
                  fmt::format("a shape of {} dimensions, [{}], is more than a NumPy array can have", dims.size(),
                              fmt::join(dims.first(std::min<size_t>(dims.size(), 8)), ", ")),
                  fmt::format("at most {} dimensions and 2^63 bytes", kMaxDimensions)});
  }
}

}  // namespace

Dtype DtypeOf(ElementType type) {
  for (const DtypeRow& row : kDtypes) {
    if (row.type != type) continue;
    nb::object dtype = nb::module_::import_("numpy").attr("dtype")(nb::module_::import_(row.module).attr(row.name));
    return nb::borrow<Dtype>(dtype);
  }
  throw Raised({ErrorCode::kUnsupported, "", fmt::format("{} has no NumPy type", Name(type)), "another element type"});
}

Array StridedArray(const uint8_t* data, std::span<const uint64_t> dims, std::span<const uint64_t> strides_bytes,
                   ElementType type, const Owner& owner, std::string_view where) {
  static constexpr uint8_t kNothing[16] = {};
  const uint64_t element_bytes = UnpackedBytes(type);
  CheckShape(dims, element_bytes, where);
  // As bytes with one more dimension, then seen as elements: neither the strides, which need not be multiples of an
  // element, nor the types of ml_dtypes can be said to nanobind.
  std::vector<size_t> shape(dims.begin(), dims.end());
  std::vector<int64_t> strides;
  for (size_t i = 0; i < dims.size(); ++i) {
    strides.push_back(dims[i] == 1 ? static_cast<int64_t>(element_bytes) : static_cast<int64_t>(strides_bytes[i]));
  }
  shape.push_back(element_bytes);
  strides.push_back(1);
  nb::ndarray<nb::numpy, const uint8_t> bytes(data == nullptr ? kNothing : data, shape.size(), shape.data(),
                                              CapsuleOf(owner), strides.data());
  nb::object elements = nb::cast(bytes).attr("view")(DtypeOf(type));
  return nb::borrow<Array>(nb::object(elements[nb::make_tuple(nb::ellipsis(), 0)]));
}

Array UnpackedArray(std::vector<uint8_t> bytes, std::span<const uint64_t> dims, ElementType type,
                    std::string_view where) {
  if (const uint32_t bits = BitWidth(type); bits < 8) {
    // The arrays of ml_dtypes keep codes without their sign's extension.
    for (uint8_t& code : bytes) code &= static_cast<uint8_t>((1u << bits) - 1);
  }
  auto held = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  return StridedArray(held->data(), dims, RowMajor(dims, UnpackedBytes(type)), type, held, where);
}

Array PackedArray(std::span<const uint8_t> bytes, std::span<const uint64_t> dims, ElementType type, const Owner& owner,
                  std::string_view where) {
  const uint32_t bits = BitWidth(type);
  if (bits % 8 == 0) return StridedArray(bytes.data(), dims, RowMajor(dims, bits / 8), type, owner, where);
  std::vector<uint8_t> unpacked(CheckedProduct(dims).value_or(0));
  {
    nb::gil_scoped_release release;
    BitUnpacker(bits, bits, 1, false).Run(bytes, 0, unpacked.size(), unpacked.data());
  }
  return UnpackedArray(std::move(unpacked), dims, type, where);
}

Array ByteArray(std::span<const uint8_t> bytes, const Owner& owner) {
  const uint64_t size = bytes.size();
  const uint64_t stride = 1;
  return StridedArray(bytes.data(), {&size, 1}, {&stride, 1}, ElementType::kUint8, owner, "");
}

Array Converted(const Array& array, bool is_view, const nb::object& dtype, const nb::object& copy) {
  if (!is_view && !copy.is_none() && !nb::cast<bool>(copy)) {
    throw nb::value_error("the elements are packed and have to be copied");
  }
  nb::object converted = nb::module_::import_("numpy").attr("asarray")(array, nb::arg("dtype") = dtype,
                                                                        nb::arg("copy") = copy);
  return nb::borrow<Array>(converted);
}

HeldBytes BytesOf(const nb::object& data, bool in_place) {
  nb::object source = data;
  if (nb::hasattr(data, "__array_interface__")) {
    // Through uint8: the types of ml_dtypes cannot be said to the buffer protocol.
    nb::module_ numpy = nb::module_::import_("numpy");
    if (in_place && !nb::cast<bool>(numpy.attr("asarray")(data).attr("flags").attr("c_contiguous"))) {
      throw Raised({ErrorCode::kArgument, "buffer", "the array is not contiguous", "numpy.ascontiguousarray of it"});
    }
    source = numpy.attr("ascontiguousarray")(data).attr("reshape")(-1).attr("view")(numpy.attr("uint8"));
  }
  auto buffer = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(source.ptr(), buffer.get(), PyBUF_SIMPLE) != 0) throw nb::python_error();
  std::shared_ptr<Py_buffer> held(buffer.release(), [](Py_buffer* view) {
    nb::gil_scoped_acquire acquire;
    PyBuffer_Release(view);
    delete view;
  });
  return {{static_cast<const uint8_t*>(held->buf), static_cast<size_t>(held->len)}, held};
}

Constant ConstantOf(const nb::object& array, const std::string& name) {
  nb::module_ numpy = nb::module_::import_("numpy");
  nb::object plain = numpy.attr("asarray")(array);
  std::string dtype = nb::cast<std::string>(plain.attr("dtype").attr("name"));
  Constant constant;
  for (const DtypeRow& row : kDtypes) {
    if (dtype == row.name && IsFixedWidth(row.type)) constant.type = row.type;
  }
  if (constant.type == ElementType::kUndefined) {
    throw Raised({ErrorCode::kParameterData, name, "no element type is like NumPy's " + Quoted(dtype),
                  "an array of numbers of a type that ONNX has"});
  }
  for (nb::handle dim : plain.attr("shape")) constant.dims.push_back(nb::cast<int64_t>(dim));
  // To little-endian.
  plain = numpy.attr("ascontiguousarray")(plain, nb::arg("dtype") = DtypeOf(constant.type));
  HeldBytes held = BytesOf(plain, false);
  const uint32_t bits = BitWidth(constant.type);
  if (bits % 8 == 0) {
    constant.bytes.assign(held.bytes.begin(), held.bytes.end());
  } else {
    constant.bytes.resize(CeilDiv(held.bytes.size() * bits, 8));
    PackBits(held.bytes, bits, constant.bytes.data());
  }
  return constant;
}

}  // namespace tessera::python
