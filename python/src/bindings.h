// What the binding files share. Each file binds one topic; module.cc calls them in order.
//
// Objects hold C++ owners, never Python objects, so there is nothing for the garbage collector to find. A function that
// works long or touches files releases the GIL; no lock is ever waited for while holding it.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/onnx/model.h"
#include "tessera/quant/profile.h"
#include "tessera/types/limits.h"
#include "tessera/types/notation.h"
#include "tessera/types/struct_view.h"
#include "tessera/types/type_table.h"

namespace tessera::python {

namespace nb = nanobind;

// A str. ONNX strings need not be UTF-8: bytes that are not become lone surrogates, and back (PEP 383).
struct Text {
  std::string bytes;
};

// ---- errors.cc

// Raises TesseraError.
class Raised : public std::exception {
 public:
  explicit Raised(Error error) : error_(std::move(error)) {}
  const Error& error() const { return error_; }

 private:
  Error error_;
};

template <typename T>
T Unwrap(Result<T> result) {
  if (!result) throw Raised(std::move(result).error());
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// As a list, with a warning where some are only counted.
nb::typed<nb::list, Error> ProblemList(const Problems& problems);

// The limits of an argument that may be None.
inline Limits Given(const Limits* limits) { return limits == nullptr ? Limits{} : *limits; }

// ---- arrays.cc: NumPy arrays over memory that `Owner` keeps alive, all read-only

using Owner = std::shared_ptr<const void>;

inline bool IsAnyObject(PyObject*) { return true; }

// Typed for the stub; nothing is checked.
class Array : public nb::object {
  NB_OBJECT(Array, nb::object, "NDArray[typing.Any]", IsAnyObject)
};
class Dtype : public nb::object {
  NB_OBJECT(Dtype, nb::object, "DType[typing.Any]", IsAnyObject)
};
class BytesLike : public nb::object {
  NB_OBJECT(BytesLike, nb::object, "bytes | bytearray | memoryview | NDArray[typing.Any]", IsAnyObject)
};
class Shape : public nb::tuple {
  NB_OBJECT(Shape, nb::tuple, "tuple[int, ...]", PyTuple_Check)
};

template <typename Numbers>
Shape ShapeOf(const Numbers& dims) {
  nb::list list;
  for (auto dim : dims) list.append(dim);
  return nb::steal<Shape>(PyList_AsTuple(list.ptr()));
}

// The NumPy or ml_dtypes type of one unpacked element; object for STRING.
Dtype DtypeOf(ElementType type);

// Elements of whole bytes where they lie, `strides` bytes apart.
Array StridedArray(const uint8_t* data, std::span<const uint64_t> dims, std::span<const uint64_t> strides_bytes,
                   ElementType type, const Owner& owner, std::string_view where);
// Elements unpacked to UnpackedBytes(type) each, one after the other.
Array UnpackedArray(std::vector<uint8_t> bytes, std::span<const uint64_t> dims, ElementType type,
                    std::string_view where);
// Elements in canonical packed bytes: in place where they are whole bytes, else unpacked.
Array PackedArray(std::span<const uint8_t> bytes, std::span<const uint64_t> dims, ElementType type, const Owner& owner,
                  std::string_view where);
Array ByteArray(std::span<const uint8_t> bytes, const Owner& owner);
// What __array__(dtype, copy) returns for `array`; `is_view` tells whether it shares memory with the value.
Array Converted(const Array& array, bool is_view, const nb::object& dtype, const nb::object& copy);

// A bytes-like object or array: its bytes in C order. With `in_place` nothing may be copied, and the owner keeps the
// object's buffer; without, the bytes of an array that is not contiguous are gathered.
struct HeldBytes {
  std::span<const uint8_t> bytes;
  Owner owner;
};
HeldBytes BytesOf(const nb::object& data, bool in_place);

// An array as a constant. Errors: kParameterData.
Constant ConstantOf(const nb::object& array, const std::string& name);

// ---- types.cc

// Declarations that belong together: those of a model, or of a text.
struct TypeList {
  TypeTable table;
  std::vector<Error> conversion;  // what of a message's types cannot be held at all, and so not be printed
  std::vector<Error> problems;    // conversion and what the checker found
};

std::shared_ptr<const TypeList> TypeListOf(const Model& model, const Limits& limits);

// A declaration in a list, or one outside it (inline in a value, or without a name) whose references point into it.
class TypeObject {
 public:
  TypeObject(std::shared_ptr<const TypeList> list, int32_t index) : list_(std::move(list)), index_(index) {}
  TypeObject(std::shared_ptr<const TypeList> list, std::shared_ptr<const CheckedType> checked)
      : list_(std::move(list)), checked_(std::move(checked)) {}

  const StructType& declaration() const {
    return index_ < 0 ? checked_->declaration : list_->table.declaration(index_);
  }
  const std::shared_ptr<const TypeList>& list() const { return list_; }
  int32_t index() const { return index_; }  // -1 outside the list
  const std::string& Name() const { return declaration().Name(); }
  std::optional<Error> Problem() const;  // what is wrong with it, if anything
  // Raises that.
  const std::shared_ptr<const CheckedType>& checked() const;
  std::vector<StructType> Closed() const;  // Closure()
  std::string Notation() const;

 private:
  std::shared_ptr<const TypeList> list_;
  int32_t index_ = -1;
  mutable std::shared_ptr<const CheckedType> checked_;  // used with the GIL held
};

class Parameters : public nb::object {
  NB_OBJECT(Parameters, nb::object, "collections.abc.Mapping[str, int | float | str | ArrayLike]", IsAnyObject)
};

struct TextOptions {
  std::optional<std::vector<int64_t>> shape;
  Parameters parameters = nb::borrow<Parameters>(nb::none());
  std::string file_name;
  const Limits* limits = nullptr;
};

NotationOptions NotationOptionsOf(const TextOptions& options);
// `error` at its place in the text.
Error InFile(Error error, const std::string& file);

// The last of these declarations, which are a list of their own. Raises the first problem.
TypeObject CheckedRoot(std::vector<StructType> types, const Limits& limits);

// The declarations of a text, checked. Raises the first problem.
std::vector<TypeObject> ParseTypes(const Text& text, const TextOptions& options);
// The one declaration of a text that no other refers to.
TypeObject ParseType(const Text& text, const TextOptions& options);

// ---- view.cc

// A view and what it looks into. Leaves and arrays share it.
struct HeldView {
  StructView view;
  Owner payload_owner;
};

class ViewObject {
 public:
  ViewObject(TypeObject type, StructView view, Owner payload_owner)
      : type_(std::move(type)),
        held_(std::make_shared<const HeldView>(HeldView{std::move(view), std::move(payload_owner)})) {}
  const TypeObject& type() const { return type_; }
  const std::shared_ptr<const HeldView>& held() const { return held_; }

 private:
  TypeObject type_;
  std::shared_ptr<const HeldView> held_;
};

struct LeafViewObject {
  LeafView view;
  std::shared_ptr<const HeldView> held;
};

// A leaf of a type, without a value.
struct LeafObject {
  std::shared_ptr<const CheckedType> type;
  const Leaf* leaf;
};

ViewObject ViewOfBuffer(const TypeObject& type, const nb::object& buffer);
LeafViewObject LeafAt(const ViewObject& view, std::string_view path);
// All bytes: in place where they are one segment, else joined.
Array PayloadOf(const ViewObject& view);

// ---- profile.cc

// What a type is the translation of. Raises kNotAProfile, kProfileShape.
Profile ProfileOf(const TypeObject& type, std::optional<std::vector<int64_t>> shape, const Limits* limits);

// ---- evaluate.cc

// The tensor that bytes of a type mean, by its decoder, or by that of its profile.
Array DecodeBytes(const TypeObject& type, const nb::object& buffer);

// ---- one a file

void BindErrors(nb::module_& m);
void BindTypes(nb::module_& m);
void BindViews(nb::module_& m);
void BindModel(nb::module_& m);
void BindProfiles(nb::module_& m);
void BindOperators(nb::module_& m);
void BindEvaluate(nb::module_& m);
void BindFormats(nb::module_& m);
void BindTables(nb::module_& m);  // tables.cc: the tables of types and operators, for tests

}  // namespace tessera::python

namespace nanobind::detail {

template <>
struct type_caster<tessera::python::Text> {
  NB_TYPE_CASTER(tessera::python::Text, const_name("str"))

  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    if (!PyUnicode_Check(source.ptr())) return false;
    PyObject* bytes = PyUnicode_AsEncodedString(source.ptr(), "utf-8", "surrogateescape");
    if (bytes == nullptr) {
      PyErr_Clear();
      return false;
    }
    value.bytes.assign(PyBytes_AS_STRING(bytes), static_cast<size_t>(PyBytes_GET_SIZE(bytes)));
    Py_DECREF(bytes);
    return true;
  }

  static handle from_cpp(const tessera::python::Text& text, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_DecodeUTF8(text.bytes.data(), static_cast<Py_ssize_t>(text.bytes.size()), "surrogateescape");
  }
};

}  // namespace nanobind::detail
