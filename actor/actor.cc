#include "actor/actor.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "actor/control_exchange.h"
#include "actor/conversation.h"
#include "actor/rollout.h"
#include "actor/trajectory_sender.h"
#include "actor/trial_rollout.h"
#include "common/error.h"
#include "common/log.h"
#include "common/rng.h"
#include "common/strings.h"
#include "common/threads/pausing_work.h"
#include "policy/policy_weights.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kInterruptWait(100);  // How soon an idle or paused actor notices an interrupt.
constexpr milliseconds kDrainTimeout(5000);  // How long it goes on sending at its end.

// The sequence number up to which the learner wants episodes (Notice::sequence_limit). What the learner waits for may
// be lost with a connection, so an actor keeps to a limit that it has reached for 5 s, and twice as long each time that
// the limit has not moved since.
class SequenceLimit {
 public:
  // Whether no episode is to start before the learner raises the limit. limit: 0 is none. idle: nothing is in flight.
  bool MustWait(uint64_t limit, uint64_t produced, bool idle) {
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

 private:
  static constexpr milliseconds kPatience{5000};
  uint64_t limit_ = 0;                                               // The latest that was asked about.
  std::optional<std::chrono::steady_clock::time_point> reached_at_;  // When it was reached; nullopt: it is not.
  milliseconds patience_ = kPatience;
};

// The rollouts of one session. Sequence numbers are given as trajectories enter the send queue, so what an interrupt
// leaves unfinished was never produced.
class SessionRollouts {
 public:
  SessionRollouts(std::shared_ptr<const Session> session, const MeasureFactory& make_measure)
      : session_(std::move(session)),
        make_measure_(make_measure),
        next_sequence_(session_->first_sequence),
        player_(MakePlayerOf(*session_, make_measure)) {}

  const std::shared_ptr<const Session>& session() const { return session_; }
  uint64_t produced() const { return next_sequence_ - 1; }

  bool lockstep() const { return session_->config.training.lockstep(); }

