#include "actor/session_rollouts.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "actor/rollout.h"
#include "actor/trial_rollout.h"
#include "common/rng.h"

namespace emplace {
namespace {

std::unique_ptr<EpisodePlayer> MakePlayerOf(const Session& session, const MeasureFactory& make_measure) {
  const RunConfig& config = session.config;
  if (config.training.evolves()) return std::make_unique<TrialRollout>(session.tasks, config, session.actor);
  const Rng rng = Rng(config.seed).Fork("actor", session.actor.actor_id).Fork("incarnation", session.actor.incarnation);
  const LogitsNoise noise = {.deviation = config.training.logits_noise,
                             .decay_updates = config.training.logits_noise_decay_updates};
  return std::make_unique<Rollout>(session.tasks, config.environment, config.actor.episodes_in_flight, session.actor,
                                   rng, make_measure, noise);
}

}  // namespace

bool SequenceLimit::MustWait(uint64_t limit, uint64_t produced, bool idle) {
  const auto now = std::chrono::steady_clock::now();
  if (limit != limit_) {
    limit_ = limit;
    patience_ = kPatience;
    reached_at_.reset();
  }
  if (limit_ == 0 || produced < limit_ || !idle) return false;
  if (!reached_at_) reached_at_ = now;
  if (now - *reached_at_ < patience_) return true;
  reached_at_.reset();
  patience_ *= 2;
  return false;
}

SessionRollouts::SessionRollouts(std::shared_ptr<const Session> session, const MeasureFactory& make_measure)
    : session_(std::move(session)),
      make_measure_(make_measure),
      next_sequence_(session_->first_sequence),
      player_(MakePlayerOf(*session_, make_measure)) {}

bool SessionRollouts::StartOrContinueWork(const ControlState& state) {
  if (!finished_.empty()) return true;
  if (!state.work) return false;  // There are newer weights: what is in flight is of no use any more.
  if (state.work->version != version_) {
    version_ = state.work->version;
    taken_ = 0;
  } else if (!player_->idle()) {
    return true;
  }
  const auto open = std::span(state.work->episodes).subspan(taken_);
  if (open.empty()) return false;
  const auto next = open.first(std::min(static_cast<size_t>(session_->config.actor.episodes_in_flight), open.size()));
  player_->SetWeights(state.weights);
  player_->StartLockstep(next, session_->config.seed);
  taken_ += next.size();
  return true;
}

std::optional<double> SessionRollouts::MeasureFor(const MeasureRequest& request) const {
  if (request.graph >= session_->tasks.size()) return std::nullopt;
  const PlacementTask& task = session_->tasks[request.graph];
  const bool fits = request.groups.size() == static_cast<size_t>(task.groups.num_groups);
  if (!fits || task.groups.FirstMisplaced(request.groups)) return std::nullopt;
  std::vector<DeviceIndex> ops(task.group_of_op.size());
  task.Expand(request.groups, ops);
  return make_measure_(task)->Run(request.groups, ops).makespan_us;
}

// Beyond the limit, which is then not kept to any longer, those that start together.
size_t SessionRollouts::MostToStart(uint64_t sequence_limit) const {
  const auto most = static_cast<uint64_t>(session_->config.actor.episodes_in_flight);
  if (sequence_limit == 0) return most;
  const auto together = static_cast<uint64_t>(session_->config.environment.episodes_per_start);
  return std::min(most, sequence_limit > produced() ? sequence_limit - produced() : together);
}

void SessionRollouts::Advance(const ControlState& state, TrajectorySender& sender, PausingWork& work,
                              std::chrono::milliseconds patience) {
  if (finished_.empty()) {
    const PausingWork::Unit unit(work);
    if (!lockstep()) player_->SetWeights(state.weights);
    for (Trajectory& trajectory : player_->Advance(MostToStart(state.sequence_limit))) {
      finished_.push_back(std::move(trajectory));
    }
  }
  while (!finished_.empty()) {
    finished_.front().sequence = next_sequence_;
    if (!sender.Offer(std::move(finished_.front()), patience)) return;
    finished_.pop_front();
    ++next_sequence_;
  }
}

}  // namespace emplace
