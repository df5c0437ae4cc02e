#include "tests/actor/hardware/number_step.h"

#include <utility>

#include "simulator/engine/simulator.h"
#include "tests/support/random_graph.h"

namespace emplace {
namespace {

uint64_t Mix(uint64_t hash, uint64_t number) { return (hash ^ number) * 0x9e3779b97f4a7c15U + (hash >> 29); }

OpGraph WithGivenOps(const OpGraph& graph, Rng& rng) {
  std::vector<Op> ops = graph.ops();
  for (Op& op : ops) {
    if (op.inputs.empty() && rng.UniformInt(0, 1) == 0) op.type = "emplace.parameter";
  }
  return OpGraph(graph.name(), std::move(ops));
}

}  // namespace

uint64_t OutputNumber(OpIndex op, size_t output, const std::vector<uint64_t>& inputs) {
  uint64_t hash = Mix(static_cast<uint64_t>(op) + 1, output);
  for (const uint64_t input : inputs) hash = Mix(hash, input);
  return hash;
}

std::vector<std::vector<uint64_t>> ExpectedNumbers(const OpGraph& graph) {
  std::vector<std::vector<uint64_t>> numbers(static_cast<size_t>(graph.num_ops()));
  for (const OpIndex op : graph.topological_order()) {
    std::vector<uint64_t> inputs;
    for (const OpInput& input : graph.op(op).inputs) {
      if (input.output == OpInput::kControl) continue;
      inputs.push_back(numbers[static_cast<size_t>(input.producer)][static_cast<size_t>(input.output)]);
    }
    for (size_t i = 0; i < graph.op(op).outputs.size(); ++i) {
      numbers[static_cast<size_t>(op)].push_back(OutputNumber(op, i, inputs));
    }
  }
  return numbers;
}

RandomStep::RandomStep(uint64_t seed, bool with_given)
    : rng(seed), graph(RandomGraph(rng)), cluster(RandomCluster(rng)), placement(RandomPlacement(rng, graph, cluster)) {
  if (with_given) graph = WithGivenOps(graph, rng);
  DeviceOrders orders;
  if (seed % 2 == 0) orders = RandomOrders(rng, graph, cluster, placement);
  // Any cost will do: only the order of the ops is taken from the simulation.
  std::vector<Op> ops = graph.ops();
  for (Op& op : ops) {
    op.cost = OpCost::Everywhere(1);
    op.allowed.clear();
  }
  const SimGraph sim = SimGraph::Compile(OpGraph("", std::move(ops)), cluster);
  Simulator simulator(sim, orders);
  simulator.Run(placement);
  program = CompileStep(graph, placement, simulator.StartOrders());
}

}  // namespace emplace
