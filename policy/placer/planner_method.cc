#include "policy/placer/planner_method.h"

#include <tuple>
#include <utility>

#include "common/error.h"
#include "policy/gaussian.h"
#include "policy/policy_kinds.h"
#include "simulator/methods/planner_parameters.h"
#include "simulator/methods/policy_method_options.h"

namespace emplace {
namespace {

std::shared_ptr<const PlannerParameters> PlannerWith(const PolicyWeights& weights, std::span<const float> parameters) {
  return std::make_shared<const PlannerParameters>(FindPolicyKind(weights.shape.kind).PlannerOf(parameters));
}

class PlannerPolicyMethod final : public PlacementMethod {
 public:
  PlannerPolicyMethod(const PolicyWeights& weights, const MethodOptions& options)
      : weights_(weights), options_(options), samples_(PolicyMethodOptions::Table().Filled(options.own).samples) {}

  bool draws() const override { return samples_ > 0; }

  MethodResult Place(const PlacementTask& task) override {
    const Rng rng = Rng(options_.seed).Fork("planner/" + task.name);
    MethodResult best;
    MethodScore best_score;
    int64_t evaluations = 0;
    for (int64_t sample = 0; sample <= samples_ && !(best.placement && options_.stop.Now()); ++sample) {
      MethodOptions options = options_;
      options.planner = PlannerWith(weights_, Sample(static_cast<size_t>(sample), rng));
      MethodResult result;
      try {
        result = MakePlannerMethod(std::move(options), 1)->Place(task);
      } catch (const Stopped&) {
        if (!best.placement) throw;
        break;
      }
      evaluations += result.evaluations;
      const MethodScore score = samples_ > 0 ? Score(task, result) : MethodScore();
      const auto worth = [](const MethodScore& of) { return std::tuple(!of.feasible, of.makespan_us); };
      if (best.placement && worth(best_score) <= worth(score)) continue;
      best = std::move(result);
      best_score = score;
    }
    best.evaluations = evaluations;
    return best;
  }

 private:
  // The parameters of a pass: the mean, the complements, and then draws.
  std::vector<float> Sample(size_t number, const Rng& rng) const {
    const Gaussian policy(weights_);
    if (number > policy.complements.size()) return policy.Draw(rng.Fork("sample", number));
    const std::span<const float> given = number == 0 ? policy.mean : policy.complements[number - 1];
    return {given.begin(), given.end()};
  }

  const PolicyWeights weights_;
  const MethodOptions options_;
  const int64_t samples_;
};

}  // namespace

std::shared_ptr<const PlannerParameters> MeanPlanner(const PolicyWeights& weights) {
  return PlannerWith(weights, Gaussian(weights).mean);
}

std::unique_ptr<PlacementMethod> MakePlannerMethod(MethodOptions options, int64_t budget) {
  EMPLACE_CHECK(options.planner != nullptr);
  if (budget > 1) {
    options.budget = budget;
    return MakeMethod("auto", options);
  }
  options.own["passes"] = int64_t{1};
  return MakeMethod("list", options);
}

std::unique_ptr<PlacementMethod> MakePlannerPolicyMethod(const PolicyWeights& weights, const MethodOptions& options) {
  return std::make_unique<PlannerPolicyMethod>(weights, options);
}

}  // namespace emplace
