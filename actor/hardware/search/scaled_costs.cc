#include "actor/hardware/search/scaled_costs.h"

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/rng.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr double kLinkSpread = 10;  // In units of the ops'.

}  // namespace

OpGraph ScaleOps(const OpGraph& graph, const Cluster& machine,
                 const std::function<double(OpIndex op, const std::string& kind)>& factor) {
  std::set<std::string> kinds;
  for (const Device& device : machine.devices) kinds.insert(device.kind);
  std::vector<Op> ops = graph.ops();
  for (size_t index = 0; index < ops.size(); ++index) {
    Op& op = ops[index];
    std::map<std::string, double> by_kind = op.cost.by_kind();
    for (const std::string& kind : kinds) {
      const std::optional<double> us = op.cost.On(kind);
      if (us) by_kind[kind] = *us * factor(static_cast<OpIndex>(index), kind);
    }
    op.cost = OpCost::ByKind(by_kind);
  }
  return {graph.name(), std::move(ops), graph.meta_json()};
}

Cluster ScaleLinks(const Cluster& machine, const std::function<double(size_t link)>& factor) {
  Cluster scaled = machine;
  if (scaled.link_model == LinkModel::kTopology) {
    for (size_t link = 0; link < scaled.topology.links.size(); ++link) {
      const double by = factor(link);
      scaled.topology.links[link].latency_us *= by;
      scaled.topology.links[link].bandwidth_bytes_per_us /= by;
    }
    return scaled;
  }
  const double by = factor(0);
  scaled.transfer_latency_us *= by;
  scaled.transfer_overhead_us *= by;
  scaled.bandwidth_bytes_per_us /= by;
  return scaled;
}

Costs VaryCosts(const Costs& costs, double spread, uint64_t seed) {
  EMPLACE_CHECK(spread >= 0 && spread <= 0.3);
  const Rng rng = Rng(seed).Fork("varied costs");
  const auto factor = [&](const std::string& of, double deviation) {
    return std::exp(deviation * rng.Fork(of).Normal());
  };
  const double of_links = factor("links", kLinkSpread * spread);
  return {.graph = ScaleOps(costs.graph, costs.machine,
                            [&](OpIndex op, const std::string& kind) {
                              return factor(StrCat(kind, " ", costs.graph.op(op).type), spread);
                            }),
          .machine = ScaleLinks(costs.machine, [&](size_t /*link*/) { return of_links; })};
}

}  // namespace emplace
