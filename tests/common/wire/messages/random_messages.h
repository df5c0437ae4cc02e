// Random messages, for tests of what translates them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/array_bundle.h"
#include "common/rng.h"
#include "common/trajectory.h"
#include "common/wire/messages/frames.h"
#include "common/wire/messages/messages.h"

namespace emplace {

// Valid while the frames are.
std::vector<FrameView> Views(const std::vector<Frame>& frames);

std::string RandomText(Rng& rng, int64_t longest);  // Any bytes.
ActorKey RandomKey(Rng& rng);
Trajectory RandomTrajectory(Rng& rng, size_t steps);
Welcome RandomWelcome(Rng& rng);
RankData RandomRankData(Rng& rng, RankDataKind kind);
RankWelcome RandomRankWelcome(Rng& rng);

// Expects that the bundles have the same arrays.
void ExpectEqual(const ArrayBundle& a, const ArrayBundle& b);

}  // namespace emplace
