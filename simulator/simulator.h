// Runs a placed graph in simulated time: the default link model of the design, section 4, which equals Placeto's
// published simulator. Deterministic. One Simulator is reused for any number of placements and allocates only in its
// constructor. Not thread-safe: one a thread; the SimGraph may be shared.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/ids.h"
#include "simulator/sim_graph.h"

namespace emplace {

// A tensor on its way: it occupies the sending device's link during [start_us, free_us).
struct Transfer {
  int32_t tensor = 0;        // Index into SimGraph's tensors.
  DeviceIndex from = 0;
  double start_us = 0;
  double delivered_us = 0;   // start + bytes / bandwidth
  double free_us = 0;        // delivered + overhead
};

struct Timeline {
  double makespan_us = 0;               // Time of the last event, trailing overheads included.
  std::vector<double> start_us;         // [n]
  std::vector<double> finish_us;        // [n]
  std::vector<int64_t> peak_bytes;      // [D]
  std::vector<Transfer> transfers;      // In the order in which they start.
};

class Simulator {
 public:
  // REQUIRES: graph outlives the simulator.
  explicit Simulator(const SimGraph& graph);
  ~Simulator();

  // The makespan alone. REQUIRES: placement is legal (CheckPlacement) and has num_ops entries.
  double Makespan(std::span<const DeviceIndex> placement);
  // Makespan, then peak memory of each device into peak_bytes [D].
  double MakespanAndPeak(std::span<const DeviceIndex> placement, std::span<int64_t> peak_bytes);
  // Everything. The reference stays valid until the next call.
  const Timeline& Run(std::span<const DeviceIndex> placement);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
