#include "simulator/engine/single_device.h"

#include <cstdint>
#include <vector>

#include "simulator/engine/simulator.h"

namespace emplace {
namespace {

bool RunsEverything(const SimGraph& graph, DeviceIndex device) {
  for (int32_t o = 0; o < graph.num_ops; ++o) {
    if (!graph.MayRun(o, device)) return false;
  }
  return true;
}

// All ops on one device.
struct WholeRun {
  DeviceIndex device;
  double makespan_us;
  int64_t peak_bytes;
};

// Nothing is sent, so that a device's run is that of any other on which the ops take the same time.
class WholeRuns {
 public:
  explicit WholeRuns(const SimGraph& graph)
      : graph_(graph), simulator_(graph), peak_bytes_(static_cast<size_t>(graph.num_devices)) {}

  // Holds until the next call. REQUIRES: the device may run every op.
  const WholeRun& On(DeviceIndex device) {
    for (const WholeRun& run : runs_) {
      if (graph_.TakeTheSame(device, run.device)) return run;
    }
    const std::vector<DeviceIndex> placement(static_cast<size_t>(graph_.num_ops), device);
    const double makespan_us = simulator_.MakespanAndPeak(placement, peak_bytes_);
    runs_.push_back({device, makespan_us, peak_bytes_[static_cast<size_t>(device)]});
    return runs_.back();
  }

 private:
  const SimGraph& graph_;
  Simulator simulator_;
  std::vector<int64_t> peak_bytes_;  // [D]
  std::vector<WholeRun> runs_;
};

}  // namespace

SingleDevice FindSingleDevice(const SimGraph& graph) {
  SingleDevice best;
  bool best_fits = false;
  WholeRuns runs(graph);
  for (DeviceIndex device = 0; device < graph.num_devices; ++device) {
    if (!RunsEverything(graph, device)) continue;
    const WholeRun& run = runs.On(device);
    const bool fits = run.peak_bytes <= graph.memory_bytes[static_cast<size_t>(device)];
    const bool better = fits != best_fits ? fits : run.makespan_us < best.makespan_us;
    if (best.device >= 0 && !better) continue;
    best = {device, run.makespan_us};
    best_fits = fits;
  }
  return best;
}

}  // namespace emplace
