#include "simulator/methods/exact/optimal_method.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "common/error.h"
#include "common/strings.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/task/group_graph.h"

namespace emplace {
namespace {

constexpr double kMostPlacements = 1 << 24;

class BranchAndBound {
 public:
  BranchAndBound(const PlacementTask& task, const StopSignal& stop)
      : task_(task),
        stop_(stop),
        scorer_(task),
        devices_(static_cast<size_t>(task.sim.num_devices)),
        groups_(static_cast<size_t>(task.groups.num_groups)),
        ops_(static_cast<size_t>(task.sim.num_ops)),
        busy_us_(devices_),
        group_us_(groups_.size() * devices_),
        rest_us_(groups_.size() + 1) {
    for (size_t o = 0; o < ops_.size(); ++o) {
      for (size_t d = 0; d < devices_; ++d) {
        group_us_[static_cast<size_t>(task.group_of_op[o]) * devices_ + d] +=
            task.sim.BusyUs(static_cast<OpIndex>(o), static_cast<DeviceIndex>(d));
      }
    }
    for (size_t g = groups_.size(); g-- > 0;) {
      double least = std::numeric_limits<double>::infinity();
      for (size_t d = 0; d < devices_; ++d) least = std::fmin(least, group_us_[g * devices_ + d]);  // fmin skips NaN.
      rest_us_[g] = rest_us_[g + 1] + least;
    }
  }

  MethodResult Run() {
    Place(0);
    if (!best_.placement) stop_.Poll();
    return std::move(best_);
  }

 private:
  // No device is done before it has run all that it was given, overheads included; nor are all, on average, before the
  // rest is shared out evenly.
  double LowerBound(size_t placed) const {
    double longest = 0;
    double sum = rest_us_[placed];
    for (const double us : busy_us_) {
      longest = std::max(longest, us);
      sum += us;
    }
    return std::max(longest, sum / static_cast<double>(devices_));
  }

  void Place(size_t group) {
    if (stop_.Now()) return;
    // Sums in another order than the simulator's differ in the last bits: the margin keeps equals.
    constexpr double kMargin = 1 - 1e-9;
    if (best_.score && best_.score->bytes_over == 0 && LowerBound(group) * kMargin >= best_.score->makespan_us) return;
    if (group == groups_.size()) {
      task_.Expand(groups_, ops_);
      const SearchScore score = scorer_.Score(ops_);
      ++best_.evaluations;
      if (best_.score && !(score < *best_.score)) return;
      best_.score = score;
      best_.placement = ops_;
      return;
    }
    for (size_t d = 0; d < devices_; ++d) {
      if (!task_.groups.Allowed(group, d)) continue;
      groups_[group] = static_cast<uint8_t>(d);
      const double before_us = busy_us_[d];
      busy_us_[d] += group_us_[group * devices_ + d];
      Place(group + 1);
      busy_us_[d] = before_us;  // Subtracting would not get back to it where times differ in size a lot.
    }
  }

  const PlacementTask& task_;
  const StopSignal& stop_;
  PlacementScorer scorer_;
  const size_t devices_;
  std::vector<uint8_t> groups_;   // [n] decided up to the current one
  Placement ops_;                 // [num_ops]
  std::vector<double> busy_us_;   // [D]
  std::vector<double> group_us_;  // [n * D]
  std::vector<double> rest_us_;   // [n + 1] of the groups from there on, each where it is fastest
  MethodResult best_;
};

}  // namespace

double CountGroupPlacements(const PlacementTask& task) {
  double placements = 1;
  for (size_t group = 0; group < static_cast<size_t>(task.groups.num_groups); ++group) {
    const std::span<const uint8_t> allowed = task.groups.AllowedRow(group);
    placements *= static_cast<double>(std::count(allowed.begin(), allowed.end(), 1));
  }
  return placements;
}

MethodResult OptimalMethod::Place(const PlacementTask& task) {
  const double placements = CountGroupPlacements(task);
  if (placements > kMostPlacements) {
    throw BadInput(StrCat("method optimal: '", task.name, "' has ", task.groups.num_groups, " groups and ", placements,
                          " placements, expected at most ", kMostPlacements, "; --max-groups makes fewer groups"));
  }
  return BranchAndBound(task, stop_).Run();
}

}  // namespace emplace
