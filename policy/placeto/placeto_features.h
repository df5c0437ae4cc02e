// The features of a node in a state, in the one order that all implementations of the network read. A template over
// what writes them, since each has a layout of its own. Files that are compiled for one processor may include this:
// what they pass is a lambda of theirs, so no two of them share an instance.
#pragma once

#include <cstdint>

#include "policy/placeto/host_device.h"

namespace emplace {

struct NodeFacts {
  float cost = 0;  // As in PlacetoGraph, as are the next two.
  float bytes = 0;
  float memory = 0;
  int32_t device = 0;
  int32_t node = 0;
  int32_t step = 0;                    // The current node.
  const float* start_times = nullptr;  // As in PlacetoState.
};

// Which of the optional features there are, and how many devices. Plain, for every processor.
struct NodeFeatures {
  int32_t num_devices = 0;
  bool memory = false;
  bool start_time = false;
};

// Calls write(feature, value) for the features 0, 1, ... of a node: cost, bytes, [memory,] [start time,] placement
// one-hot, visited, current. PlacetoShape::num_features is their number.
template <typename Write>
EMPLACE_DEVICE void ForEachFeature(const NodeFacts& facts, const NodeFeatures& features, const Write& write) {
  int32_t next = 0;
  write(next++, facts.cost);
  write(next++, facts.bytes);
  if (features.memory) write(next++, facts.memory);
  if (features.start_time) write(next++, facts.start_times[facts.node]);
  for (int32_t device = 0; device < features.num_devices; ++device) write(next++, facts.device == device ? 1.0F : 0.0F);
  write(next++, facts.node < facts.step ? 1.0F : 0.0F);
  write(next++, facts.node == facts.step ? 1.0F : 0.0F);
}

}  // namespace emplace
