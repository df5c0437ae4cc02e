// A random walk over placements that cools down: simulated annealing, in which all threads evaluate moves.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulator/methods/search/lookahead.h"
#include "simulator/methods/search/move_evaluator.h"
#include "simulator/methods/search/move_generator.h"
#include "simulator/methods/search/search_limit.h"
#include "simulator/methods/search/search_space.h"
#include "simulator/methods/search/thread_team.h"

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
class Walk {
 public:
  // make_evaluator: called once for each thread. REQUIRES: space, limit and team outlive the walk; space.any().
  Walk(const SearchSpace& space, SearchLimit& limit, ThreadTeam& team, uint64_t seed,
       const std::function<std::unique_ptr<MoveEvaluator>()>& make_evaluator);
  ~Walk();

  // Goes on from this placement. It counts as an evaluation.
  void Start(const Placement& placement);
  // Goes on from the best placement so far. REQUIRES (this and Run): Start was called.
  void ReturnToBest();
  void Run(const WalkStage& stage);
  // Calls report() every few evaluations, between them.
  void ReportTo(std::function<void()> report) { report_ = std::move(report); }

  const Placement& best() const { return best_; }
  const SearchScore& best_score() const { return best_score_; }

 private:
  struct Worker;
  // A move, and its score if it is within its limit.
  struct Trial {
    Move move;
    std::optional<SearchScore> score;
  };

  // Evaluates the next move but `ahead`, at this temperature.
  void Evaluate(Worker& worker, const WalkStage& stage, size_t ahead, double temperature_us);
  void Take(const Move& move, const SearchScore& score);

  SearchLimit& limit_;
  ThreadTeam& team_;
  Rng rng_;
  uint64_t number_ = 0;  // Of the next move.
  Placement current_;
  SearchScore current_score_;
  uint64_t version_ = 0;  // Of current_; a worker whose base is of another version has to catch up.
  Placement best_;
  SearchScore best_score_;
  std::vector<std::unique_ptr<Worker>> workers_;  // One a thread.
  Lookahead lookahead_;
  std::vector<Trial> trials_;  // [lookahead_.most()] the moves that are evaluated now
  std::function<void()> report_ = [] {};
};

}  // namespace emplace
