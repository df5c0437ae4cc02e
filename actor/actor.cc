#include "actor/actor.h"

#include <malloc.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>

#include "actor/control_exchange.h"
#include "actor/conversation.h"
#include "actor/session_rollouts.h"
#include "actor/trajectory_sender.h"
#include "common/error.h"
#include "common/log.h"
#include "common/strings.h"
#include "common/threads/pausing_work.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kInterruptWait(100);  // How soon an idle or paused actor notices an interrupt.
constexpr milliseconds kDrainTimeout(5000);  // How long it goes on sending at its end.

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

// Sends what still waits for at most kDrainTimeout, and tells the learner how many trajectories there were.
void SayFarewell(const ActorKey& actor, uint64_t produced, TrajectorySender& sender, ControlExchange& control,
                 std::jthread& talking) {
  if (!sender.Drain(kDrainTimeout)) {
    LogWarning(StrCat("not everything was sent within ", kDrainTimeout.count(), " ms"));
  }
  control.SayGoodbye(actor, produced);
  control.Leave();
  talking.join();
  LogInfo(StrCat("goodbye after ", produced, " trajectories"));
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
  // Outlives sessions: what an old one queued is still sent, under its own key.
  std::optional<TrajectorySender> sender;
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
        rollouts->Advance(state, *sender, work, kInterruptWait);
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
    SayFarewell(joined->actor, produced, *sender, control, talking);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace emplace