  // In lockstep: goes on with what the learner gave to play, or starts it. False when all of it is done, and sent.
  bool StartOrContinueWork(const ControlState& state) {
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

  // Measures a placement that the learner asks about; nullopt: there is no such placement of these tasks.
  std::optional<double> MeasureFor(const MeasureRequest& request) const {
    if (request.graph >= session_->tasks.size()) return std::nullopt;
    const PlacementTask& task = session_->tasks[request.graph];
    const bool fits = request.groups.size() == static_cast<size_t>(task.groups.num_groups);
    if (!fits || task.groups.FirstMisplaced(request.groups)) return std::nullopt;
    std::vector<DeviceIndex> ops(task.group_of_op.size());
    task.Expand(request.groups, ops);
    return make_measure_(task)->Run(request.groups, ops).makespan_us;
  }

  // Whether no episode is to start before the learner raises the limit.
  bool MustWait(uint64_t sequence_limit) {
    return limit_.MustWait(sequence_limit, produced(), player_->idle() && finished_.empty());
  }

  // One step, unless finished trajectories still wait for room in the queue; they wait for it for at most
  // `kInterruptWait`. The step is a unit of `work`, the wait is none.
  void Advance(const ControlState& state, TrajectorySender& sender, PausingWork& work) {
    if (finished_.empty()) {
      const PausingWork::Unit unit(work);
      if (!lockstep()) player_->SetWeights(state.weights);
      for (Trajectory& trajectory : player_->Advance(MostToStart(state.sequence_limit))) {
        finished_.push_back(std::move(trajectory));
      }
    }
    while (!finished_.empty()) {
      finished_.front().sequence = next_sequence_;
      if (!sender.Offer(std::move(finished_.front()), kInterruptWait)) return;
      finished_.pop_front();
      ++next_sequence_;
    }
  }

 private:
  // Beyond the limit, which is then not kept to any longer, those that start together.
  size_t MostToStart(uint64_t sequence_limit) const {
    const auto most = static_cast<uint64_t>(session_->config.actor.episodes_in_flight);
    if (sequence_limit == 0) return most;
    const auto together = static_cast<uint64_t>(session_->config.environment.episodes_per_start);
    return std::min(most, sequence_limit > produced() ? sequence_limit - produced() : together);
  }

  static std::unique_ptr<EpisodePlayer> MakePlayerOf(const Session& session, const MeasureFactory& make_measure) {
    const RunConfig& config = session.config;
    if (config.training.evolves()) return std::make_unique<TrialRollout>(session.tasks, config, session.actor);
    const Rng rng =
        Rng(config.seed).Fork("actor", session.actor.actor_id).Fork("incarnation", session.actor.incarnation);
    const LogitsNoise noise = {.deviation = config.training.logits_noise,
                               .decay_updates = config.training.logits_noise_decay_updates};
    return std::make_unique<Rollout>(session.tasks, config.environment, config.actor.episodes_in_flight, session.actor,
                                     rng, make_measure, noise);
  }

  std::shared_ptr<const Session> session_;
  const MeasureFactory make_measure_;
  uint64_t next_sequence_;
  const std::unique_ptr<EpisodePlayer> player_;
  std::optional<PolicyVersion> version_;  // In lockstep: whose episodes are played,
  size_t taken_ = 0;                      // and how many of those given have been started.
  std::deque<Trajectory> finished_;       // Not in the queue yet.
  SequenceLimit limit_;
};

// What the learner wants measured, before episodes go on: it holds an episode back for the answer.
void AnswerMeasureRequests(ControlExchange& control, const SessionRollouts& rollouts) {
  while (const std::optional<MeasureRequest> request = control.TakeMeasureRequest()) {
    const std::optional<double> makespan_us = rollouts.MeasureFor(*request);
    if (makespan_us) {
      control.Answer({rollouts.session()->actor, request->id, *makespan_us});
    } else {
      LogWarning(StrCat("the learner asks for a measurement of graph ", request->graph, ", ", request->groups.size(),
                        " groups, which fits none of its graphs: it gets no answer"));
    }
  }
}

}  // namespace

void RunActor(const ActorOptions& options, const std::atomic<bool>& interrupted, RewardSource& rewards) {
  const ConversationOptions conversation = {.learner_address = options.learner,
                                            .name = options.name,
                                            .patience = options.patience,
                                            .keys = options.keys,
                                            .measures = rewards.measures()};
  ControlExchange control;
  std::jthread talking([&](const std::stop_token& stop) { Converse(conversation, control, stop); });
  LogInfo(StrCat("looks for the learner at ", options.learner));
  const auto is_over = [&] { return interrupted || control.state().ending; };
  std::optional<TrajectorySender>
      sender;  // Outlives sessions: what an old one queued is still sent, under its own key.
  std::shared_ptr<const Session> joined;
  std::optional<SessionRollouts> rollouts;  // Of `joined`, once their rewards can be measured.
  const auto join = [&](const std::shared_ptr<const Session>& session) {
    if (rollouts) {
      LogInfo(StrCat("incarnation ", joined->actor.incarnation, " made ", rollouts->produced()));
      control.SayGoodbye({session->actor.actor_id, joined->actor.incarnation}, rollouts->produced());
    }
    rollouts.reset();  // First: two sessions' graphs need not be in memory together.
    joined = session;
    if (!sender) sender.emplace(static_cast<size_t>(joined->config.actor.send_queue), options.keys);
    sender->SetLearner(joined->trajectories_address, joined->actor.actor_id);
  };
  std::atomic<bool> measuring = false;  // Whether others are: whoever measures has windows of its own.
  PausingWork work(measuring);
  ControlState state;
  std::exception_ptr failure;
  try {
    while (!interrupted && !state.ending) {
      state = control.state();
      measuring = state.measuring && !rewards.measures();
      if (state.session != joined) {
        join(state.session);
        rollouts.emplace(joined, rewards.Begin(joined, is_over));
        malloc_trim(0);  // The Welcome was larger than all that follows.
      }
      if (!state.weights) {
        state = control.WaitForChange(state, kInterruptWait);
        continue;
      }
      if (rollouts->lockstep() && !rollouts->StartOrContinueWork(state)) {
        control.AskForWork();
        state = control.WaitForChange(state, kInterruptWait);
        continue;
      }
      if (rewards.measures()) AnswerMeasureRequests(control, *rollouts);
      if (!rollouts->lockstep() && rollouts->MustWait(state.sequence_limit)) {
        control.WaitForChange(state, kInterruptWait);  // `state` stays: what changes may be the session.
      } else {
        rollouts->Advance(state, *sender, work);
      }
      control.Report({.session = joined->id,
                      .produced = rollouts->produced(),
                      .version = state.weights->version,
                      .window_us = static_cast<uint64_t>(rewards.window_time().count())});
    }
  } catch (const MeasurementCancelled&) {  // It is to end, as below.
  } catch (...) {
    failure = std::current_exception();
  }
  state = control.state();
  if (!failure && state.ending && state.ending->failed) throw Error(state.ending->kind, state.ending->reason);
  // However it ends, the learner is told: it would wait for an actor that has joined it and is silent.
  if (state.session != joined) join(state.session);
  if (joined) {
    const uint64_t produced = rollouts ? rollouts->produced() : joined->first_sequence - 1;
    if (!sender->Drain(kDrainTimeout)) {
      LogWarning(StrCat("not everything was sent within ", kDrainTimeout.count(), " ms"));
    }
    control.SayGoodbye(joined->actor, produced);
    control.Leave();
    talking.join();
    LogInfo(StrCat("goodbye after ", produced, " trajectories"));
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace emplace
