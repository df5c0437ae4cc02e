// The linear program of SCT (Hanen and Munier 1995; Baechi, Jeon et al., SoCC 2020, section 3.2). It decides for each
// op which of its readers should be on the same device, so that the result needs no transfer.
#pragma once

#include <vector>

#include "common/ids.h"
#include "simulator/methods/lists/list_schedule.h"

namespace emplace {

// Returns [n] the favourite child of each op, -1: none. Each op is the favourite of at most one other. Deterministic.
// Throws Stopped once the graph's stop says so.
//
// The relaxed program has start times s, costs k, transfer times c, and x_ij = 0 if j is the favourite of i:
//   min w;  s_i + k_i <= w;  s_i + k_i + c_ij x_ij <= s_j;  0 <= x <= 1
//   sum_j x_ij >= readers of i - 1;  sum_i x_ij >= producers of j - 1
// Every x_ij below a half in the solution makes j the favourite of i.
std::vector<OpIndex> FavouriteChildren(const ScheduleGraph& graph);

}  // namespace emplace
