#include <array>
#include <utility>

#include "simulator/instances/dag_shapes.h"
#include "simulator/instances/draws.h"
#include "simulator/instances/shape_builder.h"

namespace emplace {
namespace {

// Layers of random widths; a node reads one to three nodes of the layer before, and some of the one before that.
DagShape Layered(Rng& rng, int32_t nodes) {
  ShapeBuilder builder(nodes);
  const auto most_width = static_cast<int32_t>(LogUniformInt(rng, 2, 24));
  const int32_t roles = DrawInt(rng, 1, 6);
  const double skips = rng.Uniform(0, 0.3);
  std::vector<int32_t> before;
  std::vector<int32_t> last;
  for (int32_t layer = 0; !builder.full(); ++layer) {
    const int32_t role = DrawInt(rng, 0, roles - 1);
    std::vector<int32_t> current;
    for (int32_t width = DrawInt(rng, 1, most_width); width > 0; --width) {
      std::vector<int32_t> reads;
      for (int32_t i = last.empty() ? 0 : DrawInt(rng, 1, 3); i > 0; --i)
        reads.push_back(OneOf(rng, !before.empty() && Chance(rng, skips) ? before : last));
      current.push_back(builder.Add(std::move(reads), role, layer));
    }
    before = std::exchange(last, std::move(current));
  }
  return builder.Take();
}

// Parts that follow each other, and parts beside each other that are joined, nested in each other.
class SeriesParallelGrower {
 public:
  SeriesParallelGrower(Rng& rng, int32_t nodes)
      : rng_(rng), builder_(nodes), roles_(DrawInt(rng, 1, 5)), series_(rng.Uniform(0.2, 0.7)) {}

  DagShape Draw() {
    int32_t last = -1;
    for (stage_ = 0; !builder_.full(); ++stage_) last = Grow(last, builder_.left());
    return builder_.Take();
  }

 private:
  // Adds about so many nodes; returns the last, which all others lead to.
  int32_t Grow(int32_t from, int32_t nodes) {
    if (nodes <= 1) return builder_.Add({from}, DrawInt(rng_, 0, roles_ - 1), stage_);
    if (nodes < 4 || Chance(rng_, series_)) {
      const int32_t first = DrawInt(rng_, 1, nodes - 1);
      return Grow(Grow(from, first), nodes - first);
    }
    const int32_t branches = DrawInt(rng_, 2, 4);
    std::vector<int32_t> ends;
    for (int32_t i = 0; i < branches; ++i) ends.push_back(Grow(from, (nodes - 1) / branches));
    return builder_.Add(ends, roles_, stage_);
  }

  Rng& rng_;
  ShapeBuilder builder_;
  const int32_t roles_;
  const double series_;  // Share of the parts that follow each other.
  int32_t stage_ = 0;
};

DagShape SeriesParallel(Rng& rng, int32_t nodes) { return SeriesParallelGrower(rng, nodes).Draw(); }

// A chain whose nodes also read nodes further back.
DagShape SkipChain(Rng& rng, int32_t nodes) {
  ShapeBuilder builder(nodes);
  const int32_t period = DrawInt(rng, 1, 8);
  const int32_t reach = DrawInt(rng, 2, 16);
  const double skips = rng.Uniform(0.1, 0.8);
  while (!builder.full()) {
    const int32_t at = builder.size();
    const int32_t skipped = Chance(rng, skips) ? at - DrawInt(rng, 2, reach) : -1;
    builder.Add({at - 1, skipped}, at % period, at / period);
  }
  return builder.Take();
}

// Layers of recurrent cells: a cell reads the layer below and the step before. Steps run from cell to cell as a wave.
DagShape Grid(Rng& rng, int32_t nodes) {
  ShapeBuilder builder(nodes);
  const int32_t layers = DrawInt(rng, 1, 8);
  const int32_t parts = DrawInt(rng, 1, 5);  // Nodes of a cell, one after the other.
  std::vector<int32_t> states(static_cast<size_t>(layers), -1);
  while (!builder.full()) {
    int32_t below = -1;
    for (int32_t layer = 0; layer < layers; ++layer) {
      int32_t& state = states[static_cast<size_t>(layer)];
      int32_t at = builder.Add({below, state}, layer * parts, layer);
      for (int32_t part = 1; part < parts; ++part) {
        const int32_t again = Chance(rng, 0.3) ? state : -1;
        at = builder.Add({at, again}, layer * parts + part, layer);
      }
      state = below = at;
    }
  }
  DagShape shape = builder.Take();
  shape.shares_weights = true;
  return shape;
}

// One random cell, repeated; a cell reads the two before it and joins what nobody in it reads.
DagShape Cells(Rng& rng, int32_t nodes) {
  const int32_t size = DrawInt(rng, 3, 12);
  std::vector<std::array<int32_t, 2>> reads;  // Of each node of a cell: -2 and -1 are the two cells before.
  std::vector<bool> read(static_cast<size_t>(size));
  for (int32_t node = 0; node < size; ++node) {
    reads.push_back({DrawInt(rng, -2, node - 1), DrawInt(rng, -2, node - 1)});
    for (const int32_t other : reads.back()) {
      if (other >= 0) read[static_cast<size_t>(other)] = true;
    }
  }
  ShapeBuilder builder(nodes);
  std::array<int32_t, 2> before = {-1, -1};
  for (int32_t cell = 0; !builder.full(); ++cell) {
    const int32_t first = builder.size();
    const auto node_of = [&](int32_t node) { return node < 0 ? before[static_cast<size_t>(node + 2)] : first + node; };
    std::vector<int32_t> unread;
    for (int32_t node = 0; node < size; ++node) {
      const auto [a, b] = reads[static_cast<size_t>(node)];
      builder.Add({node_of(a), node_of(b)}, node, cell);
      if (!read[static_cast<size_t>(node)]) unread.push_back(first + node);
    }
    before = {before[1], builder.Add(unread, size, cell)};
  }
  return builder.Take();
}

// Every node reads one to three of the nodes that were added shortly before it.
DagShape Window(Rng& rng, int32_t nodes) {
  ShapeBuilder builder(nodes);
  const auto reach = static_cast<int32_t>(LogUniformInt(rng, 2, 40));
  const int32_t roles = DrawInt(rng, 1, 8);
  const int32_t block = 4 * reach;
  while (!builder.full()) {
    const int32_t at = builder.size();
    std::vector<int32_t> reads;
    for (int32_t i = DrawInt(rng, 1, 3); i > 0; --i) reads.push_back(at - DrawInt(rng, 1, reach));
    builder.Add(std::move(reads), DrawInt(rng, 0, roles - 1), at / block);
  }
  return builder.Take();
}

}  // namespace

std::span<const DagGenerator> TrainShapes() {
  static const std::array<DagGenerator, 6> shapes = {{{"layered", Layered},
                                                      {"series_parallel", SeriesParallel},
                                                      {"skip_chain", SkipChain},
                                                      {"grid", Grid},
                                                      {"cells", Cells},
                                                      {"window", Window}}};
  return shapes;
}

}  // namespace emplace
