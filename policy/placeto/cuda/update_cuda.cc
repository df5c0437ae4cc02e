#include "policy/placeto/cuda/update_cuda.h"

#include <algorithm>
#include <array>

#include "common/error.h"
#include "policy/placeto/cuda/device_problem.h"
#include "policy/placeto/cuda/launches.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace::gpu {
namespace {

static_assert(UpdateCuda::kInFlight == kBatchSlots);

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
  struct Slot {
    Event copied_in;
    Event computed;
    Event copied_out;
    DeviceMemory device_output;
    PinnedMemory host_output;
    Recording recording;
  };

  Impl(const PlacetoShape& shape, std::span<const PlacetoGraph* const> graphs, std::span<const float> values,
       int64_t shared_limit)
      : device(shape, graphs, shared_limit),
        parameters(static_cast<size_t>(device.plan().parameters)),
        optimizer_memory(OptimizerBytes(parameters)) {
    EMPLACE_CHECK(values.size() == parameters);
    Carver carver(optimizer_memory.data());
    optimizer = CarveOptimizer(parameters, carver);
    Check(cudaMemset(optimizer_memory.data(), 0, OptimizerBytes(parameters)), "cannot clear the optimizer");
    ToDevice(optimizer.values, values.data());
    for (Slot& slot : slots) {
      slot.device_output = DeviceMemory(OutputBytes(parameters));
      slot.host_output = PinnedMemory(OutputBytes(parameters));
    }
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
    in.Synchronize();
    compute.Synchronize();
    device.Grow(needed);
    for (Slot& slot : slots) slot.recording.Clear();  // Its pointers are no longer valid.
  }

  DeviceProblem device;
  const size_t parameters;
  DeviceMemory optimizer_memory;
  OptimizerState optimizer{};
  // Three streams, so that copies run beside the kernels of another update.
  Stream in;
  Stream compute;
  Stream out;
  std::array<Slot, kInFlight> slots;
  int64_t submitted = 0;
  int64_t collected = 0;
};

UpdateCuda::UpdateCuda(const PlacetoShape& shape, std::span<const PlacetoGraph* const> graphs,
                       std::span<const float> values, int64_t shared_limit)
    : impl_(std::make_unique<Impl>(shape, graphs, values, shared_limit)) {}
UpdateCuda::~UpdateCuda() = default;

void UpdateCuda::Submit(std::span<const EpisodeSource> episodes, std::span<const StateEntry> states,
                        const UpdateScalars& scalars) {
  EMPLACE_CHECK(in_flight() < kInFlight);
  Impl& impl = *impl_;
  impl.MakeRoom(episodes, states);
  const auto index = static_cast<int32_t>(impl.submitted % kInFlight);
  Impl::Slot& slot = impl.slots[static_cast<size_t>(index)];
  if (slot.recording.empty()) {
    const Output output = OutputAt(impl.parameters, slot.device_output.data());
    slot.recording.Capture(impl.compute, [&] {
      UpdateOnStream(impl.compute.get(), impl.device.problem(index), impl.optimizer, output.report, output.values);
    });
  }
  // The slot's last update was collected, so nothing reads or writes its memory any more.
  impl.device.CopyBatch(index, episodes, states, scalars, impl.in.get());
  slot.copied_in.Record(impl.in);
  slot.copied_in.MakeWait(impl.compute);
  slot.recording.Replay(impl.compute);
  slot.computed.Record(impl.compute);
  slot.computed.MakeWait(impl.out);
  Check(cudaMemcpyAsync(slot.host_output.data(), slot.device_output.data(), OutputBytes(impl.parameters),
                        cudaMemcpyDeviceToHost, impl.out.get()),
        "cannot copy the weights");
  slot.copied_out.Record(impl.out);
  ++impl.submitted;
}

UpdateReport UpdateCuda::Collect(std::span<float> values) {
  EMPLACE_CHECK(in_flight() > 0 && values.size() == impl_->parameters);
  const Impl::Slot& slot = impl_->slots[static_cast<size_t>(impl_->collected % kInFlight)];
  slot.copied_out.Synchronize();
  ++impl_->collected;
  const Output output = OutputAt(impl_->parameters, slot.host_output.data());
  std::copy_n(output.values, values.size(), values.begin());
  return *output.report;
}

int32_t UpdateCuda::in_flight() const { return static_cast<int32_t>(impl_->submitted - impl_->collected); }

std::vector<KernelTime> UpdateCuda::TimeKernels(std::span<const EpisodeSource> episodes,
                                                std::span<const StateEntry> states, const UpdateScalars& scalars) {
  EMPLACE_CHECK(in_flight() == 0);
  Impl& impl = *impl_;
  impl.MakeRoom(episodes, states);
  impl.device.CopyBatch(0, episodes, states, scalars, impl.compute.get());
  const Problem problem = impl.device.problem(0);
  const Output output = OutputAt(impl.parameters, impl.slots.front().device_output.data());
  const std::vector<double> us = TimeUpdate(impl.compute, problem, impl.optimizer, output.report, output.values);
  const std::vector<KernelWork> work =
      UpdateWork(problem, LoadOf(impl.device.graphs(), episodes, states, problem.sizes.small_nodes));
  EMPLACE_CHECK(us.size() == work.size());
  std::vector<KernelTime> times;
  for (size_t i = 0; i < us.size(); ++i) times.push_back({work[i], us[i]});
  return times;
}

AdamState UpdateCuda::SaveAdam() const {
  EMPLACE_CHECK(in_flight() == 0);
  AdamState state;
  Check(cudaMemcpy(&state.steps, impl_->optimizer.adam_steps, sizeof(int64_t), cudaMemcpyDeviceToHost),
        "cannot copy from the device");
  state.mean = impl_->FromDevice(impl_->optimizer.mean);
  state.variance = impl_->FromDevice(impl_->optimizer.variance);
  return state;
}

void UpdateCuda::LoadAdam(const AdamState& state) {
  EMPLACE_CHECK(in_flight() == 0);
  EMPLACE_CHECK(state.mean.size() == impl_->parameters && state.variance.size() == impl_->parameters);
  Check(cudaMemcpy(impl_->optimizer.adam_steps, &state.steps, sizeof(int64_t), cudaMemcpyHostToDevice),
        "cannot copy to the device");
  impl_->ToDevice(impl_->optimizer.mean, state.mean.data());
  impl_->ToDevice(impl_->optimizer.variance, state.variance.data());
}

}  // namespace emplace::gpu
