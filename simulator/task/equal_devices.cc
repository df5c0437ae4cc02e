#include "simulator/task/equal_devices.h"

namespace emplace {
bool AreAlike(const SimGraph& sim, DeviceIndex a, DeviceIndex b) {
  const auto first = static_cast<size_t>(a);
  const auto second = static_cast<size_t>(b);
  if (sim.memory_bytes[first] != sim.memory_bytes[second]) return false;
  const auto devices = static_cast<size_t>(sim.num_devices);
  for (size_t row = 0; row < sim.cost_us.size(); row += devices) {
    const double of_a = sim.cost_us[row + first];
    const double of_b = sim.cost_us[row + second];
    if (MayRunAt(of_a) ? of_a != of_b : MayRunAt(of_b)) return false;
  }
  return true;
}

std::vector<int32_t> EqualDevices(const SimGraph& sim) {
  const auto are_equal = [&](DeviceIndex a, DeviceIndex b) {
    return sim.link_model != LinkModel::kTopology && AreAlike(sim, a, b);
  };
  std::vector<int32_t> equal;
  for (int32_t device = 0; device < sim.num_devices; ++device) {
    int32_t first = 0;
    while (first < device && !are_equal(first, device)) ++first;
    equal.push_back(first);
  }
  return equal;
}

void NumberInOrderOfUse(std::span<const int32_t> equal, std::span<uint8_t> groups) {
  std::vector<int32_t> name(equal.size(), -1);  // What each device becomes; -1: it has not been used yet.
  std::vector<bool> taken(equal.size(), false);
  for (uint8_t& device : groups) {
    int32_t& now = name[device];
    for (int32_t other = equal[device]; now < 0; ++other) {
      const auto candidate = static_cast<size_t>(other);
      if (equal[candidate] != equal[device] || taken[candidate]) continue;
      taken[candidate] = true;
      now = other;
    }
    device = static_cast<uint8_t>(now);
  }
}

}  // namespace emplace
