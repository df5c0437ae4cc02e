// Learning with a policy of kind rnn.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <vector>

#include "policy/model.h"
#include "policy/policy_shape.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// REQUIRES: shape.kind is rnn; tasks outlive the model.
std::unique_ptr<Model> MakeRnnModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks,
                                    c10::Device device);

}  // namespace emplace
