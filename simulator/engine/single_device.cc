#include "simulator/engine/single_device.h"

#include <cstdint>
#include <utility>
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

}  // namespace

SingleDevice FindSingleDevice(const SimGraph& graph) {
  SingleDevice best;
  Simulator simulator(graph);
  std::vector<int64_t> peak_bytes(static_cast<size_t>(graph.num_devices));
  bool best_fits = false;
  DeviceIndex last = -1;
  double makespan_us = 0;
  for (DeviceIndex device = 0; device < graph.num_devices; ++device) {
    if (!RunsEverything(graph, device)) continue;
    if (last >= 0 && graph.TakeTheSame(device, last)) {  // Nothing is sent, so the run is that of the last one.
      std::swap(peak_bytes[static_cast<size_t>(device)], peak_bytes[static_cast<size_t>(last)]);
    } else {
      const std::vector<DeviceIndex> placement(static_cast<size_t>(graph.num_ops), device);
      makespan_us = simulator.MakespanAndPeak(placement, peak_bytes);
    }
    last = device;
    const bool fits = graph.Fits(peak_bytes);
    const bool better = fits != best_fits ? fits : makespan_us < best.makespan_us;
    if (best.device >= 0 && !better) continue;
    best = {device, makespan_us};
    best_fits = fits;
  }
  return best;
}

}  // namespace emplace
