// Which placements of an episode claim to be better than what is known, by the rhos that it came with.
#pragma once

#include <cstddef>
#include <vector>

#include "common/trajectory.h"

namespace emplace {

// Indices into trajectory.rho, from `first` on, of those below `bound`; the lowest first, and of equals the last: the
// policy has decided on more of it. What a step left as it was counts once. At most four: more than one are looked at
// only while they turn out not to fit in memory, which a rho does not tell from slowness, so that a graph that hardly
// fits costs a few runs an episode. Compared as they travel, in float32: what is better by less shows only where an
// episode ends, or every episode that comes through the best placement would have it simulated again.
std::vector<size_t> ClaimsBelow(double bound, size_t first, const Trajectory& trajectory);

}  // namespace emplace
