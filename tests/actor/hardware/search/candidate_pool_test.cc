#include "actor/hardware/search/candidate_pool.h"

#include <gtest/gtest.h>

#include "tests/actor/hardware/search/hidden_hardware.h"

namespace emplace {
namespace {

Candidate Of(const Placement& placement) {
  return {.placement = {.placement = placement, .orders = {}}, .origin = "t"};
}

TEST(CandidatePool, TakesNoPlacementTwice) {
  CandidatePool pool;
  pool.Forbid({0, 0});
  EXPECT_FALSE(pool.Add(Of({0, 0})));
  EXPECT_TRUE(pool.Add(Of({0, 1})));
  EXPECT_FALSE(pool.Add(Of({0, 1})));
  EXPECT_EQ(pool.TakeNewest().placement.placement, (Placement{0, 1}));
  EXPECT_FALSE(pool.Add(Of({0, 1})));  // Also once it was taken out.
}

// By the costs that are given: the same candidates come in another order on a machine on which they take other times.
TEST(CandidatePool, HandsOutTheFastestFirst) {
  Rng rng(2);
  const Costs costs = TypedCosts(rng, 12, LinkModel::kShared);
  CandidatePool pool;
  for (int i = 0; i < 40; ++i) {
    Placement placement;
    for (int op = 0; op < 12; ++op) placement.push_back(static_cast<DeviceIndex>(rng.UniformInt(0, 1)));
    pool.Add(Of(placement));
  }
  double last_us = 0;
  while (const std::optional<Candidate> taken = pool.TakeFastest(costs)) {
    const double us = Simulate(costs, taken->placement).us;
    EXPECT_GE(us, last_us);
    last_us = us;
  }
  EXPECT_GT(last_us, 0);
}

TEST(CandidatePool, PrefersWhatFitsTheMemory) {
  Rng rng(2);
  Costs costs = TypedCosts(rng, 12, LinkModel::kShared);
  costs.machine.devices[0].memory_bytes = 1;  // The fast one.
  CandidatePool pool;
  pool.Add(Of(Placement(12, 0)));
  pool.Add(Of(Placement(12, 1)));
  EXPECT_EQ(pool.TakeFastest(costs)->placement.placement, Placement(12, 1));
  EXPECT_EQ(pool.TakeFastest(costs)->placement.placement, Placement(12, 0));
}

// With all orders, the simulated step is the same one, and orders say it all.
TEST(WithAllOrders, SimulatesTheSameStep) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const Costs costs = TypedCosts(rng, 30, LinkModel::kTopology);
    OrderedPlacement plain;
    for (int op = 0; op < 30; ++op) plain.placement.push_back(static_cast<DeviceIndex>(rng.UniformInt(0, 1)));
    const OrderedPlacement ordered = WithAllOrders(costs, plain);
    EXPECT_EQ(ordered.orders[0].size() + ordered.orders[1].size(), 30U);
    EXPECT_NO_THROW(CheckOrders(costs.graph, costs.machine, ordered.placement, ordered.orders));
    EXPECT_DOUBLE_EQ(Simulate(costs, ordered).us, Simulate(costs, plain).us);
  }
}

}  // namespace
}  // namespace emplace
