// The units of one division of a graph (list_units.h), ready for passes of `list` over them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/rng.h"
#include "simulator/methods/lists/list_schedule.h"
#include "simulator/methods/lists/units/list_units.h"
#include "simulator/methods/lists/units/unit_facts.h"
#include "simulator/methods/lists/units/unit_scorer.h"
#include "simulator/task/coarse_task.h"

namespace emplace {

// Not thread-safe. n units, D devices.
class UnitGraph {
 public:
  // REQUIRES: whole outlives it. Throws Stopped once the stop of `whole` says so, as passes do.
  UnitGraph(const ScheduleGraph& whole, const UnitLimits& limits);

  const ScheduleGraph& graph() const { return graph_; }  // Its ops are the units.
  // From a placement of the units to one of the whole's ops.
  Placement Expanded(std::span<const DeviceIndex> units) const { return coarse_.Expanded(units); }

  // One pass: the placement of the units [n], which are taken in this topological order. room_bytes: [D] as of
  // UnitPlacement. used_bytes: empty, or [D] where to write how many of these the pass used.
  Placement Place(std::span<const OpIndex> by_rank, std::span<const double> room_bytes, const UnitScorerOptions& scorer,
                  const Rng& rng, std::span<double> used_bytes = {});

 private:
  const UnitFacts& Facts();

  const ScheduleGraph& whole_;
  const CoarseTask coarse_;
  const ScheduleGraph graph_;
  const std::vector<uint8_t> is_free_;
  std::optional<UnitFacts> facts_;  // Made for the first pass that needs them.
};

}  // namespace emplace
