#include "policy/placeto/cuda/placeto_cuda_model.h"

#include <algorithm>
#include <functional>
#include <string>

#include "common/strings.h"
#include "policy/placeto/cuda/cuda_support.h"
#include "policy/placeto/cuda/placeto_cuda.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace {
namespace {

// Floats on the device, as many as were asked for so far.
class DeviceFloats {
 public:
  float* AtLeast(size_t count) {
    if (count > count_) {
      memory_ = gpu::AllocateDevice(count * sizeof(float));
      count_ = count;
    }
    return reinterpret_cast<float*>(memory_.get());
  }
  float* From(std::span<const float> host) {
    float* const device = AtLeast(host.size());
    gpu::Check(cudaMemcpy(device, host.data(), host.size_bytes(), cudaMemcpyHostToDevice), "cannot copy to the device");
    return device;
  }
  void To(std::span<float> host) const {
    gpu::Check(cudaMemcpy(host.data(), memory_.get(), host.size_bytes(), cudaMemcpyDeviceToHost),
               "cannot copy from the device");
  }

 private:
  gpu::DeviceMemory memory_;
  size_t count_ = 0;
};

// The device is chosen in each call, because CUDA's choice holds for one thread.
class PlacetoCudaModel final : public Model {
 public:
  PlacetoCudaModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks, int32_t gpu)
      : gpu_(Chosen(gpu)),
        device_(StrCat("cuda:", gpu)),
        graphs_(MakePlacetoGraphs(tasks)),
        policy_(PlacetoShape::Of(shape), PointersTo(graphs_)),
        num_devices_(shape.num_devices) {}

  const std::string& device() const override { return device_; }

  void Forward(std::span<const float> values, std::span<const Trajectory> episodes, std::span<const Sample> samples,
               Decisions& decisions) override {
    Chosen(gpu_);
    std::vector<gpu::EpisodeSource> sources;
    for (const Trajectory& episode : episodes) {
      sources.push_back({static_cast<int32_t>(episode.graph), episode.start_placement, episode.actions});
    }
    std::vector<gpu::StateEntry> states(samples.size());
    for (size_t i = 0; i < samples.size(); ++i) {
      states[i].episode = static_cast<int32_t>(samples[i].episode);
      states[i].step = samples[i].decision;
    }
    policy_.SetBatch(sources, states, nullptr);
    decisions.blocks.assign(samples.size(), {.count = 1, .num_choices = num_devices_});
    decisions.logits.resize(samples.size() * static_cast<size_t>(num_devices_));
    policy_.Forward(values_.From(values), logits_.AtLeast(decisions.logits.size()), nullptr);
    logits_.To(decisions.logits);
  }

  void Backward(std::span<const float> logit_gradient, std::span<float> gradient) override {
    Chosen(gpu_);
    policy_.Backward(logits_.From(logit_gradient), gradient_.AtLeast(gradient.size()), nullptr);
    sum_.resize(gradient.size());
    gradient_.To(sum_);
    std::ranges::transform(gradient, sum_, gradient.begin(), std::plus<>());
  }

 private:
  static int32_t Chosen(int32_t gpu) {
    gpu::Check(cudaSetDevice(gpu), StrCat("GPU ", gpu, " cannot be used").c_str());
    return gpu;
  }

  const int32_t gpu_;
  const std::string device_;
  const std::vector<PlacetoGraph> graphs_;  // [tasks]
  gpu::PlacetoCuda policy_;
  const int32_t num_devices_;
  DeviceFloats values_;
  DeviceFloats logits_;  // Then their gradient.
  DeviceFloats gradient_;
  std::vector<float> sum_;
};

}  // namespace

std::unique_ptr<Model> MakePlacetoCudaModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks,
                                            int32_t gpu) {
  return std::make_unique<PlacetoCudaModel>(shape, tasks, gpu);
}

}  // namespace emplace
