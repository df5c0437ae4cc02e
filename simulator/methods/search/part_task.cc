#include "simulator/methods/search/part_task.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace emplace {
namespace {

// [D] the time of all ops that may run there, and those that may not at their mean.
std::vector<double> WorkUs(const SimGraph& sim) {
  std::vector<double> work_us(static_cast<size_t>(sim.num_devices));
  for (OpIndex op = 0; op < sim.num_ops; ++op) {
    for (DeviceIndex device = 0; device < sim.num_devices; ++device)
      work_us[static_cast<size_t>(device)] += sim.MayRun(op, device) ? sim.BusyUs(op, device) : sim.MeanBusyUs(op);
  }
  return work_us;
}

// [D' * D'] of the pairs of these devices, of D.
template <typename T>
std::vector<T> OfPairs(const std::vector<T>& values, std::span<const DeviceIndex> devices, int32_t all) {
  std::vector<T> part;
  for (const DeviceIndex from : devices) {
    for (const DeviceIndex to : devices) part.push_back(values[static_cast<size_t>(from * all + to)]);
  }
  return part;
}

Routes RoutesBetween(const Routes& routes, std::span<const DeviceIndex> devices, int32_t all) {
  Routes part = {.num_channels = routes.num_channels,
                 .channels = {},
                 .latency_us = OfPairs(routes.latency_us, devices, all),
                 .bandwidth_bytes_per_us = OfPairs(routes.bandwidth_bytes_per_us, devices, all)};
  for (const DeviceIndex from : devices) {
    for (const DeviceIndex to : devices) {
      const auto channels = routes.channels.Row(from * all + to);
      part.channels.items.insert(part.channels.items.end(), channels.begin(), channels.end());
      part.channels.begin.push_back(static_cast<int32_t>(part.channels.items.size()));
    }
  }
  return part;
}

}  // namespace

std::optional<std::vector<DeviceIndex>> DevicesTogether(const PlacementTask& task, int32_t count) {
  const SimGraph& sim = task.sim;
  const std::vector<double> work_us = WorkUs(sim);
  const auto transfer_us = [&](DeviceIndex from, DeviceIndex to) {
    constexpr int64_t kBytes = 1 << 20;
    return sim.LinkTimesOf(from, to).TransferUs(kBytes);
  };
  std::vector<DeviceIndex> chosen;
  while (std::ssize(chosen) < count) {
    DeviceIndex best = -1;
    std::pair<double, double> best_us;
    for (DeviceIndex device = 0; device < sim.num_devices; ++device) {
      if (std::ranges::find(chosen, device) != chosen.end()) continue;
      std::pair<double, double> us = {work_us[static_cast<size_t>(device)], 0};
      for (const DeviceIndex other : chosen) us.second += transfer_us(device, other) + transfer_us(other, device);
      if (best >= 0 && us >= best_us) continue;
      best = device;
      best_us = us;
    }
    chosen.push_back(best);
  }
  std::ranges::sort(chosen);
  const std::vector<GroupIndex>& groups = task.levels->Finest();
  const int32_t num_groups = CountOf(groups);
  const std::vector<uint8_t> allowed = sim.AllowedOf(groups, num_groups);
  for (int32_t group = 0; group < num_groups; ++group) {
    const auto row = allowed.begin() + std::ptrdiff_t{group} * sim.num_devices;
    const auto may_run = [&](DeviceIndex device) { return row[device] == 1; };
    if (std::ranges::none_of(chosen, may_run)) return std::nullopt;
  }
  return chosen;
}

PartTask::PartTask(const PlacementTask& whole, std::vector<DeviceIndex> devices)
    : devices_(std::move(devices)), task_(whole) {
  const int32_t all = whole.sim.num_devices;
  SimGraph& sim = task_.sim;
  sim.num_devices = static_cast<int32_t>(devices_.size());
  sim.cost_us.clear();
  for (OpIndex op = 0; op < sim.num_ops; ++op) {
    const auto row = whole.sim.cost_us.begin() + std::ptrdiff_t{op} * all;
    for (const DeviceIndex device : devices_) sim.cost_us.push_back(row[device]);
  }
  sim.memory_bytes.clear();
  task_.device_kinds.clear();
  for (const DeviceIndex device : devices_) {
    sim.memory_bytes.push_back(whole.sim.memory_bytes[static_cast<size_t>(device)]);
    task_.device_kinds.push_back(whole.device_kinds[static_cast<size_t>(device)]);
  }
  if (sim.link_model == LinkModel::kTopology) sim.routes = RoutesBetween(whole.sim.routes, devices_, all);
}

Placement PartTask::Expanded(std::span<const DeviceIndex> placement) const {
  Placement whole;
  for (const DeviceIndex device : placement) whole.push_back(devices_[static_cast<size_t>(device)]);
  return whole;
}

}  // namespace emplace
