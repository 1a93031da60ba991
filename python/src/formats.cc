// Formats: the catalogue, and formats of a user.
#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "bindings.h"
#include "tessera/base/checked.h"
#include "tessera/codecs/format_codec.h"
#include "tessera/formats/catalog.h"
#include "tessera/jobs/logical_shape.h"
#include "tessera/types/element_value.h"

namespace tessera::python {
namespace {

struct FormatObject {
  Format format;
  DeclareOptions options;  // with the data that was given
};

using Dims = std::vector<int64_t>;

FormatTypes Declare(const FormatObject& self, const Dims& shape) {
  auto declare = [&] {
    nb::gil_scoped_release release;
    return DeclareFormat(self.format, shape, self.options);
  };
  return Unwrap(declare());
}

Dims ShapeOr(const FormatObject& self, const std::optional<Dims>& shape) {
  return shape ? *shape : Dims(self.format.ExampleShape().begin(), self.format.ExampleShape().end());
}

FormatObject Make(Format format, Parameters parameters, std::optional<uint64_t> outliers, const Limits* limits) {
  TextOptions text;
  text.parameters = std::move(parameters);
  text.limits = limits;
  NotationOptions notation = NotationOptionsOf(text);
  DeclareOptions options;
  options.parameters = std::move(notation.parameters);
  options.limits = notation.limits;
  options.outliers = outliers;
  return {std::move(format), std::move(options)};
}

TypeObject TypeOf(const FormatObject& self, const Dims& shape, const std::optional<Text>& name,
                  std::optional<uint64_t> outliers, std::optional<int64_t> decoder_opset,
                  std::optional<int64_t> encoder_opset) {
  FormatObject named = self;
  if (name) named.options.name = name->bytes;
  if (outliers) named.options.outliers = outliers;
  FormatTypes types = Declare(named, shape);
  auto add = [&]() -> Result<void> {
    nb::gil_scoped_release release;
    if (decoder_opset) {
      TESSERA_ASSIGN(types.types.back().decoder, FormatDecoder(types, decoder_opset, self.options.limits));
    }
    if (encoder_opset) {
      TESSERA_ASSIGN(types.types.back().encoder, FormatEncoder(types, encoder_opset, self.options.limits));
    }
    return {};
  };
  Unwrap(add());
  return CheckedRoot(std::move(types.types), self.options.limits);
}

Array FloatArray(std::vector<float> values, const Dims& shape, const std::string& where) {
  auto held = std::make_shared<const std::vector<float>>(std::move(values));
  std::vector<uint64_t> dims(shape.begin(), shape.end());
  std::vector<uint64_t> strides(dims.size());
  uint64_t stride = sizeof(float);
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride = CheckedMul(stride, dims[i] == 0 ? 1 : dims[i]).value_or(sizeof(float));  // only without elements
  }
  return StridedArray(reinterpret_cast<const uint8_t*>(held->data()), dims, strides, ElementType::kFloat, held, where);
}

// An array's values as floats.
struct Values {
  std::vector<float> values;
  Dims shape;
};

Values ValuesOf(const nb::object& array) {
  nb::module_ numpy = nb::module_::import_("numpy");
  nb::object floats = numpy.attr("asarray")(array, nb::arg("dtype") = numpy.attr("float32"));
  Values result;
  for (nb::handle dim : floats.attr("shape")) result.shape.push_back(nb::cast<int64_t>(dim));
  const HeldBytes held = BytesOf(floats, false);
  result.values.resize(held.bytes.size() / sizeof(float));
  if (!result.values.empty()) std::memcpy(result.values.data(), held.bytes.data(), held.bytes.size());
  return result;
}

void Warn(const std::string& note) {
  if (!note.empty() && PyErr_WarnEx(PyExc_RuntimeWarning, note.c_str(), 1) != 0) throw nb::python_error();
}

ViewObject Quantize(const FormatObject& self, const nb::object& array, const nb::object& weights) {
  const Values values = ValuesOf(array);
  std::vector<float> importance;
  if (!weights.is_none()) importance = ValuesOf(weights).values;
  const FormatTypes types = Declare(self, values.shape);
  auto encode = [&] {
    nb::gil_scoped_release release;
    return EncodeFormat(self.format, types, values.values, importance, self.options.limits);
  };
  EncodedFormat encoded = Unwrap(encode());
  Warn(encoded.note);
  TypeObject type = CheckedRoot(types.types, self.options.limits);
  auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(encoded.payload));
  StructView view = Unwrap(StructView::Create(type.checked(), {std::span<const uint8_t>(*owner)}, self.format.name));
  return {std::move(type), std::move(view), owner};
}

Array Decode(const FormatObject& self, std::span<const uint8_t> payload, const Dims& shape) {
  const FormatTypes types = Declare(self, shape);
  auto decode = [&] {
    nb::gil_scoped_release release;
    return DecodeFormat(self.format, types, payload, self.options.limits);
  };
  return FloatArray(Unwrap(decode()), shape, self.format.name);
}

