#include "policy/placer/policy_proposer.h"

#include <utility>

#include "policy/placer/policy_method.h"

namespace emplace {

PolicyProposer::PolicyProposer(const PolicyWeights& weights, uint64_t seed)
    : num_devices_(weights.shape.num_devices), method_(MakePolicyMethod(weights, {.seed = seed})) {}

std::vector<Move> PolicyProposer::Candidates(const PlacementTask& task, std::span<const OpIndex> region,
                                             std::span<const DeviceIndex> placement) {
  if (!region.empty() || num_devices_ != task.sim.num_devices) return {};
  const Placement proposed = method_->Place(task).placement.value();
  Move move;
  for (size_t o = 0; o < proposed.size(); ++o) {
    if (proposed[o] != placement[o]) move.push_back({static_cast<OpIndex>(o), proposed[o]});
  }
  return {std::move(move)};
}

}  // namespace emplace
