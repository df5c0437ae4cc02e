#include "simulator/methods/search/trial_evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/error.h"
#include "simulator/engine/memory/peak_memory.h"

namespace emplace {
TrialEvaluator::TrialEvaluator(const PlacementTask& task)
    : task_(task),
      simulator_(task.sim),
      least_bytes_(static_cast<size_t>(task.sim.num_devices)),
      most_bytes_(least_bytes_.size()),
      op_bytes_(MostBytesOfOps(task.sim)),
      peak_bytes_(least_bytes_.size()) {}

SearchScore TrialEvaluator::SetBase(std::span<const DeviceIndex> placement, const SharedPriority& priority) {
  SetBase(placement, priority, {});
  base_score_.makespan_us = simulator_.timeline().makespan_us;
  base_score_.bytes_over = PeakBytesOver();
  return base_score_;
}

void TrialEvaluator::SetBase(std::span<const DeviceIndex> placement, const SharedPriority& priority,
                             const SearchScore& score) {
  if (priority != priority_) {
    EMPLACE_CHECK(priority);
    simulator_.SetPriority(*priority);
    priority_ = priority;
  }
  placement_.assign(placement.begin(), placement.end());
  base_score_ = score;
  std::fill(least_bytes_.begin(), least_bytes_.end(), 0);
  std::fill(most_bytes_.begin(), most_bytes_.end(), 0);
  for (size_t o = 0; o < placement.size(); ++o) {
    const auto device = static_cast<size_t>(placement[o]);
    least_bytes_[device] += task_.sim.param_bytes[o];
    most_bytes_[device] += op_bytes_[o];
  }
  simulator_.SetBase(placement_);
}

std::optional<SearchScore> TrialEvaluator::Try(const Move& move, double limit_us, GiveUp when) {
  undo_.clear();
  changed_.clear();
  for (const OpMove& to : move) {
    changed_.push_back(to.op);
    undo_.push_back({to.op, placement_[static_cast<size_t>(to.op)]});
    Assign(to);
  }
  const std::optional<SearchScore> taken = TryPlacement(limit_us, when);
  for (const OpMove& back : undo_) Assign(back);
  return taken;
}

std::optional<SearchScore> TrialEvaluator::TryPlacement(double limit_us, GiveUp when) {
  if (TotalBytesOver(least_bytes_, task_.sim.memory_bytes) > base_score_.bytes_over) return std::nullopt;
  // What lacks less memory is taken with any makespan.
  const bool base_fits = base_score_.bytes_over == 0;
  SearchScore score;
  score.makespan_us =
      simulator_.Try(placement_, changed_, base_fits ? limit_us : std::numeric_limits<double>::infinity(), when);
  if (!std::isfinite(score.makespan_us)) return std::nullopt;
  score.bytes_over = PeakBytesOver();
  return MayTake(score, base_score_, limit_us) ? std::optional(score) : std::nullopt;
}

void TrialEvaluator::Assign(const OpMove& to) {
  const auto op = static_cast<size_t>(to.op);
  const auto from = static_cast<size_t>(placement_[op]);
  const auto device = static_cast<size_t>(to.device);
  least_bytes_[from] -= task_.sim.param_bytes[op];
  least_bytes_[device] += task_.sim.param_bytes[op];
  most_bytes_[from] -= op_bytes_[op];
  most_bytes_[device] += op_bytes_[op];
  placement_[op] = to.device;
}

int64_t TrialEvaluator::PeakBytesOver() {
  if (TotalBytesOver(most_bytes_, task_.sim.memory_bytes) == 0) return 0;
  simulator_.Peak(placement_, peak_bytes_);
  return TotalBytesOver(peak_bytes_, task_.sim.memory_bytes);
}

}  // namespace emplace
