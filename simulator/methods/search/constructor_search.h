// Places a whole graph again and again by passes of `list`, each near the best so far: with other parameters, by other
// ranks, or with units that rather stay where they are. For graphs so large that a walk has few moves for each unit: a
// pass decides all of them anew in the time of some moves.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "common/rng.h"
#include "simulator/methods/lists/unit_graph.h"
#include "simulator/methods/memory_limits.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/planner_parameters.h"
#include "simulator/methods/search/thread_team.h"
#include "simulator/methods/search/walks.h"
#include "simulator/methods/search_limit.h"

namespace emplace {

class ConstructorSearch {
 public:
  // seed: of all that is drawn. REQUIRES: whole outlives it.
  ConstructorSearch(const ScheduleGraph& whole, uint64_t seed);

  // The best that passes find from `start` on, in the order of its ranks, or `start`. Ends where the progress of
  // `limit` reaches `until`; another call goes on from the parameters of the best so far. With a budget alone it does
  // not depend on the number of threads.
  WalkResult From(const WalkResult& start, double until, SearchLimit& limit, ThreadTeam& team);

 private:
  struct Pass {
    PlannerParameters planner;
    bool by_placed_ranks = false;  // Units by the ranks of the best placement so far; else by mean ranks.
    double inertia = 0;            // As of UnitScorerOptions, towards the best placement so far.
    std::shared_ptr<const UnitGraph> units;
    // What it comes to; no placement: it was stopped.
    WalkResult found;
    std::vector<double> used_bytes;   // [D] as of UnitGraph::Place
    std::vector<int64_t> peak_bytes;  // [D]
  };
  // Makes a generation of so many passes, and keeps the best one if it is better than the best so far.
  void MakePasses(size_t count, double until, const SearchLimit& limit, ThreadTeam& team);
  Pass DrawnPass(Rng rng) const;
  // Makes the pass on its units.
  void Run(Pass& pass, const Rng& rng, const SearchLimit& limit, std::unique_ptr<PlacementScorer>& scorer) const;

  const ScheduleGraph& whole_;
  const Rng rng_;
  uint64_t generation_ = 0;
  Pass best_;
  MemoryLimits limits_;
  std::vector<std::unique_ptr<PlacementScorer>> scorers_;  // Of each thread.
};

}  // namespace emplace
