#include "policy/placer/policy_method.h"

#include <utility>

#include "policy/placer/planner_method.h"
#include "policy/placer/policy_placer.h"
#include "policy/players.h"
#include "policy/policy_kinds.h"
#include "simulator/methods/policy_method_options.h"

namespace emplace {
namespace {

int32_t Samples(const MethodOptions& options) {
  return static_cast<int32_t>(PolicyMethodOptions::Table().Filled(options.own).samples);
}

class PolicyMethod final : public PlacementMethod {
 public:
  PolicyMethod(const PolicyWeights& weights, const MethodOptions& options)
      : player_(MakePlayer(weights)),
        placer_{.samples = Samples(options),
                .start = StartOfEpisodes(weights),
                .seed = options.seed,
                .stop = options.stop} {}

  bool draws() const override { return true; }  // The start placement is drawn, if nothing else.
  bool places_groups() const override { return true; }

  MethodResult Place(const PlacementTask& task) override {
    const PlacerResult placed = PlaceWithPolicy(*player_, task, placer_);
    MethodResult result;
    result.evaluations = placed.evaluations;
    result.score = {TotalBytesOver(placed.peak_bytes, task.sim.memory_bytes), placed.makespan_us};
    result.placement = Placement(static_cast<size_t>(task.sim.num_ops));
    task.Expand(placed.groups, *result.placement);
    return result;
  }

 private:
  const std::unique_ptr<Player> player_;
  const PlacerOptions placer_;
};

}  // namespace

std::unique_ptr<PlacementMethod> MakePolicyMethod(const PolicyWeights& weights, const MethodOptions& options) {
  if (FindPolicyKind(weights.shape.kind).plans()) return MakePlannerPolicyMethod(weights, options);
  return std::make_unique<PolicyMethod>(weights, options);
}

void UsePolicy(PolicyWeights weights, MethodOptions& options) {
  const auto shared = std::make_shared<const PolicyWeights>(std::move(weights));
  options.make_policy = [shared](const MethodOptions& own) { return MakePolicyMethod(*shared, own); };
  if (FindPolicyKind(shared->shape.kind).plans()) options.planner = MeanPlanner(*shared);
}

}  // namespace emplace
