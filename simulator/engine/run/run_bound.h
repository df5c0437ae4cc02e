// A lower bound of the makespan of a run that is under way, by which a search gives up a placement early.
//
// When an op ends, the makespan is at least that time plus the op's tail: the longest way from its end to the end of
// the graph, with each op where it is fastest, and no transfers. It is also at least the time that the op's device has
// idled so far plus the device's load: the times and overheads of all ops that the placement puts on it.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "common/ids.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

// Not thread-safe. Allocates in its constructor only.
class RunBound {
 public:
  // REQUIRES: graph outlives it.
  explicit RunBound(const SimGraph& graph);

  // The placement with which later ones are compared.
  void SetBase(std::span<const DeviceIndex> placement);
  // A run of `placement` begins, which may take limit_us at most. changed: the ops that may be on another device than
  // in the base, each once. REQUIRES: SetBase was called.
  void Begin(std::span<const DeviceIndex> placement, std::span<const OpIndex> changed, double limit_us);
  // Whether the run is certain to take longer. `op` has ended on `device` at now_us; idle_us: RunState's, of the
  // device.
  bool IsExceeded(OpIndex op, size_t device, double now_us, double idle_us) const {
    return now_us + tail_us_[static_cast<size_t>(op)] > limit_us_ || idle_us > may_idle_us_[device];
  }

 private:
  const SimGraph& graph_;
  std::vector<double> tail_us_;      // [n]
  std::vector<DeviceIndex> base_;    // [n]
  std::vector<double> base_us_;      // [D] load of each device under the base
  std::vector<double> may_idle_us_;  // [D] how long each device may idle
  double limit_us_ = 0;
};

}  // namespace emplace
