#include <array>
#include <utility>

#include "simulator/instances/dag_shapes.h"
#include "simulator/instances/draws.h"
#include "simulator/instances/shape_builder.h"

namespace emplace {
namespace {

// Blocks, one after the other: a node, branches of several lengths beside each other, and a node that joins them.
DagShape ForkJoin(Rng& rng, int32_t nodes) {
  ShapeBuilder builder(nodes);
  std::vector<int32_t> lengths;
  for (auto branches = LogUniformInt(rng, 2, 16); branches > 0; --branches) lengths.push_back(DrawInt(rng, 1, 6));
  int32_t last = -1;
  for (int32_t block = 0; !builder.full(); ++block) {
    const int32_t fork = builder.Add({last}, 0, block);
    int32_t role = 1;
    std::vector<int32_t> ends;
    for (const int32_t length : lengths) {
      int32_t at = fork;
      for (int32_t i = 0; i < length; ++i) at = builder.Add({at}, role++, block);
      ends.push_back(at);
    }
    last = builder.Add(ends, role, block);
  }
  return builder.Take();
}

// A path down some levels and up again, where each level on the way up also reads its level on the way down.
DagShape Ladder(Rng& rng, int32_t nodes) {
  ShapeBuilder builder(nodes);
  const int32_t levels = DrawInt(rng, 2, 8);
  const int32_t depth = DrawInt(rng, 1, 5);  // Nodes of a level, one after the other.
  int32_t last = -1;
  for (int32_t stage = 0; !builder.full();) {
    std::vector<int32_t> down;
    for (int32_t level = 0; level < levels; ++level, ++stage) {
      for (int32_t i = 0; i < depth; ++i) last = builder.Add({last}, level, stage);
      down.push_back(last);
    }
    for (int32_t level = levels - 1; level >= 0; --level, ++stage) {
      last = builder.Add({last, down[static_cast<size_t>(level)]}, levels + level, stage);
      for (int32_t i = 1; i < depth; ++i) last = builder.Add({last}, levels + level, stage);
    }
  }
  return builder.Take();
}

// A row of points that read themselves and their neighbours of the step before.
DagShape Stencil(Rng& rng, int32_t nodes) {
  ShapeBuilder builder(nodes);
  const auto width = static_cast<int32_t>(LogUniformInt(rng, 3, 32));
  const int32_t reach = DrawInt(rng, 1, 2);
  std::vector<int32_t> last(static_cast<size_t>(width), -1);
  for (int32_t step = 0; !builder.full(); ++step) {
    std::vector<int32_t> current;
    for (int32_t x = 0; x < width; ++x) {
      std::vector<int32_t> reads;
      for (int32_t y = std::max(0, x - reach); y <= std::min(width - 1, x + reach); ++y)
        reads.push_back(last[static_cast<size_t>(y)]);
      current.push_back(builder.Add(std::move(reads), x == 0 || x == width - 1 ? 1 : 0, step));
    }
    last = std::move(current);
  }
  DagShape shape = builder.Take();
  shape.shares_weights = true;
  return shape;
}

}  // namespace

std::span<const DagGenerator> ValidationShapes() {
  static const std::array<DagGenerator, 3> shapes = {
      {{"fork_join", ForkJoin}, {"ladder", Ladder}, {"stencil", Stencil}}};
  return shapes;
}

}  // namespace emplace
