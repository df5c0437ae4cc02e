#include "actor/hardware/executor.h"

#include <ATen/ops/empty_like.h>
#include <unistd.h>

#include <cstring>

#include "actor/hardware/devices/local_gpus.h"
#include "actor/hardware/devices/torch_backend.h"
#include "actor/hardware/program/given_tensors.h"
#include "common/error.h"
#include "common/strings.h"
#include "simulator/engine/simulator.h"

namespace emplace {
namespace {

// Simulates a step, and writes to `orders` the order in which its devices started their ops.
Timeline Simulate(const OpGraph& graph, const Cluster& cluster, const OrderedPlacement& placement,
                  DeviceOrders& orders) {
  const SimGraph sim = SimGraph::Compile(WithoutCostsOfOpsNotRun(graph), cluster);
  Simulator simulator(sim, placement.orders);
  Timeline timeline = simulator.Run(placement.placement);
  orders = simulator.StartOrders();
  return timeline;
}

double Gigabytes(double bytes) { return bytes / 1e9; }

// The devices of the CPU share the memory of the computer.
void CheckMemory(const Timeline& predicted, const Cluster& cluster, const std::vector<LocalDevice>& devices) {
  double needed = 0;  // By the CPU.
  for (size_t d = 0; d < devices.size(); ++d) {
    const int64_t peak_bytes = predicted.peak_bytes[d];
    const auto peak = static_cast<double>(peak_bytes);
    if (!devices[d].is_gpu()) {
      needed += peak;
      continue;
    }
    const auto left = static_cast<double>(FreeGpuBytes(devices[d].gpu, peak_bytes));
    if (peak <= left) continue;
    throw BadInput(StrCat("device '", cluster.devices[d].name, "': the step needs ", Gigabytes(peak),
                          " GB of memory, the GPU has ", Gigabytes(left), " left"));
  }
  const auto there = static_cast<double>(sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
  if (needed <= there) return;
  throw BadInput(StrCat("the step needs ", Gigabytes(needed), " GB of memory, this computer has ", Gigabytes(there)));
}

// The artificial link begins when a device's thread has done an op, which a GPU has not done by then.
void CheckThrottle(const LinkThrottle& throttle, const Cluster& cluster, const std::vector<LocalDevice>& devices) {
  for (size_t d = 0; throttle.bandwidth_bytes_per_us > 0 && d < devices.size(); ++d) {
    if (!devices[d].is_gpu()) continue;
    throw BadInput(
        StrCat("device '", cluster.devices[d].name, "': a GPU's links cannot be throttled, expected devices cpu:i"));
  }
}

std::vector<int64_t> BytesOfValues(const OpGraph& graph, const StepProgram& program) {
  std::vector<int64_t> bytes;
  for (const StepValue& value : program.values) {
    const bool is_data = value.output != OpInput::kControl;
    bytes.push_back(is_data ? graph.op(value.op).outputs[static_cast<size_t>(value.output)].bytes : 0);
  }
  return bytes;
}

}  // namespace

std::vector<LocalDevice> FindDevicesHere(const Cluster& cluster) {
  return FindLocalDevices(cluster, AvailableCores(), FindLocalGpus);
}

std::set<Processor> ProcessorsHere(const Cluster& cluster) {
  std::set<Processor> processors;
  for (const LocalDevice& device : FindDevicesHere(cluster)) {
    processors.insert(device.is_gpu() ? Processor::kGpu : Processor::kCpu);
  }
  return processors;
}

std::string WhyItCannotRun(const Op& op, Processor processor) {
  try {
    if (IsGiven(op)) {
      CheckGivenOp(op);
    } else if (!IsLeftOut(op)) {
      const BoxedCall call(op, processor == Processor::kCpu ? c10::DeviceType::CPU : c10::DeviceType::CUDA);
    }
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct Executor::Impl {
  Impl(const OpGraph& graph, const Cluster& cluster, const OrderedPlacement& placement, const ExecutorOptions& options)
      : devices(FindDevicesHere(cluster)),
        predicted(Simulate(graph, cluster, placement, orders)),
        program(CompileStep(graph, placement.placement, orders)),
        backend((Check(cluster, options), graph), program, devices, options.gpu_times),
        runner(program, graph.num_ops(), BytesOfValues(graph, program), backend, options.throttle) {}

  void Check(const Cluster& cluster, const ExecutorOptions& options) const {
    CheckThrottle(options.throttle, cluster, devices);
    CheckMemory(predicted, cluster, devices);
  }

  std::vector<LocalDevice> devices;
  DeviceOrders orders;  // Before `predicted`, which sets it.
  Timeline predicted;
  StepProgram program;
  TorchBackend backend;
  StepRunner runner;
};

Executor::Executor(const OpGraph& graph, const Cluster& cluster, const OrderedPlacement& placement,
                   const ExecutorOptions& options)
    : impl_(std::make_unique<Impl>(graph, cluster, placement, options)) {}

Executor::~Executor() = default;

const StepTimes& Executor::Step() {
  impl_->backend.PrepareStep();
  return impl_->runner.Run();
}

std::vector<int64_t> Executor::StepPeakBytes() {
  impl_->backend.CountMemory(true);
  Step();
  std::vector<int64_t> peak_bytes = impl_->backend.PeakBytes();
  impl_->backend.CountMemory(false);
  return peak_bytes;
}

const StepProgram& Executor::program() const { return impl_->program; }
const Timeline& Executor::predicted() const { return impl_->predicted; }

std::vector<std::byte> Executor::Bytes(OpIndex op, int32_t output) const {
  const at::Tensor& tensor = impl_->backend.TensorOf(op, output);
  if (!tensor.defined()) return {};
  const at::Tensor plain = tensor.cpu().resolve_conj().resolve_neg().contiguous();
  std::vector<std::byte> bytes(plain.nbytes());
  if (!bytes.empty()) std::memcpy(bytes.data(), plain.const_data_ptr(), bytes.size());
  return bytes;
}

void Executor::Give(OpIndex op, std::span<const std::byte> elements) {
  at::Tensor tensor = at::empty_like(impl_->backend.TensorOf(op, 0).cpu());
  EMPLACE_CHECK(tensor.nbytes() == elements.size());
  if (!elements.empty()) std::memcpy(tensor.mutable_data_ptr(), elements.data(), elements.size());
  impl_->backend.Give(op, tensor);
}

}  // namespace emplace
