#include "policy/placer/policy_proposer.h"

#include <utility>

#include "policy/players.h"
#include "policy/policy_weights.h"

namespace emplace {

PolicyProposer::PolicyProposer(const PolicyWeights& weights, uint64_t seed) : player_(MakePlayer(weights)) {
  placer_.seed = seed;
  placer_.start = StartOfEpisodes(weights);
}

std::vector<Move> PolicyProposer::Candidates(const PlacementTask& task, std::span<const OpIndex> region,
                                             std::span<const DeviceIndex> placement) {
  if (!region.empty() || player_->shape().num_devices != task.sim.num_devices) return {};
  Placement proposed(placement.size());
  task.Expand(PlaceWithPolicy(*player_, task, placer_).groups, proposed);
  Move move;
  for (size_t o = 0; o < proposed.size(); ++o) {
    if (proposed[o] != placement[o]) move.push_back({static_cast<OpIndex>(o), proposed[o]});
  }
  return {std::move(move)};
}

}  // namespace emplace
