// The update engine over any model: forward pass, loss, backward pass, clipping and Adam.
//
// The gradient is computed in `shards` consecutive parts of the samples, each from zero, which are then added pairwise
// in their order (shard_sums.h). So it has the same bits whichever rank computes which part. Every rank takes the same
// optimizer step.
#pragma once

#include <memory>
#include <vector>

#include "learner/update/collective.h"
#include "learner/update/update_engine.h"
#include "policy/model.h"
#include "policy/policy_weights.h"

namespace emplace {

// The engine of one rank. collective: nullptr: there is one rank. On ranks other than 0, the outcome of a step has no
// loss, entropy and importance. REQUIRES: the model is for the policy; shards >= ranks; the collective outlives the
// engine.
std::unique_ptr<UpdateEngine> MakeModelEngine(std::unique_ptr<Model> model, const PolicyWeights& initial,
                                              int64_t shards, Collective* collective = nullptr);

}  // namespace emplace
