// How fast tensors travel between two devices.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ids.h"
#include "simulator/machine/cluster.h"

namespace emplace {

struct TransferTime {
  int64_t bytes = 0;
  double us = 0;  // From the end of the op that makes the tensor to the begin of the op that waits for it; the median.
};

struct LinkFit {
  double bandwidth_bytes_per_us = 0;
  double latency_us = 0;
};

// Times tensors of 1 KB to 16 MB from one device to another, each while nothing else is to be done.
std::vector<TransferTime> TimeTransfers(const Cluster& cluster, DeviceIndex from, DeviceIndex to);

// The link by which latency + bytes / bandwidth has the least sum of squared relative errors. Neither is negative.
// REQUIRES: times of two sizes or more, all above 0.
LinkFit FitLink(const std::vector<TransferTime>& times);

}  // namespace emplace
