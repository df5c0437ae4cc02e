#include "actor/hardware/executor.h"

#include <ATen/ops/empty_like.h>
#include <unistd.h>

#include <cstring>
#include <numeric>

#include "actor/hardware/given_tensors.h"
#include "actor/hardware/torch_backend.h"
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

// All devices share the memory of the computer.
void CheckMemory(const Timeline& predicted) {
  const int64_t needed = std::accumulate(predicted.peak_bytes.begin(), predicted.peak_bytes.end(), int64_t{0});
  const int64_t there = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  if (needed <= there) return;
  throw BadInput(StrCat("the step needs ", static_cast<double>(needed) / 1e9, " GB of memory, this computer has ",
                        static_cast<double>(there) / 1e9));
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

std::string WhyItCannotRun(const Op& op) {
  try {
    if (IsGiven(op)) {
      CheckGivenOp(op);
    } else if (!IsLeftOut(op)) {
      const BoxedCall call(op, c10::DeviceType::CPU);
    }
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct Executor::Impl {
  Impl(const OpGraph& graph, const Cluster& cluster, const OrderedPlacement& placement, const ExecutorOptions& options)
      : devices(FindLocalDevices(cluster, AvailableCores())),
        predicted(Simulate(graph, cluster, placement, orders)),
        program(CompileStep(graph, placement.placement, orders)),
        backend((CheckMemory(predicted), graph), program, devices),
        runner(program, graph.num_ops(), BytesOfValues(graph, program), backend, options.throttle) {}

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

const StepProgram& Executor::program() const { return impl_->program; }
const Timeline& Executor::predicted() const { return impl_->predicted; }

std::vector<std::byte> Executor::Bytes(OpIndex op, int32_t output) const {
  const at::Tensor& tensor = impl_->backend.TensorOf(op, output);
  if (!tensor.defined()) return {};
  const at::Tensor plain = tensor.cpu().contiguous();
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
