// A checkpoint whose every part says something.
#pragma once

#include <cstdint>

#include "learner/storage/checkpoint.h"

namespace emplace {

// Different for each number of updates.
Checkpoint SampleCheckpoint(int64_t updates);

}  // namespace emplace
