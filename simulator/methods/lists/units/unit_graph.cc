#include "simulator/methods/lists/units/unit_graph.h"

#include "simulator/engine/free_sources.h"
#include "simulator/methods/lists/units/unit_scheduler.h"

namespace emplace {

UnitGraph::UnitGraph(const ScheduleGraph& whole, const UnitLimits& limits)
    : whole_(whole),
      coarse_(whole.task(), {ListUnits(whole.task(), limits, whole.stop())}),
      graph_(coarse_.task(), whole.stop()),
      is_free_(FreeSources(coarse_.task().sim)) {}

Placement UnitGraph::Place(std::span<const OpIndex> by_rank, std::span<const double> room_bytes,
                           const UnitScorerOptions& options, const Rng& rng, std::span<double> used_bytes) {
  std::optional<UnitScorer> scorer;
  if (!options.TakesFirstFinish()) scorer.emplace(graph_, Facts(), options, rng);
  UnitScheduler scheduler(graph_, is_free_, room_bytes, scorer ? &*scorer : nullptr);
  scheduler.Run(by_rank);
  for (size_t d = 0; d < used_bytes.size(); ++d)
    used_bytes[d] = scheduler.units().used_bytes(static_cast<DeviceIndex>(d));
  return scheduler.units().placement();
}

const UnitFacts& UnitGraph::Facts() {
  if (!facts_) facts_ = MakeUnitFacts(whole_.task(), coarse_.op_of(), graph_);
  return *facts_;
}

}  // namespace emplace
