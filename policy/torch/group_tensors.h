// What goes into and comes out of networks on LibTorch.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/ids.h"
#include "policy/torch/group_features.h"
#include "simulator/environment/placement_task.h"

namespace emplace {

// GroupFeatures as tensors.
struct GroupTensors {
  explicit GroupTensors(const GroupFeatures& features);

  torch::Tensor nodes;  // [n, kNumGroupFeatures] float
  torch::Tensor from;   // [edges] int64
  torch::Tensor to;     // [edges] int64
};

// The tensors of the tasks that a model learns from, made when they are first asked for.
class TensorsOfTasks {
 public:
  // REQUIRES: tasks outlive it.
  explicit TensorsOfTasks(const std::vector<PlacementTask>& tasks) : tasks_(tasks), tensors_(tasks.size()) {}
  const GroupTensors& Of(GraphId graph);

 private:
  const std::vector<PlacementTask>& tasks_;
  std::vector<std::optional<GroupTensors>> tensors_;  // [tasks]
};

// Appends logits as players and models give them: row-major, -infinity where a choice is not allowed. allowed: as many
// as there are logits, 1 where allowed.
void AppendLogits(const torch::Tensor& logits, std::span<const uint8_t> allowed, std::vector<float>& values);
// The same where every choice is allowed.
void AppendLogits(const torch::Tensor& logits, std::vector<float>& values);

}  // namespace emplace
