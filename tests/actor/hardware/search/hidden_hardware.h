// A computer for tests, whose ops and links take other times than the costs that a search is given: the simulator with
// hidden costs stands for it. What it measures has the parts of a measured step.
#pragma once

#include <optional>

#include "actor/hardware/search/measured_search.h"
#include "common/rng.h"
#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"

namespace emplace {

class HiddenHardware {
 public:
  HiddenHardware(OpGraph graph, Cluster machine, DeviceIndex reference);

  // slowness: of the computer while this is measured; both steps take so many times as long.
  MeasuredStep Measure(const OrderedPlacement& placement, double slowness = 1) const;
  double StepUs(const OrderedPlacement& placement) const { return Simulate(costs_, placement).us; }
  const Costs& costs() const { return costs_; }

 private:
  PartTimes Parts(const Placement& placement, double slowness) const;

  const Costs costs_;
  const OrderedPlacement reference_;
};

// A graph of layers with ops of some types, on machines of a fast and of a slow kind of device: what is given to a
// search.
Costs TypedCosts(Rng& rng, int32_t num_ops, LinkModel link_model);
// The same with hidden ratios: one from 1/4 to 4 for each type and kind, and one for the links.
Costs WithHiddenRatios(Rng& rng, const Costs& given);

// Places by `auto` with a budget of simulations, so that tests take the same course everywhere.
Placer BudgetPlacer(int64_t budget);

}  // namespace emplace
