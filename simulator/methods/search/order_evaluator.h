// Evaluates moves when each placement also gets an order of its ops, by rank (disciplines.h). That costs more than a
// simulation, but where devices choose well among the ops that are ready, other placements are the best ones.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "simulator/methods/dispatch.h"
#include "simulator/methods/list_schedule.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/search/move_evaluator.h"

namespace emplace {

class OrderEvaluator : public MoveEvaluator {
 public:
  // REQUIRES: graph outlives it.
  explicit OrderEvaluator(const ScheduleGraph& graph);

  SearchScore SetBase(std::span<const DeviceIndex> placement) override;
  void SetBase(std::span<const DeviceIndex> placement, const SearchScore& score) override;
  std::optional<SearchScore> Try(const Move& move, double limit_us) override;
  const Placement& base() const override { return placement_; }

 private:
  // nullopt: the makespan is likely to exceed limit_us by far.
  std::optional<SearchScore> ScoreOfPlacement(double limit_us);

  const ScheduleGraph& graph_;
  const double tolerance_;
  Dispatcher dispatcher_;
  PlacementScorer scorer_;
  Placement placement_;  // The base, or the base with a move while that is tried.
  SearchScore base_score_;
  Move undo_;  // Scratch.
};

}  // namespace emplace
