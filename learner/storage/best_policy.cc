#include "learner/storage/best_policy.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "common/strings.h"
#include "policy/policy_weights.h"

namespace emplace {
namespace {

// In the metadata of the best policy: how many of its validation placements do not fit in memory.
constexpr const char* kInfeasibleKey = "validation_infeasible";
// And what it comes to on them: for people and for `emplace export`.
constexpr const char* kRatioKey = "validation_ratio";

}  // namespace

BestPolicy::BestPolicy(const CheckpointStore& store, bool take_last) : store_(store), take_last_(take_last) {
  const std::optional<PolicyWeights> best = store.LoadBest();
  if (!best) return;
  const auto number = [&](const char* key) {
    const auto found = best->metadata.find(key);
    return found == best->metadata.end() ? 0.0 : std::strtod(found->second.c_str(), nullptr);
  };
  ratio_ = number(kRatioKey);
  infeasible_ = static_cast<int64_t>(number(kInfeasibleKey));
}

void BestPolicy::Consider(const EvaluationReport& report) {
  const double ratio = report.validation.geometric_mean_ratio;
  const int64_t infeasible = report.validation.infeasible;
  if (!(ratio > 0)) return;  // No graph has one.
  if (!take_last_ && ratio_ > 0 && std::pair(infeasible, ratio) >= std::pair(infeasible_, ratio_)) return;
  ratio_ = ratio;
  infeasible_ = infeasible;
  PolicyWeights best = *report.weights;
  best.metadata[kInfeasibleKey] = std::to_string(infeasible);
  best.metadata[kRatioKey] = ShortestDouble(ratio);
  store_.WriteBest(best);
}

}  // namespace emplace