// True if every bit has the same place and meaning; names of declarations may differ.
bool SameLayout(const CheckedType& a, const CheckedType& b) {
  if (a.size_bits != b.size_bits || a.leaves.size() != b.leaves.size()) return false;
  for (size_t i = 0; i < a.leaves.size(); ++i) {
    const Leaf& x = a.leaves[i];
    const Leaf& y = b.leaves[i];
    const bool constants = (x.constant == nullptr) == (y.constant == nullptr);
    if (x.path != y.path || x.type != y.type || x.bits != y.bits || x.bit_offset != y.bit_offset || x.dims != y.dims ||
        !constants || (x.constant == nullptr && x.bit_strides != y.bit_strides) ||
        (x.constant != nullptr && x.constant->bytes != y.constant->bytes)) {
      return false;
    }
  }
  return true;
}

Array Dequantize(const FormatObject& self, const nb::object& value) {
  // A value of a model gives its view.
  const nb::object seen = nb::isinstance<ViewObject>(value) ? value : nb::object(value.attr("view")());
  const ViewObject& view = nb::cast<const ViewObject&>(seen);
  const CheckedType& type = view.held()->view.type();
  const std::optional<Dims> shape = LogicalShape(type.declaration);
  if (!shape) {
    throw Raised({ErrorCode::kArgument, type.declaration.Name(), "the type does not say of which shape the tensor is",
                  "decode(payload, shape)"});
  }
  if (!SameLayout(type, *Declare(self, *shape).root)) {
    throw Raised({ErrorCode::kFormatValue, type.declaration.Name(),
                  fmt::format("is not the type of {} for the shape {}", self.format.name, ShapeText(*shape)),
                  "a value that this format made"});
  }
  std::vector<uint8_t> joined;
  const Payload& payload = view.held()->view.payload();
  std::span<const uint8_t> bytes = payload.size() == 1 ? payload[0] : std::span<const uint8_t>();
  if (payload.size() > 1) {
    for (std::span<const uint8_t> segment : payload) joined.insert(joined.end(), segment.begin(), segment.end());
    bytes = joined;
  }
  return Decode(self, bytes, *shape);
}

// FormatDecoder or FormatEncoder, as text.
template <auto build_function>
Text FunctionText(const FormatObject& self, const Dims& shape, std::optional<int64_t> opset) {
  const FormatTypes types = Declare(self, shape);
  auto build = [&] {
    nb::gil_scoped_release release;
    return build_function(types, opset, self.options.limits);
  };
  return {PrintFunctionText(Unwrap(build()), 0)};
}

std::optional<Profile> ProfileOfFormat(const FormatObject& self, std::optional<Dims> shape) {
  if (!self.format.by_profile) return std::nullopt;
  return Unwrap(FormatProfile(self.format, std::move(shape), self.options));
}

nb::typed<nb::list, Text> Texts(const std::vector<std::string>& texts) {
  nb::typed<nb::list, Text> list;
  for (const std::string& text : texts) list.append(nb::cast(Text{text}));
  return list;
}

}  // namespace

