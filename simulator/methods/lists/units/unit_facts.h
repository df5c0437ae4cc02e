// What is known of each unit of a contracted graph before any is placed, for the features by which devices are scored.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.h"
#include "simulator/methods/lists/list_schedule.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// n units: the ops of a contracted graph.
struct UnitFacts {
  static constexpr size_t kNumParts = 2;

  double path_us = 1;               // Length of the longest path by mean times of ops and transfers; 1 if that is 0.
  std::vector<double> mean_us;      // [n] mean time over devices
  std::vector<double> follows_us;   // [n] the longest path from the end of the unit to the end of the graph
  std::vector<double> depth;        // [n] 0 where the longest path begins, almost 1 at the end of the graph
  std::vector<int32_t> microbatch;  // [n] -1: none
  std::vector<OpIndex> earlier;     // [n] the unit with the same op of micro-batch 0; -1: none
  // Two divisions of the graph into groups of neighbours, a coarse and a finer one: the part of each unit, [n] each.
  std::array<std::vector<int32_t>, kNumParts> part;
};

// units: the graph of the contracted ops. op_of: [ops of the whole] the unit of each. Parts are groups of search
// levels, of which no more than 4 and 16 for each device, if there is such a level. A unit of several ops is taken for
// the first one that has the fact.
UnitFacts MakeUnitFacts(const PlacementTask& whole, std::span<const OpIndex> op_of, const ScheduleGraph& units);

}  // namespace emplace
