#include "simulator/methods/lists/upward_rank.h"

#include <algorithm>
#include <functional>

namespace emplace {
namespace {

// cost_us(op); transfer_us(tensor, reader): 0 for a reader on the same device.
template <typename CostUs, typename TransferUs>
std::vector<double> RanksUs(const ScheduleGraph& graph, CostUs cost_us, TransferUs transfer_us) {
  const std::span<const OpIndex> order = graph.topological_order();
  std::vector<double> rank_us(order.size());
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    double& rank = rank_us[static_cast<size_t>(*at)];
    rank += cost_us(*at);  // Until now the greatest of its readers.
    for (const int32_t tensor : graph.InputsOf(*at)) {
      double& of_producer = rank_us[static_cast<size_t>(graph.ProducerOf(tensor))];
      of_producer = std::max(of_producer, rank + transfer_us(tensor, *at));
    }
  }
  return rank_us;
}

std::vector<OpIndex> ByFalling(const std::vector<double>& rank_us, const ScheduleGraph& graph) {
  std::vector<OpIndex> by_rank(graph.topological_order().begin(), graph.topological_order().end());
  std::ranges::stable_sort(by_rank, std::greater<>(), [&](OpIndex op) { return rank_us[static_cast<size_t>(op)]; });
  return by_rank;
}

}  // namespace

std::vector<double> MeanUpwardRanksUs(const ScheduleGraph& graph, double transfer_weight) {
  return RanksUs(
      graph, [&](OpIndex op) { return graph.MeanCostUs(op); },
      [&](int32_t tensor, OpIndex /*reader*/) { return transfer_weight * graph.MeanTransferUs(tensor); });
}

std::vector<OpIndex> ByMeanUpwardRank(const ScheduleGraph& graph, double transfer_weight) {
  return ByFalling(MeanUpwardRanksUs(graph, transfer_weight), graph);
}

std::vector<double> PlacedUpwardRanksUs(const ScheduleGraph& graph, std::span<const DeviceIndex> placement) {
  const auto device_of = [&](OpIndex op) { return placement[static_cast<size_t>(op)]; };
  return RanksUs(
      graph, [&](OpIndex op) { return graph.CostUs(op, device_of(op)); },
      [&](int32_t tensor, OpIndex reader) {
        const DeviceIndex from = device_of(graph.ProducerOf(tensor));
        const DeviceIndex to = device_of(reader);
        return from == to ? 0 : graph.TransferUs(tensor, from, to);
      });
}

std::vector<OpIndex> TopologicalByPlacedRank(const ScheduleGraph& graph, std::span<const DeviceIndex> placement) {
  return ByFalling(PlacedUpwardRanksUs(graph, placement), graph);
}

}  // namespace emplace
