// Struct types, limits, and the notation.
#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings.h"
#include "tessera/codecs/decoder.h"
#include "tessera/onnx/convert.h"
#include "tessera/types/closure.h"
#include "tessera/types/notation.h"

namespace tessera::python {
namespace {

// True for `path` itself and what lies below it.
bool IsAt(const std::string& where, const std::string& path) {
  return where.starts_with(path) && (where.size() == path.size() || where[path.size()] == '.');
}

ParameterValue ParameterOf(const nb::object& value, const std::string& name) {
  if (nb::isinstance<nb::bool_>(value)) return std::string(nb::cast<bool>(value) ? "true" : "false");
  if (nb::isinstance<nb::str>(value)) return nb::cast<Text>(value).bytes;
  const bool is_array = nb::isinstance(value, nb::module_::import_("numpy").attr("ndarray"));
  if (PyIndex_Check(value.ptr()) && !is_array) {  // an int, or one of NumPy's
    int64_t number = 0;
    if (!nb::try_cast(nb::object(nb::steal(PyNumber_Index(value.ptr()))), number)) {
      throw Raised({ErrorCode::kArgument, name, "the number does not fit into 64 bits", "-2^63 to 2^63 - 1"});
    }
    return number;
  }
  // The shortest text that is the same double.
  if (nb::isinstance<nb::float_>(value)) return nb::cast<std::string>(nb::repr(value));
  return ConstantOf(value, name);
}

struct ParsedTypes {
  std::vector<TypeObject> types;
  std::vector<bool> referenced;
};

ParsedTypes Parse(const Text& text, const TextOptions& options) {
  const NotationOptions notation = NotationOptionsOf(options);
  NotationResult result = Unwrap(ParseNotation(text.bytes, notation));
  Result<std::vector<StructType>> concrete = std::move(result).Concrete();
  if (!concrete) throw Raised(InFile(std::move(concrete).error(), options.file_name));

  ParsedTypes parsed;
  const size_t count = concrete->size();
  parsed.referenced.resize(count);
  for (StructType& type : *concrete) {
    ForEachReference(&type.root, [&](TypeReference* reference) {
      if (reference->index >= 0 && static_cast<size_t>(reference->index) < count)
        parsed.referenced[reference->index] = true;
    });
  }
  auto list = std::make_shared<TypeList>();
  Problems problems;
  list->table = TypeTable::Build(*std::move(concrete), notation.limits, &problems);

  // Only what others refer to, or a model holds, needs a name.
  std::vector<std::shared_ptr<const CheckedType>> nameless(count);
  for (size_t i = 0; i < count; ++i) {
    const StructType& type = list->table.declaration(i);
    if (!type.Name().empty() || parsed.referenced[i]) continue;
    Problems own;
    Path root;
    nameless[i] = list->table.CheckInline(type, root.Index("struct_types", i), &own);
    if (!own.empty()) throw Raised(InFile(own.list().front(), options.file_name));
  }
  for (const Error& error : problems.list()) {
    bool excused = false;
    for (size_t i = 0; i < count && !excused; ++i) {
      excused = nameless[i] != nullptr && IsAt(error.where, fmt::format("struct_types[{}]", i));
    }
    if (!excused) throw Raised(InFile(error, options.file_name));
  }
  for (size_t i = 0; i < count; ++i) {
    if (nameless[i] != nullptr)
      parsed.types.emplace_back(list, nameless[i]);
    else
      parsed.types.emplace_back(list, static_cast<int32_t>(i));
    parsed.types.back().checked();
  }
  return parsed;
}

nb::list LeavesOf(const TypeObject& self) {
  nb::list leaves;
  for (const Leaf& leaf : self.checked()->leaves) leaves.append(nb::cast(LeafObject{self.checked(), &leaf}));
  return leaves;
}

std::optional<Text> FunctionTextOf(const std::optional<Function>& function) {
  if (!function) return std::nullopt;
  return Text{PrintFunctionText(*function, 0)};
}

std::string Repr(const TypeObject& self) {
  std::string name = self.Name().empty() ? "without a name" : Quoted(self.Name());
  if (std::optional<Error> problem = self.Problem()) {
    return fmt::format("<StructType {}, not in order: {}>", name, Info(problem->code).slug);
  }
  uint64_t bits = self.checked()->size_bits;
  std::string size = bits % 8 == 0 ? fmt::format("{} bytes", bits / 8) : fmt::format("{} bits", bits);
  return fmt::format("<StructType {}, {}, {} leaves>", name, size, self.checked()->leaves.size());
}

}  // namespace

NotationOptions NotationOptionsOf(const TextOptions& options) {
  NotationOptions notation;
  notation.limits = Given(options.limits);
  notation.shape = options.shape;
  notation.file_name = options.file_name;
  if (!options.parameters.is_none()) {
    for (nb::handle item : options.parameters.attr("items")()) {
      std::string name = nb::cast<Text>(item[0]).bytes;
      notation.parameters[name] = ParameterOf(nb::borrow(item[1]), name);
    }
  }
  return notation;
}

Error InFile(Error error, const std::string& file) {
  if (!file.empty()) error.where = error.where.empty() ? file : file + ": " + error.where;
  return error;
}

TypeObject CheckedRoot(std::vector<StructType> types, const Limits& limits) {
  auto list = std::make_shared<TypeList>();
  Problems problems;
  list->table = TypeTable::Build(std::move(types), limits, &problems);
  if (!problems.empty()) throw Raised(problems.list().front());
  TypeObject root(list, static_cast<int32_t>(list->table.size()) - 1);
  root.checked();
  return root;
}

std::shared_ptr<const TypeList> TypeListOf(const Model& model, const Limits& limits) {
  auto list = std::make_shared<TypeList>();
  Problems conversion(limits.problems);
  std::vector<StructType> types;
  std::vector<bool> refused;
  Path root;
  for (int i = 0; i < model.proto().struct_types_size(); ++i) {
    size_t before = conversion.count();
    types.push_back(FromProto(model.proto().struct_types(i), root.Index("struct_types", i), &conversion));
    refused.push_back(conversion.count() != before);
  }
  Problems checks(limits.problems);
  list->table = TypeTable::Build(std::move(types), limits, &checks, refused);
  list->conversion = conversion.list();
  list->problems = conversion.list();
  list->problems.insert(list->problems.end(), checks.list().begin(), checks.list().end());
  return list;
}

std::optional<Error> TypeObject::Problem() const {
  if (checked_ != nullptr) return std::nullopt;
  checked_ = list_->table.Get(index_);
  if (checked_ != nullptr) return std::nullopt;
  const std::string path = fmt::format("struct_types[{}]", index_);
  for (const Error& error : list_->problems) {
    if (IsAt(error.where, path)) return error;
  }
  return Error{ErrorCode::kTypeInvalid, path, "refers to a declaration that is not in order", "types without problems"};
}

const std::shared_ptr<const CheckedType>& TypeObject::checked() const {
  if (std::optional<Error> problem = Problem()) throw Raised(*std::move(problem));
  return checked_;
}

std::vector<StructType> TypeObject::Closed() const { return Closure(declaration(), list_->table.declarations()); }

std::string TypeObject::Notation() const {
  if (!list_->conversion.empty()) checked();  // the text would not say all
  return PrintNotation(Closed());
}

std::vector<TypeObject> ParseTypes(const Text& text, const TextOptions& options) { return Parse(text, options).types; }

TypeObject ParseType(const Text& text, const TextOptions& options) {
  ParsedTypes parsed = Parse(text, options);
  std::vector<std::string> roots;
  const TypeObject* root = nullptr;
  for (size_t i = 0; i < parsed.types.size(); ++i) {
    if (parsed.referenced[i]) continue;
    root = &parsed.types[i];
    roots.push_back(root->Name().empty() ? fmt::format("struct_types[{}]", i) : root->Name());
  }
  if (roots.size() != 1) {
    throw Raised({ErrorCode::kArgument, options.file_name,
                  roots.empty() ? "the text declares no type"
                                : fmt::format("the text declares {} types that no other refers to: {}", roots.size(),
                                              fmt::join(roots, ", ")),
                  "one such type; parse_types takes any number"});
  }
  return *root;
}

void BindTypes(nb::module_& m) {
  constexpr Limits kDefaults;
  nb::class_<Limits>(m, "Limits", "What the checker accepts at most. The defaults are safe for a stranger's file.")
      .def(
          "__init__",
          [](Limits* self, uint32_t depth, uint64_t fields, uint64_t leaves, uint64_t total_leaves,
             uint64_t constant_bytes, uint64_t payload_bytes, uint64_t profile_bytes, uint32_t name_bytes,
             uint32_t message_depth, uint64_t problems) {
            new (self) Limits{depth,         fields,        leaves,     total_leaves,  constant_bytes,
                              payload_bytes, profile_bytes, name_bytes, message_depth, problems};
          },
          nb::kw_only(), nb::arg("depth") = kDefaults.depth, nb::arg("fields") = kDefaults.fields,
          nb::arg("leaves") = kDefaults.leaves, nb::arg("total_leaves") = kDefaults.total_leaves,
          nb::arg("constant_bytes") = kDefaults.constant_bytes, nb::arg("payload_bytes") = kDefaults.payload_bytes,
          nb::arg("profile_bytes") = kDefaults.profile_bytes, nb::arg("name_bytes") = kDefaults.name_bytes,
          nb::arg("message_depth") = kDefaults.message_depth, nb::arg("problems") = kDefaults.problems)
      .def_rw("depth", &Limits::depth, "Nesting of parts and references, the root being 1.")
      .def_rw("fields", &Limits::fields, "Fields of one declaration, components of bit packings included.")
      .def_rw("leaves", &Limits::leaves, "Leaves of one declaration.")
      .def_rw("total_leaves", &Limits::total_leaves, "Leaves of all declarations that a file makes the checker expand.")
      .def_rw("constant_bytes", &Limits::constant_bytes, "Bytes of the constants of one declaration.")
      .def_rw("payload_bytes", &Limits::payload_bytes, "Bytes of one value.")
      .def_rw("profile_bytes", &Limits::profile_bytes, "Bytes of memory that one profile takes.")
      .def_rw("name_bytes", &Limits::name_bytes, "Bytes of one field or component name.")
      .def_rw("message_depth", &Limits::message_depth, "Nesting of protobuf messages of any kind.")
      .def_rw("problems", &Limits::problems, "Problems that are listed one by one.");

  nb::class_<LeafObject>(m, "Leaf", R"(One leaf of a struct type: where its elements lie in a value.

Element (i0, i1, ...) starts at bit `bit_offset + i0 * bit_strides[0] + i1 * bit_strides[1] + ...` of the payload, and is
`bits` wide. A constant has no place in the payload; its elements are in `constant`.)")
      .def_prop_ro(
          "path", [](const LeafObject& self) { return Text{self.leaf->path}; },
          "Full name, such as `blocks.scale`; `values` for a root array of scalars.")
      .def_prop_ro(
          "input_name", [](const LeafObject& self) { return Text{self.leaf->input_name}; },
          "The decoder's name for it.")
      .def_prop_ro(
          "element_type", [](const LeafObject& self) { return Text{std::string(Name(self.leaf->type))}; },
          "ONNX's name of the type, such as `INT4`; for a component of a bit packing the narrowest unsigned "
          "type that holds it.")
      .def_prop_ro(
          "dtype", [](const LeafObject& self) { return DtypeOf(self.leaf->type); },
          "NumPy or ml_dtypes type of an unpacked element.")
      .def_prop_ro(
          "bits", [](const LeafObject& self) { return self.leaf->bits; }, "Width of one element in the payload.")
      .def_prop_ro(
          "bit_offset", [](const LeafObject& self) { return self.leaf->bit_offset; },
          "Bit of the payload at which the first element starts.")
      .def_prop_ro(
          "shape", [](const LeafObject& self) { return ShapeOf(self.leaf->dims); },
          "The dimensions of the arrays around it, then its own.")
      .def_prop_ro(
          "bit_strides", [](const LeafObject& self) { return ShapeOf(self.leaf->bit_strides); },
          "Bits from one element to the next, for each dimension.")
      .def_prop_ro(
          "constant",
          [](const LeafObject& self) -> std::optional<Array> {
            const Constant* constant = self.leaf->constant;
            if (constant == nullptr) return std::nullopt;
            return PackedArray(constant->bytes, self.leaf->dims, constant->type, self.type, self.leaf->path);
          },
          "The elements of a constant field, None for a leaf in the payload.")
      .def("__repr__", [](const LeafObject& self) {
        return Text{fmt::format("<Leaf {} {}[{}]{}>", Quoted(self.leaf->path), Name(self.leaf->type),
                                fmt::join(self.leaf->dims, ", "),
                                self.leaf->constant ? ", constant" : fmt::format(" at bit {}", self.leaf->bit_offset))};
      });

  nb::class_<TypeObject>(m, "StructType", R"(A schema for bytes: what each bit of a value is.

`str` is the type in the text notation, with the declarations that it refers to; `StructType.parse` reads that. Two types
are equal if their declarations are, and all that these refer to. Immutable.)")
      .def_static(
          "parse",
          [](const Text& text, std::optional<std::vector<int64_t>> shape, Parameters parameters, std::string file_name,
             const Limits* given) {
            return ParseType(text, {std::move(shape), std::move(parameters), std::move(file_name), given});
          },
          nb::arg("text"), nb::kw_only(), nb::arg("shape") = nb::none(), nb::arg("parameters") = nb::none(),
          nb::arg("file_name") = "", nb::arg("limits") = nb::none(),
          R"(The type that a text declares: the one that no other of the text refers to.

shape: the logical shape, which binds `rows`, `cols` and `elements`.
parameters: values of other names in the text: numbers, literals, or arrays for the data of constants.
file_name: how errors call the text.)")
      .def_prop_ro(
          "name", [](const TypeObject& self) { return Text{self.Name()}; }, "Empty if it has none.")
      .def_prop_ro(
          "doc_string", [](const TypeObject& self) { return Text{self.declaration().doc_string.value_or("")}; },
          "Empty if it has none.")
      .def_prop_ro(
          "metadata",
          [](const TypeObject& self) {
            nb::typed<nb::dict, Text, Text> dict;
            for (const Metadata& entry : self.declaration().metadata)
              dict[nb::cast(Text{entry.key})] = Text{entry.value};
            return dict;
          },
          "The metadata_props.")
      .def_prop_ro(
          "index", [](const TypeObject& self) { return self.index() < 0 ? std::nullopt : std::optional(self.index()); },
          "Position in the model's struct_types, or in the text; None for a type that stands in a value or has no "
          "name.")
      .def_prop_ro(
          "size_bits", [](const TypeObject& self) { return self.checked()->size_bits; }, "Bits of one value.")
      .def_prop_ro(
          "size_bytes",
          [](const TypeObject& self) {
            uint64_t bits = self.checked()->size_bits;
            if (bits % 8 != 0) {
              throw Raised({ErrorCode::kSizeBits, self.Name(), fmt::format("has {} bits", bits),
                            "size_bits: a declaration that is only a part of others may end inside a byte"});
            }
            return bits / 8;
          },
          "Bytes of one value.")
      .def_prop_ro("leaves", &LeavesOf, nb::sig("def leaves(self) -> list[Leaf]"),
                   "The leaves, depth-first in declaration order: the decoder's inputs.")
      .def_prop_ro(
          "decoder", [](const TypeObject& self) { return FunctionTextOf(self.declaration().decoder); },
          "The function from leaves to the tensor, in ONNX's text syntax; None if there is none.")
      .def_prop_ro(
          "encoder", [](const TypeObject& self) { return FunctionTextOf(self.declaration().encoder); },
          "The function from the tensor to bytes, in ONNX's text syntax; None if there is none.")
      .def(
          "portable_decoder",
          [](const TypeObject& self, int64_t opset) {
            self.checked();
            const std::vector<StructType> types = self.Closed();
            const uint64_t bytes = self.checked()->size_bits / 8;
            auto build = [&] {
              nb::gil_scoped_release release;
              return PortableDecoder(types, std::span(&bytes, 1), opset);
            };
            return FunctionTextOf(Unwrap(build()));
          },
          nb::arg("opset"),
          R"(The function from the bytes of a value, a UINT8 tensor, to the tensor, in ONNX's text syntax.

It consists of standard operators of that version of the opset, 13 to 26, and does what the decoder does. Raises
TesseraError where there is no such function.)")
      .def("profile", &ProfileOf, nb::arg("shape") = nb::none(), nb::kw_only(), nb::arg("limits") = nb::none(),
           R"(The profile that this type is the translation of.

shape: the logical shape, where the type itself does not tell it.
Raises TesseraError where there is no such profile.)")
      .def("view", &ViewOfBuffer, nb::arg("buffer"),
           nb::sig("def view(self, buffer: bytes | bytearray | memoryview | NDArray[typing.Any]) -> StructView"),
           "The bytes of one value seen through this type. Nothing is copied; the view keeps the buffer.")
      .def(
          "__eq__", [](const TypeObject& a, const TypeObject& b) { return a.Closed() == b.Closed(); },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const TypeObject& self) { return std::hash<std::string>()(self.Name()); })
      .def("__str__", [](const TypeObject& self) { return Text{self.Notation()}; })
      .def("__repr__", [](const TypeObject& self) { return Text{Repr(self)}; });

  m.def(
      "parse_types",
      [](const Text& text, std::optional<std::vector<int64_t>> shape, Parameters parameters, std::string file_name,
         const Limits* given) {
        return ParseTypes(text, {std::move(shape), std::move(parameters), std::move(file_name), given});
      },
      nb::arg("text"), nb::kw_only(), nb::arg("shape") = nb::none(), nb::arg("parameters") = nb::none(),
      nb::arg("file_name") = "", nb::arg("limits") = nb::none(),
      "All types that a text in the notation declares, in its order. Arguments as for StructType.parse.");
}

}  // namespace tessera::python
