// A task as named arrays, in which the learner sends it to actors.
#pragma once

#include "common/array_bundle.h"
#include "simulator/task/placement_task.h"

namespace emplace {

ArrayBundle ToBundle(const PlacementTask& task);
// Checks everything that came from the network. Throws BadInput, which names the array.
PlacementTask TaskFromBundle(const ArrayBundle& bundle);

}  // namespace emplace
