// A task as players on LibTorch see it.
#pragma once

#include <cstdint>

#include "policy/player.h"
#include "policy/torch/group_tensors.h"
#include "simulator/task/group_graph.h"

namespace emplace {

// Keeps what the player of the view has computed of it for as long as the player has the same weights. Only that player
// may use it.
template <typename Computed>
class GroupView final : public TaskView {
 public:
  // REQUIRES: the groups outlive the view.
  explicit GroupView(const GroupGraph& task_groups) : groups(task_groups), graph(MakeGroupFeatures(task_groups)) {}

  // What compute() returned for these weights. weights: which of the player's weights it has now, counted from 1.
  template <typename Compute>
  const Computed& Get(uint64_t weights, Compute&& compute) const {
    if (weights_ != weights) {
      computed_ = compute();
      weights_ = weights;
    }
    return computed_;
  }

  const GroupGraph& groups;
  const GroupTensors graph;

 private:
  mutable uint64_t weights_ = 0;  // Those that computed_ is of; 0: none yet.
  mutable Computed computed_;
};

}  // namespace emplace
