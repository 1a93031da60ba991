// Problems, and the one place that turns an Error into a Python exception (tessera/_errors.py).
#include <fmt/format.h>
#include <nanobind/operators.h>

#include <algorithm>

#include "bindings.h"

namespace tessera::python {
namespace {

void SetPythonError(const Error& error) {
  try {
    nb::object exception =
        nb::module_::import_("tessera._errors")
            .attr("make")(Info(error.code).slug.data(), Text{error.where}, Text{error.what}, Text{error.fix});
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  } catch (nb::python_error& failed) {
    failed.restore();
  }
}

Error MakeProblem(const Text& code, const Text& where, const Text& what, const Text& fix) {
  auto rows = AllErrorCodes();
  auto row = std::find_if(rows.begin(), rows.end(), [&](const ErrorCodeInfo& info) { return info.slug == code.bytes; });
  if (row == rows.end()) {
    throw Raised(
        {ErrorCode::kArgument, "code", "there is no error code " + Quoted(code.bytes), "one of docs/errors.md"});
  }
  return {row->code, where.bytes, what.bytes, fix.bytes};
}

}  // namespace

nb::typed<nb::list, Error> ProblemList(const Problems& problems) {
  nb::typed<nb::list, Error> list;
  for (const Error& error : problems.list()) list.append(nb::cast(error));
  if (problems.omitted() > 0) {
    std::string text =
        fmt::format("{} more problems are not listed; Limits.problems says how many are", problems.omitted());
    if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) throw nb::python_error();
  }
  return list;
}

void BindErrors(nb::module_& m) {
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Raised& raised) {
      SetPythonError(raised.error());
    }
  });

  nb::class_<Error>(m, "Problem", "Something that is not in order. `str` is one line: `where: what (fix) [code]`.")
      .def(
          "__init__",
          [](Error* self, const Text& code, const Text& where, const Text& what, const Text& fix) {
            new (self) Error(MakeProblem(code, where, what, fix));
          },
          nb::arg("code"), nb::arg("where"), nb::arg("what"), nb::arg("fix") = Text{})
      .def_prop_ro(
          "code", [](const Error& self) { return Text{std::string(Info(self.code).slug)}; },
          "Stable name of the kind of problem; docs/errors.md lists them.")
      .def_prop_ro(
          "where", [](const Error& self) { return Text{self.where}; },
          "Path or object, such as `struct_types[3].structure.field[1]`; may be empty.")
      .def_prop_ro(
          "what", [](const Error& self) { return Text{self.what}; }, "What is wrong.")
      .def_prop_ro(
          "fix", [](const Error& self) { return Text{self.fix}; }, "What would be right; may be empty.")
      .def(
          "__eq__",
          [](const Error& a, const Error& b) {
            return a.code == b.code && a.where == b.where && a.what == b.what && a.fix == b.fix;
          },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Error& self) { return std::hash<std::string>()(self.Format()); })
      .def("__str__", [](const Error& self) { return Text{self.Format()}; })
      .def("__repr__", [](const Error& self) { return Text{"<Problem " + self.Format() + ">"}; });
}

}  // namespace tessera::python
