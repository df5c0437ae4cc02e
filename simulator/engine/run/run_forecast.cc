#include "simulator/engine/run/run_forecast.h"

#include <algorithm>
#include <limits>

namespace emplace {

RunForecast::RunForecast(const SimGraph& graph)
    : graph_(graph),
      latest_us_(static_cast<size_t>(graph.num_ops)),
      latest_start_us_(latest_us_.size()),
      next_latest_us_(static_cast<size_t>(graph.num_devices)) {}

void RunForecast::SetBase(const RunState& run) {
  makespan_us_ = run.timeline.makespan_us;
  std::fill(next_latest_us_.begin(), next_latest_us_.end(), makespan_us_);
  // The log has the ends of ops in the order of time, so all readers of an op, and its device's next op, come after it.
  for (size_t i = run.log_size; i-- > 0;) {
    const OpIndex op = run.log[i];
    if (op < 0) continue;  // A delivery.
    const size_t device = run.DeviceOf(op);
    const auto o = static_cast<size_t>(op);
    const double cost_us = graph_.cost_us[o * run.num_devices + device];
    const double next_us = next_latest_us_[device] - (cost_us > 0 ? graph_.op_overhead_us : 0);
    latest_us_[o] = std::min(next_us, LatestForReaders(run, op, device));
    latest_start_us_[o] = latest_us_[o] - cost_us;
    next_latest_us_[device] = latest_start_us_[o];
  }
  for (const OpIndex op : run.leading) {
    latest_start_us_[static_cast<size_t>(op)] = std::min(makespan_us_, LatestForReaders(run, op, run.DeviceOf(op)));
  }
}

double RunForecast::LatestForReaders(const RunState& run, OpIndex op, size_t device) const {
  double latest_us = std::numeric_limits<double>::infinity();
  for (const int32_t tensor : graph_.TensorsOf(op)) {
    for (const OpIndex reader : graph_.tensor_consumers.Row(tensor)) {
      const size_t to = run.DeviceOf(reader);
      double start_us = latest_start_us_[static_cast<size_t>(reader)];
      if (to != device) {
        const LinkTimes link = graph_.LinkTimesOf(static_cast<DeviceIndex>(device), static_cast<DeviceIndex>(to));
        start_us -= link.TransferUs(graph_.tensor_bytes[static_cast<size_t>(tensor)]);
      }
      latest_us = std::min(latest_us, start_us);
    }
  }
  return latest_us;
}

void RunForecast::Begin(double limit_us) {
  late_by_us_ = limit_us - makespan_us_ + kTolerance * makespan_us_;
  late_ops_ = 0;
}

}  // namespace emplace
