// The placements with which a search begins: those of the methods that do not search, scored by the simulator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/threads/thread_team.h"
#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/lists/list_schedule.h"
#include "simulator/methods/placement_method.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/search_limit.h"

namespace emplace {

struct PortfolioEntry {
  std::string found_by;  // The method.
  Placement placement;
  SearchScore score;
  std::optional<SearchScore> ranked = std::nullopt;  // With the ops by upward rank (priority.h), if that was tried.
  // In the order that was asked for, if one was and it was tried; and that order.
  std::optional<SearchScore> asked = std::nullopt;
  ChosenOrder asked_order = {};
};

// About the time to make the task's search levels, in us for each op; 0 if they are there.
double LevelsUsPerOp(const PlacementTask& task);

// Best first, of equal ones the simpler method first. The single device comes whatever the limit is, if one may run
// every op. If none may, or none has the memory, the first method comes however long it may take; another method comes
// only while the limit allows it as much time as it may need. A method that is not done in time is stopped. graph: for
// the entries' ranks and the order that is asked for; null: they have none.
//
// With a budget the methods come in an order that does not depend on it, each followed by its runs in other orders,
// until the budget is over: so a larger budget has all that a smaller one has. What the first one that no longer fits
// would have taken is gone then.
//
// Empty only where no method found a legal placement. Sets the limit's pace, by how long the single device of a large
// graph takes. REQUIRES: task has unit_of_op.
std::vector<PortfolioEntry> MakePortfolio(const PlacementTask& task, const MethodOptions& options,
                                          const ScheduleGraph* graph, SearchLimit& limit, ThreadTeam& team);

}  // namespace emplace
