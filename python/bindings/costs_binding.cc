// The roofline cost model, for graphs that are captured.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/bindings/bindings.h"
#include "simulator/families/program/cost_model.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace emplace::python {

void BindCosts(nb::module_& module) {
  nb::enum_<OpClass>(module, "OpClass", "Classes of ops by what limits their speed.")
      .value("RESIDENT", OpClass::kResident, "Parameters and inputs, which compute nothing.")
      .value("MATMUL", OpClass::kMatmul)
      .value("CONVOLUTION", OpClass::kConvolution)
      .value("DEPTHWISE", OpClass::kDepthwise, "Convolutions whose channels do not mix.")
      .value("ELEMENTWISE", OpClass::kElementwise, "Ops that stream through memory.")
      .value("REDUCTION", OpClass::kReduction, "Normalization, softmax, pools and sums.")
      .value("GATHER", OpClass::kGather, "Reads of rows at random places.");
  nb::class_<DeviceKind>(module, "DeviceKind", "A kind of device, as configs/devices/ describes it.")
      .def_ro("name", &DeviceKind::name)
      .def_ro("memory_bytes", &DeviceKind::memory_bytes, "Memory of one device.")
      .def(
          "cost_us",
          [](const DeviceKind& kind, OpClass op_class, bool half, double flops, int64_t bytes) {
            return CostUs(kind, {.op_class = op_class,
                                 .type = half ? ElementType::kFloat16 : ElementType::kFloat32,
                                 .flops = flops,
                                 .bytes = bytes});
          },
          "op_class"_a, "half"_a, "flops"_a, "bytes"_a,
          "Microseconds of an op by the roofline model: the larger of FLOPs / attainable rate and bytes / attainable\n"
          "bandwidth, plus a launch. half: it computes with 16-bit numbers. bytes: read and written.");
  module.def("load_device_kinds_of_file", &LoadKindsOfFile, "path"_a, "The device kinds of a file, in its order.");
  module.def("load_device_kinds", &LoadDeviceKinds, "folder"_a, "The device kinds of a folder, sorted by file name.");
}

}  // namespace emplace::python
