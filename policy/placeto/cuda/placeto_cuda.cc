#include "policy/placeto/cuda/placeto_cuda.h"

#include "policy/placeto/cuda/device_problem.h"
#include "policy/placeto/cuda/launches.h"

namespace emplace::gpu {

std::string WhyNoGpu() {
  int devices = 0;
  const cudaError_t result = cudaGetDeviceCount(&devices);
  if (result != cudaSuccess) return cudaGetErrorString(result);
  return devices > 0 ? "" : "no CUDA device";
}

struct PlacetoCuda::Impl {
  DeviceProblem device;
  int32_t states = 0;  // Of the batch
};

PlacetoCuda::PlacetoCuda(const PlacetoShape& shape, std::span<const PlacetoGraph* const> graphs, int64_t shared_limit)
    : impl_(new Impl{DeviceProblem(shape, graphs, shared_limit)}) {}
PlacetoCuda::~PlacetoCuda() { cudaDeviceSynchronize(); }

void PlacetoCuda::SetBatch(std::span<const EpisodeSource> episodes, std::span<const StateEntry> states, void* stream) {
  DeviceProblem& device = impl_->device;
  const BatchCapacity needed = CapacityFor(device.graphs(), episodes, states.size());
  Check(cudaDeviceSynchronize(), "work on the device failed");
  if (!device.Holds(needed)) device.Grow(needed);
  device.CopyBatch(episodes, states, {}, static_cast<cudaStream_t>(stream));
  impl_->states = needed.states;
}

void PlacetoCuda::Forward(const float* values, float* logits, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  const Problem& problem = impl_->device.problem();
  ForwardOnStream(on, problem, values);
  const size_t row = static_cast<size_t>(problem.plan.num_devices) * sizeof(float);
  const size_t padded_row = static_cast<size_t>(problem.plan.devices_padded) * sizeof(float);
  Check(cudaMemcpy2DAsync(logits, row, problem.work.head.logits, padded_row, row, static_cast<size_t>(impl_->states),
                          cudaMemcpyDeviceToDevice, on),
        "cannot copy logits");
}

void PlacetoCuda::Backward(const float* d_logits, float* gradient, void* stream) {
  const auto on = static_cast<cudaStream_t>(stream);
  const Problem& problem = impl_->device.problem();
  const auto states = static_cast<size_t>(impl_->states);
  const size_t row = static_cast<size_t>(problem.plan.num_devices) * sizeof(float);
  const size_t padded_row = static_cast<size_t>(problem.plan.devices_padded) * sizeof(float);
  Check(cudaMemsetAsync(problem.work.head.d_logits, 0, states * padded_row, on), "cannot clear gradients");
  Check(cudaMemcpy2DAsync(problem.work.head.d_logits, padded_row, d_logits, row, row, states, cudaMemcpyDeviceToDevice,
                          on),
        "cannot copy gradients");
  BackwardOnStream(on, problem);
  Check(cudaMemcpyAsync(gradient, problem.work.gradient, static_cast<size_t>(problem.plan.parameters) * sizeof(float),
                        cudaMemcpyDeviceToDevice, on),
        "cannot copy the gradient");
}

int32_t PlacetoCuda::small_nodes() const { return impl_->device.sizes().small_nodes; }

}  // namespace emplace::gpu
