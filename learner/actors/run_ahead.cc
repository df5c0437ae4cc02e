#include "learner/actors/run_ahead.h"

#include <algorithm>

#include "common/error.h"

namespace emplace {

int64_t MostUnderWay(const RunConfig& config, int64_t actors) {
  EMPLACE_CHECK(actors > 0);
  if (config.training.lockstep()) return 0;
  const int64_t fresh_updates = std::max<int64_t>(1, config.training.max_lag / 2);
  const int64_t together = config.environment.episodes_per_start;
  return std::max<int64_t>(1, config.training.episodes_per_update * fresh_updates / actors / together) * together;
}

}  // namespace emplace
