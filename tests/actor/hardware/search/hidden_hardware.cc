#include "tests/actor/hardware/search/hidden_hardware.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/strings.h"
#include "simulator/methods/placement_method.h"
#include "tests/support/make_op.h"

namespace emplace {

HiddenHardware::HiddenHardware(OpGraph graph, Cluster machine, DeviceIndex reference)
    : costs_{.graph = std::move(graph), .machine = std::move(machine)},
      reference_{.placement = Placement(static_cast<size_t>(costs_.graph.num_ops()), reference), .orders = {}} {}

MeasuredStep HiddenHardware::Measure(const OrderedPlacement& placement, double slowness) const {
  const double reference_us = StepUs(reference_);
  return {.ratio = StepUs(placement) / reference_us,
          .reference_us = reference_us * slowness,
          .reference_parts = Parts(reference_.placement, slowness),
          .placement_parts = Parts(placement.placement, slowness)};
}

PartTimes HiddenHardware::Parts(const Placement& placement, double slowness) const {
  const SimGraph sim = SimGraph::Compile(costs_.graph, costs_.machine);
  PartTimes parts;
  std::set<std::pair<OpIndex, DeviceIndex>> sent;  // Each op of these graphs has one output.
  for (OpIndex op = 0; op < costs_.graph.num_ops(); ++op) {
    const DeviceIndex device = placement[static_cast<size_t>(op)];
    const std::string& kind = costs_.machine.devices[static_cast<size_t>(device)].kind;
    parts.op_us.push_back(slowness * costs_.graph.op(op).cost.On(kind).value());
    for (const OpInput& input : costs_.graph.op(op).inputs) {
      const DeviceIndex from = placement[static_cast<size_t>(input.producer)];
      if (from == device || !sent.emplace(input.producer, device).second) continue;
      const int64_t bytes = costs_.graph.op(input.producer).outputs[0].bytes;
      parts.copies.push_back({.op = input.producer,
                              .output = 0,
                              .to = device,
                              .us = slowness * sim.LinkTimesOf(from, device).TransferUs(bytes)});
    }
  }
  return parts;
}

Costs TypedCosts(Rng& rng, int32_t num_ops, LinkModel link_model) {
  std::vector<Op> ops;
  for (int32_t index = 0; index < num_ops; ++index) {
    const double us = rng.Uniform(20, 100);
    std::set<OpIndex> inputs;
    for (int64_t i = index == 0 ? 0 : rng.UniformInt(0, 2); i > 0; --i) {
      inputs.insert(static_cast<OpIndex>(rng.UniformInt(std::max(0, index - 10), index - 1)));
    }
    ops.push_back(MakeOp(StrCat("op", index), OpCost::ByKind({{"fast", us}, {"slow", 1.5 * us}}), {},
                         {rng.UniformInt(1, 4) * 1000}));
    ops.back().type = StrCat("type", rng.UniformInt(0, 4));
    for (const OpIndex input : inputs) ops.back().inputs.push_back({.producer = input, .output = 0});
  }
  Cluster machine{.devices = {{"fast:0", "fast", int64_t{1} << 40}, {"slow:0", "slow", int64_t{1} << 40}},
                  .bandwidth_bytes_per_us = 1000,
                  .transfer_latency_us = 5,
                  .link_model = link_model};
  if (link_model == LinkModel::kTopology) {
    machine.transfer_latency_us = 0;
    machine.topology = {.nodes = {"fast:0", "slow:0"},
                        .links = {{.name = "l", .a = 0, .b = 1, .bandwidth_bytes_per_us = 1000, .latency_us = 5}}};
  }
  return {.graph = OpGraph("typed", std::move(ops)), .machine = std::move(machine)};
}

Costs WithHiddenRatios(Rng& rng, const Costs& given) {
  const auto ratio = [&rng](const std::string& of) {
    return std::exp(rng.Fork(of).Uniform(-std::log(4.), std::log(4.)));
  };
  return {.graph = ScaleOps(given.graph, given.machine,
                            [&](OpIndex op, const std::string& kind) { return ratio(kind + given.graph.op(op).type); }),
          .machine = ScaleLinks(given.machine, [&](size_t /*link*/) { return ratio("links"); })};
}

Placer BudgetPlacer(int64_t budget) {
  return [budget](const PlacingRequest& request) -> std::optional<OrderedPlacement> {
    MethodOptions options;
    options.budget = budget;
    options.seed = request.seed;
    const PlacementTask task = PlacementTask::Make(request.graph, request.machine, 128);
    const MethodResult found = MakeMethod(request.method, options)->Place(task);
    if (!found.placement) return std::nullopt;
    return OrderedPlacement{.placement = *found.placement, .orders = found.orders};
  };
}

}  // namespace emplace
