#include "tests/support/random_batch.h"

#include <set>
#include <utility>

#include "policy/placeto/placeto_shape.h"
#include "tests/support/random_policy.h"

namespace emplace {

RandomBatch::RandomBatch(const PlacetoShape& shape, const std::vector<int32_t>& num_nodes, Rng& rng) {
  for (const int32_t n : num_nodes) graphs.push_back(RandomPlacetoGraph(n, shape.num_devices, 3, rng));
  std::set<std::pair<int32_t, int32_t>> drawn;
  for (int32_t e = 0; e < 2 * std::ssize(num_nodes); ++e) {
    Episode episode;
    episode.graph = static_cast<int32_t>(rng.UniformInt(0, std::ssize(num_nodes) - 1));
    const PlacetoGraph& graph = graphs[static_cast<size_t>(episode.graph)];
    for (int32_t node = 0; node < graph.num_nodes; ++node) {
      episode.start.push_back(static_cast<uint8_t>(rng.UniformInt(0, shape.num_devices - 1)));
      uint8_t action = 0;
      do {
        action = static_cast<uint8_t>(rng.UniformInt(0, shape.num_devices - 1));
      } while (graph.allowed[static_cast<size_t>(node * shape.num_devices + action)] == 0);
      episode.actions.push_back(action);
    }
    for (int i = 0; i < 4; ++i) drawn.emplace(e, static_cast<int32_t>(rng.UniformInt(0, graph.num_nodes - 1)));
    episodes.push_back(std::move(episode));
  }
  for (const auto& [episode, step] : drawn) {
    states.push_back({episode, step, static_cast<float>(rng.Uniform(-1, 1)), static_cast<float>(rng.Uniform(-3, 0)),
                      rng.Uniform() < 0.5 ? 1.0F : 0.0F});
  }
}

std::vector<const PlacetoGraph*> RandomBatch::graph_pointers() const {
  std::vector<const PlacetoGraph*> pointers;
  for (const PlacetoGraph& graph : graphs) pointers.push_back(&graph);
  return pointers;
}

std::vector<gpu::EpisodeSource> RandomBatch::sources() const {
  std::vector<gpu::EpisodeSource> sources;
  for (const Episode& e : episodes) sources.push_back({e.graph, e.start, e.actions});
  return sources;
}

PlacetoShape RandomGpuShape(Rng& rng) {
  PlacetoShape shape = RandomPlacetoShape(rng);
  shape.start_times = false;
  return shape;
}

std::vector<int32_t> RandomNodeCounts(Rng& rng) {
  std::vector<int32_t> counts = {1};
  for (int i = 0; i < 2; ++i) counts.push_back(static_cast<int32_t>(rng.UniformInt(2, 70)));
  return counts;
}

gpu::LaunchSizes RandomLaunchSizes(int32_t small_nodes, Rng& rng) {
  return {.body_threads = 32 * static_cast<int32_t>(rng.UniformInt(1, 8)),
          .forward_blocks = static_cast<int32_t>(rng.UniformInt(1, 5)),
          .backward_blocks = static_cast<int32_t>(rng.UniformInt(1, 5)),
          .grid_blocks = static_cast<int32_t>(rng.UniformInt(1, 4)),
          .small_nodes = small_nodes};
}

}  // namespace emplace
