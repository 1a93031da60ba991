// Models: load, save, check, inspect, and their tensors and struct values.
#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <mutex>

#include "bindings.h"
#include "tessera/jobs/check.h"
#include "tessera/jobs/inspect.h"
#include "tessera/jobs/walk.h"
#include "tessera/onnx/check_model.h"
#include "tessera/onnx/edit.h"
#include "tessera/onnx/forms.h"
#include "tessera/onnx/tensor.h"

namespace tessera::python {
namespace {

// The initializers of a model by name. A name that is empty or taken gives way to the path.
template <typename Proto>
struct ValueIndex {
  struct Entry {
    std::string key;
    std::string path;
    const Proto* proto;
  };
  std::vector<Entry> entries;
  std::unordered_map<std::string, size_t> by_key;

  void Add(const Proto& proto, std::string path) {
    std::string key = proto.name().empty() || by_key.contains(proto.name()) ? path : proto.name();
    by_key.emplace(key, entries.size());
    entries.push_back({std::move(key), std::move(path), &proto});
  }
};

// What all objects of a model share. Messages stay where they are: nothing here removes or moves one.
//
// Functions that read the model without the GIL hold the mutex shared; one that changes it holds it alone, and the GIL.
struct Shared {
  explicit Shared(Model loaded, const Limits& given) : model(std::move(loaded)), limits(given) {}

  Model model;
  Limits limits;
  std::shared_mutex mutex;

  // Made on first use, with the GIL held.
  std::shared_ptr<const TypeList> types;
  std::optional<ValueIndex<ir::TensorProto>> tensors;
  std::optional<ValueIndex<ir::StructProto>> values;

