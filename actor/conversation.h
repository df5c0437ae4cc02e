// An actor's part of the conversation with the learner on the control socket: it says Hello until a Welcome comes,
// sends heartbeats, fetches weights and work, and hears when to end. When the learner is replaced, it says Hello again
// and gets a new incarnation.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actor/control_exchange.h"
#include "actor/session.h"
#include "common/trajectory.h"
#include "common/wire/access/keys.h"
#include "common/wire/actor_endpoint.h"
#include "common/wire/messages/messages.h"

namespace emplace {

struct ConversationOptions {
  std::string learner_address;
  std::string name;  // An actor that replaces another has the same name.
  // The longest wait for the first Welcome; from then on actor.patience_s of the run's configuration counts.
  std::chrono::milliseconds patience{};
  std::optional<ActorKeys> keys;
  bool measures = false;  // As in Hello.
};

// Belongs to the thread that made it, as its socket does.
class Conversation {
 public:
  // What the learner says goes to `exchange`. REQUIRES: both outlive the conversation.
  Conversation(const ConversationOptions& options, ControlExchange& exchange);

  // One round: says what is due, hears what has come. Waits only for a moment.
  void RunOnce();

  void Send(const ActorMessage& message) { endpoint_.Send(message); }

 private:
  using Clock = std::chrono::steady_clock;

  void SendDue(Clock::time_point now);
  void SayHello(Clock::time_point now);
  void Handle(Welcome welcome);
  void Handle(const Notice& notice);
  void Handle(const WeightsReply& reply);
  void Handle(const Work& work);
  void Handle(MeasureRequest request);
  void Handle(const Refusal& refusal);
  void Handle(const Stop& stop);
  void WantVersion(PolicyVersion version);

  const ConversationOptions& options_;
  ControlExchange& exchange_;
  ActorEndpoint endpoint_;
  std::chrono::milliseconds patience_;
  Clock::time_point last_heard_ = Clock::now();
  std::shared_ptr<const Session> session_;  // nullptr: not welcomed.
  uint64_t nonce_;
  std::vector<Incarnation> earlier_;  // With learners before; the latest first.
  std::chrono::milliseconds hello_wait_;
  Clock::time_point next_hello_;
  Clock::time_point next_heartbeat_;
  std::optional<PolicyVersion> version_;  // Newest here.
  PolicyVersion newest_announced_ = 0;
  bool weights_wanted_ = false;
  Clock::time_point next_request_;
  Work work_;  // All that was given of its version.
  bool work_wanted_ = false;
  Clock::time_point next_work_request_;
};

}  // namespace emplace
