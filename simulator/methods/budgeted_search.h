// What searching methods share: group placements simulated against a budget, and the best of them kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/methods/placement_method.h"
#include "simulator/methods/placement_scorer.h"

namespace emplace {

// Not thread-safe.
class BudgetedSearch {
 public:
  // REQUIRES: task outlives the search; budget (simulator runs) is at least 1.
  BudgetedSearch(const PlacementTask& task, int64_t budget);

  // One simulator run. groups [n], every device allowed. REQUIRES: runs_left() > 0.
  SearchScore Simulate(std::span<const uint8_t> groups);

  int64_t runs() const { return runs_; }
  int64_t runs_left() const { return budget_ - runs_; }
  // Of all that was simulated; of equals, the first. REQUIRES: runs() > 0.
  const std::vector<uint8_t>& best_groups() const { return best_groups_; }
  MethodResult BestResult() const;

 private:
  const PlacementTask& task_;
  const int64_t budget_;
  PlacementScorer scorer_;
  Placement placement_;  // [num_ops]
  int64_t runs_ = 0;
  SearchScore best_score_;
  std::vector<uint8_t> best_groups_;  // [n]
};

}  // namespace emplace
