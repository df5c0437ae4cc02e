// Runs a placed graph in simulated time by the rules of the design, section 4; with the default link model that equals
// Placeto's published simulator. Deterministic. One Simulator is reused for any number of placements and allocates only
// in its constructor. Not thread-safe: one a thread; the SimGraph may be shared.
//
// Where a placement differs little from that of the call before, as between two steps of an episode, Makespan and
// MakespanAndPeak take over what happens before the difference has an effect (placement_change.h) and simulate from
// there on. Results are the same numbers as those of a Simulator that knows of no call before. Run simulates all, for
// it reports every transfer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "common/ids.h"
#include "simulator/sim_graph.h"
#include "simulator/timeline.h"

namespace emplace {

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

  // What the last call simulated: ends of ops and deliveries, without those that it took over.
  size_t events() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
