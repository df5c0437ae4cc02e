// Placeto as a Model on a GPU: forward and backward pass are the project's kernels, everything else is the caller's.
// For what the recorded update (update_cuda.h) cannot do: a part of a batch, or another loss.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/model.h"
#include "policy/policy_shape.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// `gpu` is the device's index, counted from 0. Throws RunFailed when there is no such device, or when it fails or has
// too little memory. REQUIRES: WhyNoGpu() is empty; tasks outlive the model.
std::unique_ptr<Model> MakePlacetoCudaModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks,
                                            int32_t gpu);

}  // namespace emplace
