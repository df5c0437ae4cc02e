#include "simulator/peak_memory.h"

#include <algorithm>
#include <cmath>

#include "simulator/timeline.h"

namespace emplace {

double HeldUntil(const SimGraph& graph, OpIndex op, std::span<const DeviceIndex> placement,
                 std::span<const double> start_us) {
  const auto o = static_cast<size_t>(op);
  double until = start_us[o];
  for (int32_t tensor = graph.tensor_begin[o]; tensor < graph.tensor_begin[o + 1]; ++tensor) {
    for (const int32_t reader : graph.tensor_consumers.Row(tensor)) {
      const auto c = static_cast<size_t>(reader);
      const auto device = static_cast<size_t>(placement[c]);
      const double cost = graph.cost_us[c * static_cast<size_t>(graph.num_devices) + device];
      until = std::max(until, std::floor(start_us[c]) + std::floor(cost) - 1);
    }
  }
  return until;
}

PeakMemory::PeakMemory(const SimGraph& graph) : graph_(graph) { releases_.reserve(2 * static_cast<size_t>(graph.num_ops)); }

void PeakMemory::Compute(std::span<const DeviceIndex> placement, const LinkedQueues& started, const Timeline& timeline,
                         std::span<int64_t> peak_bytes) {
  for (size_t device = 0; device < peak_bytes.size(); ++device) {
    int64_t held_bytes = 0;
    releases_.clear();
    started.ForEachPushed(device, [&](OpIndex op) {
      const auto o = static_cast<size_t>(op);
      held_bytes += graph_.param_bytes[o];
      if (graph_.output_bytes[o] > 0) {
        releases_.push_back({HeldUntil(graph_, op, placement, timeline.start_us), graph_.output_bytes[o]});
      }
      if (graph_.temp_bytes[o] > 0) releases_.push_back({timeline.finish_us[o], graph_.temp_bytes[o]});
    });
    std::sort(releases_.begin(), releases_.end(),
              [](const Release& a, const Release& b) { return a.time_us < b.time_us; });

    // Ops start in order of time, so the two sorted sequences merge; a release waits for all that starts at its time.
    peak_bytes[device] = held_bytes;
    auto release = releases_.begin();
    started.ForEachPushed(device, [&](OpIndex op) {
      const auto o = static_cast<size_t>(op);
      for (; release != releases_.end() && release->time_us < timeline.start_us[o]; ++release) held_bytes -= release->bytes;
      held_bytes += graph_.output_bytes[o] + graph_.temp_bytes[o];
      peak_bytes[device] = std::max(peak_bytes[device], held_bytes);
    });
  }
}

}  // namespace emplace
