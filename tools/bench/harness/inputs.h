// Graphs, clusters, weights and episodes for the benchmarks. A seed gives the same inputs on every machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/rng.h"
#include "common/trajectory.h"
#include "policy/policy_weights.h"
#include "simulator/graph/op_graph.h"
#include "simulator/graph/placement.h"
#include "simulator/machine/cluster.h"
#include "simulator/task/placement_task.h"

namespace emplace::bench {

// The cluster of configs/clusters/`name`.yaml.
Cluster BenchCluster(const std::string& name);
// A cluster of `devices` equal devices, with the overheads and links of configs/clusters/k80x4.yaml; reads no file.
Cluster PlainCluster(int32_t devices);

// A directed acyclic graph in which each op reads the outputs of three earlier ops, or of all earlier ops when there
// are fewer. Costs are 1..100 us and tensors 0..1 MB, so that on K80s computing and sending take about equally long.
// All draws are of integers, so that the graph does not depend on the machine's mathematics library.
OpGraph RandomDag(Rng rng, int32_t num_ops);
Placement RandomOpPlacement(Rng& rng, int32_t num_ops, int32_t num_devices);

// `count` graphs of a family at full size, or the one graph of a single network.
std::vector<OpGraph> FamilyGraphs(const std::string& family, int64_t count);
// The same on configs/clusters/`cluster`.yaml, without what methods need.
std::vector<PlacementTask> FamilyTasks(const std::string& family, int64_t count, const std::string& cluster,
                                       int32_t max_groups = 128);

// The weights of an untrained policy of the default shape.
PolicyWeights InitialWeights(int32_t num_devices);
// The first `count` episodes of a rollout with these weights, with sequence numbers.
std::vector<Trajectory> PlayEpisodes(const std::vector<PlacementTask>& tasks,
                                     const std::shared_ptr<const PolicyWeights>& weights, size_t count);

}  // namespace emplace::bench
