// An actor's conversation with the learner on the control socket: it says Hello until a Welcome comes, sends
// heartbeats, fetches weights and work, hears when to end, and says Goodbye.
//
// A session is one learner process. When the learner is replaced, the actor says Hello again and gets a new
// incarnation; whoever holds the old session may finish with it.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include "actor/control_exchange.h"
#include "common/wire/access/keys.h"

namespace emplace {

struct ConversationOptions {
  std::string learner_address;
  std::string name;  // An actor that replaces another has the same name.
  // The longest wait for the first Welcome; from then on actor.patience_s of the run's configuration counts.
  std::chrono::milliseconds patience{};
  std::optional<ActorKeys> keys;
  bool measures = false;  // As in Hello.
};

// Talks with the learner, on a thread of its own, until ControlExchange::Leave has been called and all goodbyes are
// sent, or until `stop`: then without a Goodbye, so that to the learner the actor is lost. What the learner says, and
// any failure, goes to `exchange`; nothing is thrown.
void Converse(const ConversationOptions& options, ControlExchange& exchange, const std::stop_token& stop);

}  // namespace emplace
