#include "learner/intake/trajectory_intake.h"

#include <utility>

#include "common/rng.h"
#include "common/strings.h"
#include "policy/policy_kinds.h"

namespace emplace {

TrajectoryIntake::TrajectoryIntake(const EpisodeRules& rules, const std::vector<PlacementTask>& tasks,
                                   const RunConfig& config, Ledger& ledger, ActorSessions& sessions,
                                   StageClock& check_clock)
    : rules_(rules),
      last_version_(static_cast<PolicyVersion>(config.training.iterations)),
      ledger_(ledger),
      sessions_(sessions),
      queue_(rules,
             {.capacity = static_cast<size_t>(config.learner.buffer),
              .threads = static_cast<size_t>(config.learner.check_threads),
              .measuring = sessions.measuring()},
             ledger, check_clock),
      audit_(tasks, FindPolicyKind(config.policy.kind), config.environment, config.hardware, UnforeseenNumber()) {}

void TrajectoryIntake::Receive(LearnerEndpoint& endpoint, SentTrajectory sent, PolicyVersion announced) {
  Trajectory& trajectory = sent.trajectory;
  const ActorKey actor = trajectory.actor;
  if (!sessions_.MaySpeakFor(actor, sent.key)) return;
  const Ledger::Admission admission = ledger_.Admit(actor, trajectory.sequence);
  if (admission == Ledger::Admission::kUnknown) {
    sessions_.CountStranger(
        StrCat("episode ", trajectory.sequence, " of ", ActorName(actor), " is refused: no such actor has joined"));
    return;
  }
  if (admission == Ledger::Admission::kDuplicate) {
    ++duplicates_;
    return;
  }
  std::optional<std::string> reason = rules_.CheckShape(trajectory);
  if (!reason) reason = WhyFalseMark(trajectory);
  if (!reason && trajectory.policy_version > announced) {
    // Played for a learner that is no more, with weights that went with it.
    if (trajectory.policy_version <= last_version_ && !sessions_.registry().HasJoined(actor)) {
      CountStale(trajectory);
      return;
    }
    reason = StrCat("policy version ", trajectory.policy_version, " was never published");
  }
  if (reason) {
    queue_.Reject(trajectory, *reason);
    endpoint.Blame(sent);
    return;
  }
  if (trajectory.claim == Claim::kMeasured && HoldForAudit(endpoint, trajectory, sent.peer)) return;
  // There is room: this thread alone pushes, and it looked before it received. Closed: the check has failed.
  if (!queue_.Push(std::move(trajectory), std::move(sent.peer))) ledger_.CountStale(actor);
}

std::optional<std::string> TrajectoryIntake::WhyFalseMark(const Trajectory& trajectory) const {
  const bool measured = trajectory.claim == Claim::kMeasured;
  const std::optional<bool> measures = sessions_.registry().Measures(trajectory.actor);
  // Played for a learner before this one, by an actor that has not joined this one yet: it may be one that measures.
  if (!measures) return measured ? sessions_.WhyNoMeasuring() : std::nullopt;
  if (*measures == measured) return std::nullopt;
  return measured ? "its rewards are measured, and its actor has joined as one that simulates"
                  : "its rewards are simulated, and its actor has joined as one that measures";
}

// Returns whether the audit has taken the trajectory.
bool TrajectoryIntake::HoldForAudit(LearnerEndpoint& endpoint, Trajectory& trajectory, const PeerId& sender) {
  if (stopping_) return false;
  const ActorRegistry& registry = sessions_.registry();
  const std::optional<MeasurementAudit::Order> order =
      audit_.Begin(trajectory, sender, registry.Measuring(), std::chrono::steady_clock::now());
  if (!order) return false;
  registry.WithPeerOf(order->to, [&](const PeerId& peer) { endpoint.Send(peer, order->request); });
  return true;
}

// At the end none is waited for.
void TrajectoryIntake::PassAudited() {
  for (MeasurementAudit::Verdict& verdict :
       stopping_ ? audit_.TakeAll() : audit_.TakeVerdicts(std::chrono::steady_clock::now())) {
    audited_.push_back(std::move(verdict));
  }
  while (!audited_.empty()) {
    MeasurementAudit::Verdict& verdict = audited_.front();
    if (verdict.result == MeasurementAudit::Result::kFalse) {
      queue_.RejectFalse(verdict.trajectory, verdict.reason, std::move(verdict.sender));
    } else if (queue_.HasRoom()) {
      const ActorKey actor = verdict.trajectory.actor;
      const bool again = verdict.result == MeasurementAudit::Result::kConfirmed;
      if (!queue_.Push(std::move(verdict.trajectory), std::move(verdict.sender), again)) ledger_.CountStale(actor);
    } else {
      return;
    }
    audited_.pop_front();
  }
}

bool TrajectoryIntake::MadeProgress() {
  // Episodes that pass are what a run lives on: those that are rejected are no sign of life.
  const int64_t sound = queue_.counts().episodes;
  return std::exchange(sound_before_, sound) != sound || !queue_.HasRoom();
}

void TrajectoryIntake::AccuseSenders(LearnerEndpoint& endpoint) {
  for (const PeerId& sender : queue_.TakeAccused()) endpoint.Accuse(sender);
}

void TrajectoryIntake::CountHeldAsStale() {
  for (const MeasurementAudit::Verdict& verdict : audit_.TakeAll()) CountStale(verdict.trajectory);
  for (const MeasurementAudit::Verdict& verdict : audited_) CountStale(verdict.trajectory);
}

}  // namespace emplace
