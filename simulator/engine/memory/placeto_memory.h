// Peak memory by the rule of Placeto's published simulator.
//
// An op with output bytes B > 0 holds B on its device from its start until the latest floor(start) + floor(cost) - 1
// (us) over its consumers, by data or control, and at least at its start. temp_bytes are held from the op's start to
// its finish, param_bytes for the whole run. At an equal time, memory is taken before memory is released.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/ids.h"
#include "simulator/engine/memory/peak_memory.h"
#include "simulator/engine/run/run_state.h"
#include "simulator/engine/sim_graph.h"

namespace emplace {

// The time in us until which `op` holds its outputs, by the rule above. start_us: [n].
double HeldUntil(const SimGraph& graph, OpIndex op, std::span<const DeviceIndex> placement,
                 std::span<const double> start_us);

// Takes time linear in ops and edges, unless ops start so unevenly that many share one bucket of their device's time.
class PlacetoMemory final : public PeakMemory {
 public:
  // REQUIRES: graph outlives it.
  explicit PlacetoMemory(const SimGraph& graph);

  void Compute(std::span<const DeviceIndex> placement, const RunState& run, std::span<int64_t> peak_bytes) override;

 private:
  // The ops that started on one device: [first, last) of order_ and start_us_.
  struct Row {
    size_t first;
    size_t last;
    double buckets_per_us;
  };

  // Lays out buckets of equal time, one for each op, for FirstAfter.
  Row IndexStarts(size_t first, size_t last);
  // Position of the row's first op that starts later than `time_us`; row.last if there is none.
  size_t FirstAfter(const Row& row, double time_us) const;

  const SimGraph& graph_;
  std::vector<double> read_until_;    // [n] until when the op keeps what it reads, by op
  std::vector<OpIndex> order_;        // [n] by device, then start
  std::vector<double> start_us_;      // [n] of order_
  std::vector<int64_t> change_;       // [n + 1] bytes that order_[k] takes on its device, less those that it releases
  std::vector<size_t> bucket_first_;  // [n + 2] the first op of the row in each bucket or in a later one
};

}  // namespace emplace
