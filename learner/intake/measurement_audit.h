// Has a share of the measured rewards measured again. An episode that is chosen is held back until another hardware
// actor than its own has measured one of its placements, which its sender cannot foresee: then it is confirmed or
// false. It goes on unverified where no answer comes. Knows no socket.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/rng.h"
#include "common/trajectory.h"
#include "common/wire/messages/messages.h"
#include "learner/intake/trajectory_check.h"
#include "policy/config/run_config.h"
#include "policy/policy_kind.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// Not thread-safe.
class MeasurementAudit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // seed: of the choices; a run takes one that nobody can foresee. REQUIRES: tasks outlive the audit.
  MeasurementAudit(const std::vector<PlacementTask>& tasks, const PolicyKind& kind,
                   const EnvironmentConfig& environment, const HardwareConfig& config, uint64_t seed);

  struct Order {
    ActorKey to;
    MeasureRequest request;
  };
  // Decides whether an episode is measured again, by one of the actors that measure. If so, takes it and returns what
  // to ask whom; else nullopt, and the episode is unchanged. It is not where nobody but its own actor measures, or
  // where as many as the audit can hold wait for answers. sender: the peer that sent it. REQUIRES: CheckShape has
  // passed; its rewards are measured.
  std::optional<Order> Begin(Trajectory& trajectory, const std::string& sender, std::span<const ActorKey> measuring,
                             Time now);

  enum class Result { kConfirmed, kFalse, kUnanswered };
  struct Verdict {
    Result result = Result::kUnanswered;
    std::string reason;  // Of kFalse.
    Trajectory trajectory;
    std::string sender;
  };
  // Notes an answer; one that nobody has waited for, or from another actor than the one asked, changes nothing.
  void Answer(const MeasureReply& reply);
  // Returns the episodes that are decided on, and those whose answers have not come in time.
  std::vector<Verdict> TakeVerdicts(Time now);
  // Returns all episodes that are held back, decided on or not.
  std::vector<Verdict> TakeAll();

  size_t held() const { return held_.size(); }  // Episodes that wait for their answers.

 private:
  struct Held {
    Trajectory trajectory;
    std::string sender;
    ActorKey asked;
    size_t point = 0;  // Which rho was measured again.
    Time due;
  };

  const std::vector<PlacementTask>& tasks_;
  const PolicyKind& kind_;
  const HardwareConfig config_;
  Rng rng_;
  TrajectoryChecker checker_;
  uint64_t next_id_;
  std::map<uint64_t, Held> held_;  // By the request's id.
  std::vector<Verdict> verdicts_;
};

}  // namespace emplace
