#include "simulator/methods/policy_method.h"

#include "common/error.h"

namespace emplace {
namespace {

const PolicyWeights& Required(const MethodOptions& options) {
  if (!options.policy) throw BadInput("method 'policy' needs --policy FILE");
  return *options.policy;
}

}  // namespace

PolicyMethod::PolicyMethod(const MethodOptions& options) : kernel_(Required(options)) {
  placer_.samples = options.samples;
  placer_.seed = options.seed;
  // A policy starts its episodes where it started them in training.
  const auto start = options.policy->metadata.find("environment.start");
  if (start != options.policy->metadata.end()) placer_.start = start->second;
}

MethodResult PolicyMethod::Place(const PlacementTask& task) {
  const PlacerResult placed = PlaceWithPolicy(kernel_, task, placer_);
  MethodResult result;
  result.evaluations = placed.evaluations;
  result.placement = Placement(static_cast<size_t>(task.sim.num_ops));
  task.Expand(placed.groups, *result.placement);
  return result;
}

}  // namespace emplace
