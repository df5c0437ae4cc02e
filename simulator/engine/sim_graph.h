// A graph on a cluster as the simulator runs it: flat arrays without names. Actors receive graphs in this form, in
// which twenty graphs of 10,000 ops take a few MB.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/csr.h"
#include "common/ids.h"
#include "simulator/graph/op_graph.h"
#include "simulator/machine/cluster.h"

namespace emplace {

// What a transfer from one device to another takes.
struct LinkTimes {
  double latency_us = 0;
  double bandwidth_bytes_per_us = 0;  // With a topology, that of the route's slowest link.
  double busy_after_us = 0;  // How long its links stay busy after the delivery; negative if they are free before it.

  // From the start of a transfer of so many bytes until its delivery.
  double TransferUs(int64_t bytes) const { return latency_us + static_cast<double>(bytes) / bandwidth_bytes_per_us; }
};

// The tensors from `first` to the one before `last`. (clang 14 does not take std::views::iota.)
struct TensorRange {
  struct Iterator {
    int32_t tensor;
    int32_t operator*() const { return tensor; }
    Iterator& operator++() {
      ++tensor;
      return *this;
    }
    bool operator==(const Iterator&) const = default;
  };
  Iterator first;
  Iterator last;
  Iterator begin() const { return first; }
  Iterator end() const { return last; }
};

// n ops, D devices, T tensors. A tensor is an output that somebody reads; the control signal of an op counts as one
// more output, of 0 bytes, after its data outputs. Tensors are ordered by producer, then by output index.
struct SimGraph {
  int32_t num_ops = 0;
  int32_t num_devices = 0;
  std::vector<double> cost_us;        // [n * D] row-major; MayRunAt
  std::vector<int32_t> tensor_begin;  // [n + 1] TensorsOf
  std::vector<int64_t> tensor_bytes;  // [T]
  Csr tensor_consumers;               // [T] ops that read it, ascending, no repeats
  std::vector<int32_t> num_inputs;    // [n] distinct (tensor, consumer) pairs that end here
  // [T] bytes that the tensor takes on its op's device until its last reader there ends and it has been sent: 0 if it
  // is resident, or stays.
  std::vector<int64_t> tensor_held_bytes;
  std::vector<int64_t> output_bytes;   // [n] sum over all outputs that are not resident, read or not
  std::vector<int64_t> staying_bytes;  // [n] those of them that are held to the end of the step (OutputsStay)
  std::vector<int64_t> param_bytes;    // [n]
  std::vector<int64_t> temp_bytes;     // [n]
  // The machine.
  double op_overhead_us = 0;
  LinkModel link_model = LinkModel::kShared;
  double bandwidth_bytes_per_us = 1;  // Bandwidth of each device's sending link; unused with a topology.
  double transfer_latency_us = 0;     // Unused with a topology.
  double transfer_overhead_us = 0;
  Routes routes;        // For LinkModel::kTopology, else empty.
  double blocking = 0;  // Cluster::blocking. Above 0, link_model is kTopology, with routes of any model.
  MemoryRule memory_rule = MemoryRule::kExecutor;
  std::vector<int64_t> memory_bytes;  // [D]

  // A graph without ops on the same machine.
  SimGraph WithoutOps() const;
  // For how long an op keeps a device busy, in us: its cost, and the overhead after an op that costs something. NaN if
  // the device may not run the op.
  double BusyUs(OpIndex op, DeviceIndex device) const {
    const double us = cost_us[static_cast<size_t>(op) * static_cast<size_t>(num_devices) + static_cast<size_t>(device)];
    return us > 0 ? us + op_overhead_us : us;
  }
  bool MayRun(OpIndex op, DeviceIndex device) const { return MayRunAt(BusyUs(op, device)); }
  // Whether every op keeps the one device busy for as long as the other, or may run on neither.
  bool TakeTheSame(DeviceIndex a, DeviceIndex b) const;
  // REQUIRES: the devices differ.
  LinkTimes LinkTimesOf(DeviceIndex from, DeviceIndex to) const {
    if (link_model != LinkModel::kTopology) {
      return {transfer_latency_us, bandwidth_bytes_per_us, transfer_overhead_us - transfer_latency_us};
    }
    const size_t pair = static_cast<size_t>(from) * static_cast<size_t>(num_devices) + static_cast<size_t>(to);
    return {routes.latency_us[pair], routes.bandwidth_bytes_per_us[pair], transfer_overhead_us};
  }
  // Mean of BusyUs over the devices that may run the op; NaN if none may.
  double MeanBusyUs(OpIndex op) const;
  // [groups * D] row-major: 1 where every op of the group may run, else 0. group_of_op: [n], below `groups`.
  std::vector<uint8_t> AllowedOf(std::span<const GroupIndex> group_of_op, int32_t groups) const;
  // The tensors of the op: from tensor_begin[op] to the one before tensor_begin[op + 1].
  TensorRange TensorsOf(OpIndex op) const {
    const auto o = static_cast<size_t>(op);
    return {{tensor_begin[o]}, {tensor_begin[o + 1]}};
  }
  // All that read an output of the op, once for each output.
  std::span<const int32_t> ReadersOf(OpIndex op) const {
    const auto o = static_cast<size_t>(op);
    const auto first = static_cast<size_t>(tensor_consumers.begin[static_cast<size_t>(tensor_begin[o])]);
    const auto last = static_cast<size_t>(tensor_consumers.begin[static_cast<size_t>(tensor_begin[o + 1])]);
    return std::span(tensor_consumers.items).subspan(first, last - first);
  }
  // Upper bound of the makespan of any placement: the times of all ops and all transfers, one after the other.
  double LongestRunUs() const;
  // Whether each device's peak fits its memory. peak_bytes: [D], as Simulator gives it.
  bool Fits(std::span<const int64_t> peak_bytes) const;

  // The tensor of an op's output that somebody reads. REQUIRES: graph is what this was compiled from.
  int32_t TensorOf(const OpGraph& graph, OpIndex op, int32_t output) const;

  // Throws BadInput when all times add up to 2^63 us or more: no such run could be simulated.
  static SimGraph Compile(const OpGraph& graph, const Cluster& cluster);
  // Checks a graph that came from the network. Throws BadInput unless sizes fit, indices are in range, rows ascend,
  // numbers are finite, all times add up to less than 2^63 us, the graph has no cycle, and a topology has a route for
  // every pair of devices.
  void Validate() const;
};

}  // namespace emplace
