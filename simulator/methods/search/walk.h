// A random walk over placements that cools down: simulated annealing, in which all threads evaluate moves.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/threads/thread_team.h"
#include "simulator/methods/lists/priority.h"
#include "simulator/methods/search/lookahead.h"
#include "simulator/methods/search/moves/move_generator.h"
#include "simulator/methods/search/moves/search_space.h"
#include "simulator/methods/search/trial_evaluator.h"
#include "simulator/methods/search_limit.h"

namespace emplace {

// A part of a walk. Temperatures are shares of the makespan and fall geometrically.
struct WalkStage {
  size_t level = 0;  // Of the space, whose groups move.
  MoveMix mix;
  double hot = 0;
  double cold = 0;
  double until = 1;  // Progress of the search at which the stage ends.
};

// Which moves are drawn and taken depends on the seed and on the number of moves before, never on the threads: each
// move has a number and draws from a generator of its own, also the limit up to which it is taken. The moves after the
// current placement are evaluated ahead, from that placement, as many at a time as pays; the first one within its limit
// is taken, and those behind it are forgotten. So the walk is the one that a single thread would make.
//
// A walk may also choose priorities. It then begins with one. Every few hundred moves it
// tries, in place of a move, the upward ranks of the placement that it has come to, or the latest starts of its run, in
// turns, and takes them as it takes moves.
class Walk {
 public:
  // priorities: the graph by which the walk makes priorities; null: it uses none. REQUIRES: all outlive the walk;
  // space.any().
  Walk(const SearchSpace& space, SearchLimit& limit, ThreadTeam& team, uint64_t seed,
       const ScheduleGraph* priorities = nullptr);
  ~Walk();

  // Goes on from this placement. It counts as an evaluation. priority: null: its upward ranks, where the walk uses
  // priorities.
  void Start(const Placement& placement, const SharedPriority& priority = nullptr);
  // Goes on from the best placement so far. REQUIRES (this and Run): Start was called.
  void ReturnToBest();
  void Run(const WalkStage& stage);
  // Calls report() every few evaluations, between them.
  void ReportTo(std::function<void()> report) { report_ = std::move(report); }

  const Placement& best() const { return best_.placement; }
  const SharedPriority& best_priority() const { return best_.priority; }
  const SearchScore& best_score() const { return best_.score; }

 private:
  struct Worker;
  struct Found {
    Placement placement;
    SharedPriority priority;
    SearchScore score;
  };
  // A move, and its score if it is within its limit.
  struct Trial {
    Move move;
    std::optional<SearchScore> score;
  };

  // The random numbers of the next move but `ahead`.
  Rng RngOfMove(size_t ahead) const { return rng_.Fork("move", number_ + ahead); }
  // Draws the makespan up to which a move is taken.
  double DrawLimitUs(Rng& rng, double temperature_us) const;
  // Makes the current placement the worker's base.
  void CatchUp(Worker& worker);
  // Evaluates the next move but `ahead`, at this temperature.
  void Evaluate(Worker& worker, const WalkStage& stage, size_t ahead, double temperature_us);
  void TryPriority(double temperature_us);
  void Take(const Move& move, const SearchScore& score);
  void KeepIfBest();

  SearchLimit& limit_;
  ThreadTeam& team_;
  Rng rng_;
  uint64_t number_ = 0;  // Of the next move.
  const ScheduleGraph* priorities_;
  bool rank_next_ = true;  // Whether the next priority is by upward rank.
  Found current_;
  uint64_t version_ = 0;  // Of current_; a worker whose base is of another version has to catch up.
  Found best_;
  std::vector<std::unique_ptr<Worker>> workers_;  // One a thread.
  Lookahead lookahead_;
  std::vector<Trial> trials_;  // [lookahead_.most()] the moves that are evaluated now
  std::function<void()> report_ = [] {};
};

}  // namespace emplace
