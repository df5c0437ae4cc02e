// Shapes of random networks: which node reads which. dag_ops.h makes graphs of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/rng.h"
#include "simulator/instances/instance_config.h"

namespace emplace {

// The forward pass of a network of n nodes, in a topological order.
struct DagShape {
  std::vector<std::vector<int32_t>> reads;  // [n] the lower nodes that each reads; none: it reads the network's input
  std::vector<int32_t> role;                // [n] from 0; nodes of one role do the same with other data
  std::vector<int32_t> stage;               // [n] from 0: layer, cell or block
  bool shares_weights = false;  // Whether the nodes of a role have one weight, as the steps of a recurrent network.
};

struct DagGenerator {
  std::string name;
  DagShape (*draw)(Rng& rng, int32_t nodes);  // A shape of exactly so many nodes. REQUIRES: nodes >= 1.
};

// The generators of a part. No two parts have one in common.
std::span<const DagGenerator> DagGenerators(InstancePart part);

std::span<const DagGenerator> TrainShapes();
std::span<const DagGenerator> ValidationShapes();
std::span<const DagGenerator> TestShapes();

}  // namespace emplace
