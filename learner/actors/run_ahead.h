// How far actors run ahead of the learner. What they have finished waits in queues and connections where the learner is
// the slower side: without a limit most of it would be stale when an update comes to it, and playing it would take the
// processors from a learner on the same machine.
#pragma once

#include <cstdint>

#include "policy/config/run_config.h"

namespace emplace {

struct RunAhead {
  // The most episodes of an actor that may be under way: started, or finished but not received. 0: no limit, as in
  // lockstep, where episodes are dealt.
  uint64_t most = 0;
  // By how many episodes the limit of an actor moves at a time, at most as many as `most`. So a wave is not of a few.
  uint64_t step = 1;

  // The highest sequence number that an actor is to use of which `newest` has come; 0: no limit.
  uint64_t Limit(uint64_t newest) const { return most == 0 ? 0 : newest / step * step + most; }
};

// For each of so many actors; where there is none yet, for the first one. All of them together have so many episodes
// under way that an update comes to each, behind those in learner.buffer, before it is stale, and at most half of what
// updates take until then; but each actor may have those that start together (environment.episodes_per_start), of which
// both numbers are multiples.
RunAhead RunAheadOfEach(const RunConfig& config, int64_t actors);

}  // namespace emplace
