// Peak memory of each device in one simulated run. docs/design-simulator.md has the rules.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/ids.h"
#include "simulator/engine/run/run_state.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

// Not thread-safe. Allocates in its constructor only.
class PeakMemory {
 public:
  virtual ~PeakMemory() = default;

  // run: a complete run of the placement. Writes peak_bytes [D].
  virtual void Compute(std::span<const DeviceIndex> placement, const RunState& run, std::span<int64_t> peak_bytes) = 0;
};

// [n] upper limits of what each op adds to its device's peak: as if nothing were ever released, and, by the executor's
// rule, a copy received of all that the op reads.
std::vector<int64_t> MostBytesOfOps(const SimGraph& graph);

// By the graph's memory_rule. REQUIRES: graph outlives it.
std::unique_ptr<PeakMemory> MakePeakMemory(const SimGraph& graph);

}  // namespace emplace
