#include "policy/placeto/cuda/update_cuda.h"

#include <algorithm>

#include "common/error.h"
#include "policy/placeto/cuda/device_problem.h"
#include "policy/placeto/cuda/launches.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace::gpu {
namespace {

// What comes back from an update: the report and the new weights.
struct Output {
  UpdateReport* report;
  float* values;  // [P]
};
Output CarveOutput(size_t parameters, Carver& carver) {
  return {carver.Take<UpdateReport>(1), carver.Take<float>(parameters)};
}
size_t OutputBytes(size_t parameters) {
  Carver carver(nullptr);
  CarveOutput(parameters, carver);
  return carver.used();
}
Output OutputAt(size_t parameters, const std::byte* base) {
  Carver carver(const_cast<std::byte*>(base));
  return CarveOutput(parameters, carver);
}

OptimizerState CarveOptimizer(size_t parameters, Carver& carver) {
  return {carver.Take<float>(parameters), carver.Take<float>(parameters), carver.Take<float>(parameters),
          carver.Take<int64_t>(1)};
}
size_t OptimizerBytes(size_t parameters) {
  Carver carver(nullptr);
  CarveOptimizer(parameters, carver);
  return carver.used();
}

}  // namespace

struct UpdateCuda::Impl {
  Impl(const PlacetoShape& shape, std::span<const PlacetoGraph* const> graphs, std::span<const float> values,
       int64_t shared_limit)
      : device(shape, graphs, shared_limit),
        parameters(static_cast<size_t>(device.plan().parameters)),
        optimizer_memory(AllocateDevice(OptimizerBytes(parameters))),
        device_output(AllocateDevice(OutputBytes(parameters))),
        host_output(AllocatePinned(OutputBytes(parameters))) {
    EMPLACE_CHECK(values.size() == parameters);
    Carver carver(optimizer_memory.get());
    optimizer = CarveOptimizer(parameters, carver);
    Check(cudaMemset(optimizer_memory.get(), 0, OptimizerBytes(parameters)), "cannot clear the optimizer");
    ToDevice(optimizer.values, values.data());
  }
  ~Impl() { cudaDeviceSynchronize(); }

  void ToDevice(float* to, const float* from) const {
    Check(cudaMemcpy(to, from, parameters * sizeof(float), cudaMemcpyHostToDevice), "cannot copy to the device");
    // The copy may still be under way, and our streams do not wait for the default one.
    Check(cudaDeviceSynchronize(), "work on the device failed");
  }
  std::vector<float> FromDevice(const float* from) const {
    std::vector<float> values(parameters);
    Check(cudaMemcpy(values.data(), from, parameters * sizeof(float), cudaMemcpyDeviceToHost),
          "cannot copy from the device");
    return values;
  }

  void MakeRoom(std::span<const EpisodeSource> episodes, std::span<const StateEntry> states) {
    const BatchCapacity needed = CapacityFor(device.graphs(), episodes, states.size());
    if (device.Holds(needed)) return;
    stream.Synchronize();
    device.Grow(needed);
    recording.Clear();  // Its pointers are no longer valid.
  }

  DeviceProblem device;
  const size_t parameters;
  DeviceMemory optimizer_memory;
  OptimizerState optimizer{};
  DeviceMemory device_output;
  PinnedMemory host_output;
  Stream stream;
  Recording recording;
};

UpdateCuda::UpdateCuda(const PlacetoShape& shape, std::span<const PlacetoGraph* const> graphs,
                       std::span<const float> values, int64_t shared_limit)
    : impl_(std::make_unique<Impl>(shape, graphs, values, shared_limit)) {}
UpdateCuda::~UpdateCuda() = default;

UpdateReport UpdateCuda::Update(std::span<const EpisodeSource> episodes, std::span<const StateEntry> states,
                                const UpdateScalars& scalars, std::span<float> values) {
  Impl& impl = *impl_;
  EMPLACE_CHECK(values.size() == impl.parameters);
  impl.MakeRoom(episodes, states);
  if (impl.recording.empty()) {
    const Output output = OutputAt(impl.parameters, impl.device_output.get());
    impl.recording.Capture(impl.stream, [&] {
      UpdateOnStream(impl.stream.get(), impl.device.problem(), impl.optimizer, output.report, output.values);
    });
  }
  impl.device.CopyBatch(episodes, states, scalars, impl.stream.get());
  impl.recording.Replay(impl.stream);
  Check(cudaMemcpyAsync(impl.host_output.get(), impl.device_output.get(), OutputBytes(impl.parameters),
                        cudaMemcpyDeviceToHost, impl.stream.get()),
        "cannot copy the weights");
  impl.stream.Synchronize();
  const Output output = OutputAt(impl.parameters, impl.host_output.get());
  std::copy_n(output.values, values.size(), values.begin());
  return *output.report;
}

std::vector<KernelTime> UpdateCuda::TimeKernels(std::span<const EpisodeSource> episodes,
                                                std::span<const StateEntry> states, const UpdateScalars& scalars) {
  Impl& impl = *impl_;
  impl.MakeRoom(episodes, states);
  impl.device.CopyBatch(episodes, states, scalars, impl.stream.get());
  const Problem& problem = impl.device.problem();
  const Output output = OutputAt(impl.parameters, impl.device_output.get());
  const std::vector<double> us = TimeUpdate(impl.stream, problem, impl.optimizer, output.report, output.values);
  const std::vector<KernelWork> work =
      UpdateWork(problem, LoadOf(impl.device.graphs(), episodes, states, problem.sizes.small_nodes));
  EMPLACE_CHECK(us.size() == work.size());
  std::vector<KernelTime> times;
  for (size_t i = 0; i < us.size(); ++i) times.push_back({work[i], us[i]});
  return times;
}

AdamState UpdateCuda::SaveAdam() const {
  AdamState state;
  Check(cudaMemcpy(&state.steps, impl_->optimizer.adam_steps, sizeof(int64_t), cudaMemcpyDeviceToHost),
        "cannot copy from the device");
  state.mean = impl_->FromDevice(impl_->optimizer.mean);
  state.variance = impl_->FromDevice(impl_->optimizer.variance);
  return state;
}

void UpdateCuda::LoadAdam(const AdamState& state) {
  EMPLACE_CHECK(state.mean.size() == impl_->parameters && state.variance.size() == impl_->parameters);
  Check(cudaMemcpy(impl_->optimizer.adam_steps, &state.steps, sizeof(int64_t), cudaMemcpyHostToDevice),
        "cannot copy to the device");
  impl_->ToDevice(impl_->optimizer.mean, state.mean.data());
  impl_->ToDevice(impl_->optimizer.variance, state.variance.data());
}

}  // namespace emplace::gpu
