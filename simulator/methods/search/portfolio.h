// The placements with which a search begins: those of the methods that do not search, scored by the simulator.
#pragma once

#include <string>
#include <vector>

#include "simulator/methods/placement_method.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/search/search_limit.h"
#include "simulator/methods/search/thread_team.h"

namespace emplace {

struct PortfolioEntry {
  std::string found_by;  // The method, or the proposer.
  Placement placement;
  SearchScore score;
};

struct Portfolio {
  std::vector<PortfolioEntry> entries;  // Best first, of equal ones the simpler method first.
  // How many times as long as on the computer on which estimates of times were measured this one takes; at least 1.
  // Known where there is a single device that may run every op.
  double pace = 1;
};

// The single device comes whatever the limit is, if one may run
// every op, and else the first method does; another method comes only while the limit allows it as many evaluations and
// as much time as it may need. Empty only where no method found a legal placement. REQUIRES: task has unit_of_op.
Portfolio MakePortfolio(const PlacementTask& task, const MethodOptions& options, SearchLimit& limit, ThreadTeam& team);

}  // namespace emplace
