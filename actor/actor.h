// One actor process: a loop that joins the conversation with the learner, the rollouts and the sender of trajectories.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "actor/reward_source.h"
#include "common/wire/access/keys.h"
#include "policy/config/run_config.h"

namespace emplace {

struct ActorOptions {
  std::string learner;            // The learner's control address, such as "tcp://127.0.0.1:40000".
  std::string name;               // An actor that replaces this one has the same name; the name decides the actor id.
  std::optional<ActorKeys> keys;  // nullopt: nothing is encrypted, and the learner is on this machine.
  // The longest wait for the first Welcome. Later, actor.patience_s of the run's configuration limits the learner's
  // silence.
  std::chrono::milliseconds patience{static_cast<int64_t>(1000 * ActorConfig{}.patience_s)};
};

// Rolls out episodes until the learner says Stop or `interrupted` is set; then sends the queued trajectories (for 5 s
// at most), says Goodbye and returns. Rewards, and what the learner wants measured, come from `rewards`; simulated work
// pauses while others on this computer measure. Throws RunFailed when the learner stays silent, and BadInput when it
// refuses the actor or sends damaged data; and what `rewards` throws, after it has said Goodbye.
void RunActor(const ActorOptions& options, const std::atomic<bool>& interrupted, RewardSource& rewards);

}  // namespace emplace
