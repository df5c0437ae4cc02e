#include "simulator/methods/budgeted_search.h"

#include "common/error.h"

namespace emplace {
BudgetedSearch::BudgetedSearch(const PlacementTask& task, int64_t budget)
    : task_(task), budget_(budget), scorer_(task), placement_(static_cast<size_t>(task.sim.num_ops)) {
  EMPLACE_CHECK(budget >= 1);
}

SearchScore BudgetedSearch::Simulate(std::span<const uint8_t> groups) {
  EMPLACE_CHECK(runs_left() > 0);
  task_.Expand(groups, placement_);
  const SearchScore score = scorer_.Score(placement_);
  if (runs_ == 0 || score < best_score_) {
    best_score_ = score;
    best_groups_.assign(groups.begin(), groups.end());
  }
  ++runs_;
  return score;
}

MethodResult BudgetedSearch::BestResult() const {
  EMPLACE_CHECK(runs_ > 0);
  MethodResult result;
  result.evaluations = runs_;
  result.placement = Placement(placement_.size());
  task_.Expand(best_groups_, *result.placement);
  return result;
}

}  // namespace emplace
