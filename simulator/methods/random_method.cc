#include "simulator/methods/random_method.h"

#include <tuple>

#include "common/error.h"
#include "common/rng.h"
#include "common/strings.h"
#include "simulator/simulator.h"

namespace emplace {
namespace {

int64_t BytesOverLimit(const SimGraph& sim, const std::vector<int64_t>& peak_bytes) {
  int64_t over = 0;
  for (size_t d = 0; d < peak_bytes.size(); ++d) over += std::max<int64_t>(0, peak_bytes[d] - sim.memory_bytes[d]);
  return over;
}

}  // namespace

RandomMethod::RandomMethod(const MethodOptions& options) : budget_(options.budget), seed_(options.seed) {
  if (budget_ < 1) throw BadInput(StrCat("--budget is ", budget_, ", expected at least 1"));
}

MethodResult RandomMethod::Place(const PlacementTask& task) {
  const PolicyGraph& graph = task.policy;
  Rng rng = Rng(seed_).Fork("random/" + task.name);
  Simulator simulator(task.sim);
  std::vector<uint8_t> groups(static_cast<size_t>(graph.num_nodes));
  Placement placement(static_cast<size_t>(task.sim.num_ops));
  std::vector<int64_t> peak_bytes(static_cast<size_t>(task.sim.num_devices));
  std::vector<double> weights(static_cast<size_t>(graph.num_devices));

  MethodResult best;
  std::tuple<int64_t, double> best_score;  // Bytes over the limit first, then the makespan.
  for (int64_t i = 0; i < budget_; ++i) {
    for (size_t node = 0; node < groups.size(); ++node) {
      for (size_t d = 0; d < weights.size(); ++d) weights[d] = graph.allowed[node * weights.size() + d];
      groups[node] = static_cast<uint8_t>(rng.Categorical(weights));
    }
    task.Expand(groups, placement);
    const double makespan_us = simulator.MakespanAndPeak(placement, peak_bytes);
    const std::tuple<int64_t, double> score(BytesOverLimit(task.sim, peak_bytes), makespan_us);
    if (!best.placement || score < best_score) {
      best.placement = placement;
      best_score = score;
    }
  }
  best.evaluations = budget_;
  return best;
}

}  // namespace emplace
