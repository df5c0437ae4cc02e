// The best placement found of each training graph, among those that fit in memory. Every placement that an episode
// comes through counts, not only the last one. When an actor's numbers say that a placement is the best so far, the
// learner simulates it before it is kept.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/threads/mutex.h"
#include "common/trajectory.h"
#include "learner/intake/trajectory_check.h"
#include "learner/run_clock.h"
#include "policy/policy_kind.h"
#include "simulator/environment/environment_config.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// How many samples there are of one graph, over all sittings.
struct SampleCounts {
  int64_t episodes = 0;  // Episodes that passed the check.
  int64_t steps = 0;     // Steps of these episodes; the actor simulated a placement in each.
};

// What is known about a placement that was better than all earlier ones of its graph.
struct FoundPlacement {
  double makespan_us = std::numeric_limits<double>::infinity();
  double ratio = 0;           // makespan / best single device; NaN where no device may run every op
  SampleCounts sampled = {};  // Samples of its graph until then, its own episode included.
  PolicyVersion update = 0;   // The behaviour policy's version in its episode.
  double seconds = 0;         // Training time until it was found, over all sittings.
};

// Any thread may call any function.
class BestPlacements {
 public:
  // REQUIRES: tasks and clock outlive this object.
  BestPlacements(const std::vector<PlacementTask>& tasks, const PolicyKind& kind, const EnvironmentConfig& environment,
                 const RunClock& clock);

  // Counts an episode and keeps its best placement if that improves on the best of its graph. Only a placement whose
  // rho is below that of the best is simulated, with `checker`. Returns why the episode has to be rejected when the
  // simulation gives another rho; the episode is then not counted. REQUIRES: `end` is the result of checking the
  // episode's end, and has no reason to reject it.
  std::optional<std::string> Consider(const Trajectory& trajectory, const TrajectoryChecker::Outcome& end,
                                      TrajectoryChecker& checker);

  // Sets the samples of earlier sittings and the best placement they found, if any. REQUIRES: no episode of this graph
  // has been considered.
  void Restore(GraphId graph, const SampleCounts& counts, const std::optional<FoundPlacement>& best);

  // A placement that is better than all earlier ones of its graph.
  struct Improvement {
    GraphId graph = 0;
    FoundPlacement found;
    std::vector<uint8_t> groups;  // [n] device of each group
  };
  // The improvements that Consider has found since the last call, oldest first.
  std::vector<Improvement> TakeImprovements();

  std::vector<SampleCounts> counts() const;  // [tasks]
  double GeometricMeanRatio() const;         // Over the best of each graph; NaN when none has a ratio.

 private:
  struct Graph {
    SampleCounts counts;
    FoundPlacement best;  // Its makespan is infinite while there is none.
  };

  const std::vector<PlacementTask>& tasks_;
  const PolicyKind& kind_;
  const EnvironmentConfig environment_;
  const RunClock& clock_;
  mutable Mutex mu_;
  std::vector<Graph> graphs_ EMPLACE_GUARDED_BY(mu_);  // [tasks]
  std::vector<Improvement> improvements_ EMPLACE_GUARDED_BY(mu_);
};

}  // namespace emplace
