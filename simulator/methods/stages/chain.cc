#include "simulator/methods/stages/chain.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>

#include "simulator/engine/graph_paths.h"
#include "simulator/methods/stages/stages_method.h"

namespace emplace {
namespace {

constexpr int32_t kMostBlocks = 128;

// Moves the ops of each set to its first one.
void GatherSets(std::span<const GroupIndex> set_of_op, std::vector<OpIndex>& order) {
  std::vector<size_t> first(order.size(), order.size());  // Of each set, in the order.
  for (size_t p = 0; p < order.size(); ++p) {
    size_t& of_set = first[static_cast<size_t>(set_of_op[static_cast<size_t>(order[p])])];
    of_set = std::min(of_set, p);
  }
  std::ranges::stable_sort(order, {},
                           [&](OpIndex op) { return first[static_cast<size_t>(set_of_op[static_cast<size_t>(op)])]; });
}

// Counts what crosses the places between neighbours in an order: at[p] is between places p - 1 and p.
class Crossings {
 public:
  explicit Crossings(size_t places) : change_(places + 1, 0) {}
  void Add(size_t from, size_t to) {
    if (from >= to) return;
    ++change_[from + 1];
    --change_[to + 1];
  }
  std::vector<int32_t> Counts() const {
    std::vector<int32_t> counts(change_.size());
    std::partial_sum(change_.begin(), change_.end(), counts.begin());
    return counts;
  }

 private:
  std::vector<int32_t> change_;
};

// [n] the ops in an order in which they can run, but for sets that are together: those run where their first op does.
// What nothing precedes, such as parameters, comes right before what reads it.
std::vector<OpIndex> ChainOrder(const PlacementTask& task) {
  const std::vector<int32_t> distance = DistancesToEnd(task.sim);
  std::vector<OpIndex> order(distance.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](OpIndex o) { return distance[static_cast<size_t>(o)]; });
  if (task.HasMicrobatches()) GatherSets(task.levels->Finest(), order);
  return order;
}

// What crosses each place of an order, [n + 1]; see Crossings.
struct CrossingCounts {
  std::vector<int32_t> passing;    // Tensors that are read behind the place.
  std::vector<int32_t> returning;  // Tensors that are made behind it and read before it.
  std::vector<int32_t> divided;    // Sets of ops that have to be together.
};

CrossingCounts CountCrossings(const PlacementTask& task, std::span<const OpIndex> order) {
  const SimGraph& sim = task.sim;
  const size_t n = order.size();
  std::vector<size_t> place(n);
  for (size_t p = 0; p < n; ++p) place[static_cast<size_t>(order[p])] = p;
  Crossings passing(n);
  Crossings returning(n);
  for (size_t o = 0; o < n; ++o) {
    for (const int32_t tensor : sim.TensorsOf(static_cast<OpIndex>(o))) {
      size_t from = place[o];
      size_t until = place[o];
      for (const OpIndex reader : sim.tensor_consumers.Row(tensor)) {
        from = std::min(from, place[static_cast<size_t>(reader)]);
        until = std::max(until, place[static_cast<size_t>(reader)]);
      }
      passing.Add(place[o], until);
      returning.Add(from, place[o]);
    }
  }
  const std::vector<GroupIndex>& together = task.levels->Finest();
  const auto sets = static_cast<size_t>(CountOf(together));
  std::vector<size_t> begins(sets, n);
  std::vector<size_t> ends(sets, 0);
  for (size_t o = 0; o < n; ++o) {
    const auto set = static_cast<size_t>(together[o]);
    begins[set] = std::min(begins[set], place[o]);
    ends[set] = std::max(ends[set], place[o]);
  }
  Crossings divided(n);
  for (size_t set = 0; set < sets; ++set) divided.Add(begins[set], ends[set]);
  return {passing.Counts(), returning.Counts(), divided.Counts()};
}

}  // namespace

std::optional<ChainBlocks> ChainOf(const PlacementTask& task, int32_t most_blocks) {
  const SimGraph& sim = task.sim;
  double total_us = 0;
  for (OpIndex o = 0; o < sim.num_ops; ++o) total_us += sim.MeanBusyUs(o);
  if (!(total_us > 0)) return std::nullopt;
  const std::vector<OpIndex> order = ChainOrder(task);
  const CrossingCounts at = CountCrossings(task, order);
  const int32_t waves = task.NumMicrobatches();
  ChainBlocks chain = {.block_of_op = std::vector<int32_t>(order.size())};
  double us = 0;  // Of the blocks before, and of the one that is being filled.
  const bool few = sim.num_ops <= most_blocks;
  for (size_t p = 0; p < order.size(); ++p) {
    const bool long_enough = us * most_blocks >= total_us * (chain.num_blocks + 0.5);
    const bool narrow = at.passing[p] == waves && at.returning[p] <= waves && at.divided[p] == 0;
    if (p > 0 && narrow && (few || long_enough)) ++chain.num_blocks;
    chain.block_of_op[static_cast<size_t>(order[p])] = chain.num_blocks;
    us += sim.MeanBusyUs(order[p]);
  }
  ++chain.num_blocks;
  if (chain.num_blocks < 2) return std::nullopt;
  return chain;
}

MethodResult ChainMethod::Place(const PlacementTask& task) {
  std::optional<ChainBlocks> chain = ChainOf(task, kMostBlocks);
  if (!chain) return {};
  MethodOptions options = options_;
  options.objective = Objective::kLatency;
  StagesRequest request;
  request.block_of_op = std::move(chain->block_of_op);
  request.num_blocks = chain->num_blocks;
  request.any_order = true;
  request.may_order = task.HasMicrobatches();
  StagesMethod stages(std::move(request), options);
  return stages.Place(task);
}

}  // namespace emplace
