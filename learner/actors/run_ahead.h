// How far actors run ahead of the learner. What they have finished waits in queues and connections where the learner is
// the slower side: without a limit most of it would be stale when an update comes to it, and playing it would take the
// processors from a learner on the same machine.
#pragma once

#include <cstdint>

#include "policy/config/run_config.h"

namespace emplace {

// The most episodes that one of so many actors may have under way, started or finished but not received: so many that
// all of them together are half of what updates take before an episode is stale, but at least those that start together
// (environment.episodes_per_start), of which it is a multiple. 0: no limit, as in lockstep, where episodes are dealt.
// REQUIRES: actors > 0.
int64_t MostUnderWay(const RunConfig& config, int64_t actors);

}  // namespace emplace
