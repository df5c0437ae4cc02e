// One actor process: control client, rollouts and sender, joined in one loop.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "common/config/run_config.h"
#include "common/wire/keys.h"

namespace emplace {

struct ActorOptions {
  std::string learner;            // "tcp://127.0.0.1:40000"
  std::string name;               // Stable across restarts of one slot; decides the actor id.
  std::optional<ActorKeys> keys;  // nullopt: nothing is encrypted, and the learner is on this machine.
  // Bounds the wait for the first Welcome; later the run's configuration does.
  std::chrono::milliseconds patience{static_cast<int64_t>(1000 * ActorConfig{}.patience_s)};
};

// Rolls out until the learner says Stop or `interrupted` is set; then sends what is queued (5 s at most), says Goodbye
// and returns. Throws RunFailed when the learner stays silent, BadInput when it refuses or what it sends is damaged.
void RunActor(const ActorOptions& options, const std::atomic<bool>& interrupted);

}  // namespace emplace
