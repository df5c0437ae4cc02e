#include "tests/support/random_graph.h"

#include <algorithm>
#include <numeric>

#include "common/strings.h"
#include "tests/support/make_op.h"

namespace emplace {
namespace {

// Small whole numbers make equal times common; fractions make rounding matter.
double RandomCost(Rng& rng) {
  switch (rng.UniformInt(0, 3)) {
    case 0:
      return 0;
    case 1:
      return static_cast<double>(rng.UniformInt(1, 4));
    case 2:
      return 10;
    default:
      return rng.Uniform(0.1, 50);
  }
}

// A chain of switches, a switch for each device, and further links between anything.
Topology RandomTopology(Rng& rng, const std::vector<Device>& devices) {
  Topology topology;
  for (const Device& device : devices) topology.nodes.push_back(device.name);
  const auto num_devices = static_cast<int32_t>(devices.size());
  const auto num_nodes = num_devices + static_cast<int32_t>(rng.UniformInt(1, 3));
  const auto add_link = [&](int32_t a, int32_t b) {
    topology.links.push_back({.name = StrCat("link:", topology.links.size()),
                              .a = a,
                              .b = b,
                              .bandwidth_bytes_per_us = rng.UniformInt(0, 1) == 0 ? 100 : rng.Uniform(10, 1000),
                              .latency_us = static_cast<double>(rng.UniformInt(0, 3))});
  };
  for (int32_t node = num_devices; node < num_nodes; ++node) {
    topology.nodes.push_back(StrCat("switch:", node - num_devices));
    if (node > num_devices) add_link(node, node - 1);
  }
  for (int32_t d = 0; d < num_devices; ++d)
    add_link(d, static_cast<int32_t>(rng.UniformInt(num_devices, num_nodes - 1)));
  for (int64_t extra = rng.UniformInt(0, 6); extra > 0; --extra) {
    const auto a = static_cast<int32_t>(rng.UniformInt(0, num_nodes - 1));
    const auto b = static_cast<int32_t>(rng.UniformInt(0, num_nodes - 1));
    if (a != b) add_link(a, b);
  }
  return topology;
}

// Puts ops that cost and read nothing before the others. Each is read by one to three of those.
void AddParameters(Rng& rng, int32_t count, std::vector<Op>& ops) {
  for (Op& op : ops) {
    for (OpInput& input : op.inputs) input.producer += count;
  }
  for (int32_t i = 0; i < count; ++i) {
    for (int64_t readers = rng.UniformInt(1, 3); readers > 0; --readers)
      ops[static_cast<size_t>(rng.UniformInt(0, std::ssize(ops) - 1))].inputs.push_back({i, 0});
  }
  std::vector<Op> parameters;
  for (int32_t i = 0; i < count; ++i) {
    const int64_t bytes = 100 * rng.UniformInt(1, 40);
    parameters.push_back(MakeOp(StrCat("parameter", i), 0, {}, {bytes}));
    parameters.back().param_bytes = bytes;
  }
  ops.insert(ops.begin(), parameters.begin(), parameters.end());
}

double RandomLatency(Rng& rng) {
  switch (rng.UniformInt(0, 3)) {
    case 0:
      return rng.Uniform(0.1, 60);
    case 1:
      return static_cast<double>(rng.UniformInt(1, 40));
    default:
      return 0;
  }
}

int64_t RandomBytes(Rng& rng) { return rng.UniformInt(0, 2) == 0 ? 0 : 100 * rng.UniformInt(1, 40); }

}  // namespace

OpGraph RandomGraph(Rng& rng, const RandomGraphOptions& options) {
  const auto n = static_cast<size_t>(rng.UniformInt(1, options.max_ops));
  // `rank` hides the topological order: the order of ops need not be one.
  std::vector<size_t> rank(n);
  std::iota(rank.begin(), rank.end(), size_t{0});
  if (rng.UniformInt(0, 1) == 1) Shuffle(rng, rank);
  std::vector<size_t> op_at(n);
  for (size_t o = 0; o < n; ++o) op_at[rank[o]] = o;

  std::vector<Op> ops(n);
  for (size_t o = 0; o < n; ++o) {
    Op& op = ops[o];
    op.name = StrCat("op", o);
    op.type = "test.op";
    op.cost = rng.UniformInt(0, 3) == 0 ? OpCost::ByKind({{"x", RandomCost(rng)}, {"y", RandomCost(rng)}})
                                        : OpCost::Everywhere(RandomCost(rng));
    const int64_t outputs = rng.UniformInt(0, 9) == 0 ? 0 : rng.UniformInt(1, 3);
    for (int64_t i = 0; i < outputs; ++i) op.outputs.push_back({.bytes = RandomBytes(rng), .shape = {}, .dtype = ""});
    if (rng.UniformInt(0, 2) == 0) op.param_bytes = RandomBytes(rng);
    if (rng.UniformInt(0, 2) == 0) op.temp_bytes = RandomBytes(rng);
    if (outputs > 0 && op.outputs[0].bytes <= op.param_bytes) op.outputs[0].resident = rng.UniformInt(0, 1) == 1;
  }
  for (size_t o = 0; o < n; ++o) {
    if (rank[o] == 0) continue;
    const int64_t inputs = rng.UniformInt(0, static_cast<int64_t>(2 * options.edge_density));
    for (int64_t i = 0; i < inputs; ++i) {
      const size_t producer = op_at[static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(rank[o]) - 1))];
      const auto outputs = static_cast<int64_t>(ops[producer].outputs.size());
      const bool control = outputs == 0 || rng.UniformInt(0, 5) == 0;
      const int32_t output = control ? OpInput::kControl : static_cast<int32_t>(rng.UniformInt(0, outputs - 1));
      ops[o].inputs.push_back({static_cast<OpIndex>(producer), output});
    }
  }
  if (options.parameters > 0) AddParameters(rng, options.parameters, ops);
  return OpGraph("random", std::move(ops));
}

