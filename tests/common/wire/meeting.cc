#include "tests/common/wire/meeting.h"

#include <atomic>
#include <cstdint>

namespace emplace {

Trajectory SmallTrajectory(uint64_t sequence) {
  Trajectory trajectory;
  trajectory.actor = {3, 4};
  trajectory.sequence = sequence;
  trajectory.start_placement = {0, 1};
  trajectory.actions = {1, 0};
  trajectory.behaviour_log_prob = {-0.5F, -0.25F};
  trajectory.rho = {3, 2, 1};
  return trajectory;
}

PeerId Meet(ActorEndpoint& actor, LearnerEndpoint& learner) {
  static std::atomic<uint64_t> meetings = 0;
  const uint64_t nonce = ++meetings;
  for (int i = 0; i < kTries; ++i) {
    actor.Send(Hello{kProtocolVersion, "test/0", nonce});
    const auto received = learner.Receive(kSoon, true);
    if (!received || !std::holds_alternative<FromActor>(*received)) continue;
    const auto& from = std::get<FromActor>(*received);
    const auto* const hello = std::get_if<Hello>(&from.message);
    // It was said in a meeting before, once too often, or it was sent before the actor saw the connection end.
    if (hello == nullptr || hello->nonce != nonce) continue;
    EXPECT_EQ(hello->name, "test/0");
    return from.peer;
  }
  ADD_FAILURE() << "the learner heard no Hello";
  return {};
}

std::optional<Trajectory> AwaitTrajectory(LearnerEndpoint& learner) {
  for (int i = 0; i < kTries; ++i) {
    auto received = learner.Receive(kSoon, true);
    if (received && std::holds_alternative<SentTrajectory>(*received)) {
      return std::get<SentTrajectory>(*received).trajectory;
    }
  }
  return std::nullopt;
}

}  // namespace emplace
