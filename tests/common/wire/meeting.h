// What tests of the endpoints have in common: waiting for what must come.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include "common/wire/actor_endpoint.h"
#include "common/wire/learner_endpoint.h"

namespace emplace {

inline constexpr std::chrono::milliseconds kSoon(10);
inline constexpr int kTries = 500;  // Times kSoon: how long something may take that must happen.

Trajectory SmallTrajectory(uint64_t sequence);

// Says Hello until the learner hears it; the learner then knows the peer.
PeerId Meet(ActorEndpoint& actor, LearnerEndpoint& learner);

std::optional<Trajectory> AwaitTrajectory(LearnerEndpoint& learner);

// Lets the learner receive, whatever comes, until `condition` holds; false when it never does.
template <typename Condition>
bool ReceiveUntil(LearnerEndpoint& learner, Condition condition) {
  for (int i = 0; i < kTries && !condition(); ++i) learner.Receive(kSoon, true);
  return condition();
}

template <typename Message>
Message Await(ActorEndpoint& actor) {
  for (int i = 0; i < kTries; ++i) {
    auto received = actor.Receive(kSoon);
    if (!received) continue;
    if (auto* wanted = std::get_if<Message>(&*received)) return std::move(*wanted);
  }
  ADD_FAILURE() << "the message did not come";
  return {};
}

}  // namespace emplace
