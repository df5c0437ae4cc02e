// Steps of random graphs that compute with numbers in place of tensors.
#pragma once

#include <cstdint>
#include <vector>

#include "actor/hardware/program/step_program.h"
#include "common/rng.h"
#include "simulator/graph/op_graph.h"
#include "simulator/graph/placement.h"
#include "simulator/machine/cluster.h"

namespace emplace {

// The number of an output: a hash of the op, the output, and the numbers of the inputs that are data.
uint64_t OutputNumber(OpIndex op, size_t output, const std::vector<uint64_t>& inputs);

// All outputs by the definition, in topological order: [n][outputs].
std::vector<std::vector<uint64_t>> ExpectedNumbers(const OpGraph& graph);

struct RandomStep {
  // with_given: about half of the ops without inputs are parameters.
  explicit RandomStep(uint64_t seed, bool with_given = false);

  Rng rng;
  OpGraph graph;
  Cluster cluster;
  Placement placement;
  StepProgram program;
};

}  // namespace emplace
