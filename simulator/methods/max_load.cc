#include "simulator/methods/max_load.h"

#include <algorithm>
#include <limits>
#include <vector>

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
  std::vector<int32_t> counted_for(loads_us.size(), -1);  // [D] the last tensor that the device receives
  for (OpIndex op = 0; op < sim.num_ops; ++op) {
    const DeviceIndex maker = placement[static_cast<size_t>(op)];
    for (const int32_t tensor : sim.TensorsOf(op)) {
      bool sent = false;
      for (const OpIndex reader : sim.tensor_consumers.Row(tensor)) {
        const DeviceIndex device = placement[static_cast<size_t>(reader)];
        const auto d = static_cast<size_t>(device);
        if (device == maker || counted_for[d] == tensor) continue;
        counted_for[d] = tensor;
        const double us = TransferLoadUs(sim, tensor, maker, device);
        loads_us[d] += us;
        if (!sent || SendsToEach(sim)) loads_us[static_cast<size_t>(maker)] += us;
        sent = true;
      }
    }
  }
}

}  // namespace

double TransferLoadUs(const SimGraph& sim, int32_t tensor, DeviceIndex from, DeviceIndex to) {
  const LinkTimes link = sim.LinkTimesOf(from, to);
  const auto bytes = static_cast<double>(sim.tensor_bytes[static_cast<size_t>(tensor)]);
  return link.latency_us + link.busy_after_us + bytes / link.bandwidth_bytes_per_us;
}

double MaxLoadUs(const SimGraph& sim, std::span<const DeviceIndex> placement) {
  std::vector<double> loads_us(static_cast<size_t>(sim.num_devices));
  AddWork(sim, placement, loads_us);
  AddTransfers(sim, placement, loads_us);
  return *std::max_element(loads_us.begin(), loads_us.end());
}

}  // namespace emplace
