// emplace.Machine and emplace.Device
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/strings.h"
#include "python/bindings/bindings.h"
#include "simulator/machine/cluster.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace emplace::python {
namespace {

MemoryRule ReadMemoryRule(const std::string& name) {
  if (const std::optional<MemoryRule> rule = MemoryRuleNamed(name)) return *rule;
  throw BadInput(StrCat("memory_rule is '", name, "', expected executor or placeto"));
}

using DeviceFields = std::tuple<std::string, std::string, int64_t, std::vector<int32_t>>;
DeviceFields Fields(const Device& device) { return {device.name, device.kind, device.memory_bytes, device.cores}; }

// The other checks are those of the file format.
Cluster Checked(const Cluster& cluster) { return ParseCluster(ClusterToYaml(cluster), "machine"); }

}  // namespace

void BindMachine(nb::module_& module) {
  nb::class_<Device>(module, "Device", "A device of a machine.")
      .def(
          "__init__",
          [](Device* device, std::string name, std::string kind, double memory_bytes) {
            // The rest is checked as a part of its machine.
            if (!(memory_bytes >= 0 && memory_bytes < 9.2e18))
              throw BadInput(
                  StrCat("memory_bytes of device '", name, "' is ", memory_bytes, ", expected a number of bytes"));
            new (device) Device{std::move(name), std::move(kind), static_cast<int64_t>(memory_bytes)};
          },
          "name"_a, "kind"_a, "memory_bytes"_a)
      .def_ro("name", &Device::name, "Unique in its machine, such as gpu:0.")
      .def_ro("kind", &Device::kind, "By which graphs give costs, such as k80.")
      .def_ro("memory_bytes", &Device::memory_bytes, "Bytes that a step may use on it.")
      .def("__eq__", [](const Device& a, const Device& b) { return Fields(a) == Fields(b); })
      .def(
          "__eq__", [](const Device&, nb::object) { return false; }, nb::arg().none())
      .def("__hash__", [](const Device& device) { return std::hash<std::string>()(device.name); })
      .def("__getstate__", &Fields)
      .def("__setstate__",
           [](Device& device, const DeviceFields& fields) {
             new (&device) Device{std::get<0>(fields), std::get<1>(fields), std::get<2>(fields), std::get<3>(fields)};
           })
      .def("__repr__", [](const Device& device) {
        return "Device(name='" + device.name + "', kind='" + device.kind +
               "', memory_bytes=" + std::to_string(device.memory_bytes) + ")";
      });
  nb::class_<Cluster>(module, "Machine",
                      "Devices and the links between them. Immutable; any thread may read it. D is the number of\n"
                      "devices.")
      .def(
          "__init__",
          [](Cluster* cluster, std::vector<Device> devices, double bandwidth, double transfer_latency,
             double transfer_overhead, double op_overhead, const std::string& memory_rule) {
            new (cluster) Cluster(Checked({.devices = std::move(devices),
                                           .op_overhead_us = op_overhead,
                                           .bandwidth_bytes_per_us = bandwidth,
                                           .transfer_latency_us = transfer_latency,
                                           .transfer_overhead_us = transfer_overhead,
                                           .memory_rule = ReadMemoryRule(memory_rule)}));
          },
          "devices"_a, nb::kw_only(), "bandwidth_bytes_per_us"_a, "transfer_latency_us"_a = 0.0,
          "transfer_overhead_us"_a = 0.0, "op_overhead_us"_a = 0.0, "memory_rule"_a = "executor",
          "Devices that each have one sending link of this bandwidth. A tensor arrives `transfer_latency_us` after\n"
          "the link has sent it; the link stays busy `transfer_overhead_us` after each transfer. A device stays busy\n"
          "`op_overhead_us` after an op of nonzero cost. memory_rule: executor counts what a real device holds,\n"
          "placeto what Placeto's published simulator counts.")
      .def_static("load", &LoadCluster, "path"_a, "Reads a devices file (YAML). Raises BadInput with line and column.")
      .def_static("from_yaml", &ParseCluster, "text"_a, "source"_a = "machine",
                  "Reads the text of a devices file; `source` names it in errors.")
      .def_static(
          "probe",
          [](const nb::kwargs& options) { return nb::module_::import_("emplace.probing").attr("probe")(**options); },
          nb::sig("def probe(**options) -> Machine"),
          "The machine that this is: its GPUs, its processor, and the bandwidth between them, measured.\n"
          "emplace.probing.probe says what the options are.")
      .def("to_yaml", &ClusterToYaml, "The text of the machine's devices file.")
      .def(
          "save",
          [](const Cluster& cluster, const std::filesystem::path& path) {
            WriteFileAtomically(path, ClusterToYaml(cluster));
          },
          "path"_a, "Writes the machine's devices file.")
      .def_ro("devices", &Cluster::devices, "[D]")
      .def_prop_ro("num_devices", &Cluster::num_devices, "D")
      .def("__len__", &Cluster::num_devices)
      .def_ro("op_overhead_us", &Cluster::op_overhead_us)
      .def_ro("bandwidth_bytes_per_us", &Cluster::bandwidth_bytes_per_us,
              "Of each device's sending link; unused with a topology.")
      .def_ro("transfer_latency_us", &Cluster::transfer_latency_us, "Unused with a topology.")
      .def_ro("transfer_overhead_us", &Cluster::transfer_overhead_us)
      .def_prop_ro(
          "memory_rule", [](const Cluster& cluster) { return MemoryRuleName(cluster.memory_rule); },
          "executor or placeto")
      .def_prop_ro(
          "link_model", [](const Cluster& cluster) { return LinkModelName(cluster.link_model); },
          "shared, per_destination or topology")
      .def("__eq__", [](const Cluster& a, const Cluster& b) { return ClusterToYaml(a) == ClusterToYaml(b); })
      .def(
          "__eq__", [](const Cluster&, nb::object) { return false; }, nb::arg().none())
      .def("__hash__", [](const Cluster& cluster) { return std::hash<std::string>()(ClusterToYaml(cluster)); })
      .def("__getstate__", &ClusterToYaml)
      .def("__setstate__",
           [](Cluster& cluster, const std::string& yaml) {
             new (&cluster) Cluster(ParseCluster(yaml, "pickled machine"));
           })
      .def("__repr__", [](const Cluster& cluster) {
        std::string names;
        for (const Device& device : cluster.devices) names += (names.empty() ? "" : ", ") + device.name;
        return "<emplace.Machine with " + names + ">";
      });
}

}  // namespace emplace::python
