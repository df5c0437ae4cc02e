// emplace._core: the C++ of Emplace for Python. The package's Python files wrap it (python/README.md).
#include <nanobind/nanobind.h>

#include "python/bindings/bindings.h"
#include "python/bindings/interruptible.h"

NB_MODULE(_core, module) {
  module.doc() = "The C++ part of emplace.";
  // A graph may outlive the interpreter without a fault of ours: a thread that still runs holds it, or a hook of
  // PyTorch, whose reference Python's collector cannot see. nanobind would print a page that blames these bindings.
  nanobind::set_leak_warnings(false);
  nanobind::module_::import_("atexit").attr("register")(nanobind::cpp_function(&emplace::python::StopRunningCalls));
  emplace::python::BindErrors(module);
  emplace::python::BindFiles(module);
  emplace::python::BindGraph(module);
  emplace::python::BindMachine(module);
  emplace::python::BindFamilies(module);
  emplace::python::BindCosts(module);
  emplace::python::BindSimulation(module);
  emplace::python::BindPolicy(module);
  emplace::python::BindPlacing(module);
  emplace::python::BindStages(module);
  emplace::python::BindEnvironment(module);
}
