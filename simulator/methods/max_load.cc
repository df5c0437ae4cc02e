#include "simulator/methods/max_load.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "simulator/engine/mean_link.h"

namespace emplace {
namespace {

void AddWork(const SimGraph& sim, std::span<const DeviceIndex> placement, std::vector<double>& loads_us) {
  for (OpIndex op = 0; op < sim.num_ops; ++op) {
    const DeviceIndex device = placement[static_cast<size_t>(op)];
    const double us = sim.BusyUs(op, device);
    loads_us[static_cast<size_t>(device)] += MayRunAt(us) ? us : std::numeric_limits<double>::infinity();
  }
}

void AddTransfers(const SimGraph& sim, std::span<const DeviceIndex> placement, std::vector<double>& loads_us) {
  const MeanLink link = MeanLinkOf(sim);
  std::vector<int32_t> counted_for(loads_us.size(), -1);  // [D] the last tensor that the device sends or receives
  for (OpIndex op = 0; op < sim.num_ops; ++op) {
    const DeviceIndex maker = placement[static_cast<size_t>(op)];
    for (int32_t tensor = sim.tensor_begin[static_cast<size_t>(op)];
         tensor < sim.tensor_begin[static_cast<size_t>(op) + 1]; ++tensor) {
      const double us = link.BusyUs(sim.tensor_bytes[static_cast<size_t>(tensor)]);
      const auto count = [&](DeviceIndex device) {
        const auto d = static_cast<size_t>(device);
        if (counted_for[d] == tensor) return;
        counted_for[d] = tensor;
        loads_us[d] += us;
      };
      for (const OpIndex reader : sim.tensor_consumers.Row(tensor)) {
        const DeviceIndex device = placement[static_cast<size_t>(reader)];
        if (device == maker) continue;
        count(maker);
        count(device);
      }
    }
  }
}

}  // namespace

double MaxLoadUs(const SimGraph& sim, std::span<const DeviceIndex> placement) {
  std::vector<double> loads_us(static_cast<size_t>(sim.num_devices));
  AddWork(sim, placement, loads_us);
  AddTransfers(sim, placement, loads_us);
  return *std::max_element(loads_us.begin(), loads_us.end());
}

}  // namespace emplace
