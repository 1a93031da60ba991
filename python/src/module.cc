#include "bindings.h"

NB_MODULE(_tessera, m) {
  m.doc() = "The compiled part of the package tessera; import that.";
  m.attr("__version__") = TESSERA_VERSION;
  // What a program still holds when the interpreter goes is none of its users' business.
  nanobind::set_leak_warnings(false);
  tessera::python::BindErrors(m);
  tessera::python::BindTypes(m);
  tessera::python::BindViews(m);
  tessera::python::BindModel(m);
  tessera::python::BindProfiles(m);
  tessera::python::BindEvaluate(m);
  tessera::python::BindFormats(m);
  tessera::python::BindOperators(m);
  tessera::python::BindTables(m);
}
