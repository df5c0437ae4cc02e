#include "simulator/methods/stages/device_steps.h"

#include <algorithm>
#include <numeric>

namespace emplace {
namespace {

struct SameDevices {
  DeviceIndex first = 0;
  size_t devices = 0;
  size_t stride = 1;  // Of its digit in a state.
};

std::vector<SameDevices> Classes(std::span<const int32_t> equal) {
  std::vector<SameDevices> classes;
  for (size_t device = 0; device < equal.size(); ++device) {
    const auto same = [&](const SameDevices& one) { return one.first == equal[device]; };
    const auto found = std::find_if(classes.begin(), classes.end(), same);
    if (found == classes.end()) {
      classes.push_back({equal[device], 1});
    } else {
      ++found->devices;
    }
  }
  return classes;
}

std::vector<int32_t> EachItself(int32_t num_devices) {
  std::vector<int32_t> devices(static_cast<size_t>(num_devices));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

}  // namespace

void DeviceSteps::ShareOut(Division& division) const {
  std::vector<DeviceIndex> next(equal.begin(), equal.end());
  for (Stage& stage : division) {
    DeviceIndex& free = next[static_cast<size_t>(stage.device)];
    stage.device = free++;
    const auto is_equal = [&](DeviceIndex device) {
      return equal[static_cast<size_t>(device)] == equal[static_cast<size_t>(stage.device)];
    };
    while (free < static_cast<DeviceIndex>(equal.size()) && !is_equal(free)) ++free;
  }
}

DeviceSteps InGivenOrder(int32_t num_devices) {
  DeviceSteps order;
  order.equal = EachItself(num_devices);
  for (DeviceIndex device = 0; device < num_devices; ++device) {
    DeviceSteps::Step step{device, 1, true, {}};
    step.before.resize(static_cast<size_t>(device));
    std::iota(step.before.begin(), step.before.end(), 0);
    order.steps.push_back(std::move(step));
  }
  return order;
}

DeviceSteps InGivenOrder(int32_t num_devices, int32_t fewest, int32_t most) {
  DeviceSteps order;
  order.equal = EachItself(num_devices);
  std::vector<int32_t> shorter;  // Steps with a stage less.
  for (int32_t stages = 1; stages <= most; ++stages) {
    std::vector<int32_t> added;
    // As many devices are left as are needed for `fewest` stages.
    const DeviceIndex last = num_devices - 1 - std::max(0, fewest - stages);
    for (DeviceIndex device = stages - 1; device <= last; ++device) {
      DeviceSteps::Step step{device, stages, stages == 1, {}};
      for (const int32_t before : shorter) {
        if (order.steps[static_cast<size_t>(before)].device < device) step.before.push_back(before);
      }
      added.push_back(static_cast<int32_t>(order.steps.size()));
      order.steps.push_back(std::move(step));
    }
    shorter = std::move(added);
  }
  return order;
}

std::optional<DeviceSteps> InAnyOrder(std::span<const int32_t> equal, int32_t most, size_t most_steps) {
  DeviceSteps order;
  order.equal.assign(equal.begin(), equal.end());
  // A state is how many devices of each class are used, as the digits of a number.
  std::vector<SameDevices> classes = Classes(equal);
  size_t states = 1;
  for (SameDevices& one : classes) {
    one.stride = states;
    states *= one.devices + 1;
    if (states > most_steps) return std::nullopt;
  }
  std::vector<std::vector<int32_t>> steps_to(states);  // Steps after which so many are used.
  for (size_t state = 1; state < states; ++state) {
    int32_t stages = 0;
    for (const SameDevices& one : classes) stages += static_cast<int32_t>(state / one.stride % (one.devices + 1));
    if (stages > most) continue;
    for (const SameDevices& one : classes) {
      if (state / one.stride % (one.devices + 1) == 0) continue;
      if (order.steps.size() == most_steps) return std::nullopt;
      steps_to[state].push_back(static_cast<int32_t>(order.steps.size()));
      order.steps.push_back({one.first, stages, stages == 1, steps_to[state - one.stride]});
    }
  }
  return order;
}

}  // namespace emplace
