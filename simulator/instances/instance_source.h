// An endless stream of placement problems: a graph and a machine for every number. README.md says what they are drawn
// from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/rng.h"
#include "simulator/graph/op_graph.h"
#include "simulator/instances/corpus.h"
#include "simulator/instances/instance_config.h"
#include "simulator/machine/cluster.h"
#include "simulator/task/placement_task.h"

namespace emplace {

struct Instance {
  std::string name;  // "train_000012_grid": part, number and generator; the graph has the same name
  OpGraph graph;
  Cluster cluster;
};

// Constant after construction; any thread may call it.
class InstanceSource {
 public:
  // Reads the part's corpus. Throws BadInput for a configuration out of its ranges, and as Corpus does.
  InstanceSource(const InstanceConfig& config, InstancePart part, uint64_t seed);

  // The instance depends on configuration, corpus, part, seed and number alone: it has the same bits on any machine. A
  // placement that fits the memory exists (SpreadBytes in memory_sizes.h).
  Instance Make(uint64_t number) const;

 private:
  struct Source {
    std::string name;
    std::vector<Op> ops;
  };
  Source DrawSource(Rng& rng) const;

  const InstanceConfig config_;
  const InstancePart part_;
  const Rng root_;
  const Corpus corpus_;
};

// The names of the generators of a part; those of its corpus are not among them.
std::vector<std::string> GeneratorNames(InstancePart part);

// Groups as `emplace place` does by default.
PlacementTask TaskOf(const Instance& instance);

}  // namespace emplace