void BindFormats(nb::module_& m) {
  nb::class_<FormatObject>(m, "Format", R"(A named layout of quantized tensors: one of the catalogue, or of a text.

Arrays become values (`quantize`), and values or bare payloads become arrays (`dequantize`, `decode`). `str` is the
format's text; `Format.parse` reads that. Immutable.)")
      .def(
          "__init__",
          [](FormatObject* self, const Text& name, Parameters parameters, std::optional<uint64_t> outliers,
             const Limits* limits) {
            new (self) FormatObject(Make(Unwrap(FindFormat(name.bytes)), std::move(parameters), outliers, limits));
          },
          nb::arg("name"), nb::kw_only(), nb::arg("parameters") = nb::none(), nb::arg("outliers") = nb::none(),
          nb::arg("limits") = nb::none(),
          R"(The format of the catalogue with this name or alias, in any case; a family takes every block size.

parameters: data that belongs to a model and not to the format, such as a codebook. outliers: how many values a sparse
format keeps apart, where its outlier_ratio is not to say so.)")
      .def_static(
          "parse",
          [](const Text& text, Parameters parameters, std::optional<uint64_t> outliers, const std::string& file_name,
             const Limits* limits) {
            Format format = Unwrap(ParseFormat(text.bytes, Given(limits), file_name));
            return Make(std::move(format), std::move(parameters), outliers, limits);
          },
          nb::arg("text"), nb::kw_only(), nb::arg("parameters") = nb::none(), nb::arg("outliers") = nb::none(),
          nb::arg("file_name") = "", nb::arg("limits") = nb::none(),
          "The format that a text describes: a header and a profile or struct types. Of a family, `with_block` makes "
          "formats.")
      .def(
          "with_block",
          [](const FormatObject& self, int64_t block) {
            if (block <= 0) {
              throw Raised(
                  {ErrorCode::kArgument, self.format.name, fmt::format("a block has {} values", block), "1 or more"});
            }
            return FormatObject{WithBlock(self.format, block), self.options};
          },
          nb::arg("block"), "The format of a family for one block size; the format itself where it is no family.")
      .def_prop_ro(
          "name", [](const FormatObject& self) { return Text{self.format.name}; }, "Lower case.")
      .def_prop_ro(
          "title", [](const FormatObject& self) { return Text{self.format.title}; }, "What it is, in a few words.")
      .def_prop_ro(
          "author", [](const FormatObject& self) { return Text{self.format.author}; }, "Whose layout it is.")
      .def_prop_ro(
          "aliases", [](const FormatObject& self) { return Texts(self.format.aliases); }, "Other names.")
      .def_prop_ro(
          "sources", [](const FormatObject& self) { return Texts(self.format.sources); },
          "Where the layout is defined.")
      .def_prop_ro(
          "doc_string", [](const FormatObject& self) { return Text{self.format.doc_string}; }, "Empty if it has none.")
      .def_prop_ro(
          "block", [](const FormatObject& self) { return self.format.BlockValues(); },
          "Values of a block along the last axis, which has to be a multiple of it.")
      .def_prop_ro(
          "shape", [](const FormatObject& self) { return ShapeOf(self.format.ExampleShape()); },
          "The shape of the example that tables show.")
      .def_prop_ro(
          "data",
          [](const FormatObject& self) {
            nb::typed<nb::dict, Text, int64_t> dict;
            for (const FormatData& data : self.format.data) dict[nb::cast(Text{data.parameter})] = data.values;
            return dict;
          },
          "Parameters that have to be given, and how many floats each takes.")
      .def(
          "bits_per_weight",
          [](const FormatObject& self, const std::optional<Dims>& shape) {
            FormatObject sized = self;
            sized.options = WithPlaceholders(self.format, self.options);
            return Declare(sized, ShapeOr(self, shape)).BitsPerWeight();
          },
          nb::arg("shape") = nb::none(),
          "Bits of the payload for each value of a tensor of this shape (default: of the example), computed from the "
          "type; None where there are no values.")
      .def("struct_type", &TypeOf, nb::arg("shape"), nb::kw_only(), nb::arg("name") = nb::none(),
           nb::arg("outliers") = nb::none(), nb::arg("decoder_opset") = nb::none(),
           nb::arg("encoder_opset") = nb::none(),
           R"(The struct type of a tensor of this shape.

name: of the type. outliers: how many values a sparse profile keeps apart. decoder_opset: gives a format by profile a
decoder of operators of that version of ONNX's opset, 13 to 26; one by struct types has its own. encoder_opset: the same
for an encoder.
Raises TesseraError for a shape that the blocks do not divide, with the nearest that they do.)")
      .def("profile", &ProfileOfFormat, nb::arg("shape") = nb::none(),
           "The profile of a format that is described by one, else None.")
      .def("decoder", &FunctionText<FormatDecoder>, nb::arg("shape"), nb::kw_only(), nb::arg("opset") = nb::none(),
           "The function from the leaves of the struct type to the tensor, of standard operators, in ONNX's text "
           "syntax.")
      .def("encoder", &FunctionText<FormatEncoder>, nb::arg("shape"), nb::kw_only(), nb::arg("opset") = nb::none(),
           R"(The function from the tensor to the bytes, of standard operators, in ONNX's text syntax.

Raises TesseraError, "no-encoder", where a format leaves a choice to whoever encodes.)")
      .def("quantize", &Quantize, nb::arg("array"), nb::arg("weights") = nb::none(),
           nb::sig("def quantize(self, array: ArrayLike, weights: ArrayLike | None = None) -> StructView"),
           R"(The value that stands for an array, which is taken as float32.

weights: how much each column matters, the same for every row.
`Model.add_struct_initializer(name, value.type, value.payload)` puts it into a model.)")
      .def("dequantize", &Dequantize, nb::arg("value"),
           nb::sig("def dequantize(self, value: StructView | StructValue) -> NDArray[typing.Any]"),
           "The float32 array that a value of this format stands for.")
      .def(
          "decode",
          [](const FormatObject& self, const nb::object& payload, const Dims& shape) {
            const HeldBytes held = BytesOf(payload, false);
            return Decode(self, held.bytes, shape);
          },
          nb::arg("payload"), nb::arg("shape"),
          nb::sig("def decode(self, payload: bytes | bytearray | memoryview | NDArray[typing.Any], shape: "
                  "collections.abc.Sequence[int]) -> NDArray[typing.Any]"),
          "The float32 array of this shape that a bare payload stands for.")
      .def(
          "__eq__",
          [](const FormatObject& a, const FormatObject& b) {
            return a.format == b.format && a.options.parameters == b.options.parameters;
          },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const FormatObject& self) { return std::hash<std::string>()(self.format.name); })
      .def("__str__", [](const FormatObject& self) { return Text{PrintFormat(self.format)}; })
      .def("__repr__", [](const FormatObject& self) { return Text{"<Format " + Quoted(self.format.name) + ">"}; });

  m.def(
      "formats",
      [] {
        nb::typed<nb::list, Text> names;
        for (const Format& format : AllFormats()) names.append(nb::cast(Text{format.name}));
        return names;
      },
      "The names of all formats of the catalogue; a family has one for each block size that it lists, and takes every "
      "other as well.");
}

}  // namespace tessera::python
