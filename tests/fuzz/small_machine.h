// The small graph and machine that targets need where their input is read against one. Fixed: committed inputs fit
// them.
#pragma once

#include <vector>

#include "simulator/cluster.h"
#include "simulator/op_graph.h"
#include "simulator/placement_task.h"

namespace emplace {

// Two devices, "gpu:0" of kind k80 and "cpu:0" of kind cpu, the second short of memory.
Cluster SmallCluster();
// Three devices, two of kind k80 and one of kind cpu, behind one switch.
Cluster SmallTopologyCluster();
// Six ops; one runs on k80 alone, two share a group.
OpGraph SmallGraph();
// SmallGraph and a chain of three ops, on SmallCluster, in at most four groups.
std::vector<PlacementTask> SmallTasks();
// SmallGraph on SmallTopologyCluster: a task with every array that one can have.
PlacementTask SmallTopologyTask();

}  // namespace emplace
