#include "simulator/methods/fallback.h"

#include <tuple>

#include "simulator/methods/lists/disciplines.h"
#include "simulator/methods/placement_scorer.h"
#include "simulator/methods/single_method.h"

namespace emplace {

std::optional<ChosenPlacement> MethodOrSingleDevice(const PlacementTask& task, const MethodResult& result,
                                                    const MethodScore& score, const std::string& order,
                                                    Objective objective, const StopSignal& stop) {
  // An order does not make a single device faster, which is never idle.
  if (objective == Objective::kLatency && score.feasible && score.makespan_us <= task.single_device_us)
    return ChosenPlacement{*result.placement, score, result.orders, result.discipline, false};
  MethodResult single = SingleMethod(MethodOptions()).Place(task);
  if (!order.empty()) SetOrder(order, task, single, stop);
  const MethodScore single_score = Score(task, single);
  const auto rank = [&](const MethodResult& of, const MethodScore& by) {
    const int64_t over = of.placement ? TotalBytesOver(by.peak_bytes, task.sim.memory_bytes) : 0;
    return std::tuple(!of.placement, over, by.Us(objective));
  };
  const bool fallback = rank(single, single_score) < rank(result, score);
  const MethodResult& chosen = fallback ? single : result;
  if (!chosen.placement) return std::nullopt;
  return ChosenPlacement{*chosen.placement, fallback ? single_score : score, chosen.orders, chosen.discipline,
                         fallback};
}

}  // namespace emplace
