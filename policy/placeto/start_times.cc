#include "policy/placeto/start_times.h"

#include <algorithm>

#include "common/error.h"

namespace emplace {

StartTimes::StartTimes(const PlacementTask& task)
    : task_(task),
      simulator_(task.sim),
      ops_(static_cast<size_t>(task.sim.num_ops)),
      first_us_(static_cast<size_t>(task.groups.num_groups)) {}

void StartTimes::Of(std::span<const uint8_t> groups, std::span<float> times) {
  EMPLACE_CHECK(times.size() == first_us_.size());
  task_.Expand(groups, ops_);
  const double makespan_us = simulator_.Makespan(ops_);
  const std::vector<double>& start_us = simulator_.timeline().start_us;
  first_us_.assign(first_us_.size(), makespan_us);
  for (size_t op = 0; op < ops_.size(); ++op) {
    double& first_us = first_us_[static_cast<size_t>(task_.group_of_op[op])];
    first_us = std::min(first_us, start_us[op]);
  }
  for (size_t group = 0; group < times.size(); ++group) {
    times[group] = makespan_us > 0 ? static_cast<float>(first_us_[group] / makespan_us) : 0.0F;
  }
}

}  // namespace emplace
