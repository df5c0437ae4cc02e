// A task for the part of a search that places what one replica does: the ops of its micro-batches, and what all
// micro-batches share, on the devices of the first replica. It has a fraction of the ops, so a move costs less. It
// lacks all tensors between replicas, gradients above all, which therefore take no time in it.
#pragma once

#include <span>
#include <vector>

#include "simulator/graph/placement.h"
#include "simulator/methods/search/replicas.h"
#include "simulator/task/placement_task.h"

namespace emplace {

class ReplicaTask {
 public:
  // REQUIRES: both outlive this.
  ReplicaTask(const PlacementTask& whole, const Replicas& replicas);

  // On the whole's machine, of which no op may run on the devices of other replicas. The memory of what is shared
  // counts with the part that a replica has of it if it is spread evenly. It has what a search space and list schedules
  // need, and no groups for a policy.
  const PlacementTask& task() const { return task_; }
  // [ops of the whole] Each replica on its devices as in `placement` [ops of task()], and what is shared spread over
  // the replicas, so that all have as many bytes of it. Ops that must stay together do, if they do in `placement`.
  Placement Expanded(std::span<const DeviceIndex> placement) const;

 private:
  const PlacementTask& whole_;
  const Replicas& replicas_;
  PlacementTask task_;
  std::vector<OpIndex> stand_in_;  // [ops of the whole] the op of task() that stands for each
};

}  // namespace emplace
