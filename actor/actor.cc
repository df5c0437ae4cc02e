#include "actor/actor.h"

#include <malloc.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "actor/control_client.h"
#include "actor/rollout.h"
#include "actor/trajectory_sender.h"
#include "common/error.h"
#include "common/log.h"
#include "common/rng.h"
#include "common/strings.h"
#include "policy/policy_weights.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kInterruptWait(100);  // How soon an idle or paused actor notices an interrupt.
constexpr milliseconds kDrainTimeout(5000);  // How long it goes on sending at its end.

// The rollouts of one session. Sequence numbers are given as trajectories enter the send queue, so what an interrupt
// leaves unfinished was never produced.
class SessionRollouts {
 public:
  explicit SessionRollouts(std::shared_ptr<const Session> session)
      : session_(std::move(session)),
        next_sequence_(session_->first_sequence),
        rollout_(session_->tasks, session_->config.environment, session_->config.actor.episodes_in_flight,
                 session_->actor, RngOf(*session_)) {}

  const std::shared_ptr<const Session>& session() const { return session_; }
  uint64_t produced() const { return next_sequence_ - 1; }

  bool lockstep() const { return session_->config.training.lockstep(); }

  // In lockstep: goes on with what the learner gave to play, or starts it. False when all of it is done, and sent.
  bool StartOrContinueWork(const ControlClient::State& state) {
    if (!finished_.empty()) return true;
    if (!state.work) return false;  // There are newer weights: what is in flight is of no use any more.
    if (state.work->version != version_) {
      version_ = state.work->version;
      taken_ = 0;
    } else if (!rollout_.idle()) {
      return true;
    }
    const auto open = std::span(state.work->episodes).subspan(taken_);
    if (open.empty()) return false;
    const auto next = open.first(std::min(static_cast<size_t>(session_->config.actor.episodes_in_flight), open.size()));
    rollout_.SetWeights(state.weights);
    rollout_.StartLockstep(next, session_->config.seed);
    taken_ += next.size();
    return true;
  }

  // One step, unless finished trajectories still wait for room in the queue; they wait for it for at most
  // `kInterruptWait`.
  void Advance(const std::shared_ptr<const PolicyWeights>& weights, TrajectorySender& sender) {
    if (finished_.empty()) {
      if (!lockstep()) rollout_.SetWeights(weights);
      for (Trajectory& trajectory : rollout_.Advance()) finished_.push_back(std::move(trajectory));
    }
    while (!finished_.empty()) {
      finished_.front().sequence = next_sequence_;
      if (!sender.Offer(std::move(finished_.front()), kInterruptWait)) return;
      finished_.pop_front();
      ++next_sequence_;
    }
  }

 private:
  static Rng RngOf(const Session& session) {
    return Rng(session.config.seed)
        .Fork("actor", session.actor.actor_id)
        .Fork("incarnation", session.actor.incarnation);
  }

  std::shared_ptr<const Session> session_;
  uint64_t next_sequence_;
  Rollout rollout_;
  std::optional<PolicyVersion> version_;  // In lockstep: whose episodes are played,
  size_t taken_ = 0;                      // and how many of those given have been started.
  std::deque<Trajectory> finished_;       // Not in the queue yet.
};

}  // namespace

void RunActor(const ActorOptions& options, const std::atomic<bool>& interrupted) {
  ControlClient client(options.learner, options.name, options.patience, options.keys);
  std::optional<TrajectorySender>
      sender;  // Outlives sessions: what an old one queued is still sent, under its own key.
  std::optional<SessionRollouts> rollouts;
  ControlClient::State state;
  while (!interrupted && !state.ending) {
    state = client.state();
    if (state.session && (!rollouts || rollouts->session() != state.session)) {
      if (rollouts) {
        LogInfo(StrCat("incarnation ", rollouts->session()->actor.incarnation, " made ", rollouts->produced()));
        client.SayGoodbye({state.session->actor.actor_id, rollouts->session()->actor.incarnation},
                          rollouts->produced());
      }
      rollouts.reset();  // First: two sessions' graphs need not be in memory together.
      rollouts.emplace(state.session);
      if (!sender) sender.emplace(static_cast<size_t>(state.session->config.actor.send_queue), options.keys);
      sender->SetLearner(state.session->trajectories_address, state.session->actor.actor_id);
      malloc_trim(0);  // The Welcome was larger than all that follows.
    }
    if (!state.weights) {
      state = client.WaitForChange(state, kInterruptWait);
      continue;
    }
    if (rollouts->lockstep() && !rollouts->StartOrContinueWork(state)) {
      client.AskForWork();
      state = client.WaitForChange(state, kInterruptWait);
      continue;
    }
    rollouts->Advance(state.weights, *sender);
    client.Report(rollouts->session()->id, rollouts->produced(), state.weights->version);
  }
  if (state.ending && state.ending->failed) throw Error(state.ending->kind, state.ending->reason);
  if (!rollouts) return;
  if (!sender->Drain(kDrainTimeout))
    LogWarning(StrCat("not everything was sent within ", kDrainTimeout.count(), " ms"));
  client.Leave(rollouts->session()->actor, rollouts->produced());
  LogInfo(StrCat("goodbye after ", rollouts->produced(), " trajectories"));
}

}  // namespace emplace
