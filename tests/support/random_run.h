// The run of a random graph on a random machine.
#pragma once

#include <cstdint>
#include <utility>

#include "simulator/engine/sim_graph.h"
#include "simulator/engine/simulator.h"
#include "tests/support/link_rules.h"
#include "tests/support/random_graph.h"

namespace emplace {

struct RandomRun {
  OpGraph graph;
  Cluster cluster;
  Placement placement;
  SimGraph sim;
  Timeline run;
};

// Everything differs with the seed, and tensors travel in every way in turn.
inline RandomRun MakeRandomRun(uint64_t seed) {
  Rng rng(seed);
  OpGraph graph = RandomGraph(rng);
  const LinkRules& links = kEveryLinkRules[seed % kEveryLinkRules.size()];
  Cluster cluster = RandomCluster(rng, {.link_model = links.model, .blocking = links.blocking});
  Placement placement = RandomPlacement(rng, graph, cluster);
  SimGraph sim = SimGraph::Compile(graph, cluster);
  Timeline run = Simulator(sim).Run(placement);
  return {std::move(graph), std::move(cluster), std::move(placement), std::move(sim), std::move(run)};
}

}  // namespace emplace
