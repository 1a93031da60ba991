// Quantization profiles.
#include "tessera/quant/profile.h"

#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "tessera/codecs/decoder.h"
#include "tessera/codecs/encoder.h"
#include "tessera/quant/profile_text.h"
#include "tessera/quant/translate.h"
#include "tessera/quant/validate.h"

namespace tessera::python {
namespace {

std::string_view FamilyOf(const Profile& profile) {
  return std::holds_alternative<std::monostate>(profile.kind) ? std::string_view() : NamesOf(profile).field;
}

std::vector<Profile> ParseAll(const Text& text, const TextOptions& options) {
  ProfileText parsed = Unwrap(ParseProfiles(text.bytes, NotationOptionsOf(options)));
  Result<std::vector<Profile>> profiles = std::move(parsed).Concrete();
  if (!profiles) throw Raised(InFile(std::move(profiles).error(), options.file_name));
  return *std::move(profiles);
}

TypeObject TypeOf(const Profile& profile, const std::vector<int64_t>& shape, const std::optional<Text>& name,
                  std::optional<uint64_t> outliers, std::optional<int64_t> decoder_opset,
                  std::optional<int64_t> encoder_opset, const Limits* limits) {
  TranslateOptions options;
  if (name) options.spelling.name = name->bytes;
  options.outliers = outliers;
  options.limits = Given(limits);
  auto translate = [&]() -> Result<std::vector<StructType>> {
    nb::gil_scoped_release release;
    TESSERA_ASSIGN(std::vector<StructType> types, TranslateProfile(profile, shape, options));
    if (decoder_opset) {
      TESSERA_ASSIGN(types.back().decoder, BuildDecoder(profile, shape, types, *decoder_opset, options.limits));
    }
    if (encoder_opset) {
      TESSERA_ASSIGN(types.back().encoder, BuildEncoder(profile, shape, types, *encoder_opset, options.limits));
    }
    return types;
  };
  return CheckedRoot(Unwrap(translate()), options.limits);
}

std::string Repr(const Profile& profile) {
  const std::string_view family = FamilyOf(profile);
  Problems problems;
  Path root;
  ValidateProfile(profile, root, Limits{}, &problems);
  std::string state = problems.empty() ? "" : fmt::format(", not in order: {}", Info(problems.list()[0].code).slug);
  return fmt::format("<Profile {}{}>", family.empty() ? "without a family" : family, state);
}

}  // namespace

Profile ProfileOf(const TypeObject& type, std::optional<std::vector<int64_t>> shape, const Limits* given) {
  type.checked();
  const std::vector<StructType> closed = type.Closed();
  const Limits limits = Given(given);
  auto recover = [&] {
    nb::gil_scoped_release release;
    return RecoverProfile(closed, std::move(shape), limits);
  };
  return Unwrap(recover()).profile;
}

void BindProfiles(nb::module_& m) {
  nb::class_<Profile>(m, "Profile", R"(How a tensor is quantized, without its shape.

`str` is the profile in its text notation; `Profile.parse` reads that. With a shape it becomes a `StructType`, which is
what files hold, and `StructType.profile` finds it again. Immutable.)")
      .def_static(
          "parse",
          [](const Text& text, std::optional<std::vector<int64_t>> shape, Parameters parameters, std::string file_name,
             const Limits* given) {
            std::vector<Profile> profiles = ParseAll(text, {std::move(shape), std::move(parameters), file_name, given});
            if (profiles.size() != 1) {
              throw Raised({ErrorCode::kArgument, file_name, fmt::format("the text has {} profiles", profiles.size()),
                            "one profile; parse_profiles takes any number"});
            }
            return std::move(profiles.front());
          },
          nb::arg("text"), nb::kw_only(), nb::arg("shape") = nb::none(), nb::arg("parameters") = nb::none(),
          nb::arg("file_name") = "", nb::arg("limits") = nb::none(),
          R"(The one profile of a text.

shape: the logical shape, which binds `rows`, `cols` and `elements`.
parameters: values of names in the text: numbers, literals, or arrays for the data of codebooks and matrices. Data
written as `[...]` has its field's name, as in `parameters={"codebook_data": array}`; it may also stay open.
file_name: how errors call the text.)")
      .def_static("from_struct_type", &ProfileOf, nb::arg("struct_type"), nb::arg("shape") = nb::none(), nb::kw_only(),
                  nb::arg("limits") = nb::none(), "The same as StructType.profile.")
      .def_prop_ro(
          "family", [](const Profile& self) { return Text{std::string(FamilyOf(self))}; },
          "`linear`, `codebook`, `floating_point`, `sparse`, `log`, `function`, `tiling`, `cast` or "
          "`structured_block`; empty if it has none.")
      .def_prop_ro(
          "data_type",
          [](const Profile& self) { return Text{std::string(Name(self.data_type.value_or(ElementType::kFloat)))}; },
          "ONNX's name of the type of the decoded values, `FLOAT` where the profile names none.")
      .def_prop_ro(
          "doc_string", [](const Profile& self) { return Text{self.doc_string.value_or("")}; }, "Empty if it has none.")
      .def_prop_ro(
          "metadata",
          [](const Profile& self) {
            nb::typed<nb::dict, Text, Text> dict;
            for (const Metadata& entry : self.metadata) dict[nb::cast(Text{entry.key})] = Text{entry.value};
            return dict;
          },
          "The metadata_props.")
      .def(
          "validate",
          [](const Profile& self, const Limits* given) {
            const Limits limits = Given(given);
            Problems problems(limits.problems);
            Path root;
            ValidateProfile(self, root, limits, &problems);
            return ProblemList(problems);
          },
          nb::kw_only(), nb::arg("limits") = nb::none(),
          "Everything that is wrong with the profile, whatever shape it is used for; empty if it is in order.")
      .def("struct_type", &TypeOf, nb::arg("shape"), nb::kw_only(), nb::arg("name") = nb::none(),
           nb::arg("outliers") = nb::none(), nb::arg("decoder_opset") = nb::none(),
           nb::arg("encoder_opset") = nb::none(), nb::arg("limits") = nb::none(),
           R"(The struct type of a tensor of this shape.

name: of the type; those of its parts begin with it.
outliers: how many values a sparse profile keeps apart, where its outlier_ratio is not to say so.
decoder_opset: gives the type a decoder of operators of that version of ONNX's opset, 13 to 26.
encoder_opset: the same for an encoder, which profiles have whose values have one right encoding.
Raises TesseraError for a profile that is not in order, data that is still open, or a shape that does not fit.)")
      .def("resolved", &Resolved,
           "The same meaning with nothing left to infer: sizes of codebooks are set. StructType.profile gives such "
           "profiles.")
      .def(
          "__eq__", [](const Profile& a, const Profile& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const Profile& self) {
             return std::hash<std::string>()(fmt::format("{} {}", FamilyOf(self), self.doc_string.value_or("")));
           })
      .def("__str__", [](const Profile& self) { return Text{PrintProfile(self)}; })
      .def("__repr__", [](const Profile& self) { return Text{Repr(self)}; });

  m.def(
      "parse_profiles",
      [](const Text& text, std::optional<std::vector<int64_t>> shape, Parameters parameters, std::string file_name,
         const Limits* given) {
        return ParseAll(text, {std::move(shape), std::move(parameters), std::move(file_name), given});
      },
      nb::arg("text"), nb::kw_only(), nb::arg("shape") = nb::none(), nb::arg("parameters") = nb::none(),
      nb::arg("file_name") = "", nb::arg("limits") = nb::none(),
      "All profiles of a text, in its order. Arguments as for Profile.parse.");
}

}  // namespace tessera::python
