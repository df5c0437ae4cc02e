// How `auto` and `multilevel` search: what the methods fix, beside what their user asks for.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "simulator/methods/search/moves/move_generator.h"

namespace emplace {

// A pass as the methods fix it (search/pass.h).
struct PassPlan {
  int32_t most_groups;  // The pass ends at the finest level with as many groups at most.
  MoveMix mix;
  double hot;
  double cold;
  bool only_levels_that_pay = false;
  double most_heat = 1;          // A search with time for many moves of each unit begins so many times as hot, at most.
  double warmer_end_on_two = 1;  // On two devices the pass ends at so many times the temperature `cold`.
};

// A pass for graphs with few movable units: there a single move changes the makespan by a large share, so that a walk
// has to be hotter to leave a placement that no single move improves, and needs moves of several groups. If nothing in
// the portfolio fits the memory there, annealing is tried, too. Where the first result gets worse by rank, a search in
// a given time lets every second thread go on without orders.
struct FewUnits {
  int32_t most_units = 0;  // The graphs that these rules are for; 0: none.
  MoveMix mix;
  // The pass begins no colder than this over the number of units. It cools down as far, but for one with orders, which
  // ends as cold as without this.
  double hot_by_units = 0;
};

// A search goes in rounds, each longer than the one before, and each from the best so far. What it does in a round does
// not depend on the budget, which only ends it: so with a larger one it finds what it finds with a smaller one. In a
// time the last round alone is fitted to what is left.
//
// When a round goes through which of its phases, in this order, and for how long. Shares are of the round.
struct PhaseRules {
  int64_t first_round = 64;  // Evaluations. Each further round has twice as many.
  // With a time, rounds end at powers of two of a second; the next one when so many times as long is over, at least.
  double least_growth = 1.5;
  // Graphs with so few placements are searched through.
  double most_searched_through = 4096;

  // About the time of what the phases need, us for each op of the graph, by graphs of 1,264 to 64,893 ops.
  double space_us_per_op = 1.2;       // To make a search space,
  double columns_us_per_op = 4;       // its columns,
  double coarse_us_per_op = 1.5;      // and a contracted graph, or the task of a replica, with its space.
  double rank_us_per_op = 0.25;       // To score a placement with its ops by rank,
  double best_order_us_per_op = 0.9;  // with all disciplines,
  double fit_us_per_op = 1.5;         // and in the order that holds the least.
  // What these may take; where they would take more, the search goes without.
  double most_share_for_columns = 0.1;
  double most_share_for_coarse = 0.1;
  double most_share_to_order = 0.25;  // To order the result.
  double most_share_to_rank = 0.5;    // Of the whole search: to make what is needed for ranks.

  // Annealing, where nothing fits the memory of a graph of few units: share of what is left.
  double share_to_fit = 0.5;
  // Moves that relieve busy devices (relief_moves.h), and only those that make the step no longer, where a walk over
  // the whole round has fewer moves for each unit: share of what is left. Not with micro-batches.
  double few_moves_to_relieve = 0.1;
  double relief_share = 0.9;
  // The contracted graph: its ops at most; if they are at most this share of the graph's; share of what is left.
  int32_t most_coarse_groups = 1500;
  double most_ops_left = 0.5;
  double coarse_share = 0.15;
  // One replica alone, if it has several devices, and then all of them by mirrored moves: shares of what is left.
  double replica_share = 0.2;
  double mirrored_share = 0.5;
  // Without orders: share of what is left, and with two devices the least progress at which it ends.
  double first_share = 0.07;
  double first_end_on_two = 0.25;
  // That is left out where a walk has fewer moves for each unit, and an order gains this share of the makespan.
  double few_moves = 0.5;
  double large_gain = 0.05;
  // With orders, to the end. On a graph of few units every second thread goes on without, where ranks make the first
  // result longer by this share of it.
  double large_loss = 0.05;
};

struct SearchPlan {
  PhaseRules phases = {};
  std::span<const PassPlan> passes;  // They have equal parts of what the portfolio leaves of the time or budget.
  FewUnits few_units = {};
  std::string found_by;  // The name under which a result of the walk is reported.
  // A pass of a walk that also chooses in which order each device runs its ops (walk.h), where the time or budget
  // allows it. The passes above then end early. The result has an order where that is better than running ops as they
  // get ready. Where micro-batches make replicas (replicas.h), two such passes come first: one
  // places a single replica, and one moves ops in all of them. nullptr: no such pass.
  const PassPlan* ordered = nullptr;
  // A pass of a walk before these, with orders, on a contracted graph (coarse_task.h), where orders are searched
  // for, the graph is large and has no micro-batches, and there is time to contract it. nullptr: no such pass.
  const PassPlan* coarse = nullptr;
  // The pass of a walk that relieves busy devices. nullptr: no such pass.
  const PassPlan* relief = nullptr;
  // Whether a search in a time that is too short to begin with walks anneals the policy's groups.
  bool anneals_short_searches = false;
};

}  // namespace emplace
