// The small graphs and clusters for targets whose input is read against a graph or a cluster. They must not change,
// since the committed inputs fit them.
#pragma once

#include <vector>

#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Two devices, "gpu:0" of kind k80 and "cpu:0" of kind cpu, the second short of memory.
Cluster SmallCluster();
// Three devices, two of kind k80 and one of kind cpu, behind one switch.
Cluster SmallTopologyCluster();
// Six ops; one of them runs on kind k80 only, and two have to share a group.
OpGraph SmallGraph();
// SmallGraph and a chain of three ops, on SmallCluster, in at most four groups.
std::vector<PlacementTask> SmallTasks();
// SmallGraph on SmallTopologyCluster: a task that has every array a task can have.
PlacementTask SmallTopologyTask();

}  // namespace emplace
