// Whether an op requests the same transfers under two placements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/engine/run/run_state.h"

namespace emplace {

// Not thread-safe. Allocates in its constructor only.
class RequestComparison {
 public:
  // most: upper limit of the transfers that an op requests.
  explicit RequestComparison(size_t most) { keys_.reserve(most); }

  // Compares the requests of `op`, on `device`, in the last run with those for a placement in which reader is on
  // new_device_of(reader). Two requests are equal if key(transfer, device_of) is. REQUIRES: under both placements `op`
  // has readers on other devices.
  template <typename Transfers, typename DeviceOf, typename Key>
  bool AreTheSame(Transfers& transfers, const RunState& run, OpIndex op, size_t device, DeviceOf new_device_of,
                  Key key) {
    const auto old_device_of = [&](OpIndex reader) { return run.DeviceOf(reader); };
    keys_.clear();
    transfers.ForEachOf(run.graph, old_device_of, op, device,
                        [&](int32_t transfer) { keys_.push_back(key(transfer, old_device_of)); });
    size_t equal = 0;
    size_t requests = 0;
    transfers.ForEachOf(run.graph, new_device_of, op, device, [&](int32_t transfer) {
      if (requests < keys_.size() && keys_[requests] == key(transfer, new_device_of)) ++equal;
      ++requests;
    });
    return equal == requests && requests == keys_.size();
  }

 private:
  std::vector<size_t> keys_;  // Keys of the last run's requests.
};

}  // namespace emplace
