#include "actor/hardware/search/candidate_pool.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/error.h"
#include "simulator/engine/simulator.h"

namespace emplace {
namespace {

SimulatedStep Simulate(const SimGraph& sim, const OrderedPlacement& placement) {
  std::vector<int64_t> peak_bytes(sim.memory_bytes.size());
  SimulatedStep step{.us = Simulator(sim, placement.orders).MakespanAndPeak(placement.placement, peak_bytes)};
  for (size_t d = 0; d < peak_bytes.size(); ++d) {
    step.bytes_over += std::max<int64_t>(0, peak_bytes[d] - sim.memory_bytes[d]);
  }
  return step;
}

}  // namespace

SimulatedStep Simulate(const Costs& costs, const OrderedPlacement& placement) {
  return Simulate(SimGraph::Compile(costs.graph, costs.machine), placement);
}

OrderedPlacement WithAllOrders(const Costs& costs, const OrderedPlacement& placement) {
  const SimGraph sim = SimGraph::Compile(costs.graph, costs.machine);
  Simulator simulator(sim, placement.orders);
  simulator.Run(placement.placement);
  return {.placement = placement.placement, .orders = simulator.StartOrders()};
}

bool CandidatePool::Add(Candidate candidate) {
  if (!known_.insert(candidate.placement.placement).second) return false;
  waiting_.push_back(std::move(candidate));
  return true;
}

Candidate CandidatePool::TakeNewest() {
  EMPLACE_CHECK(!waiting_.empty());
  Candidate newest = std::move(waiting_.back());
  waiting_.pop_back();
  return newest;
}

std::optional<Candidate> CandidatePool::TakeFastest(const Costs& costs) {
  if (waiting_.empty()) return std::nullopt;
  const SimGraph sim = SimGraph::Compile(costs.graph, costs.machine);
  std::vector<std::tuple<int64_t, double, size_t>> scores;
  for (size_t i = 0; i < waiting_.size(); ++i) {
    const SimulatedStep step = Simulate(sim, waiting_[i].placement);
    scores.emplace_back(step.bytes_over, step.us, i);
  }
  const auto fastest = static_cast<std::ptrdiff_t>(std::get<2>(*std::ranges::min_element(scores)));
  Candidate taken = std::move(waiting_[static_cast<size_t>(fastest)]);
  waiting_.erase(waiting_.begin() + fastest);
  return taken;
}

}  // namespace emplace
