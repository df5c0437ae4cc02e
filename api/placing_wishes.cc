#include "api/placing_wishes.h"

#include "api/place_graph.h"
#include "api/task_inputs.h"
#include "policy/placer/policy_method.h"

namespace emplace {

MethodOptions OptionsOf(const PlacingWishes& wishes, const std::vector<std::string>& methods) {
  MethodOptions options;
  options.budget = wishes.budget;
  options.seconds = wishes.seconds;
  options.threads = Threads(wishes.threads);
  options.seed = wishes.seed;
  options.objective = ObjectiveNamed(wishes.objective);
  SetOwnOptions(wishes.method_options, methods, options);
  AskForOrder(wishes.order, options);
  return options;
}

void UsePolicyOn(const Cluster& cluster, const std::string& cluster_source, const PolicyWeights& policy,
                 const std::string& policy_source, MethodOptions& options) {
  CheckPolicyFits(policy, policy_source, cluster, cluster_source);
  UsePolicy(policy, options);
}

}  // namespace emplace
