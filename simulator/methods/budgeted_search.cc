#include "simulator/methods/budgeted_search.h"

#include <algorithm>

#include "common/error.h"

namespace emplace {
namespace {

int64_t BytesOver(const std::vector<int64_t>& peak_bytes, const std::vector<int64_t>& memory_bytes) {
  int64_t over = 0;
  for (size_t d = 0; d < peak_bytes.size(); ++d) over += std::max<int64_t>(0, peak_bytes[d] - memory_bytes[d]);
  return over;
}

}  // namespace

BudgetedSearch::BudgetedSearch(const PlacementTask& task, int64_t budget)
    : task_(task),
      budget_(budget),
      simulator_(task.sim),
      placement_(static_cast<size_t>(task.sim.num_ops)),
      peak_bytes_(static_cast<size_t>(task.sim.num_devices)) {
  EMPLACE_CHECK(budget >= 1);
}

SearchScore BudgetedSearch::Simulate(std::span<const uint8_t> groups) {
  EMPLACE_CHECK(runs_left() > 0);
  task_.Expand(groups, placement_);
  SearchScore score;
  score.makespan_us = simulator_.MakespanAndPeak(placement_, peak_bytes_);
  score.bytes_over = BytesOver(peak_bytes_, task_.sim.memory_bytes);
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
