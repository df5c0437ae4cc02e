// What the learner knows of the episodes that its actors send, so that none is believed unchecked: episodes of
// decisions (placement_episodes.h), or trials of an evolution (trial_episodes.h).
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "common/trajectory.h"

namespace emplace {

// What a check has found out about an episode.
struct EpisodeWorth {
  std::optional<std::string> reason;  // Why it is rejected; nullopt: it passes, and the rest is set.
  double ratio = 0;  // makespan of its placement / best single device, lower is better; NaN where there is no such one
  bool feasible = true;  // The placement fits in memory, and did not fail when it was measured.
  // The ratio as it was measured; NaN: rewards are simulated, or the placement is not feasible.
  double measured_ratio = std::numeric_limits<double>::quiet_NaN();
};

// Not thread-safe: each thread needs its own.
class EpisodeChecker {
 public:
  virtual ~EpisodeChecker() = default;
  // Checks what the episode claims. REQUIRES: its shape has been checked by the same rules.
  virtual EpisodeWorth Check(const Trajectory& episode) = 0;
};

// Any thread may call the functions.
class EpisodeRules {
 public:
  virtual ~EpisodeRules() = default;
  // Returns why an episode fails by its shape alone, after which it is safe to compute with it; nullopt: it does not.
  virtual std::optional<std::string> CheckShape(const Trajectory& episode) const = 0;
  // REQUIRES: the rules outlive the checker.
  virtual std::unique_ptr<EpisodeChecker> MakeChecker() const = 0;
};

}  // namespace emplace
