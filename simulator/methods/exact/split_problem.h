// A task as problems of contiguous_split.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/methods/exact/contiguous_split.h"
#include "simulator/methods/lists/list_schedule.h"

namespace emplace {

// Which ops are one node of the problem.
enum class SplitNodes {
  kBound,   // The ops that have to stay together: the finest level of a search.
  kUnits,   // The ops of a unit, which stay together.
  kStages,  // The units of a stage (PlacementTask::stage_of_op), so that a layer's forward and backward ops are one
            // node, as in the paper's layer graphs. A unit is in the stage of its most costly op; without a stage it is
            // a node of its own.
};

struct SplitOfTask {
  SplitProblem problem;
  std::vector<int32_t> node_of_op;  // [n]
};

// Costs include the overhead after an op, and a tensor takes the mean time of a transfer (ScheduleGraph). A node's
// bytes are those of its units if nothing is released; for kBound they are those of its ops. Nodes are in the order of
// their units or stages; only edges to higher ones order them, since in a training step those that lead back belong to
// the backward pass. room_bytes: [D].
SplitOfTask MakeSplitProblem(const ScheduleGraph& graph, SplitNodes nodes, std::span<const double> room_bytes);

}  // namespace emplace
