// emplace._core: the C++ of Emplace for Python. The package's Python files wrap it (python/README.md).
#include <nanobind/nanobind.h>

#include "python/bindings/bindings.h"

NB_MODULE(_core, module) {
  module.doc() = "The C++ part of emplace.";
  emplace::python::BindErrors(module);
  emplace::python::BindFiles(module);
  emplace::python::BindGraph(module);
  emplace::python::BindMachine(module);
  emplace::python::BindFamilies(module);
  emplace::python::BindCosts(module);
  emplace::python::BindSimulation(module);
  emplace::python::BindPolicy(module);
  emplace::python::BindPlacing(module);
  emplace::python::BindEnvironment(module);
}
