// Learning with a policy of any kind, on the CPU or on a GPU. Only the learner links this.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policy/model.h"
#include "policy/policy_shape.h"
#include "policy/policy_weights.h"
#include "policy/whole_step.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// A model on the CPU. `tasks` are those that episodes are of, index = GraphId. REQUIRES: tasks outlive the model.
std::unique_ptr<Model> MakeModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks);

// Why no model of this shape can compute on a GPU of this computer; empty: one can.
std::string WhyNoGpu(const PolicyShape& shape);

// A model on the GPU of this index, counted from 0. Throws RunFailed when there is no such GPU, or when it fails or has
// too little memory; so do the model's functions. REQUIRES: WhyNoGpu(shape) is empty; tasks outlive the model.
std::unique_ptr<Model> MakeGpuModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks, int32_t gpu);

// Whether models of this kind can make a whole optimizer step at once on a GPU, in this build.
bool HasWholeStep(const std::string& kind);
// Throws as MakeGpuModel. REQUIRES: HasWholeStep(initial.shape.kind); WhyNoGpu(initial.shape) is empty; tasks outlive
// the result.
std::unique_ptr<WholeStep> MakeWholeStep(const PolicyWeights& initial, const std::vector<PlacementTask>& tasks);

}  // namespace emplace
