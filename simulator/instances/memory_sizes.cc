#include "simulator/instances/memory_sizes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "common/error.h"
#include "simulator/engine/sim_graph.h"
#include "simulator/engine/simulator.h"
#include "simulator/graph/op_units.h"
#include "simulator/instances/draws.h"
#include "simulator/instances/random_machine.h"

namespace emplace {
namespace {

constexpr double kLeastSlack = 1.05;
constexpr double kMostSlack = 4;

// [num_ops] how far each op is from the nearer end of the graph, in ops: the beginning for a forward pass, the end for
// its backward pass. A source that costs nothing is where its first reader is.
std::vector<int32_t> DepthOf(const OpGraph& graph) {
  const std::vector<OpIndex>& order = graph.topological_order();
  std::vector<int32_t> from(order.size());
  std::vector<int32_t> to(order.size());
  for (const OpIndex op : order) {
    for (const OpIndex reader : graph.consumers().Row(op)) {
      int32_t& depth = from[static_cast<size_t>(reader)];
      depth = std::max(depth, from[static_cast<size_t>(op)] + 1);
    }
  }
  for (size_t i = order.size(); i-- > 0;) {
    const auto op = static_cast<size_t>(order[i]);
    int32_t first_reader = -1;
    for (const OpIndex reader : graph.consumers().Row(order[i])) {
      const auto r = static_cast<size_t>(reader);
      to[op] = std::max(to[op], to[r] + 1);
      if (first_reader < 0 || from[r] < first_reader) first_reader = from[r];
    }
    if (graph.op(order[i]).inputs.empty() && first_reader > 0) from[op] = first_reader - 1;
  }
  std::vector<int32_t> depth(order.size());
  for (size_t op = 0; op < depth.size(); ++op) depth[op] = std::min(from[op], to[op]);
  return depth;
}

class ByteSpreader {
 public:
  ByteSpreader(const OpGraph& graph, const Cluster& cluster)
      : graph_(graph), sim_(SimGraph::Compile(graph, cluster)), units_(MakeUnits(graph, cluster)) {
    int64_t least = cluster.devices.front().memory_bytes;
    for (const Device& device : cluster.devices) least = std::min(least, device.memory_bytes);
    for (const Device& device : cluster.devices) {
      const int64_t weight = device.memory_bytes / least;  // 1, 2 or 4, whatever the scale.
      weights_.push_back(static_cast<double>(weight));
    }
  }

  struct Spread {
    Placement placement;
    double need = 0;  // The most bytes that a device needs for each unit of its weight.
  };
  Spread Best() {
    Simulator simulator(sim_);
    Spread best;
    for (const std::vector<int32_t>& order : {InOrder(), ByDepth()}) {
      Spread spread = {Divide(order), 0};
      std::vector<int64_t> peaks(weights_.size());
      simulator.MakespanAndPeak(spread.placement, peaks);
      for (size_t d = 0; d < peaks.size(); ++d)
        spread.need = std::max(spread.need, static_cast<double>(peaks[d]) / weights_[d]);
      if (best.placement.empty() || spread.need < best.need) best = std::move(spread);
    }
    return best;
  }
  double weight(size_t device) const { return weights_[device]; }

 private:
  std::vector<int32_t> InOrder() const {
    std::vector<int32_t> order(units_.units.size());
    std::iota(order.begin(), order.end(), 0);
    return order;
  }

  std::vector<int32_t> ByDepth() const {
    const std::vector<int32_t> depth = DepthOf(graph_);
    std::vector<int32_t> of_unit(units_.units.size(), -1);  // Of its first op.
    for (size_t op = 0; op < depth.size(); ++op) {
      int32_t& first = of_unit[static_cast<size_t>(units_.unit_of_op[op])];
      if (first < 0) first = depth[op];
    }
    std::vector<int32_t> order = InOrder();
    std::ranges::stable_sort(order, {}, [&](int32_t unit) { return of_unit[static_cast<size_t>(unit)]; });
    return order;
  }

  // Gives the first units to the first device, and so on.
  Placement Divide(const std::vector<int32_t>& order) const {
    double all_bytes = 0;
    for (const OpUnit& unit : units_.units) all_bytes += unit.bytes;
    const double all_weight = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    std::vector<DeviceIndex> device_of(units_.units.size());
    size_t device = 0;
    double bytes = 0;
    double weight = weights_.front();  // Of the devices up to this one.
    for (const int32_t unit : order) {
      const OpUnit& made = units_.units[static_cast<size_t>(unit)];
      const double middle = bytes + made.bytes / 2;
      while (device + 1 < weights_.size() && middle * all_weight > all_bytes * weight) weight += weights_[++device];
      device_of[static_cast<size_t>(unit)] = NearestAllowed(made, device);
      bytes += made.bytes;
    }
    Placement placement;
    for (const int32_t unit : units_.unit_of_op) placement.push_back(device_of[static_cast<size_t>(unit)]);
    return placement;
  }

  static DeviceIndex NearestAllowed(const OpUnit& unit, size_t device) {
    for (size_t away = 0; away < unit.allowed.size(); ++away) {
      if (device + away < unit.allowed.size() && unit.allowed[device + away] == 1)
        return static_cast<DeviceIndex>(device + away);
      if (device >= away && unit.allowed[device - away] == 1) return static_cast<DeviceIndex>(device - away);
    }
    EMPLACE_CHECK(false);  // MakeUnits throws for such a unit.
    return 0;
  }

  const OpGraph& graph_;
  const SimGraph sim_;
  const OpUnits units_;
  std::vector<double> weights_;  // [D] relative memory
};

double DrawSlack(Rng& rng) {
  if (Chance(rng, 0.2)) return kLeastSlack;
  return LogUniform(rng, kLeastSlack, kMostSlack);
}

}  // namespace

Placement SpreadBytes(const OpGraph& graph, const Cluster& cluster) {
  return ByteSpreader(graph, cluster).Best().placement;
}

void DrawMemory(Rng& rng, const OpGraph& graph, Cluster& cluster) {
  ByteSpreader spreader(graph, cluster);
  double unit = std::max(1.0, spreader.Best().need * DrawSlack(rng));
  if (Chance(rng, 0.4)) {
    double all_bytes = 0;
    for (const Op& op : graph.ops()) all_bytes += static_cast<double>(op.AllBytes());
    unit = std::max(unit, 2 * all_bytes);
  }
  const auto unit_bytes = static_cast<int64_t>(std::ceil(unit));
  for (size_t d = 0; d < cluster.devices.size(); ++d)
    cluster.devices[d].memory_bytes = unit_bytes * static_cast<int64_t>(spreader.weight(d));
}

}  // namespace emplace
