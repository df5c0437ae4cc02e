#include <array>
#include <utility>

#include "simulator/instances/dag_shapes.h"
#include "simulator/instances/draws.h"
#include "simulator/instances/shape_builder.h"

namespace emplace {
namespace {

// Trees, one after the other: many leaves, pairs or threes of which are joined until one node is left, from which the
// leaves of the next tree read.
DagShape Trees(Rng& rng, int32_t nodes) {
  ShapeBuilder builder(nodes);
  const auto arity = static_cast<size_t>(DrawInt(rng, 2, 4));
  const auto leaves = LogUniformInt(rng, 4, 64);
  int32_t root = -1;
  for (int32_t tree = 0; !builder.full(); ++tree) {
    std::vector<int32_t> level;
    for (int64_t i = 0; i < leaves; ++i) level.push_back(builder.Add({root}, 0, tree));
    for (int32_t role = 1; level.size() > 1; ++role) {
      std::vector<int32_t> next;
      for (size_t i = 0; i < level.size(); i += arity) {
        const auto first = level.begin() + static_cast<std::ptrdiff_t>(i);
        const auto last = level.begin() + static_cast<std::ptrdiff_t>(std::min(i + arity, level.size()));
        next.push_back(builder.Add({first, last}, role, tree));
      }
      level = std::move(next);
    }
    root = level.front();
  }
  return builder.Take();
}

// Columns as of a fast Fourier transform: a node reads its column and one that is a power of two away.
DagShape Butterfly(Rng& rng, int32_t nodes) {
  ShapeBuilder builder(nodes);
  const int32_t bits = DrawInt(rng, 1, 5);
  const int32_t columns = 1 << bits;
  std::vector<int32_t> last(static_cast<size_t>(columns), -1);
  for (int32_t step = 0; !builder.full(); ++step) {
    std::vector<int32_t> current;
    for (int32_t x = 0; x < columns; ++x) {
      const int32_t other = x ^ (1 << (step % bits));
      current.push_back(
          builder.Add({last[static_cast<size_t>(x)], last[static_cast<size_t>(other)]}, step % bits, step));
    }
    last = std::move(current);
  }
  return builder.Take();
}

// Cholesky factorizations of matrices of t x t tiles, one after the other.
DagShape Elimination(Rng& rng, int32_t nodes) {
  enum Role : int32_t { kDiagonal, kColumn, kDiagonalUpdate, kUpdate };
  ShapeBuilder builder(nodes);
  const int32_t tiles = DrawInt(rng, 3, 14);
  const auto at = [tiles](int32_t row, int32_t column) { return static_cast<size_t>(row * tiles + column); };
  std::vector<int32_t> tile(at(tiles, 0), -1);  // The node that has written each tile last.
  for (int32_t stage = 0; !builder.full(); ++stage) {
    const int32_t k = stage % tiles;
    tile[at(k, k)] = builder.Add({tile[at(k, k)]}, kDiagonal, stage);
    for (int32_t i = k + 1; i < tiles; ++i)
      tile[at(i, k)] = builder.Add({tile[at(i, k)], tile[at(k, k)]}, kColumn, stage);
    for (int32_t i = k + 1; i < tiles; ++i) {
      for (int32_t j = k + 1; j <= i; ++j) {
        tile[at(i, j)] =
            builder.Add({tile[at(i, j)], tile[at(i, k)], tile[at(j, k)]}, i == j ? kDiagonalUpdate : kUpdate, stage);
      }
    }
  }
  return builder.Take();
}

// Chains beside each other, of different ops, that read from one another now and then and are joined after a while.
DagShape Towers(Rng& rng, int32_t nodes) {
  ShapeBuilder builder(nodes);
  const int32_t towers = DrawInt(rng, 2, 8);
  const int32_t height = DrawInt(rng, 4, 40);
  const double crossings = rng.Uniform(0, 0.2);
  int32_t last = -1;
  for (int32_t block = 0; !builder.full(); ++block) {
    std::vector<int32_t> tops(static_cast<size_t>(towers), last);
    for (int32_t i = 0; i < height; ++i) {
      for (int32_t tower = 0; tower < towers; ++tower) {
        int32_t& top = tops[static_cast<size_t>(tower)];
        top = builder.Add({top, Chance(rng, crossings) ? OneOf(rng, tops) : -1}, tower, block);
      }
    }
    last = builder.Add(tops, towers, block);
  }
  return builder.Take();
}

}  // namespace

std::span<const DagGenerator> TestShapes() {
  static const std::array<DagGenerator, 4> shapes = {
      {{"trees", Trees}, {"butterfly", Butterfly}, {"elimination", Elimination}, {"towers", Towers}}};
  return shapes;
}

}  // namespace emplace
