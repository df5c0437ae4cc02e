// A search from given placements: one walk of all threads, or one walk for each thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "common/threads/thread_team.h"
#include "simulator/methods/search/moves/search_space.h"
#include "simulator/methods/search/portfolio.h"
#include "simulator/methods/search/search_plan.h"
#include "simulator/methods/search/walk.h"
#include "simulator/methods/search_limit.h"

namespace emplace {

// What a walk begins with, and ends by.
struct WalkPlan {
  const PortfolioEntry& start;
  SharedPriority priority = nullptr;  // Of the start, as of Walk::Start.
  std::span<const PassPlan> passes;
  double until = 1;                           // Progress.
  const ScheduleGraph* priorities = nullptr;  // As of Walk.
  const Replicas* replicas = nullptr;         // As of MoveMix.
};

// What a walk found.
struct WalkResult {
  PortfolioEntry entry;     // Its score is with the priority.
  SharedPriority priority;  // null: none
};

class Walks {
 public:
  // Told the evaluations so far and the best score that the walks have seen, now and then, by the caller's thread.
  using Report = std::function<void(int64_t evaluations, const SearchScore& best)>;

  // REQUIRES: all outlive this.
  Walks(const MethodOptions& options, const SearchPlan& plan, SearchLimit& limit, ThreadTeam& team)
      : options_(options), plan_(plan), limit_(limit), team_(team) {}

  // The best placement found. A search with a budget must not depend on the number of threads, so they share one walk,
  // by the first plan. But moves are often taken, and those behind them are then evaluated in vain. In a given time
  // walks of their own, of which the best one counts, come farther; they share out the plans. report: empty: nobody is
  // told. REQUIRES: there is a plan, and all end at the same progress.
  WalkResult From(const SearchSpace& space, const std::vector<WalkPlan>& plans, const Report& report);

  // The number of moves that a walk over this share of the search makes for each movable unit.
  double MovesPerUnit(const SearchSpace& space, double share) const;
  bool HasFewUnits(const SearchSpace& space) const;

 private:
  // Of a thread's walk: no other one draws the same moves.
  uint64_t SeedOf(size_t thread) const;
  WalkResult Together(const SearchSpace& space, const WalkPlan& plan, const Report& report);
  WalkResult Apart(const SearchSpace& space, const std::vector<WalkPlan>& plans, const Report& report);
  // The start itself has its name, though the walk may have a priority for it.
  WalkResult BestOf(const Walk& walk, const PortfolioEntry& start) const;
  void RunPasses(Walk& walk, const SearchSpace& space, const SearchLimit& limit, const WalkPlan& plan) const;

  const MethodOptions& options_;
  const SearchPlan& plan_;
  SearchLimit& limit_;
  ThreadTeam& team_;
  uint64_t searches_ = 0;  // Number of calls of From.
};

}  // namespace emplace
