// Values seen through their types, and their leaves as arrays.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings.h"

namespace tessera::python {
namespace {

bool IsView(const LeafView& view) { return view.count() == 0 || view.ByteAddress() != nullptr; }

Array LeafArray(const LeafViewObject& self) {
  const Leaf& leaf = self.view.leaf();
  if (const uint8_t* address = self.view.ByteAddress()) {
    std::vector<uint64_t> strides;
    for (uint64_t bits : leaf.bit_strides) strides.push_back(bits / 8);
    return StridedArray(address, leaf.dims, strides, leaf.type, self.held, leaf.path);
  }
  std::vector<uint8_t> unpacked(self.view.count() * UnpackedBytes(leaf.type));
  {
    nb::gil_scoped_release release;
    Unwrap(self.view.Unpack(0, self.view.count(), unpacked));
  }
  return UnpackedArray(std::move(unpacked), leaf.dims, leaf.type, leaf.path);
}

nb::typed<nb::list, LeafViewObject> LeafViewsOf(const ViewObject& self) {
  nb::typed<nb::list, LeafViewObject> list;
  for (size_t i = 0; i < self.held()->view.leaf_count(); ++i) {
    list.append(nb::cast(LeafViewObject{self.held()->view.leaf(i), self.held()}));
  }
  return list;
}

nb::typed<nb::list, Text> PathsOf(const ViewObject& self) {
  nb::typed<nb::list, Text> list;
  for (const Leaf& leaf : self.held()->view.type().leaves) list.append(nb::cast(Text{leaf.path}));
  return list;
}

}  // namespace

ViewObject ViewOfBuffer(const TypeObject& type, const nb::object& buffer) {
  HeldBytes held = BytesOf(buffer, true);
  StructView view = Unwrap(StructView::Create(type.checked(), {held.bytes}, "buffer"));
  return {type, std::move(view), std::move(held.owner)};
}

LeafViewObject LeafAt(const ViewObject& view, std::string_view path) {
  return {Unwrap(view.held()->view.leaf(path)), view.held()};
}

Array PayloadOf(const ViewObject& view) {
  const Payload& payload = view.held()->view.payload();
  if (payload.size() == 1) return ByteArray(payload[0], view.held());
  auto joined = std::make_shared<std::vector<uint8_t>>();
  for (std::span<const uint8_t> segment : payload) joined->insert(joined->end(), segment.begin(), segment.end());
  return ByteArray(*joined, joined);
}

void BindViews(nb::module_& m) {
  nb::class_<LeafViewObject>(m, "LeafView", R"(One leaf of one value. NumPy takes it as an array: `np.asarray(view["scale"])`.)")
      .def_prop_ro("leaf", [](const LeafViewObject& self) {
        // The leaf stands in the type, which the held view keeps.
        std::shared_ptr<const CheckedType> type(self.held, &self.held->view.type());
        return LeafObject{std::move(type), &self.view.leaf()};
      }, "Where its elements lie.")
      .def_prop_ro("path", [](const LeafViewObject& self) { return Text{self.view.leaf().path}; }, "Full name, such as `blocks.scale`.")
      .def_prop_ro("element_type", [](const LeafViewObject& self) { return Text{std::string(Name(self.view.leaf().type))}; },
                   "ONNX's name of the type, such as `INT4`.")
      .def_prop_ro("dtype", [](const LeafViewObject& self) { return DtypeOf(self.view.leaf().type); },
                   "NumPy or ml_dtypes type of an element.")
      .def_prop_ro("shape", [](const LeafViewObject& self) { return ShapeOf(self.view.leaf().dims); }, "Dimensions.")
      .def_prop_ro("is_view", [](const LeafViewObject& self) { return IsView(self.view); },
                   "True if numpy() looks into the payload: elements of whole bytes on byte boundaries, with any strides.")
      .def("numpy", &LeafArray, R"(The elements as a read-only array.

A view of the payload where `is_view` says so. Elements of other widths are unpacked, one to a byte for types up to 8
bits.)")
      .def("packed", [](const LeafViewObject& self) -> std::optional<Array> {
        std::optional<std::span<const uint8_t>> bytes = self.view.Contiguous();
        if (!bytes) return std::nullopt;
        return ByteArray(*bytes, self.held);
      }, "The leaf's bytes in the payload, never copied: packed elements in row-major order. None if others lie between them.")
      .def("__array__", [](const LeafViewObject& self, const nb::object& dtype, const nb::object& copy) {
        return Converted(LeafArray(self), IsView(self.view), dtype, copy);
      }, nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
      nb::sig("def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[typing.Any]"))
      .def("__repr__", [](const LeafViewObject& self) {
        const Leaf& leaf = self.view.leaf();
        return Text{fmt::format("<LeafView {} {}[{}]>", Quoted(leaf.path), Name(leaf.type), fmt::join(leaf.dims, ", "))};
      });

  nb::class_<ViewObject>(m, "StructView", R"(The bytes of a value seen through its type: a mapping from paths to leaves.)")
      .def_prop_ro("type", &ViewObject::type, "The type.")
      .def_prop_ro("payload", &PayloadOf, "All bytes; a view, unless they lie in several segments.")
      .def("keys", &PathsOf, "The paths of the leaves.")
      .def("values", &LeafViewsOf, "The leaves.")
      .def("__getitem__", [](const ViewObject& self, const Text& path) { return LeafAt(self, path.bytes); }, nb::arg("path"))
      .def("__contains__", [](const ViewObject& self, const Text& path) {
        return self.held()->view.type().FindLeaf(path.bytes) != nullptr;
      }, nb::arg("path"))
      .def("__iter__", [](const ViewObject& self) { return nb::iter(PathsOf(self)); },
           nb::sig("def __iter__(self) -> collections.abc.Iterator[str]"))
      .def("__len__", [](const ViewObject& self) { return self.held()->view.leaf_count(); })
      .def("__repr__", [](const ViewObject& self) {
        return Text{fmt::format("<StructView of {}, {} leaves>", Quoted(self.type().Name()), self.held()->view.leaf_count())};
      });
}

}  // namespace tessera::python
