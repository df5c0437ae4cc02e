#include "simulator/methods/groups/budgeted_search.h"

namespace emplace {

BudgetedSearch::BudgetedSearch(const PlacementTask& task, const MethodOptions& options)
    : task_(task),
      limit_(options.budget, options.seconds, options.stop, options.begin),
      scorer_(task),
      placement_(static_cast<size_t>(task.sim.num_ops)) {}

SearchScore BudgetedSearch::Simulate(std::span<const uint8_t> groups) {
  task_.Expand(groups, placement_);
  const SearchScore score = scorer_.Score(placement_);
  if (runs() == 0 || score < best_score_) {
    best_score_ = score;
    best_groups_.assign(groups.begin(), groups.end());
  }
  limit_.Count(1);
  return score;
}

MethodResult BudgetedSearch::BestResult() const {
  MethodResult result;
  if (runs() == 0) return result;  // It was told to stop before it began.
  result.evaluations = runs();
  result.score = best_score_;
  result.placement = Placement(placement_.size());
  task_.Expand(best_groups_, *result.placement);
  return result;
}

}  // namespace emplace
