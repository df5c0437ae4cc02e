// What a user says of how to place, in the words that the commands, the Python package and the C++ library share.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/policy_weights.h"
#include "simulator/machine/cluster.h"
#include "simulator/methods/placement_method.h"

namespace emplace {

struct PlacingWishes {
  double seconds = 0;  // As of MethodOptions.
  int64_t budget = 0;  // As of MethodOptions.
  int threads = 0;     // 0: one for each core.
  uint64_t seed = 1;
  std::string objective = "latency";                       // One of ObjectiveNames.
  std::string order = {};                                  // As AskForOrder (place_graph.h) takes it.
  std::map<std::string, std::string> method_options = {};  // Values of options that some methods alone have.
  std::optional<int64_t> max_groups = {};                  // As MaxGroups (task_inputs.h) takes it.
};

// The options for methods of these names. Throws BadInput for what is unknown or out of its range, and for an option
// that none of the methods has.
MethodOptions OptionsOf(const PlacingWishes& wishes, const std::vector<std::string>& methods);

// Has methods place with the policy. Sources: where it and the cluster come from, for errors. Throws BadInput for a
// policy that is for another number of devices.
void UsePolicyOn(const Cluster& cluster, const std::string& cluster_source, const PolicyWeights& policy,
                 const std::string& policy_source, MethodOptions& options);

}  // namespace emplace
