#include "learner/actors/run_ahead.h"

#include <algorithm>

#include "common/error.h"

namespace emplace {

int64_t MostUnderWay(const TrainingConfig& training, int64_t actors) {
  EMPLACE_CHECK(actors > 0);
  if (training.lockstep()) return 0;
  const int64_t fresh_updates = std::max<int64_t>(1, training.max_lag / 2);
  return std::max<int64_t>(1, training.episodes_per_update * fresh_updates / actors);
}

}  // namespace emplace
