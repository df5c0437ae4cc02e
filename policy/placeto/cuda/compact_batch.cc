#include "policy/placeto/cuda/compact_batch.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "common/error.h"

namespace emplace::gpu {
namespace {

int32_t ToInt32(size_t value) {
  EMPLACE_CHECK(value <= static_cast<size_t>(std::numeric_limits<int32_t>::max()));
  return static_cast<int32_t>(value);
}

}  // namespace

CompactGraphs::CompactGraphs(std::span<const PlacetoGraph* const> graphs, int32_t num_devices)
    : num_devices_(num_devices) {
  EMPLACE_CHECK(!graphs.empty());
  for (const PlacetoGraph* graph : graphs) {
    EMPLACE_CHECK(graph->num_nodes > 0 && graph->num_devices == num_devices);
    num_nodes_.push_back(graph->num_nodes);
    max_nodes_ = std::max(max_nodes_, graph->num_nodes);
    total_nodes_ += static_cast<size_t>(graph->num_nodes);
    total_edges_ += graph->parents.items.size();
    total_words_ += graph->ancestors.size();
  }
  const size_t largest =
      std::max({(total_nodes_ + graphs.size()) * static_cast<size_t>(num_devices), total_edges_, total_words_});
  if (largest > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
    throw RunFailed(
        "the training graphs are too large for one GPU: more than 2^31 nodes times devices, edges or words");
  }

  Carver size(nullptr);
  Carve(size);
  bytes_.resize(size.used());
  const GraphsView view = View(bytes_.data());
  size_t node = 0;
  size_t begin = 0;
  size_t edge = 0;
  size_t word = 0;
  const auto copy = [](const auto& from, auto* to) { std::copy(from.begin(), from.end(), to); };
  for (size_t g = 0; g < graphs.size(); ++g) {
    const PlacetoGraph& graph = *graphs[g];
    view.entries[g] = {graph.num_nodes, graph.words(), ToInt32(node), ToInt32(begin),
                       ToInt32(edge),   ToInt32(edge), ToInt32(word)};
    copy(graph.cost, view.cost + node);
    copy(graph.bytes, view.bytes + node);
    copy(graph.memory, view.memory + node);
    copy(graph.allowed, view.allowed + node * static_cast<size_t>(num_devices));
    copy(graph.parents.begin, view.parent_begin + begin);
    copy(graph.parents.items, view.parents + edge);
    copy(graph.children.begin, view.child_begin + begin);
    copy(graph.children.items, view.children + edge);
    copy(graph.ancestors, view.ancestors + word);
    copy(graph.descendants, view.descendants + word);
    node += static_cast<size_t>(graph.num_nodes);
    begin += graph.parents.begin.size();
    edge += graph.parents.items.size();
    word += graph.ancestors.size();
  }
}

GraphsView CompactGraphs::Carve(Carver& carver) const {
  const size_t begins = total_nodes_ + num_nodes_.size();
  GraphsView view{};
  view.entries = carver.Take<GraphEntry>(num_nodes_.size());
  view.cost = carver.Take<float>(total_nodes_);
  view.bytes = carver.Take<float>(total_nodes_);
  view.memory = carver.Take<float>(total_nodes_);
  view.allowed = carver.Take<uint8_t>(total_nodes_ * static_cast<size_t>(num_devices_));
  view.parent_begin = carver.Take<int32_t>(begins);
  view.parents = carver.Take<int32_t>(total_edges_);
  view.child_begin = carver.Take<int32_t>(begins);
  view.children = carver.Take<int32_t>(total_edges_);
  view.ancestors = carver.Take<uint64_t>(total_words_);
  view.descendants = carver.Take<uint64_t>(total_words_);
  return view;
}

GraphsView CompactGraphs::View(std::byte* base) const {
  Carver carver(base);
  return Carve(carver);
}

namespace {

BatchView CarveBatch(const BatchCapacity& capacity, Carver& carver) {
  const auto states = static_cast<size_t>(capacity.states);
  const auto steps = static_cast<size_t>(capacity.steps);
  BatchView view{};
  view.scalars = carver.Take<UpdateScalars>(1);
  view.episodes = carver.Take<EpisodeEntry>(static_cast<size_t>(capacity.episodes));
  view.states = carver.Take<StateEntry>(states);
  view.order = carver.Take<int32_t>(states);
  view.start = carver.Take<uint8_t>(steps);
  view.actions = carver.Take<uint8_t>(steps);
  return view;
}

}  // namespace

BatchView ViewBatch(const BatchCapacity& capacity, std::byte* base) {
  Carver carver(base);
  return CarveBatch(capacity, carver);
}

size_t BatchBytes(const BatchCapacity& capacity) {
  Carver carver(nullptr);
  CarveBatch(capacity, carver);
  return carver.used();
}

BatchCapacity CapacityFor(const CompactGraphs& graphs, std::span<const EpisodeSource> episodes, size_t num_states) {
  size_t steps = 0;
  for (const EpisodeSource& episode : episodes) {
    EMPLACE_CHECK(static_cast<size_t>(episode.graph) < graphs.size());
    steps += static_cast<size_t>(graphs.num_nodes(static_cast<size_t>(episode.graph)));
  }
  return {ToInt32(num_states), ToInt32(episodes.size()), ToInt32(steps)};
}

void WriteBatch(const CompactGraphs& graphs, std::span<const EpisodeSource> episodes,
                std::span<const StateEntry> states, const UpdateScalars& scalars, int32_t small_nodes,
                const BatchView& view) {
  size_t step = 0;
  for (size_t e = 0; e < episodes.size(); ++e) {
    const EpisodeSource& episode = episodes[e];
    const auto n = static_cast<size_t>(graphs.num_nodes(static_cast<size_t>(episode.graph)));
    EMPLACE_CHECK(episode.start_placement.size() == n && episode.actions.size() == n);
    view.episodes[e] = {episode.graph, ToInt32(step)};
    std::ranges::copy(episode.start_placement, view.start + step);
    std::ranges::copy(episode.actions, view.actions + step);
    step += n;
  }

  const auto nodes_of = [&](int32_t state) {
    const auto episode = static_cast<size_t>(states[static_cast<size_t>(state)].episode);
    return graphs.num_nodes(static_cast<size_t>(episodes[episode].graph));
  };
  const std::span<int32_t> order(view.order, states.size());
  std::iota(order.begin(), order.end(), 0);
  for (const int32_t s : order) {
    const StateEntry& state = states[static_cast<size_t>(s)];
    EMPLACE_CHECK(state.episode >= 0 && static_cast<size_t>(state.episode) < episodes.size());
    EMPLACE_CHECK(state.step >= 0 && state.step < nodes_of(s));
  }
  std::ranges::copy(states, view.states);
  // The longest first: the last ones then even out what the blocks have to do.
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return nodes_of(a) > nodes_of(b); });
  const auto large =
      std::stable_partition(order.begin(), order.end(), [&](int32_t s) { return nodes_of(s) <= small_nodes; });
  *view.scalars = scalars;
  view.scalars->num_states = ToInt32(states.size());
  view.scalars->num_small = ToInt32(static_cast<size_t>(large - order.begin()));
}

}  // namespace emplace::gpu
