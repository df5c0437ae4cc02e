// Networks of simulator/families in sizes far beyond those of the families themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/rng.h"
#include "simulator/families/program/tensor_program.h"
#include "simulator/families/program/training_step.h"
#include "simulator/graph/op_graph.h"
#include "simulator/instances/instance_config.h"

namespace emplace {

// A training step of a network whose sizes are chosen, but for its length (time steps, layers, cells), from 1.
using NetworkOfLength = std::function<TensorProgram(int64_t length, const StepOptions& step)>;

struct FamilyGenerator {
  std::string name;
  NetworkOfLength (*draw)(Rng& rng);
};

// The generators of a part. No two parts have one in common.
std::span<const FamilyGenerator> FamilyGenerators(InstancePart part);

// About `ops` ops and at least `least_ops`, in a topological order, of training or inference, with costs in us that are
// the same on all devices. More where the shortest network is larger. With `microbatches`, often in several
// micro-batches.
std::vector<Op> DrawFamilyOps(Rng& rng, const FamilyGenerator& generator, int32_t ops, int32_t least_ops,
                              bool microbatches);

}  // namespace emplace
