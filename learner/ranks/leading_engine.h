// The update engine of rank 0: tells the other ranks what each step is made from, and makes it together with them.
#pragma once

#include <memory>

#include "learner/ranks/rank_leader.h"
#include "learner/update/update_engine.h"

namespace emplace {

// `engine` has a Collective between these ranks. REQUIRES: the leader outlives the result, and has admitted the ranks,
// with the engine's state, before the first step.
std::unique_ptr<UpdateEngine> MakeLeadingEngine(std::unique_ptr<UpdateEngine> engine, RankLeader& leader);

}  // namespace emplace