  const std::shared_ptr<const TypeList>& Types() {
    if (types == nullptr) types = TypeListOf(model, limits);
    return types;
  }
  void MakeIndex() {
    if (tensors) return;
    tensors.emplace();
    values.emplace();
    ForEachInitializer(model.proto(), [&](const auto& proto, const Path& path) {
      if constexpr (std::is_same_v<std::decay_t<decltype(proto)>, ir::TensorProto>)
        tensors->Add(proto, path.Str());
      else
        values->Add(proto, path.Str());
    });
  }
  void Changed() {
    types.reset();
    tensors.reset();
    values.reset();
  }
};
using SharedModel = std::shared_ptr<Shared>;

struct ModelObject {
  SharedModel shared;
};

struct TensorObject {
  SharedModel shared;
  const ir::TensorProto* proto;
  std::string path;
  std::string Where() const { return proto->name().empty() ? path : "tensor " + Quoted(proto->name()); }
};

struct ValueObject {
  SharedModel shared;
  const ir::StructProto* proto;
  std::string path;
  std::string Where() const { return proto->name().empty() ? path : "struct value " + Quoted(proto->name()); }
};

// Calls read(model) without the GIL. Nothing is added to the model meanwhile.
template <typename Read>
auto WithoutGil(const SharedModel& shared, Read read) {
  nb::gil_scoped_release release;  // first, so that the lock is gone before the GIL is waited for
  std::shared_lock lock(shared->mutex);
  return read(shared->model);
}

// Calls change(model) with the GIL, when nobody reads without it.
template <typename Change>
auto Alone(const SharedModel& shared, Change change) {
  std::unique_lock lock(shared->mutex, std::defer_lock);
  {
    nb::gil_scoped_release release;
    lock.lock();
  }
  auto result = change(shared->model);
  shared->Changed();
  return result;
}

ModelObject LoadModel(const std::filesystem::path& path, const Limits* limits) {
  LoadOptions options{.limits = Given(limits)};
  nb::gil_scoped_release release;
  return {std::make_shared<Shared>(Unwrap(Model::Load(path, options)), options.limits)};
}

ModelObject ModelFromBytes(const nb::object& data, const std::filesystem::path& folder, const Limits* limits) {
  LoadOptions options{.limits = Given(limits)};
  HeldBytes held = BytesOf(data, false);
  std::vector<uint8_t> bytes(held.bytes.begin(), held.bytes.end());
  nb::gil_scoped_release release;
  return {std::make_shared<Shared>(Unwrap(Model::FromBytes(std::move(bytes), folder, options)), options.limits)};
}

// A model of its own: objects that look into the other one stay as they are.
ModelObject ToForm(const ModelObject& self, const Text& form, const Limits* given) {
  const std::optional<ModelForm> wanted = ModelFormFromName(form.bytes);
  if (!wanted) {
    throw Raised({ErrorCode::kArgument, form.bytes, "is no form of a model",
                  fmt::format("{}", fmt::join(AllModelForms(), ", "))});
  }
  LoadOptions options{.limits = Given(given)};
  auto convert = [&](const Model& model) -> Result<Model> {
    TESSERA_ASSIGN(const std::string bytes, model.SerializeToString());
    TESSERA_ASSIGN(Model copy, Model::FromBytes({bytes.begin(), bytes.end()}, model.folder(), options));
    TESSERA_TRY(ConvertForm(&copy, *wanted, options.limits));
    return copy;
  };
  return {std::make_shared<Shared>(Unwrap(WithoutGil(self.shared, convert)), options.limits)};
}

// ---- tensors

std::vector<uint64_t> DimsOf(const ir::TensorProto& tensor) { return {tensor.dims().begin(), tensor.dims().end()}; }

bool IsView(const TensorObject& self) {
  std::optional<ElementType> type = ElementTypeFromNumber(self.proto->data_type());
  return type && BitWidth(*type) != 0 && BitWidth(*type) % 8 == 0 &&
         (IsExternal(*self.proto) || self.proto->has_raw_data());
}

Array StringArray(const TensorObject& self) {
  nb::list strings;
  for (const std::string& string : self.proto->string_data()) strings.append(nb::bytes(string.data(), string.size()));
  nb::module_ numpy = nb::module_::import_("numpy");
  nb::object array = numpy.attr("empty")(self.proto->string_data_size(), nb::arg("dtype") = numpy.attr("object_"));
  array[nb::slice(nb::none(), nb::none(), nb::none())] = strings;
  array = array.attr("reshape")(ShapeOf(DimsOf(*self.proto)));
  array.attr("setflags")(nb::arg("write") = false);
  return nb::borrow<Array>(array);
}

Array TensorArray(const TensorObject& self) {
  const ir::TensorProto& tensor = *self.proto;
  const Model& model = self.shared->model;
  const std::string where = self.Where();
  TensorFacts facts = Unwrap(FactsOf(tensor, where));
  std::span<const uint8_t> bytes = Unwrap(model.Bytes(tensor, where));
  if (IsExternal(tensor)) {
    if (bytes.size() != facts.bytes) {
      throw Raised({ErrorCode::kTensorSize, where, fmt::format("has {} bytes of external data", bytes.size()),
                    fmt::format("{} bytes", facts.bytes)});
    }
  } else {
    Unwrap(CheckTensorData(tensor, bytes.size(), where));
  }
  if (facts.type == ElementType::kString) return StringArray(self);
  if (IsExternal(tensor) || tensor.has_raw_data()) {
    return PackedArray(bytes, DimsOf(tensor), facts.type, self.shared, where);
  }
  auto canonical = std::make_shared<const std::vector<uint8_t>>(Unwrap(CanonicalBytes(tensor, bytes, where)));
  return PackedArray(*canonical, DimsOf(tensor), facts.type, canonical, where);
}

ElementType TypeOfTensor(const TensorObject& self) {
  return Unwrap([&]() -> Result<ElementType> {
    std::optional<ElementType> type = ElementTypeFromNumber(self.proto->data_type());
    if (type && *type != ElementType::kUndefined) return *type;
    return Fail(ErrorCode::kTensorType, self.Where(), fmt::format("data_type is {}", self.proto->data_type()),
                "a number of TensorProto.DataType");
  }());
}

// ---- struct values

TypeObject TypeOfValue(const ValueObject& self) {
  const std::shared_ptr<const TypeList>& types = self.shared->Types();
  Problems problems;
  std::shared_ptr<const CheckedType> checked = TypeOf(*self.proto, types->table, Path(self.Where()), &problems);
  if (checked == nullptr) throw Raised(problems.list().front());
  return self.proto->has_struct_type() ? TypeObject(types, checked) : TypeObject(types, self.proto->type());
}

ViewObject ViewOf(const ValueObject& self) {
  const std::string where = self.Where();
  TypeObject type = TypeOfValue(self);
  Payload payload = Unwrap(self.shared->model.Bytes(*self.proto, where));
  StructView view = Unwrap(StructView::Create(type.checked(), std::move(payload), where));
  return {std::move(type), std::move(view), self.shared};
}

// ---- lookups

template <typename Object, typename Index>
nb::typed<nb::dict, Text, Object> AsDict(const SharedModel& shared, const Index& index) {
  nb::typed<nb::dict, Text, Object> dict;
  for (const auto& entry : index.entries) {
    dict[nb::cast(Text{entry.key})] = nb::cast(Object{shared, entry.proto, entry.path});
  }
  return dict;
}

template <typename Object, typename Index>
Object Lookup(const SharedModel& shared, const Index& index, const std::string& name, std::string_view kind) {
  auto found = index.by_key.find(name);
  if (found == index.by_key.end()) {
    throw Raised({ErrorCode::kNoSuchValue, shared->model.path().string(),
                  fmt::format("the model has no {} {}", kind, Quoted(name)),
                  fmt::format("one of its {}", index.entries.size())});
  }
  const auto& entry = index.entries[found->second];
  return {shared, entry.proto, entry.path};
}

TensorObject TensorAt(const ModelObject& self, const Text& name) {
  self.shared->MakeIndex();
  return Lookup<TensorObject>(self.shared, *self.shared->tensors, name.bytes, "tensor");
}
ValueObject ValueAt(const ModelObject& self, const Text& name) {
  self.shared->MakeIndex();
  return Lookup<ValueObject>(self.shared, *self.shared->values, name.bytes, "struct value");
}

// ---- additions

// A type as callers give it: an index, a name, a text, or a StructType.
std::variant<int64_t, std::vector<StructType>> TypeGiven(const SharedModel& shared, const nb::object& type) {
  if (nb::isinstance<TypeObject>(type)) {
    const auto& object = nb::cast<const TypeObject&>(type);
    object.checked();
    if (object.list() == shared->types && object.index() >= 0) return int64_t{object.index()};
    return object.Closed();
  }
  if (nb::isinstance<nb::str>(type)) {
    Text text = nb::cast<Text>(type);
    if (int32_t index = shared->Types()->table.Find(text.bytes); index >= 0) return int64_t{index};
    if (text.bytes.find('{') == std::string::npos) {
      throw Raised({ErrorCode::kNoSuchValue, shared->model.path().string(),
                    "the model has no struct type " + Quoted(text.bytes),
                    "the name of one, or a text that declares one"});
    }
    TextOptions options;
    options.limits = &shared->limits;
    return ParseType(text, options).Closed();
  }
  int64_t index = 0;
  if (!nb::try_cast(type, index)) throw nb::type_error("type: expected a StructType, a str or an int");
  return index;
}

int32_t AddType(const ModelObject& self, const nb::object& type) {
  if (PyIndex_Check(type.ptr())) throw nb::type_error("type: expected a StructType or a str");
  auto given = TypeGiven(self.shared, type);
  if (const auto* index = std::get_if<int64_t>(&given)) return static_cast<int32_t>(*index);
  return Alone(self.shared,
               [&](Model& model) { return Unwrap(AddStructType(&model, std::get<1>(given), self.shared->limits)); });
}

ValueObject AddValue(const ModelObject& self, const Text& name, const nb::object& type, const nb::object& data) {
  auto given = TypeGiven(self.shared, type);
  HeldBytes held = BytesOf(data, false);
  std::vector<uint8_t> bytes(held.bytes.begin(), held.bytes.end());
  ir::StructProto* value = Alone(self.shared, [&](Model& model) {
    const Limits& limits = self.shared->limits;
    if (const auto* index = std::get_if<int64_t>(&given)) {
      return Unwrap(AddStructInitializer(&model, name.bytes, *index, std::move(bytes), limits));
    }
    return Unwrap(AddStructInitializer(&model, name.bytes, std::get<1>(given), std::move(bytes), limits));
  });
  int last = self.shared->model.proto().graph().struct_initializer_size() - 1;
  return {self.shared, value, fmt::format("graph.struct_initializer[{}]", last)};
}

// ---- save, check, inspect

SaveReport SaveModel(const ModelObject& self, const std::filesystem::path& path, const std::string& data,
                     std::optional<uint64_t> model_bytes, std::optional<uint64_t> external_bytes) {
  SaveOptions options;
  if (data == "keep")
    options.data = SaveOptions::Data::kKeep;
  else if (data == "external")
    options.data = SaveOptions::Data::kExternal;
  else if (data == "inline")
    options.data = SaveOptions::Data::kInline;
  else
    throw Raised({ErrorCode::kArgument, "data", Quoted(data) + " is no such choice", "keep, external or inline"});
  if (model_bytes) options.model_bytes = *model_bytes;
  if (external_bytes) options.external_bytes = *external_bytes;
  return Unwrap(WithoutGil(self.shared, [&](const Model& model) { return model.Save(path, options); }));
}

nb::typed<nb::list, Error> CheckPath(const std::filesystem::path& path,
                                     const std::map<std::string, std::filesystem::path>& values, const Limits* limits,
                                     bool data_files) {
  CheckOptions options{.limits = Given(limits), .data_files = data_files};
  std::vector<ValueFile> files;
  for (const auto& [name, file] : values) files.push_back({name, file});
  auto report = [&] {
    nb::gil_scoped_release release;
    return CheckFile(path, options, files);
  }();
  return ProblemList(Unwrap(std::move(report)).problems);
}

nb::typed<nb::list, Error> CheckLoaded(const ModelObject& self, const Limits* limits, bool data_files) {
  CheckOptions options{.limits = limits == nullptr ? self.shared->limits : *limits, .data_files = data_files};
  Problems problems(options.limits.problems);
  WithoutGil(self.shared, [&](const Model& model) { CheckModel(model, options, &problems); });
  return ProblemList(problems);
}

nb::object Parsed(const std::string& json) { return nb::module_::import_("json").attr("loads")(json); }

nb::object InspectPath(const std::filesystem::path& path, const Limits* limits) {
  std::string json;
  {
    nb::gil_scoped_release release;
    LoadOptions options{.limits = Given(limits)};
    json = InspectionJson(Inspect(Unwrap(Model::Load(path, options)), options.limits));
  }
  return Parsed(json);
}

nb::object InspectLoaded(const ModelObject& self, const Limits* limits) {
  const Limits used = limits == nullptr ? self.shared->limits : *limits;
  return Parsed(WithoutGil(self.shared, [&](const Model& model) { return InspectionJson(Inspect(model, used)); }));
}

template <typename Object>
nb::typed<nb::list, DataSegment> SegmentsOf(const Object& self) {
  nb::typed<nb::list, DataSegment> list;
  for (const DataSegment& segment : Unwrap(self.shared->model.Segments(*self.proto, self.Where())))
    list.append(nb::cast(segment));
  return list;
}

void BindValues(nb::module_& m) {
  nb::class_<DataSegment>(m, "Segment", "A span of a value's bytes in a file.")
      .def_prop_ro(
          "location", [](const DataSegment& self) { return Text{self.location}; },
          "The data file as the model names it; empty for bytes in the model itself.")
      .def_ro("offset", &DataSegment::offset, "In bytes.")
      .def_ro("length", &DataSegment::length, "In bytes.")
      .def(
          "__eq__", [](const DataSegment& a, const DataSegment& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const DataSegment& self) { return std::hash<std::string>()(self.location) ^ self.offset; })
      .def("__repr__", [](const DataSegment& self) {
        return Text{fmt::format("<Segment {} {}+{}>", Quoted(self.location), self.offset, self.length)};
      });

  nb::class_<TensorObject>(m, "Tensor",
                           "A tensor of a model. NumPy takes it as an array: `np.asarray(model.tensors[\"w\"])`.")
      .def_prop_ro(
          "name", [](const TensorObject& self) { return Text{self.proto->name()}; }, "As in the file; may be empty.")
      .def_prop_ro(
          "path", [](const TensorObject& self) { return Text{self.path}; },
          "Its place, such as `graph.initializer[3]`.")
      .def_prop_ro(
          "doc_string", [](const TensorObject& self) { return Text{self.proto->doc_string()}; },
          "Empty if it has none.")
      .def_prop_ro(
          "element_type", [](const TensorObject& self) { return Text{std::string(Name(TypeOfTensor(self)))}; },
          "ONNX's name of the type, such as `FLOAT16`.")
      .def_prop_ro(
          "dtype", [](const TensorObject& self) { return DtypeOf(TypeOfTensor(self)); },
          "NumPy or ml_dtypes type of an element.")
      .def_prop_ro(
          "shape", [](const TensorObject& self) { return ShapeOf(self.proto->dims()); }, "Dimensions.")
      .def_prop_ro(
          "size_bytes", [](const TensorObject& self) { return Unwrap(FactsOf(*self.proto, self.Where())).bytes; },
          "Bytes of the packed elements; 0 for STRING.")
      .def_prop_ro("segments", &SegmentsOf<TensorObject>, "Where the bytes are. No file is looked at.")
      .def_prop_ro("is_view", &IsView, "True if numpy() looks into the model's memory or the mapped file.")
      .def("numpy", &TensorArray, R"(The elements as a read-only array.

A view where `is_view` says so: of the mapped file for external data and long inline data. Types below a byte are
unpacked, one to a byte; STRING gives an array of bytes objects.)")
      .def(
          "__array__",
          [](const TensorObject& self, const nb::object& dtype, const nb::object& copy) {
            return Converted(TensorArray(self), IsView(self), dtype, copy);
          },
          nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
          nb::sig(
              "def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[typing.Any]"))
      .def("__repr__", [](const TensorObject& self) {
        std::optional<ElementType> type = ElementTypeFromNumber(self.proto->data_type());
        return Text{fmt::format("<Tensor {} {}[{}]>", Quoted(self.proto->name()), type ? Name(*type) : "?",
                                fmt::join(self.proto->dims(), ", "))};
      });

  nb::class_<ValueObject>(m, "StructValue",
                          R"(A struct value of a model: bytes with a type, a mapping from paths to leaves.

Nothing is read before it is asked for.)")
      .def_prop_ro(
          "name", [](const ValueObject& self) { return Text{self.proto->name()}; }, "As in the file; may be empty.")
      .def_prop_ro(
          "path", [](const ValueObject& self) { return Text{self.path}; },
          "Its place, such as `graph.struct_initializer[3]`.")
      .def_prop_ro(
          "doc_string", [](const ValueObject& self) { return Text{self.proto->doc_string()}; }, "Empty if it has none.")
      .def_prop_ro("type", &TypeOfValue, "The type.")
      .def_prop_ro("segments", &SegmentsOf<ValueObject>, "Where the bytes are. No file is looked at.")
      .def("view", &ViewOf, "The bytes seen through the type.")
      .def_prop_ro(
          "payload", [](const ValueObject& self) { return PayloadOf(ViewOf(self)); },
          "All bytes; a view of the mapped file or the model's memory, unless they lie in several segments.")
      .def(
          "keys", [](const ValueObject& self) { return nb::cast(ViewOf(self)).attr("keys")(); },
          nb::sig("def keys(self) -> list[str]"), "The paths of the leaves.")
      .def(
          "values", [](const ValueObject& self) { return nb::cast(ViewOf(self)).attr("values")(); },
          nb::sig("def values(self) -> list[LeafView]"), "The leaves.")
      .def(
          "__getitem__", [](const ValueObject& self, const Text& path) { return LeafAt(ViewOf(self), path.bytes); },
          nb::arg("path"))
      .def(
          "__contains__",
          [](const ValueObject& self, const Text& path) {
            return ViewOf(self).held()->view.type().FindLeaf(path.bytes) != nullptr;
          },
          nb::arg("path"))
      .def(
          "__iter__", [](const ValueObject& self) { return nb::iter(nb::cast(ViewOf(self))); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[str]"))
      .def("__len__", [](const ValueObject& self) { return ViewOf(self).held()->view.leaf_count(); })
      .def("__repr__",
           [](const ValueObject& self) { return Text{"<StructValue " + Quoted(self.proto->name()) + ">"}; });
}

}  // namespace

void BindModel(nb::module_& m) {
  BindValues(m);

  nb::class_<SaveReport>(m, "SaveReport", "What a save wrote.")
      .def_ro("model_bytes", &SaveReport::model_bytes, "Size of the model file.")
      .def_prop_ro(
          "data_file", [](const SaveReport& self) { return Text{self.data_file}; },
          "Name of the data file beside it; empty if there is none.")
      .def_ro("data_bytes", &SaveReport::data_bytes, "Size of the data file.")
      .def_ro("data_reused", &SaveReport::data_reused, "True if the data file stood there already with these bytes.")
      .def_prop_ro(
          "removed",
          [](const SaveReport& self) {
            std::vector<Text> names;
            for (const std::string& name : self.removed) names.push_back({name});
            return names;
          },
          "Data files that only the replaced model used.")
      .def("__repr__", [](const SaveReport& self) {
        return Text{fmt::format("<SaveReport model_bytes={} data_file={} data_bytes={} data_reused={} removed=[{}]>",
                                self.model_bytes, Quoted(self.data_file), self.data_bytes, self.data_reused,
                                fmt::join(self.removed, ", "))};
      });

  nb::class_<ModelObject>(m, "Model", R"(An ONNX model. Weights stay in their files, memory-mapped, until they are read.

Everything that the file holds is kept, also what neither ONNX nor tessera knows.)")
      .def_static("from_bytes", &ModelFromBytes, nb::arg("data"), nb::kw_only(), nb::arg("folder") = ".",
                  nb::arg("limits") = nb::none(),
                  nb::sig("def from_bytes(data: bytes | bytearray | memoryview | NDArray[typing.Any], *, folder: str | "
                          "os.PathLike[str] = '.', limits: Limits | None = None) -> Model"),
                  "A model from its bytes, such as those of `onnx.ModelProto.SerializeToString`. Data files are looked "
                  "for in `folder`.")
      .def_prop_ro(
          "path",
          [](const ModelObject& self) -> std::optional<std::filesystem::path> {
            if (self.shared->model.path().empty()) return std::nullopt;
            return self.shared->model.path();
          },
          "The file it was loaded from; None for one from bytes.")
      .def_prop_ro(
          "struct_types",
          [](const ModelObject& self) {
            std::vector<TypeObject> types;
            const std::shared_ptr<const TypeList>& list = self.shared->Types();
            for (size_t i = 0; i < list->table.size(); ++i) types.emplace_back(list, static_cast<int32_t>(i));
            return types;
          },
          "The declarations that values refer to by index. One that is not in order raises when it is used.")
      .def_prop_ro(
          "tensors",
          [](const ModelObject& self) {
            self.shared->MakeIndex();
            return AsDict<TensorObject>(self.shared, *self.shared->tensors);
          },
          R"(The tensors that are initializers, of graphs inside nodes too (sparse ones as their values and indices).

One without a name, or with a name that an earlier one has, stands under its path.)")
      .def_prop_ro(
          "structs",
          [](const ModelObject& self) {
            self.shared->MakeIndex();
            return AsDict<ValueObject>(self.shared, *self.shared->values);
          },
          "The struct values that are initializers, named as the tensors are.")
      .def("tensor", &TensorAt, nb::arg("name"), "`tensors[name]` without making the dict; raises NotFoundError.")
      .def("struct", &ValueAt, nb::arg("name"), "`structs[name]` without making the dict; raises NotFoundError.")
      .def("add_struct_type", &AddType, nb::arg("type"),
           nb::sig("def add_struct_type(self, type: StructType | str) -> int"),
           R"(Adds a declaration, a StructType or a text, with what it refers to; returns its index.

What the model has already, equal in everything, is not added again. A name that it uses for another declaration is
refused.)")
      .def("add_struct_initializer", &AddValue, nb::arg("name"), nb::arg("type"), nb::arg("data"),
           nb::sig("def add_struct_initializer(self, name: str, type: StructType | str | int, data: bytes | bytearray "
                   "| memoryview | NDArray[typing.Any]) -> StructValue"),
           R"(Adds a struct value to the main graph; its bytes are copied.

type: a StructType, an index or a name in struct_types, or a text in the notation. A type that the model lacks is added
to it; one without a name stands in the value.)")
      .def("save", &SaveModel, nb::arg("path"), nb::kw_only(), nb::arg("data") = "keep",
           nb::arg("model_bytes") = nb::none(), nb::arg("external_bytes") = nb::none(),
           nb::sig("def save(self, path: str | os.PathLike[str], *, data: typing.Literal['keep', 'external', 'inline'] "
                   "= 'keep', model_bytes: int | None = None, external_bytes: int | None = None) -> SaveReport"),
           R"(Writes the model, all or nothing: on any failure the old file and its data stand as they were.

data: 'keep' leaves weights where they are (inline ones move out of a file over `model_bytes`, 1 GiB), 'external' puts
every tensor of `external_bytes` (1024) and more into `<file>.data`, 'inline' puts everything into the model file.)")
      .def(
          "serialize",
          [](const ModelObject& self) {
            std::string bytes =
                Unwrap(WithoutGil(self.shared, [](const Model& model) { return model.SerializeToString(); }));
            return nb::bytes(bytes.data(), bytes.size());
          },
          "The whole model as bytes; external data stays external.")
      .def("__repr__", [](const ModelObject& self) {
        self.shared->MakeIndex();
        const std::string path = self.shared->model.path().string();
        return Text{fmt::format("<Model {}, {} tensors, {} struct values>", path.empty() ? "from bytes" : Quoted(path),
                                self.shared->tensors->entries.size(), self.shared->values->entries.size())};
      });

  m.def("load", &LoadModel, nb::arg("path"), nb::kw_only(), nb::arg("limits") = nb::none(),
        nb::sig("def load(path: str | os.PathLike[str], *, limits: Limits | None = None) -> Model"),
        "Loads a model. External data is looked at when it is used, not here.");

  m.def(
      "to_form", &ToForm, nb::arg("model"), nb::arg("form"), nb::kw_only(), nb::arg("limits") = nb::none(),
      nb::sig(
          "def to_form(model: Model, form: typing.Literal['structured', 'portable'], *, limits: Limits | None = None) "
          "-> Model"),
      R"(The model with its struct values in another form; nothing is lost on the way there and back.

structured: struct values, and DecodeStruct nodes that decode them, for programs that know them.
portable: UINT8 tensors, and functions of standard operators that turn them into tensors, for every ONNX runtime.
Raises TesseraError for types that have no decoder, and for what only the structured form can say, such as struct values that
are inputs of the graph.)");

  m.def("check", &CheckLoaded, nb::arg("model"), nb::kw_only(), nb::arg("limits") = nb::none(),
        nb::arg("data_files") = true, "Everything that is wrong with a model in memory.");
  m.def(
      "check", &CheckPath, nb::arg("path"), nb::kw_only(),
      nb::arg("values") = std::map<std::string, std::filesystem::path>{}, nb::arg("limits") = nb::none(),
      nb::arg("data_files") = true,
      nb::sig("def check(path: str | os.PathLike[str], *, values: collections.abc.Mapping[str, str | os.PathLike[str]] "
              "= {}, limits: Limits | None = None, data_files: bool = True) -> list[Problem]"),
      R"(Everything that is wrong with a file: struct types, struct values, tensors, and with `data_files` their data files.

values: serialized values in files of their own, by the name of the graph input or output that they stand for.
Raises TesseraError for a file that cannot be read as a model.)");

  constexpr const char* kInspect = R"(What is in a model, without reading weights: the keys of `tessera inspect --json`.

`values` lists every tensor and struct value: name, path, kind, type, shape, bytes, elements, bits_per_weight, segments.)";
  m.def("inspect", &InspectLoaded, nb::arg("model"), nb::kw_only(), nb::arg("limits") = nb::none(),
        nb::sig("def inspect(model: Model, *, limits: Limits | None = None) -> dict[str, typing.Any]"), kInspect);
  m.def("inspect", &InspectPath, nb::arg("path"), nb::kw_only(), nb::arg("limits") = nb::none(),
        nb::sig("def inspect(path: str | os.PathLike[str], *, limits: Limits | None = None) -> dict[str, typing.Any]"),
        kInspect);
}

}  // namespace tessera::python
