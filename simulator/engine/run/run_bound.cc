#include "simulator/engine/run/run_bound.h"

#include "common/error.h"
#include "simulator/engine/graph_paths.h"

namespace emplace {
namespace {

// Sums in another order differ in their last bits; a run that ends exactly at its limit must not be given up.
constexpr double kMargin = 1 + 1e-9;

}  // namespace

RunBound::RunBound(const SimGraph& graph)
    : graph_(graph),
      tail_us_(TailsUs(graph)),
      base_us_(static_cast<size_t>(graph.num_devices)),
      may_idle_us_(static_cast<size_t>(graph.num_devices)) {
  base_.reserve(tail_us_.size());
}

void RunBound::SetBase(std::span<const DeviceIndex> placement) {
  base_.assign(placement.begin(), placement.end());
  std::fill(base_us_.begin(), base_us_.end(), 0.0);
  for (size_t o = 0; o < placement.size(); ++o)
    base_us_[static_cast<size_t>(placement[o])] += graph_.BusyUs(static_cast<OpIndex>(o), placement[o]);
}

void RunBound::Begin(std::span<const DeviceIndex> placement, std::span<const OpIndex> changed, double limit_us) {
  EMPLACE_CHECK(placement.size() == base_.size());
  limit_us_ = limit_us * kMargin;
  may_idle_us_ = base_us_;
  for (const OpIndex op : changed) {
    const DeviceIndex from = base_[static_cast<size_t>(op)];
    const DeviceIndex to = placement[static_cast<size_t>(op)];
    if (from == to) continue;
    may_idle_us_[static_cast<size_t>(from)] -= graph_.BusyUs(op, from);
    may_idle_us_[static_cast<size_t>(to)] += graph_.BusyUs(op, to);
  }
  for (double& us : may_idle_us_) us = limit_us_ - us;
}

}  // namespace emplace
