// Which of its phases a round of a search goes through: those that are of use, and for which there is time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "simulator/methods/placement_method.h"
#include "simulator/methods/search/moves/search_space.h"
#include "simulator/methods/search/search_plan.h"
#include "simulator/methods/search/walks.h"
#include "simulator/methods/search_limit.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Shares are of the round. Not thread-safe.
class PhaseChoice {
 public:
  // REQUIRES: all outlive this.
  PhaseChoice(const PlacementTask& task, const MethodOptions& options, const SearchPlan& plan, const SearchLimit& limit,
              const Walks& walks)
      : task_(task), options_(options), plan_(plan), limit_(limit), walks_(walks) {}

  // Whether the result may have an order.
  bool MayOrder() const { return plan_.ordered != nullptr && options_.orders; }
  // Whether to make what ranks need before the portfolio is made.
  bool RanksFirst() const;
  // Whether there is time to look for the order in which a placement holds the least.
  bool FitsByOrder() const;
  // Whether there is time to begin with walks.
  bool HasTimeToWalk() const;
  // Whether to search for orders.
  bool Orders() const;
  // Whether to try all disciplines on so many placements.
  bool OrdersPortfolio(int64_t placements) const;
  // Whether to begin with moves that relieve busy devices.
  bool Relieves(const SearchSpace& space) const;
  // Whether to move columns, too.
  bool MovesColumns() const;
  // The level by which to contract the graph, if it gets much smaller. scored: the placements that have to be scored on
  // the contracted graph; nothing: it is there, and they are.
  std::optional<size_t> LevelToContract(const SearchSpace& space, std::optional<int64_t> scored) const;
  // Whether there is time to move ops in all replicas at once.
  bool Mirrors() const;

  // What it takes to keep the result in its best order: runs, the time for each op, and both as a share.
  int64_t RunsToOrderResult() const;
  double OrderUsPerOp() const;
  double ShareToOrderResult() const { return Share(RunsToOrderResult(), OrderUsPerOp()); }

 private:
  double Share(int64_t runs, double us_per_op) const { return limit_.Share(runs, us_per_op * task_.sim.num_ops); }

  const PlacementTask& task_;
  const MethodOptions& options_;
  const SearchPlan& plan_;
  const SearchLimit& limit_;
  const Walks& walks_;
};

}  // namespace emplace
