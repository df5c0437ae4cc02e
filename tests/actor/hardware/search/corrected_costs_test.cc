#include "actor/hardware/search/corrected_costs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/actor/hardware/search/hidden_hardware.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

OrderedPlacement RandomHalves(Rng& rng, const OpGraph& graph) {
  OrderedPlacement placement;
  for (OpIndex op = 0; op < graph.num_ops(); ++op) {
    placement.placement.push_back(static_cast<DeviceIndex>(rng.UniformInt(0, 1)));
  }
  return placement;
}

// Largest factor between an op's cost in both, on any kind.
double Farthest(const Costs& a, const Costs& b) {
  double farthest = 1;
  for (OpIndex op = 0; op < a.graph.num_ops(); ++op) {
    for (const auto& [kind, us] : a.graph.op(op).cost.by_kind()) {
      farthest = std::max(farthest, std::exp(std::abs(std::log(us / b.graph.op(op).cost.On(kind).value()))));
    }
  }
  return farthest;
}

double LinkUs(const Costs& costs) {
  return SimGraph::Compile(costs.graph, costs.machine).LinkTimesOf(0, 1).TransferUs(1000);
}

TEST(CorrectedCosts, AreThoseGivenBeforeAnythingWasMeasured) {
  Rng rng(1);
  const Costs given = TypedCosts(rng, 20, LinkModel::kTopology);
  const CorrectedCosts corrected(given.graph, given.machine, 0);
  EXPECT_TRUE(corrected.empty());
  EXPECT_EQ(Farthest(corrected.Get(), given), 1);
  EXPECT_EQ(LinkUs(corrected.Get()), LinkUs(given));
}

// The hidden ratios, up to 4 either way, are found within a few percent, whatever the computer does meanwhile.
TEST(CorrectedCosts, ComeToTheHiddenOnes) {
  for (uint64_t seed = 0; seed < Trials(24); ++seed) {
    Rng rng(seed);
    const Costs given = TypedCosts(rng, 60, seed % 2 == 0 ? LinkModel::kTopology : LinkModel::kShared);
    const Costs hidden = WithHiddenRatios(rng, given);
    const HiddenHardware hardware(hidden.graph, hidden.machine, 0);
    CorrectedCosts corrected(given.graph, given.machine, 0);
    double first = 0;
    // Half of the steps on a computer that is up to three times as slow as usual.
    for (int round = 0; round < 41; ++round) {
      const double slowness = round % 2 == 0 ? 1 : rng.Uniform(1, 3);
      const OrderedPlacement placement = RandomHalves(rng, given.graph);
      corrected.Add(placement.placement, hardware.Measure(placement, slowness));
      if (round == 0) first = Farthest(corrected.Get(), hidden);
    }
    EXPECT_LT(Farthest(corrected.Get(), hidden), 1.1) << seed;
    EXPECT_LE(Farthest(corrected.Get(), hidden), first) << seed;
    EXPECT_NEAR(LinkUs(corrected.Get()) / LinkUs(hidden), 1, 0.05) << seed;
  }
}

TEST(CorrectedCosts, LeaveKindsAloneThatHaveNotRun) {
  Rng rng(3);
  const Costs given = TypedCosts(rng, 30, LinkModel::kTopology);
  const Costs hidden = WithHiddenRatios(rng, given);
  const HiddenHardware hardware(hidden.graph, hidden.machine, 0);
  CorrectedCosts corrected(given.graph, given.machine, 0);
  const OrderedPlacement on_the_first{.placement = Placement(30, 0), .orders = {}};
  corrected.Add(on_the_first.placement, hardware.Measure(on_the_first));
  const Costs costs = corrected.Get();
  for (OpIndex op = 0; op < 30; ++op) EXPECT_EQ(costs.graph.op(op).cost.On("slow"), given.graph.op(op).cost.On("slow"));
  EXPECT_EQ(LinkUs(costs), LinkUs(given));
}

}  // namespace
}  // namespace emplace
