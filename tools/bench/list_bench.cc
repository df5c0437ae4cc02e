#include "tools/bench/list_bench.h"

#include <cstdint>
#include <string>

#include "common/rng.h"
#include "common/strings.h"
#include "simulator/engine/free_sources.h"
#include "simulator/methods/lists/units/list_units.h"
#include "simulator/methods/lists/units/unit_facts.h"
#include "simulator/methods/lists/units/unit_scheduler.h"
#include "simulator/methods/lists/units/unit_scorer.h"
#include "simulator/methods/lists/upward_rank.h"
#include "simulator/task/coarse_task.h"
#include "tools/bench/harness/inputs.h"

namespace emplace::bench {
namespace {

// Every feature counts, but little, so that units go about where they end first.
UnitFeatures AllWeights() {
  UnitFeatures weights = kHandSetWeights;
  for (const UnitFeature& feature : UnitFeatureTable()) weights.*feature.member += 0.01;
  return weights;
}

// The units of one graph, and passes over them.
class ListPasses {
 public:
  explicit ListPasses(const PlacementTask& whole)
      : coarse_(whole, {ListUnits(whole, {})}),
        graph_(coarse_.task()),
        is_free_(FreeSources(coarse_.task().sim)),
        by_rank_(ByMeanUpwardRank(graph_, /*transfer_weight=*/2)),
        room_bytes_(whole.sim.memory_bytes.begin(), whole.sim.memory_bytes.end()),
        facts_(MakeUnitFacts(whole, coarse_.op_of(), graph_)) {}

  int32_t units() const { return graph_.num_ops(); }
  void Plain() const { UnitScheduler(graph_, is_free_, room_bytes_).Run(by_rank_); }
  void Scored() const {
    UnitScorer scorer(graph_, facts_, {.weights = AllWeights()}, Rng(1));
    UnitScheduler(graph_, is_free_, room_bytes_, &scorer).Run(by_rank_);
  }

 private:
  const CoarseTask coarse_;
  const ScheduleGraph graph_;
  const std::vector<uint8_t> is_free_;
  const std::vector<OpIndex> by_rank_;
  const std::vector<double> room_bytes_;
  const UnitFacts facts_;  // Passes share them.
};

}  // namespace

std::vector<Figure> ListFigures(const Effort& effort) {
  std::vector<Figure> figures;
  for (const std::string family : {"gnmt4", "ptb", "inception_v3"}) {
    const PlacementTask task = PlacementTask::Make(FamilyGraphs(family, 1).front(), BenchCluster("k80x4"), 128);
    const ListPasses passes(task);
    const PairedSeconds seconds = RepeatPaired(
        effort.Repetitions(15), [&] { return Seconds([&] { passes.Scored(); }); },
        [&] { return Seconds([&] { passes.Plain(); }); });
    const auto us_per_unit = [&](double s) { return 1e6 * s / passes.units(); };
    figures.push_back(Summarize(StrCat("list_pass_us_per_unit_", family), "us", Map(seconds.fast, us_per_unit)));
    figures.push_back(Summarize(StrCat("list_scored_pass_us_per_unit_", family), "us", Map(seconds.slow, us_per_unit)));
    figures.push_back(Summarize(StrCat("list_scored_pass_slowdown_", family), "x", seconds.Speedups()));
  }
  return figures;
}

}  // namespace emplace::bench
