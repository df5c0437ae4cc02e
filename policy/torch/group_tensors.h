// What goes into and comes out of networks on LibTorch.
#pragma once

#include <c10/core/Device.h>
#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/ids.h"
#include "policy/features/group_features.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// GroupFeatures as tensors.
struct GroupTensors {
  explicit GroupTensors(const GroupFeatures& features);  // On the CPU.

  // These on the device. On the CPU they share their memory.
  GroupTensors To(c10::Device device) const;

  torch::Tensor nodes;  // [n, kNumGroupFeatures] float
  torch::Tensor from;   // [edges] int64
  torch::Tensor to;     // [edges] int64
};

// The tensors of the tasks that a model learns from, made when they are first asked for. They stay on the device.
class TensorsOfTasks {
 public:
  // REQUIRES: tasks outlive it.
  TensorsOfTasks(const std::vector<PlacementTask>& tasks, c10::Device device)
      : tasks_(tasks), device_(device), tensors_(tasks.size()) {}
  const GroupTensors& Of(GraphId graph) { return Both(graph).on_device; }
  const GroupTensors& OnHost(GraphId graph) { return Both(graph).on_host; }

 private:
  struct Tensors {
    GroupTensors on_host;
    GroupTensors on_device;
  };

  const Tensors& Both(GraphId graph);

  const std::vector<PlacementTask>& tasks_;
  const c10::Device device_;
  std::vector<std::optional<Tensors>> tensors_;  // [tasks]
};

// The values of a tensor on any device in dense memory of the CPU. Waits for the device.
torch::Tensor OnHost(const torch::Tensor& tensor);

// Appends logits on the CPU as players and models give them: row-major, -infinity where a choice is not allowed.
// allowed: as many as there are logits, 1 where allowed.
void AppendLogits(const torch::Tensor& logits, std::span<const uint8_t> allowed, std::vector<float>& values);
// The same where every choice is allowed.
void AppendLogits(const torch::Tensor& logits, std::vector<float>& values);

}  // namespace emplace
