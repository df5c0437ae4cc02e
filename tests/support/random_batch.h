// Random episodes on random graphs, for tests of the update's kernels.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "common/rng.h"
#include "policy/placeto/cuda/workspace.h"
#include "policy/placeto/placeto_graph.h"
#include "policy/placeto/placeto_shape.h"

namespace emplace {

// Episodes on random graphs, and some of their states, each of which occurs once.
class RandomBatch {
 public:
  struct Episode {
    int32_t graph = 0;
    std::vector<uint8_t> start;
    std::vector<uint8_t> actions;
  };
  RandomBatch(const PlacetoShape& shape, const std::vector<int32_t>& num_nodes, Rng& rng);

  std::deque<PlacetoGraph> graphs;  // One for each of `num_nodes`.
  std::vector<Episode> episodes;
  std::vector<gpu::StateEntry> states;

  std::vector<const PlacetoGraph*> graph_pointers() const;
  std::vector<gpu::EpisodeSource> sources() const;  // Views into `episodes`.
};

// As RandomPlacetoShape, of those that a GPU computes.
PlacetoShape RandomGpuShape(Rng& rng);

// Node counts for one graph of a single node, for which all three sets of pooling are empty, and two larger graphs of
// up to 70 nodes.
std::vector<int32_t> RandomNodeCounts(Rng& rng);
gpu::LaunchSizes RandomLaunchSizes(int32_t small_nodes, Rng& rng);

}  // namespace emplace
