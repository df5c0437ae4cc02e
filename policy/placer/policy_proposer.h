// A trained policy as what a search asks: its greedy placement is its one proposal for the whole graph.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "policy/policy_weights.h"
#include "simulator/methods/placement_method.h"
#include "simulator/methods/search/proposer.h"

namespace emplace {

class PolicyProposer : public Proposer {
 public:
  PolicyProposer(const PolicyWeights& weights, uint64_t seed);

  std::string name() const override { return "policy"; }
  // Proposes nothing for a part of a graph, or for a task with another number of devices than the policy has.
  std::vector<Move> Candidates(const PlacementTask& task, std::span<const OpIndex> region,
                               std::span<const DeviceIndex> placement) override;

 private:
  const int32_t num_devices_;
  const std::unique_ptr<PlacementMethod> method_;
};

}  // namespace emplace
