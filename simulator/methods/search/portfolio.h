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

// Best first, of equal ones the simpler method first. The single device comes whatever the limit is, if one may run
// every op. If none may, or none has the memory, the first method comes however long it may take; another method comes
// only while the limit allows it as many evaluations and as much time as it may need. A method that is not done in time
// is stopped. Empty only where no method found a legal placement. Sets the limit's pace, by how long the single device
// of a large graph takes. REQUIRES: task has unit_of_op.
std::vector<PortfolioEntry> MakePortfolio(const PlacementTask& task, const MethodOptions& options, SearchLimit& limit,
                                          ThreadTeam& team);

}  // namespace emplace
