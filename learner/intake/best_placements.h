// The best placement of each training graph that fits in memory: the best that any episode has come through, not only
// of those where one ended. What an actor claims of a placement on the way is simulated before it is believed.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/config/run_config.h"
#include "common/mutex.h"
#include "common/trajectory.h"
#include "learner/intake/trajectory_check.h"
#include "learner/run_clock.h"
#include "simulator/placement_task.h"

namespace emplace {

// How much has been sampled of one graph, over all sittings.
struct SampleCounts {
  int64_t episodes = 0;  // Checked and found sound.
  int64_t steps = 0;     // Of these; a simulator run of the actor each.
};

// What is known of a placement that was better than all before.
struct FoundPlacement {
  double makespan_us = std::numeric_limits<double>::infinity();
  double ratio = 0;           // makespan / best single device; NaN where no device may run every op
  SampleCounts sampled = {};  // Of its graph by then, its own episode included.
  PolicyVersion update = 0;   // The policy version of its episode.
  double seconds = 0;         // Of training, over all sittings.
};

// Any thread may call any function.
class BestPlacements {
 public:
  // REQUIRES: tasks and clock outlive it.
  BestPlacements(const std::vector<PlacementTask>& tasks, const EnvironmentConfig& environment, const RunClock& clock);

  // Counts an episode and takes in what it has found. Nearly always a look at its rho and at the best so far; where one
  // of them claims better, that placement is simulated with `checker`. When the claim is false, the reason to reject
  // the episode, which then counts for nothing. REQUIRES: `end` is what the check of its end said: that it is sound.
  std::optional<std::string> Consider(const Trajectory& trajectory, const TrajectoryChecker::Outcome& end,
                                      TrajectoryChecker& checker);

  // What earlier sittings have sampled and, if any, found. REQUIRES: nothing of this graph has been considered.
  void Restore(GraphId graph, const SampleCounts& counts, const std::optional<FoundPlacement>& best);

  struct Improvement {
    GraphId graph = 0;
    FoundPlacement found;
    std::vector<uint8_t> groups;  // [n] device of each group
  };
  // What Consider has found since the last call, oldest first: each better than those of its graph before.
  std::vector<Improvement> TakeImprovements();

  std::vector<SampleCounts> counts() const;  // [tasks]
  double GeometricMeanRatio() const;         // Of the best of each graph; NaN where none has a ratio.

 private:
  struct Graph {
    SampleCounts counts;
    FoundPlacement best;  // Infinite makespan: there is none yet.
  };

  const std::vector<PlacementTask>& tasks_;
  const EnvironmentConfig environment_;
  const RunClock& clock_;
  mutable Mutex mu_;
  std::vector<Graph> graphs_ EMPLACE_GUARDED_BY(mu_);  // [tasks]
  std::vector<Improvement> improvements_ EMPLACE_GUARDED_BY(mu_);
};

}  // namespace emplace
