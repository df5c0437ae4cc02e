#include "learner/storage/best_policy.h"

#include <cmath>
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
// And what it comes to on them, and whether they are validation or training graphs: for people and for `emplace
// export`.
constexpr const char* kRatioKey = "validation_ratio";
constexpr const char* kGraphsKey = "evaluated_on";

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
  best.metadata[kGraphsKey] = report.validation_name;
  Write(std::move(best));
}

void BestPolicy::JudgeAnew(const std::function<EvaluationResult(const PolicyWeights&)>& evaluate) {
  std::optional<PolicyWeights> best = store_.LoadBest();
  if (!best) return;
  const EvaluationResult result = evaluate(*best);
  ratio_ = std::isnan(result.geometric_mean_ratio) ? 0 : result.geometric_mean_ratio;
  infeasible_ = result.infeasible;
  Write(*std::move(best));
}

void BestPolicy::Write(PolicyWeights policy) const {
  policy.metadata[kInfeasibleKey] = std::to_string(infeasible_);
  policy.metadata[kRatioKey] = ShortestDouble(ratio_);
  store_.WriteBest(policy);
}

}  // namespace emplace
