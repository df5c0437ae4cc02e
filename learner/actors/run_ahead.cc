#include "learner/actors/run_ahead.h"

#include <algorithm>

namespace emplace {
namespace {

// Beside those in the buffer: a batch that waits, and one whose update is computed.
constexpr int64_t kUpdatesOnTheirWay = 2;

}  // namespace

RunAhead RunAheadOfEach(const RunConfig& config, int64_t actors) {
  if (config.training.lockstep()) return {};
  const int64_t of_update = config.training.episodes_per_update, max_lag = config.training.max_lag;
  const int64_t fresh = of_update * (max_lag - kUpdatesOnTheirWay) - config.learner.buffer;
  const int64_t all = std::clamp(fresh, of_update, std::max(of_update, of_update * max_lag / 2));
  const int64_t together = config.environment.episodes_per_start;
  const int64_t groups = std::max<int64_t>(1, all / std::max<int64_t>(1, actors) / together);
  return {.most = static_cast<uint64_t>(groups * together),
          .step = static_cast<uint64_t>(std::max<int64_t>(1, groups / 2) * together)};
}

}  // namespace emplace
