#include "simulator/engine/sim_graph.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "common/error.h"
#include "simulator/engine/sim_graph_check.h"
#include "simulator/graph/device_costs.h"

namespace emplace {
namespace {

// The outputs of one op that somebody reads: consumers of each, the control signal last.
std::vector<std::vector<int32_t>> ConsumersByOutput(const OpGraph& graph, OpIndex producer) {
  const size_t outputs = graph.op(producer).outputs.size();
  std::vector<std::vector<int32_t>> consumers(outputs + 1);
  for (const auto& [reader, output] : graph.ReadsOf(producer)) {
    std::vector<int32_t>& row = consumers[output == OpInput::kControl ? outputs : static_cast<size_t>(output)];
    if (row.empty() || row.back() != reader) row.push_back(reader);
  }
  return consumers;
}

}  // namespace

bool SimGraph::Fits(std::span<const int64_t> peak_bytes) const {
  EMPLACE_CHECK(peak_bytes.size() == memory_bytes.size());
  return std::equal(peak_bytes.begin(), peak_bytes.end(), memory_bytes.begin(), std::less_equal<>());
}

int32_t SimGraph::TensorOf(const OpGraph& graph, OpIndex op, int32_t output) const {
  const std::vector<std::vector<int32_t>> consumers = ConsumersByOutput(graph, op);
  const auto before = std::span(consumers).first(static_cast<size_t>(output));
  const auto unread = std::ranges::count_if(before, [](const std::vector<int32_t>& row) { return row.empty(); });
  return tensor_begin[static_cast<size_t>(op)] + output - static_cast<int32_t>(unread);
}

SimGraph SimGraph::WithoutOps() const {
  SimGraph graph;
  graph.num_devices = num_devices;
  graph.tensor_begin = {0};
  graph.op_overhead_us = op_overhead_us;
  graph.link_model = link_model;
  graph.bandwidth_bytes_per_us = bandwidth_bytes_per_us;
  graph.transfer_latency_us = transfer_latency_us;
  graph.transfer_overhead_us = transfer_overhead_us;
  graph.routes = routes;
  graph.blocking = blocking;
  graph.memory_rule = memory_rule;
  graph.memory_bytes = memory_bytes;
  return graph;
}

bool SimGraph::TakeTheSame(DeviceIndex a, DeviceIndex b) const {
  for (OpIndex op = 0; op < num_ops; ++op) {
    const double a_us = BusyUs(op, a);
    const double b_us = BusyUs(op, b);
    if (a_us != b_us && (MayRunAt(a_us) || MayRunAt(b_us))) return false;
  }
  return true;
}

double SimGraph::MeanBusyUs(OpIndex op) const {
  double sum_us = 0;
  int may_run = 0;
  for (DeviceIndex device = 0; device < num_devices; ++device) {
    const double us = BusyUs(op, device);
    if (!MayRunAt(us)) continue;
    sum_us += us;
    ++may_run;
  }
  return sum_us / may_run;
}

std::vector<uint8_t> SimGraph::AllowedOf(std::span<const GroupIndex> group_of_op, int32_t groups) const {
  const auto devices = static_cast<size_t>(num_devices);
  std::vector<uint8_t> allowed(static_cast<size_t>(groups) * devices, 1);
  for (OpIndex op = 0; op < num_ops; ++op) {
    const auto group = static_cast<size_t>(group_of_op[static_cast<size_t>(op)]);
    for (DeviceIndex device = 0; device < num_devices; ++device) {
      if (!MayRun(op, device)) allowed[group * devices + static_cast<size_t>(device)] = 0;
    }
  }
  return allowed;
}

SimGraph SimGraph::Compile(const OpGraph& graph, const Cluster& cluster) {
  SimGraph sim;
  sim.num_ops = graph.num_ops();
  sim.num_devices = cluster.num_devices();
  sim.op_overhead_us = cluster.op_overhead_us;
  sim.bandwidth_bytes_per_us = cluster.bandwidth_bytes_per_us;
  sim.transfer_latency_us = cluster.transfer_latency_us;
  sim.transfer_overhead_us = cluster.transfer_overhead_us;
  sim.link_model = cluster.link_model;
  sim.memory_rule = cluster.memory_rule;
  sim.blocking = cluster.blocking;
  if (sim.link_model == LinkModel::kTopology) {
    sim.routes = FindRoutes(cluster.topology, sim.num_devices);
  } else if (sim.blocking > 0) {
    sim.link_model = LinkModel::kTopology;
    sim.routes = RoutesOfSenders(sim.num_devices, cluster.transfer_latency_us, cluster.bandwidth_bytes_per_us);
  }
  for (const Device& device : cluster.devices) sim.memory_bytes.push_back(device.memory_bytes);

  DeviceCosts costs(cluster);
  sim.num_inputs.assign(static_cast<size_t>(sim.num_ops), 0);
  sim.tensor_begin.push_back(0);
  for (OpIndex o = 0; o < sim.num_ops; ++o) {
    const Op& op = graph.op(o);
    const std::span<const double> cost_us = costs.Of(op);
    sim.cost_us.insert(sim.cost_us.end(), cost_us.begin(), cost_us.end());
    sim.output_bytes.push_back(op.OutputBytes() - op.ResidentOutputBytes());
    sim.param_bytes.push_back(op.param_bytes);
    sim.temp_bytes.push_back(op.temp_bytes);
    const bool stay = sim.memory_rule == MemoryRule::kExecutor && OutputsStay(graph, o);
    sim.staying_bytes.push_back(stay ? sim.output_bytes.back() : 0);
    const std::vector<std::vector<int32_t>> consumers = ConsumersByOutput(graph, o);
    for (size_t output = 0; output < consumers.size(); ++output) {
      if (consumers[output].empty()) continue;
      const bool is_data = output < op.outputs.size();
      sim.tensor_bytes.push_back(is_data ? op.outputs[output].bytes : 0);
      sim.tensor_held_bytes.push_back(stay || !is_data || op.outputs[output].resident ? 0 : sim.tensor_bytes.back());
      for (const int32_t consumer : consumers[output]) {
        sim.tensor_consumers.items.push_back(consumer);
        ++sim.num_inputs[static_cast<size_t>(consumer)];
      }
      sim.tensor_consumers.begin.push_back(static_cast<int32_t>(sim.tensor_consumers.items.size()));
    }
    sim.tensor_begin.push_back(static_cast<int32_t>(sim.tensor_bytes.size()));
  }
  CheckLongestRun(sim);
  return sim;
}

}  // namespace emplace
