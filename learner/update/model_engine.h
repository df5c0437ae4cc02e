// The update engine over any model: forward pass, loss, backward pass, clipping and Adam.
//
// The gradient is computed in `shards` consecutive parts of the samples, each from zero, which are then added pairwise
// in their order: ((0 + 1) + (2 + 3)) + .... So it has the same bits whoever computes which part.
#pragma once

#include <memory>
#include <vector>

#include "learner/update/update_engine.h"
#include "policy/model.h"
#include "policy/policy_weights.h"

namespace emplace {

// REQUIRES: the model is for the policy; shards > 0.
std::unique_ptr<UpdateEngine> MakeModelEngine(std::unique_ptr<Model> model, const PolicyWeights& initial,
                                              int64_t shards);

}  // namespace emplace
