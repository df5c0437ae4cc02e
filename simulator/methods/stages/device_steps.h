// In which orders the stages of a row may use devices, as a graph of steps: a path of k steps from a first one is an
// order of k devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/ids.h"
#include "simulator/methods/stages/block_row.h"

namespace emplace {

struct DeviceSteps {
  struct Step {
    DeviceIndex device = 0;       // Of equal devices the first one, whichever of them it is.
    int32_t stages = 1;           // Number of steps of each path that ends here; 1 where it is not counted.
    bool first = false;           // Whether a path may begin here.
    std::vector<int32_t> before;  // Indices of the steps that may come before, all lower.
  };

  std::vector<Step> steps;
  std::vector<int32_t> equal;  // [D] for each device the first one that is its equal here

  // Gives the stages of equal devices to these devices in turn.
  void ShareOut(Division& division) const;
};

// Devices in the order of their indices, each used or left out; stages are not counted.
DeviceSteps InGivenOrder(int32_t num_devices);
// The same with from `fewest` to `most` stages, counted. Takes steps in the number of devices squared.
DeviceSteps InGivenOrder(int32_t num_devices, int32_t fewest, int32_t most);
// Devices in any order, at most `most` of them, counted. equal: as of EqualDevices; only how many of them are used
// matters. nullopt: there would be more than `most_steps` steps.
std::optional<DeviceSteps> InAnyOrder(std::span<const int32_t> equal, int32_t most, size_t most_steps);

}  // namespace emplace
