#include "simulator/environment/start_placement.h"

#include <algorithm>
#include <span>

#include "simulator/task/group_graph.h"

namespace emplace {
namespace {

// The `index`-th device (from 0) that the group may go to.
uint8_t AllowedDevice(std::span<const uint8_t> allowed, int64_t index) {
  uint8_t device = 0;
  while (allowed[device] == 0 || index-- > 0) ++device;
  return device;
}

}  // namespace

void StartPlacement(const PlacementTask& task, Start start, Rng& rng, std::vector<uint8_t>& placement) {
  const GroupGraph& graph = task.groups;
  placement.resize(static_cast<size_t>(graph.num_groups));
  for (size_t group = 0; group < placement.size(); ++group) {
    const std::span<const uint8_t> allowed = graph.AllowedRow(group);
    if (start == Start::kSingle) {
      const bool fits = task.single_device >= 0 && graph.Allowed(group, static_cast<size_t>(task.single_device));
      placement[group] = fits ? static_cast<uint8_t>(task.single_device) : AllowedDevice(allowed, 0);
    } else {
      placement[group] = AllowedDevice(allowed, rng.UniformInt(0, std::count(allowed.begin(), allowed.end(), 1) - 1));
    }
  }
}

}  // namespace emplace
