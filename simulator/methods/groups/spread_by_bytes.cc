#include "simulator/methods/groups/spread_by_bytes.h"

#include <algorithm>

namespace emplace {

std::vector<DeviceIndex> SpreadByBytes(std::vector<int32_t> items, std::span<const int64_t> bytes_of,
                                       int32_t num_devices,
                                       const std::function<std::vector<DeviceIndex>(int32_t item)>& candidates) {
  const auto bytes = [&](int32_t item) { return bytes_of[static_cast<size_t>(item)]; };
  std::stable_sort(items.begin(), items.end(), [&](int32_t a, int32_t b) { return bytes(a) > bytes(b); });
  std::vector<int64_t> got(static_cast<size_t>(num_devices));
  std::vector<DeviceIndex> device_of(bytes_of.size(), -1);
  for (const int32_t item : items) {
    DeviceIndex least = -1;
    for (const DeviceIndex device : candidates(item)) {
      if (least < 0 || got[static_cast<size_t>(device)] < got[static_cast<size_t>(least)]) least = device;
    }
    if (least < 0) continue;
    got[static_cast<size_t>(least)] += bytes(item);
    device_of[static_cast<size_t>(item)] = least;
  }
  return device_of;
}

}  // namespace emplace
