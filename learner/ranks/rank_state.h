// The state from which ranks begin: policy and optimizer of rank 0, as the arrays of a RankWelcome.
#pragma once

#include "common/wire/array_bundle.h"
#include "policy/adam.h"
#include "policy/policy_weights.h"

namespace emplace {

struct RankState {
  PolicyWeights weights;
  AdamState adam;  // As many moments as the policy has parameters.
};

ArrayBundle ToBundle(const RankState& state);
// Checks everything that came from the network. Throws BadInput.
RankState RankStateFromBundle(const ArrayBundle& bundle);

}  // namespace emplace
