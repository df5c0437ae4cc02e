// The state from which ranks begin: policy and optimizer of rank 0, as the arrays of a RankWelcome.
#pragma once

#include <cstdint>
#include <vector>

#include "common/array_bundle.h"
#include "policy/adam.h"
#include "policy/policy_weights.h"

namespace emplace {

struct RankState {
  PolicyWeights weights;
  AdamState adam;                     // As many moments as the policy has parameters.
  std::vector<uint8_t> nccl_id = {};  // Where ranks are to meet in NCCL; empty: they do not.
};

ArrayBundle ToBundle(const RankState& state);
// Checks everything that came from the network. Throws BadInput.
RankState RankStateFromBundle(const ArrayBundle& bundle);

}  // namespace emplace
