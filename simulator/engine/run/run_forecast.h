// A guess, while a run is under way, that its makespan will exceed a limit: by the times at which the base's ops had to
// end at the latest. A search gives up a placement by it long before run_bound.h is certain.
//
// An op of the base could have ended later by some time without a longer makespan, if every device had kept its order
// of ops: by the device's next op, and by the readers of the op's tensors, less the time of a transfer to readers
// elsewhere. Under another placement orders change, so an op that ends later than that and the limit allow says little,
// but several such ops say much.
#pragma once

#include <span>
#include <vector>

#include "common/ids.h"
#include "simulator/engine/run/run_state.h"

namespace emplace {

// Not thread-safe. Allocates in its constructor only.
class RunForecast {
 public:
  // REQUIRES: graph outlives it.
  explicit RunForecast(const SimGraph& graph);

  // run: the complete run with which later ones are compared.
  void SetBase(const RunState& run);
  // [n] when each op of the base had to start at the latest.
  std::span<const double> latest_start_us() const { return latest_start_us_; }
  // A run begins, which should take limit_us at most. REQUIRES: SetBase was called.
  void Begin(double limit_us);
  // Whether the run is likely to take longer. `op` has ended at now_us.
  bool IsExceeded(OpIndex op, double now_us) {
    return now_us > latest_us_[static_cast<size_t>(op)] + late_by_us_ && ++late_ops_ > kMostLateOps;
  }

 private:
  static constexpr int kMostLateOps = 10;
  static constexpr double kTolerance = 0.005;  // Of the base's makespan.

  // When an op on this device has to end at the latest for the sake of its readers, whose latest starts are known.
  // Infinity if it has none.
  double LatestForReaders(const RunState& run, OpIndex op, size_t device) const;
  const SimGraph& graph_;
  std::vector<double> latest_us_;        // [n] the latest end of each op of the base, as above
  std::vector<double> latest_start_us_;  // [n] its cost earlier
  std::vector<double> next_latest_us_;   // [D] scratch: the latest start of the op after the current one
  double makespan_us_ = 0;               // Of the base.
  double late_by_us_ = 0;                // An op that ends later than latest_us_ by more is late.
  int late_ops_ = 0;
};

}  // namespace emplace
