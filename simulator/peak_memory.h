// Peak memory of each device in one simulated run (design, section 4, rule 8).
//
// An op with output bytes B > 0 holds B on its device from its start until the latest floor(start) + floor(cost) - 1 over
// its consumers, by data or control, and at least at its start. temp_bytes are held from start to finish, param_bytes
// throughout. What is released at a time counts together with what is taken at that time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.h"
#include "simulator/linked_queues.h"
#include "simulator/sim_graph.h"

namespace emplace {

struct Timeline;

// Until when `op` holds its outputs, by the rule above. start_us [n].
double HeldUntil(const SimGraph& graph, OpIndex op, std::span<const DeviceIndex> placement,
                 std::span<const double> start_us);

// Not thread-safe; allocates in its constructor only.
class PeakMemory {
 public:
  // REQUIRES: graph outlives it.
  explicit PeakMemory(const SimGraph& graph);

  // started [D]: the ops of each device as they started. Writes peak_bytes [D].
  void Compute(std::span<const DeviceIndex> placement, const LinkedQueues& started, const Timeline& timeline,
               std::span<int64_t> peak_bytes);

 private:
  struct Release {
    double time_us;
    int64_t bytes;
  };

  const SimGraph& graph_;
  std::vector<Release> releases_;  // Of one device: at most 2 n.
};

}  // namespace emplace
