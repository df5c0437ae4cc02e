// The part that all searches of group placements share: it simulates placements, counts them, and keeps the best one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/methods/placement_method.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/search_limit.h"

namespace emplace {

// Not thread-safe.
class BudgetedSearch {
 public:
  // Takes from the options when the search ends. REQUIRES: CheckSearchLimits; task outlives the search.
  BudgetedSearch(const PlacementTask& task, const MethodOptions& options);

  // Makes one simulator run. groups: [n], every device allowed.
  SearchScore Simulate(std::span<const uint8_t> groups);

  int64_t runs() const { return limit_.evaluations(); }
  // The share of the search that is over, from 0 on.
  double Progress() const { return limit_.Progress(); }
  bool Ended() const { return Progress() >= 1; }
  // The best of all simulated placements, and the first of equal ones. REQUIRES: runs() > 0.
  const std::vector<uint8_t>& best_groups() const { return best_groups_; }
  // The same as a result, without a placement if nothing has been simulated, as in a search that is told to stop before
  // it begins.
  MethodResult BestResult() const;

 private:
  const PlacementTask& task_;
  SearchLimit limit_;
  PlacementScorer scorer_;
  Placement placement_;  // [num_ops]
  SearchScore best_score_;
  std::vector<uint8_t> best_groups_;  // [n]
};

}  // namespace emplace
