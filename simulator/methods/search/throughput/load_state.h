// The loads of devices under a placement (max_load.h), kept up to date while sets of ops move: a move costs time in the
// tensors of the set, where max_load.h goes over the graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/csr.h"
#include "simulator/graph/placement.h"
#include "simulator/methods/max_load.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// A set is a group of the task's finest search level: ops that have to be together. Sums are exact but for rounding,
// which moves add up. Not thread-safe. S sets, D devices, T tensors between sets.
class LoadState {
 public:
  // REQUIRES: task has levels and outlives this.
  explicit LoadState(const PlacementTask& task);

  int32_t num_sets() const { return static_cast<int32_t>(device_of_.size()); }
  // REQUIRES: ops of a set are on one device, which may run them.
  void Reset(std::span<const DeviceIndex> placement);
  Placement PlacementOf() const;

  DeviceIndex DeviceOf(int32_t set) const { return device_of_[static_cast<size_t>(set)]; }
  bool MayRun(int32_t set, DeviceIndex device) const;
  // REQUIRES: MayRun(set, to).
  void Move(int32_t set, DeviceIndex to);

  std::span<const double> loads_us() const { return loads_us_; }  // [D]
  int64_t ParamBytes(DeviceIndex device) const { return param_bytes_[static_cast<size_t>(device)]; }
  int64_t ParamBytesOf(int32_t set) const { return set_bytes_[static_cast<size_t>(set)]; }
  // Sets that send this one a tensor or read one of it.
  std::span<const int32_t> Neighbours(int32_t set) const { return neighbours_.Row(set); }

 private:
  int32_t& Readers(int32_t tensor, DeviceIndex device) {
    return readers_on_[static_cast<size_t>(tensor) * loads_us_.size() + static_cast<size_t>(device)];
  }
  // Adds to the loads, or takes from them, what a tensor costs its maker's device and those of its readers.
  void CountMade(int32_t tensor, DeviceIndex maker, double sign);
  void MoveReader(int32_t tensor, DeviceIndex from, DeviceIndex to);
  double TransferUs(int32_t tensor, DeviceIndex maker, DeviceIndex reader) const {
    const auto t = static_cast<size_t>(tensor);
    return tensor_us_.empty() ? TransferLoadUs(sim_, tensor_of_[t], maker, reader) : tensor_us_[t];
  }
  // Adds to the load of a device that reads a tensor, and to that of its maker where each device gets it anew.
  void CountReader(int32_t tensor, DeviceIndex maker, DeviceIndex reader, double sign) {
    const double us = sign * TransferUs(tensor, maker, reader);
    loads_us_[static_cast<size_t>(reader)] += us;
    if (sends_to_each_) loads_us_[static_cast<size_t>(maker)] += us;
  }
  // Adds to the maker's load, or takes from it, that it sends a tensor at all, where one transfer serves all devices.
  void CountSent(int32_t tensor, DeviceIndex maker, DeviceIndex reader, double sign) {
    if (!sends_to_each_) loads_us_[static_cast<size_t>(maker)] += sign * TransferUs(tensor, maker, reader);
  }

  const SimGraph& sim_;
  const bool sends_to_each_;
  const std::vector<GroupIndex>& set_of_op_;
  std::vector<double> work_us_;         // [S * D] NaN: the device may not run it
  std::vector<int64_t> set_bytes_;      // [S]
  std::vector<int32_t> maker_of_;       // [T]
  std::vector<int32_t> tensor_of_;      // [T] its index in the graph
  std::vector<double> tensor_us_;       // [T] TransferLoadUs where all links are alike; with a topology empty
  Csr made_by_;                         // [S] tensors
  Csr read_by_;                         // [S] tensors that other sets make
  Csr neighbours_;                      // [S]
  std::vector<DeviceIndex> device_of_;  // [S]
  std::vector<int32_t> readers_on_;     // [T * D] number of reading sets on each device
  std::vector<double> loads_us_;        // [D]
  std::vector<int64_t> param_bytes_;    // [D]
};

}  // namespace emplace
