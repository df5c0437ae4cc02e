// A graph and a machine whose costs are corrected by measured steps: the cost of each op by a ratio of its class (the
// kind of the device, the type, the shapes of the inputs), and the time of each link by one of its own, all shrunk
// towards 1 where little was measured (shrunk_ratios.h).
//
// Steps are measured at times at which the computer is more or less slow. So parts count in units of the reference's
// step that was timed beside them, and such a unit is the median of all references so far.
#pragma once

#include <string>
#include <vector>

#include "actor/hardware/search/measured_step.h"
#include "actor/hardware/search/scaled_costs.h"
#include "actor/hardware/search/shrunk_ratios.h"
#include "simulator/engine/sim_graph.h"
#include "simulator/graph/op_graph.h"
#include "simulator/graph/placement.h"
#include "simulator/machine/cluster.h"

namespace emplace {

// Not thread-safe.
class CorrectedCosts {
 public:
  // reference: the device of the placement to which steps are compared. REQUIRES: graph and machine outlive it.
  CorrectedCosts(const OpGraph& graph, const Cluster& machine, DeviceIndex reference);

  // Takes a measured step of this placement into account. REQUIRES: placement is legal; the parts are the graph's.
  void Add(const Placement& placement, const MeasuredStep& step);

  bool empty() const { return reference_us_.empty(); }
  // The median of the references' step times in us. REQUIRES: a step was added.
  double ReferenceUs() const;
  // The graph with the corrected cost of each op on each kind of device of the machine that may run it, and the machine
  // with corrected links. Where it has a topology, each link has a ratio of its own; other machines have one for all.
  Costs Get() const;

 private:
  void AddParts(const Placement& placement, const PartTimes& parts, double reference_us);
  RatioClass ClassOf(OpIndex op, const std::string& kind) const;
  // Indices of the machine's links between two devices.
  std::vector<size_t> LinksOf(DeviceIndex from, DeviceIndex to) const;

  const OpGraph& graph_;
  const Cluster& machine_;
  const Placement reference_;
  const SimGraph sim_;                // Of both, as they are given.
  std::vector<std::string> shapes_;   // [n] of the op's inputs, as text.
  std::vector<double> reference_us_;  // Of each step that was added.
  ShrunkRatios ops_;
  ShrunkRatios links_;
};

}  // namespace emplace
