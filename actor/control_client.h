// The actor's conversation with the learner, on a thread of its own: it says Hello until a Welcome comes, sends
// heartbeats, fetches weights, and says Goodbye.
//
// A session is one learner process. When the learner is replaced, the actor says Hello again and gets a new
// incarnation; whoever holds the old session may finish with it. The weights are always the newest version of the
// current session.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <thread>

#include "actor/control_exchange.h"
#include "actor/conversation.h"
#include "common/wire/messages/messages.h"

namespace emplace {

class ControlClient {
 public:
  // Starts the thread, which talks with the learner (conversation.h).
  explicit ControlClient(ConversationOptions options);
  ~ControlClient() = default;  // Says no Goodbye: to the learner, the actor is lost.

  // Any thread may call these.
  ControlState state() const { return exchange_.state(); }
  // The state, after waiting for at most `timeout` until it differs from `seen`.
  ControlState WaitForChange(const ControlState& seen, std::chrono::milliseconds timeout) {
    return exchange_.WaitForChange(seen, timeout);
  }
  // Sets what heartbeats tell the learner.
  void Report(const ActorProgress& progress) { exchange_.Report(progress); }

  // Asks for more episodes, in lockstep: all that the learner gave are played.
  void AskForWork() { exchange_.AskForWork(); }

  // The oldest placement of the current session that the learner wants measured and that was not returned yet, if any.
  std::optional<MeasureRequest> TakeMeasureRequest() { return exchange_.TakeMeasureRequest(); }
  void Answer(const MeasureReply& reply) { exchange_.Answer(reply); }

  // Tells the current learner how many episodes an ended incarnation has produced. Without this, its ledger could not
  // know how many episodes a crashed learner lost.
  void SayGoodbye(const ActorKey& actor, uint64_t produced) { exchange_.SayGoodbye(actor, produced); }
  // Says Goodbye for the last incarnation and ends the thread. REQUIRES: it is called at most once.
  void Leave(const ActorKey& actor, uint64_t produced);

 private:
  void Run(const std::stop_token& stop);

  const ConversationOptions options_;
  ControlExchange exchange_;
  std::jthread thread_;  // The last member, so that it stops before the members that it uses are destroyed.
};

}  // namespace emplace
