// The linear program of SCT (Hanen and Munier 1995; Baechi, Jeon et al., SoCC 2020, section 3.2): which of its readers
// each op should hand its result to without a transfer.
#pragma once

#include <vector>

#include "common/ids.h"
#include "simulator/methods/list_schedule.h"

namespace emplace {

// [n] the favourite child of each op, -1: none. Each op is the favourite of one other at most. Deterministic.
//
// The relaxed program, with start times s, costs k, transfer times c, and x_ij = 0 where j is the favourite of i:
//   min w;  s_i + k_i <= w;  s_i + k_i + c_ij x_ij <= s_j;  0 <= x <= 1
//   sum_j x_ij >= readers of i - 1;  sum_i x_ij >= producers of j - 1
// Of the solution, every x below a half is a favourite.
std::vector<OpIndex> FavouriteChildren(const ScheduleGraph& graph);

}  // namespace emplace
