// The record of a simulated run: when each op ran, and how tensors travelled.
#pragma once

#include <cstdint>
#include <vector>

#include "common/ids.h"

namespace emplace {

// A transfer of a tensor. It occupies its link, or all links of its route, during [start_us, free_us).
struct Transfer {
  static constexpr DeviceIndex kAllReaders = -1;

  int32_t tensor = 0;  // Index into SimGraph's tensors.
  DeviceIndex from = 0;
  DeviceIndex to = kAllReaders;  // kAllReaders: one transfer serves every device that reads the tensor.
  double start_us = 0;
  double sent_us = 0;       // When the last byte leaves a sending link; with a topology, delivered_us.
  double delivered_us = 0;  // start_us + latency of the link or route + bytes / bandwidth
  double free_us = 0;       // sent_us + overhead
};

struct Timeline {
  double makespan_us = 0;           // Time of the last event, trailing overheads included.
  std::vector<double> start_us;     // [n]
  std::vector<double> finish_us;    // [n]
  std::vector<int64_t> peak_bytes;  // [D]
  std::vector<Transfer> transfers;  // In the order in which they start.
};

}  // namespace emplace
