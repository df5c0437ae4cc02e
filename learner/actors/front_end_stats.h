// What the receive stage (pipeline/front_end.h) counts.
#pragma once

#include <cstdint>

#include "learner/actors/actor_sessions.h"

namespace emplace {

struct FrontEndStats {
  int64_t episodes = 0;    // Episodes that have passed all checks.
  int64_t steps = 0;       // Steps of these episodes.
  int64_t duplicates = 0;  // Trajectories that came a second time.
  // Messages that cannot be decoded, or speak for actors that have not joined or are of another key.
  int64_t malformed = 0;
  int64_t ignored = 0;  // Messages of peers that send too much or were cut off.
  int64_t cut_off = 0;  // Connections that were cut off.
  int64_t refused = 0;  // Connections without a valid key.
  ActorSessions::Counts actors;
  double blocked_s = 0;  // Seconds with a full queue, up to now.
};

}  // namespace emplace
