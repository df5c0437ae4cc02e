// The library's functions, over the same parts as the command `emplace`.
#include <stdexcept>
#include <utility>

#include "api/library/emplace.h"
#include "api/place_graph.h"
#include "api/placing_wishes.h"
#include "api/task_inputs.h"
#include "common/error.h"
#include "common/error_place.h"
#include "common/strings.h"
#include "common/threads/subnormals.h"
#include "simulator/engine/simulator.h"
#include "simulator/graph/graph_io.h"
#include "simulator/graph/placement.h"
#include "simulator/machine/cluster.h"
#include "simulator/methods/placement_method.h"

namespace emplace {
namespace {

// Programs that use the library do not see our own class of errors.
template <typename Work>
auto WithStandardErrors(Work work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::kBadInput) throw std::invalid_argument(error.what());
    throw std::runtime_error(error.what());
  }
}

}  // namespace

Graph::Graph(std::shared_ptr<const OpGraph> graph) : graph_(std::move(graph)) {}
Graph Graph::Load(const std::string& path) {
  return WithStandardErrors([&] { return Graph(std::make_shared<const OpGraph>(LoadGraph(path))); });
}
Graph Graph::Parse(const std::string& json) {
  return WithStandardErrors([&] { return Graph(std::make_shared<const OpGraph>(ParseGraph(json, "graph"))); });
}
const std::string& Graph::name() const { return graph_->name(); }
int32_t Graph::num_ops() const { return graph_->num_ops(); }
std::vector<std::string> Graph::ops() const {
  std::vector<std::string> names;
  for (const Op& op : graph_->ops()) names.push_back(op.name);
  return names;
}

Machine::Machine(std::shared_ptr<const Cluster> cluster) : cluster_(std::move(cluster)) {}
Machine Machine::Load(const std::string& path) {
  return WithStandardErrors([&] { return Machine(std::make_shared<const Cluster>(LoadCluster(path))); });
}
Machine Machine::Parse(const std::string& yaml) {
  return WithStandardErrors([&] { return Machine(std::make_shared<const Cluster>(ParseCluster(yaml, "machine"))); });
}
std::vector<std::string> Machine::devices() const {
  std::vector<std::string> names;
  for (const Device& device : cluster_->devices) names.push_back(device.name);
  return names;
}

Plan Place(const Graph& graph, const Machine& machine, const PlaceOptions& asked) {
  return WithStandardErrors([&] {
    const SubnormalsAsZero subnormals_as_zero;  // As in the programs.
    MethodOptions options = OptionsOf({.seconds = asked.seconds,
                                       .budget = asked.budget,
                                       .threads = asked.threads,
                                       .seed = asked.seed,
                                       .order = asked.order,
                                       .method_options = asked.method_options},
                                      {asked.method});
    if (!(asked.seconds > 0) && asked.budget <= 0)
      throw BadInput(StrCat("seconds is ", asked.seconds, " and budget is ", asked.budget,
                            ", expected one of them above 0 to end the search"));
    const std::optional<PolicyWeights> policy = PolicyAsked(asked.policy);
    if (policy) UsePolicyOn(machine.internal(), "the machine", *policy, asked.policy, options);
    PlacedGraph placed = PlaceGraph(graph.internal(), machine.internal(),
                                    {.graph_source = graph.name(),
                                     .devices_source = "the machine",
                                     .method = asked.method,
                                     .max_groups = MaxGroups(asked.max_groups, policy ? &*policy : nullptr)},
                                    options);
    return Plan{.placement = std::move(placed.chosen.placement),
                .orders = std::move(placed.chosen.orders),
                .makespan_us = placed.chosen.score.makespan_us,
                .single_device_us = placed.task.single_device_us,
                .lower_bound_us = placed.lower_bound_us,
                .peak_bytes = std::move(placed.chosen.score.peak_bytes),
                .feasible = placed.chosen.score.feasible,
                .found_by = placed.found_by,
                .evaluations = placed.result.evaluations,
                .seconds = placed.seconds};
  });
}

Simulation Simulate(const Graph& graph, const Machine& machine, const std::vector<int32_t>& placement,
                    const std::vector<std::vector<int32_t>>& orders) {
  return WithStandardErrors([&] {
    const Cluster& cluster = machine.internal();
    CheckPlacement(graph.internal(), cluster, placement);
    CheckOrders(graph.internal(), cluster, placement, orders);
    const SimGraph sim = WithPlace(StrCat(graph.name(), " on the machine"),
                                   [&] { return SimGraph::Compile(graph.internal(), cluster); });
    Simulation result;
    result.peak_bytes.resize(cluster.devices.size());
    result.makespan_us = Simulator(sim, orders).MakespanAndPeak(placement, result.peak_bytes);
    result.feasible = sim.Fits(result.peak_bytes);
    return result;
  });
}

std::string ToJson(const Graph& graph, const Machine& machine, const Plan& plan) {
  return WithStandardErrors([&] {
    CheckPlacement(graph.internal(), machine.internal(), plan.placement);
    CheckOrders(graph.internal(), machine.internal(), plan.placement, plan.orders);
    return PlacementToJson(graph.internal(), machine.internal(), plan.placement, "", plan.orders);
  });
}

std::string Version() { return EMPLACE_VERSION; }

}  // namespace emplace
