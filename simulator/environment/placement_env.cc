#include "simulator/environment/placement_env.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/error.h"

namespace emplace {
namespace {

// Bytes over its memory on the fullest device; 0 when everything fits.
int64_t MaxBytesOver(std::span<const int64_t> peak_bytes, std::span<const int64_t> memory_bytes) {
  int64_t over = 0;
  for (size_t d = 0; d < peak_bytes.size(); ++d) over = std::max(over, peak_bytes[d] - memory_bytes[d]);
  return over;
}

double InUnit(RewardUnit unit, double seconds) {
  switch (unit) {
    case RewardUnit::kSeconds:
      return seconds;
    case RewardUnit::kLog:
      // The makespan of an empty graph is 0, whose logarithm would be minus infinity: at least one nanosecond counts.
      return std::log(std::max(seconds, 1e-9));
    case RewardUnit::kSqrt:
      return std::sqrt(seconds);
  }
  EMPLACE_CHECK(false);
  return 0;
}

double SecondsOf(RewardUnit unit, double time) {
  switch (unit) {
    case RewardUnit::kSeconds:
      return time;
    case RewardUnit::kLog:
      return std::exp(time);
    case RewardUnit::kSqrt:
      return time * time;
  }
  EMPLACE_CHECK(false);
  return 0;
}

}  // namespace

double Rho(const EnvironmentConfig& config, double makespan_us, std::span<const int64_t> peak_bytes,
           std::span<const int64_t> memory_bytes) {
  const double time = InUnit(config.reward, makespan_us * 1e-6);
  const double gigabytes_over = static_cast<double>(MaxBytesOver(peak_bytes, memory_bytes)) * 1e-9;
  return time + std::min(config.memory_penalty * gigabytes_over, config.memory_penalty_cap);
}

double MakespanUsOf(const EnvironmentConfig& config, double rho) { return SecondsOf(config.reward, rho) * 1e6; }

PlacementEnv::PlacementEnv(const PlacementTask& task, const EnvironmentConfig& config,
                           const MeasureFactory& make_measure)
    : task_(&task),
      config_(config),
      measure_(make_measure(task)),
      placement_(static_cast<size_t>(task.groups.num_groups)),
      op_placement_(task.group_of_op.size()),
      best_makespan_us_(std::numeric_limits<double>::infinity()) {
  best_placement_.reserve(placement_.size());
  ops_of_group_ = CsrFromPairs(task.groups.num_groups, [&](auto visit) {
    for (OpIndex op = 0; op < task.sim.num_ops; ++op) visit(task.group_of_op[static_cast<size_t>(op)], op);
  });
}

double PlacementEnv::Evaluate() {
  const Measurement measured = measure_->Run(placement_, op_placement_);
  makespan_us_ = measured.makespan_us;
  feasible_ = measured.feasible;
  if (feasible_ && makespan_us_ < best_makespan_us_) {
    best_makespan_us_ = makespan_us_;
    best_placement_.assign(placement_.begin(), placement_.end());
  }
  rho_ = Rho(config_, makespan_us_, measured.peak_bytes, task_->sim.memory_bytes);
  return rho_;
}

double PlacementEnv::Reset(std::span<const uint8_t> start) {
  EMPLACE_CHECK(start.size() == placement_.size());
  std::copy(start.begin(), start.end(), placement_.begin());
  task_->Expand(placement_, op_placement_);
  step_ = 0;
  return Evaluate();
}

double PlacementEnv::Reset(Rng& rng) {
  StartPlacement(*task_, config_.start, rng, start_);
  return Reset(start_);
}

double PlacementEnv::Step(DeviceIndex device) {
  EMPLACE_CHECK(!done());
  const auto group = static_cast<size_t>(step_);
  EMPLACE_CHECK(task_->groups.Allowed(group, static_cast<size_t>(device)));
  ++step_;
  // Nothing moved: the run would be the same.
  if (placement_[group] == device) return rho_;
  placement_[group] = static_cast<uint8_t>(device);
  for (const OpIndex op : ops_of_group_.Row(static_cast<GroupIndex>(group))) {
    op_placement_[static_cast<size_t>(op)] = device;
  }
  return Evaluate();
}

}  // namespace emplace