Cluster RandomCluster(Rng& rng, const RandomGraphOptions& options) {
  Cluster cluster;
  const int64_t devices = rng.UniformInt(1, options.max_devices);
  for (int64_t d = 0; d < devices; ++d) {
    cluster.devices.push_back({StrCat("d:", d), rng.UniformInt(0, 1) == 0 ? "x" : "y", rng.UniformInt(1000, 100000)});
  }
  cluster.op_overhead_us = rng.UniformInt(0, 1) == 0 ? 0 : rng.Uniform(0, 8);
  cluster.transfer_overhead_us = rng.UniformInt(0, 1) == 0 ? 0 : static_cast<double>(rng.UniformInt(1, 30));
  cluster.bandwidth_bytes_per_us = rng.UniformInt(0, 1) == 0 ? 100 : rng.Uniform(1, 1000);
  cluster.link_model = options.link_model;
  cluster.memory_rule = rng.UniformInt(0, 1) == 0 ? MemoryRule::kExecutor : MemoryRule::kPlaceto;
  if (options.link_model != LinkModel::kTopology) cluster.transfer_latency_us = RandomLatency(rng);
  if (options.link_model == LinkModel::kTopology) cluster.topology = RandomTopology(rng, cluster.devices);
  if (options.blocking) cluster.blocking = rng.UniformInt(0, 1) == 0 ? 1 : rng.Uniform(0.1, 1);
  return cluster;
}

Placement RandomPlacement(Rng& rng, const OpGraph& graph, const Cluster& cluster) {
  Placement placement;
  for (int32_t o = 0; o < graph.num_ops(); ++o) {
    placement.push_back(static_cast<DeviceIndex>(rng.UniformInt(0, cluster.num_devices() - 1)));
  }
  return placement;
}

DeviceOrders RandomOrders(Rng& rng, const OpGraph& graph, const Cluster& cluster, const Placement& placement) {
  // A random topological order of all ops, of which each device keeps its own.
  std::vector<size_t> missing(placement.size());
  for (const int32_t consumer : graph.consumers().items) ++missing[static_cast<size_t>(consumer)];
  std::vector<OpIndex> ready;
  for (OpIndex o = 0; o < graph.num_ops(); ++o) {
    if (missing[static_cast<size_t>(o)] == 0) ready.push_back(o);
  }
  DeviceOrders orders(cluster.devices.size());
  while (!ready.empty()) {
    std::swap(ready[static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(ready.size()) - 1))], ready.back());
    const OpIndex op = ready.back();
    ready.pop_back();
    orders[static_cast<size_t>(placement[static_cast<size_t>(op)])].push_back(op);
    for (const int32_t consumer : graph.consumers().Row(op)) {
      if (--missing[static_cast<size_t>(consumer)] == 0) ready.push_back(consumer);
    }
  }
  if (rng.UniformInt(0, 2) == 0) {
    for (std::vector<OpIndex>& order : orders) {
      if (rng.UniformInt(0, 1) == 0) order.clear();
    }
  }
  return orders;
}

}  // namespace emplace
