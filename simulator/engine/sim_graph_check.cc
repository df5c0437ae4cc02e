#include "simulator/engine/sim_graph_check.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

#include "common/error.h"
#include "common/ids.h"
#include "common/strings.h"
#include "simulator/engine/graph_paths.h"

namespace emplace {
namespace {

Error ArrayError(const std::string& array, const std::string& what) {
  return BadInput(StrCat("graph array '", array, "': ", what));
}

template <typename T>
void CheckSize(const std::string& array, const std::vector<T>& values, int64_t expected) {
  if (static_cast<int64_t>(values.size()) != expected) {
    throw ArrayError(array, StrCat("has ", values.size(), " entries, expected ", expected));
  }
}

void CheckOffsets(const std::string& array, const std::vector<int32_t>& begin, int64_t rows, size_t items) {
  CheckSize(array, begin, rows + 1);
  if (begin.front() != 0 || begin.back() < 0 || static_cast<size_t>(begin.back()) != items ||
      !std::is_sorted(begin.begin(), begin.end())) {
    throw ArrayError(array, StrCat("expected offsets that rise from 0 to ", items));
  }
}

void CheckSum(const std::string& array, const std::vector<int64_t>& values) {
  int64_t total = 0;
  for (const int64_t value : values) {
    if (value < 0 || value > std::numeric_limits<int64_t>::max() / 4 - total) {
      throw ArrayError(array, StrCat("holds ", value, ", expected sizes that add up to less than 2^61"));
    }
    total += value;
  }
}

// What an op's tensors hold and what stays are parts of its outputs.
void CheckHeldBytes(const SimGraph& graph) {
  for (size_t o = 0; o < graph.output_bytes.size(); ++o) {
    int64_t left = graph.output_bytes[o] - graph.staying_bytes[o];
    if (graph.staying_bytes[o] < 0 || left < 0) {
      throw ArrayError("staying_bytes", StrCat("holds ", graph.staying_bytes[o], " for outputs of ",
                                               graph.output_bytes[o], " bytes, expected 0 to as many"));
    }
    for (const int32_t tensor : graph.TensorsOf(static_cast<OpIndex>(o))) {
      const int64_t held = graph.tensor_held_bytes[static_cast<size_t>(tensor)];
      if (held < 0 || held > left) {
        throw ArrayError("tensor_held_bytes", StrCat("holds ", held, ", expected 0 to what the op's outputs have"));
      }
      left -= held;
    }
  }
}

void CheckRate(const std::string& name, double value, double at_least) {
  if (!std::isfinite(value) || value < at_least)
    throw ArrayError(name, StrCat("is ", value, ", expected a finite number of at least ", at_least));
}

void CheckRoutes(const Routes& routes, int64_t devices) {
  if (routes.num_channels < 0 || routes.num_channels > 2 * kMaxTopologyLinks) {
    throw ArrayError("routes.num_channels",
                     StrCat("is ", routes.num_channels, ", expected 0..", 2 * kMaxTopologyLinks));
  }
  const int64_t pairs = devices * devices;
  CheckOffsets("routes.channels", routes.channels.begin, pairs, routes.channels.items.size());
  CheckSize("routes.latency_us", routes.latency_us, pairs);
  CheckSize("routes.bandwidth_bytes_per_us", routes.bandwidth_bytes_per_us, pairs);
  std::vector<int64_t> last_pair(static_cast<size_t>(routes.num_channels), -1);
  for (int64_t pair = 0; pair < pairs; ++pair) {
    const std::span<const int32_t> route = routes.channels.Row(static_cast<int32_t>(pair));
    const bool to_itself = pair % (devices + 1) == 0;
    if (route.empty() != to_itself) {
      throw ArrayError("routes.channels", StrCat("pair ", pair, " has ", route.size(), " channels, expected ",
                                                 to_itself ? "none" : "some"));
    }
    if (to_itself) continue;
    CheckRate("routes.latency_us", routes.latency_us[static_cast<size_t>(pair)], 0);
    CheckRate("routes.bandwidth_bytes_per_us", routes.bandwidth_bytes_per_us[static_cast<size_t>(pair)],
              std::numeric_limits<double>::min());
    for (const int32_t channel : route) {
      if (channel < 0 || channel >= routes.num_channels || last_pair[static_cast<size_t>(channel)] == pair) {
        throw ArrayError("routes.channels", StrCat("holds ", channel, ", expected different channels in each row"));
      }
      last_pair[static_cast<size_t>(channel)] = pair;
    }
  }
}

void CheckLinks(const SimGraph& graph) {
  CheckRate("transfer_latency_us", graph.transfer_latency_us, 0);
  CheckRate("transfer_overhead_us", graph.transfer_overhead_us, 0);
  switch (graph.link_model) {
    case LinkModel::kShared:
    case LinkModel::kPerDestination:
      CheckRate("bandwidth_bytes_per_us", graph.bandwidth_bytes_per_us, std::numeric_limits<double>::min());
      return;
    case LinkModel::kTopology:
      CheckRoutes(graph.routes, graph.num_devices);
      if (!(graph.blocking >= 0 && graph.blocking <= 1)) {
        throw ArrayError("blocking", StrCat("is ", graph.blocking, ", expected 0 to 1"));
      }
      return;
  }
  throw ArrayError("link_model", StrCat("is ", static_cast<int>(graph.link_model)));
}

void CheckAcyclic(const SimGraph& graph) {
  if (std::ssize(ReadyOrder(graph)) != graph.num_ops) throw ArrayError("tensor_consumers", "the ops form a cycle");
}

}  // namespace

double SimGraph::LongestRunUs() const {
  const auto devices = static_cast<size_t>(num_devices);
  double longest = 0;
  for (size_t o = 0; o < static_cast<size_t>(num_ops); ++o) {
    double most = 0;
    for (size_t d = 0; d < devices; ++d) most = std::fmax(most, cost_us[o * devices + d]);  // fmax skips NaN.
    longest += most + op_overhead_us;
  }
  double latency = transfer_latency_us;
  double bandwidth = bandwidth_bytes_per_us;
  if (link_model == LinkModel::kTopology) {
    bandwidth = std::numeric_limits<double>::infinity();
    for (size_t pair = 0; pair < devices * devices; ++pair) {
      if (pair % (devices + 1) == 0) continue;  // A device to itself.
      latency = std::max(latency, routes.latency_us[pair]);
      bandwidth = std::min(bandwidth, routes.bandwidth_bytes_per_us[pair]);
    }
  }
  for (size_t tensor = 0; tensor < tensor_bytes.size(); ++tensor) {
    const auto bytes = static_cast<double>(tensor_bytes[tensor]);
    const double transfer_us = latency + bytes / bandwidth + transfer_overhead_us;
    const size_t readers = tensor_consumers.Row(static_cast<int32_t>(tensor)).size();
    longest += transfer_us * (link_model == LinkModel::kShared ? 1 : static_cast<double>(readers));
  }
  return longest;
}

void CheckLongestRun(const SimGraph& graph) {
  const double longest = graph.LongestRunUs();
  if (!(longest < 0x1p63)) {
    throw BadInput(StrCat("costs, overheads and transfers add up to ", longest, " us, expected less than 2^63"));
  }
}

void SimGraph::Validate() const {
  if (num_ops < 0) throw ArrayError("num_ops", StrCat("is ", num_ops));
  if (num_devices < 1 || num_devices > kMaxDevices) {
    throw ArrayError("num_devices", StrCat("is ", num_devices, ", expected 1..", kMaxDevices));
  }
  CheckSize("cost_us", cost_us, int64_t{num_ops} * num_devices);
  for (const double cost : cost_us) {
    if (std::isinf(cost) || cost < 0) throw ArrayError("cost_us", StrCat("holds ", cost));
  }
  const auto num_tensors = static_cast<int64_t>(tensor_bytes.size());
  CheckOffsets("tensor_begin", tensor_begin, num_ops, tensor_bytes.size());
  CheckOffsets("tensor_consumers", tensor_consumers.begin, num_tensors, tensor_consumers.items.size());
  CheckSize("num_inputs", num_inputs, num_ops);
  CheckSize("output_bytes", output_bytes, num_ops);
  CheckSize("param_bytes", param_bytes, num_ops);
  CheckSize("staying_bytes", staying_bytes, num_ops);
  CheckSize("temp_bytes", temp_bytes, num_ops);
  CheckSize("tensor_held_bytes", tensor_held_bytes, num_tensors);
  CheckSize("memory_bytes", memory_bytes, num_devices);
  CheckSum("tensor_bytes", tensor_bytes);
  CheckSum("output_bytes", output_bytes);
  CheckSum("param_bytes", param_bytes);
  CheckSum("temp_bytes", temp_bytes);
  CheckHeldBytes(*this);
  for (const int64_t bytes : memory_bytes) {
    if (bytes < 0) throw ArrayError("memory_bytes", StrCat("holds ", bytes));
  }
  CheckRate("op_overhead_us", op_overhead_us, 0);
  CheckLinks(*this);

  std::vector<int32_t> inputs(static_cast<size_t>(num_ops));
  for (int32_t tensor = 0; tensor < num_tensors; ++tensor) {
    const std::span<const int32_t> row = tensor_consumers.Row(tensor);
    if (row.empty()) throw ArrayError("tensor_consumers", StrCat("tensor ", tensor, " has no consumer"));
    int32_t previous = -1;
    for (const int32_t consumer : row) {
      if (consumer <= previous || consumer >= num_ops) {
        throw ArrayError("tensor_consumers", StrCat("holds ", consumer, ", expected ascending op indices"));
      }
      previous = consumer;
      ++inputs[static_cast<size_t>(consumer)];
    }
  }
  if (inputs != num_inputs) throw ArrayError("num_inputs", "does not count the tensors that each op reads");
  CheckAcyclic(*this);
  CheckLongestRun(*this);
}

}  // namespace emplace
