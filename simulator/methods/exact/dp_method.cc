#include "simulator/methods/exact/dp_method.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/methods/exact/split_problem.h"
#include "simulator/methods/max_load.h"
#include "simulator/methods/memory_limits.h"
#include "simulator/methods/placement_scorer.h"

namespace emplace {
namespace {

// Up to here the ops of a chain, which are one unit, are also divided: a pipeline may be no more than a chain. In
// larger graphs units are fine enough.
constexpr OpIndex kMostOps = 1000;

class DpSearch {
 public:
  DpSearch(const PlacementTask& task, Objective objective, const StopSignal& stop)
      : task_(task), objective_(objective), graph_(task, stop), scorer_(task) {}

  MethodResult Run() {
    try {
      TryAllNodes();
    } catch (const Stopped&) {
      if (!best_.placement) throw;
    }
    return std::move(best_);
  }

 private:
  // Bytes over the memory, then what the objective minimizes.
  using Value = std::pair<int64_t, double>;

  void TryAllNodes() {
    TryNodes(SplitNodes::kUnits);
    if (task_.sim.num_ops <= kMostOps) TryNodes(SplitNodes::kBound);
    const std::vector<int32_t>& stages = task_.stage_of_op;
    if (std::any_of(stages.begin(), stages.end(), [](int32_t stage) { return stage >= 0; })) {
      TryNodes(SplitNodes::kStages);
    }
  }

  void TryNodes(SplitNodes nodes) {
    MemoryLimits limits(task_.sim.memory_bytes);
    bool fits = false;
    bool found = true;
    std::vector<double> used;
    while (found && !fits) {
      const SplitOfTask split = MakeSplitProblem(graph_, nodes, limits.room_bytes());
      found = false;
      for (const GraphSplit& best_on : ContiguousSplits(split.problem, {.stop = graph_.stop()})) {
        if (best_on.device_of.empty()) continue;
        found = true;
        fits = Try(split, best_on) || fits;
        used = UsedBytes(split.problem, best_on);
      }
      // By the last one, on the most devices.
      if (found && !fits && !limits.Lower(used, scorer_.peak_bytes())) return;
    }
  }

  // Returns whether it fits the memory.
  bool Try(const SplitOfTask& split, const GraphSplit& best_on) {
    Placement placement;
    for (const int32_t node : split.node_of_op) {
      placement.push_back(best_on.device_of[static_cast<size_t>(node)]);
    }
    const SearchScore score = scorer_.Score(placement);
    ++best_.evaluations;
    // The division itself counts with mean links.
    const Value value = {score.bytes_over,
                         objective_ == Objective::kThroughput ? MaxLoadUs(task_.sim, placement) : score.makespan_us};
    if (!best_.placement || value < best_value_) {
      best_.placement = std::move(placement);
      best_value_ = value;
    }
    return score.bytes_over == 0;
  }

  std::vector<double> UsedBytes(const SplitProblem& problem, const GraphSplit& best_on) const {
    std::vector<double> used(task_.sim.memory_bytes.size());
    for (size_t node = 0; node < best_on.device_of.size(); ++node) {
      used[static_cast<size_t>(best_on.device_of[node])] += problem.nodes[node].bytes;
    }
    return used;
  }

  const PlacementTask& task_;
  const Objective objective_;
  const ScheduleGraph graph_;
  PlacementScorer scorer_;
  MethodResult best_;
  Value best_value_;
};

}  // namespace

MethodResult DpMethod::Place(const PlacementTask& task) { return DpSearch(task, objective_, stop_).Run(); }

}  // namespace emplace
