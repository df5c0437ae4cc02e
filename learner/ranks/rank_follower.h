// A rank of a learner other than rank 0: takes the run from rank 0, computes its share of each step, and ends when rank
// 0 does.
#pragma once

#include <cstdint>
#include <string>

#include "common/wire/access/keys.h"

namespace emplace {

struct RankOptions {
  int64_t rank = 0;    // Of this process; has to be at least 1.
  std::string leader;  // Where rank 0 listens, "tcp://host:port".
  ActorKeys keys;      // Of LoadRankKeys.
  int32_t gpu = 0;     // Index of the device, where training.device is cuda.
};

// Returns when rank 0 says that the run is over. Throws RunFailed when rank 0 is gone or does not answer, and BadInput
// when it refuses this rank. Whatever is thrown is told to rank 0 as well, if it is still there.
void RunRank(const RankOptions& options);

}  // namespace emplace
