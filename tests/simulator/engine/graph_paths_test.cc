#include "simulator/engine/graph_paths.h"

#include <gtest/gtest.h>

#include "simulator/engine/simulator.h"
#include "tests/support/random_graph.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

TEST(GraphPaths, NoOpEndsLaterThanItsTailAllows) {
  for (uint64_t seed = 0; seed < Trials(300); ++seed) {
    Rng rng(seed);
    const RandomGraphOptions options{.link_model = static_cast<LinkModel>(seed % 3)};
    const OpGraph graph = RandomGraph(rng, options);
    const Cluster cluster = RandomCluster(rng, options);
    const SimGraph sim = SimGraph::Compile(graph, cluster);
    const std::vector<double> tail_us = TailsUs(sim);
    Simulator simulator(sim);
    const Timeline& run = simulator.Run(RandomPlacement(rng, graph, cluster));
    for (size_t o = 0; o < tail_us.size(); ++o) EXPECT_LE(run.finish_us[o] + tail_us[o], run.makespan_us * (1 + 1e-12));
  }
}

}  // namespace
}  // namespace emplace
