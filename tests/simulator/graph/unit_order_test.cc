#include "simulator/graph/unit_order.h"

#include <gtest/gtest.h>

#include <set>

#include "common/rng.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

TEST(OrderUnits, UnitsWithoutACycleGoByTheirEdgesThenByNumber) {
  EXPECT_EQ(OrderUnits(3, {}), (std::vector<int32_t>{0, 1, 2}));
  const std::vector<UnitEdge> forward = {{0, 2}, {1, 2}};
  EXPECT_EQ(OrderUnits(3, forward), (std::vector<int32_t>{0, 1, 2}));
  const std::vector<UnitEdge> back = {{2, 0}};  // 1, 2, 0.
  EXPECT_EQ(OrderUnits(3, back), (std::vector<int32_t>{2, 0, 1}));
}

TEST(OrderUnits, WithinACycleTheNumbersDecide) {
  // 0 <-> 1 <-> 2 is a cycle, and 3 comes before all of it.
  const std::vector<UnitEdge> edges = {{0, 1}, {1, 2}, {2, 1}, {1, 0}, {3, 0}, {3, 2}};
  EXPECT_EQ(OrderUnits(4, edges), (std::vector<int32_t>{1, 2, 3, 0}));
}

// reaches[a][b] by trying all ways (Warshall).
std::vector<std::vector<bool>> Closure(int32_t units, const std::vector<UnitEdge>& edges) {
  const auto n = static_cast<size_t>(units);
  std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n));
  for (const auto& [from, to] : edges) reaches[static_cast<size_t>(from)][static_cast<size_t>(to)] = true;
  for (size_t over = 0; over < n; ++over) {
    for (size_t a = 0; a < n; ++a) {
      for (size_t b = 0; b < n; ++b) reaches[a][b] = reaches[a][b] || (reaches[a][over] && reaches[over][b]);
    }
  }
  return reaches;
}

TEST(OrderUnits, KeepsEveryEdgeButThoseBackWithinACycle) {
  for (uint64_t seed = 0; seed < Trials(500); ++seed) {
    Rng rng(seed);
    const auto units = static_cast<int32_t>(rng.UniformInt(1, 12));
    std::vector<UnitEdge> edges;
    for (int64_t i = rng.UniformInt(0, 2 * units); i > 0; --i) {
      edges.emplace_back(rng.UniformInt(0, units - 1), rng.UniformInt(0, units - 1));
      if (edges.back().first == edges.back().second) edges.pop_back();
    }
    const std::vector<int32_t> place = OrderUnits(units, edges);
    EXPECT_EQ(std::set<int32_t>(place.begin(), place.end()).size(), place.size());
    const std::vector<std::vector<bool>> reaches = Closure(units, edges);
    for (const auto& [from, to] : edges) {
      if (from > to && reaches[static_cast<size_t>(to)][static_cast<size_t>(from)]) continue;
      EXPECT_LT(place[static_cast<size_t>(from)], place[static_cast<size_t>(to)]) << "seed " << seed;
    }
  }
}

TEST(OrderUnits, ADeepChainNeedsNoDeepStack) {
  constexpr int32_t kUnits = 200'000;
  std::vector<UnitEdge> edges;
  for (int32_t unit = 1; unit < kUnits; ++unit) edges.emplace_back(unit - 1, unit);
  edges.emplace_back(kUnits - 1, 0);
  const std::vector<int32_t> place = OrderUnits(kUnits, edges);
  for (int32_t unit = 0; unit < kUnits; ++unit) ASSERT_EQ(place[static_cast<size_t>(unit)], unit);
}

}  // namespace
}  // namespace emplace
