#include "simulator/environment/start_placement.h"

#include <algorithm>

namespace emplace {
namespace {

// The `index`-th device (from 0) that the group may go to.
uint8_t AllowedDevice(const uint8_t* allowed, int64_t index) {
  uint8_t device = 0;
  while (allowed[device] == 0 || index-- > 0) ++device;
  return device;
}

}  // namespace

void StartPlacement(const PlacementTask& task, const std::string& start, Rng& rng, std::vector<uint8_t>& placement) {
  const PolicyGraph& graph = task.policy;
  const auto devices = static_cast<size_t>(graph.num_devices);
  placement.resize(static_cast<size_t>(graph.num_nodes));
  for (size_t node = 0; node < placement.size(); ++node) {
    const uint8_t* const allowed = graph.allowed.data() + node * devices;
    if (start == "single") {
      const bool fits = task.single_device >= 0 && allowed[task.single_device] == 1;
      placement[node] = fits ? static_cast<uint8_t>(task.single_device) : AllowedDevice(allowed, 0);
    } else {
      placement[node] = AllowedDevice(allowed, rng.UniformInt(0, std::count(allowed, allowed + devices, 1) - 1));
    }
  }
}

}  // namespace emplace
