// The parts of the module emplace._core; each adds its classes and functions.
#pragma once

#include <nanobind/nanobind.h>

namespace emplace::python {

void BindErrors(nanobind::module_& module);       // Error, BadInput, RunFailed; before all others
void BindFiles(nanobind::module_& module);        // write_file
void BindGraph(nanobind::module_& module);        // Graph
void BindMachine(nanobind::module_& module);      // Device, Machine
void BindFamilies(nanobind::module_& module);     // families, generate
void BindCosts(nanobind::module_& module);        // OpClass, DeviceKind, load_device_kinds
void BindSimulation(nanobind::module_& module);   // simulate, run
void BindPolicy(nanobind::module_& module);       // Policy
void BindPlacing(nanobind::module_& module);      // methods, place
void BindStages(nanobind::module_& module);       // divide
void BindEnvironment(nanobind::module_& module);  // Episodes

}  // namespace emplace::python
