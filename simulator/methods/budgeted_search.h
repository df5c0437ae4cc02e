// The part that all searching methods share: it simulates group placements, counts them, and keeps the best one.
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
  // budget: number of simulator runs, at least 1. REQUIRES: task outlives the search.
  BudgetedSearch(const PlacementTask& task, int64_t budget);

  // Makes one simulator run. groups: [n], every device allowed. REQUIRES: runs_left() > 0.
  SearchScore Simulate(std::span<const uint8_t> groups);

  int64_t runs() const { return runs_; }
  int64_t runs_left() const { return budget_ - runs_; }
  // The best of all simulated placements, and the first of equal ones. REQUIRES: runs() > 0.
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
