// Small tasks with every op a group and a unit of its own, for examples worked out by hand.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "simulator/task/placement_task.h"
#include "tests/support/make_op.h"

namespace emplace {

// REQUIRES: may run on every device of the cluster.
inline PlacementTask HandTask(const std::vector<Op>& ops, const Cluster& cluster) {
  PlacementTask task;
  task.name = "hand";
  task.sim = SimGraph::Compile(OpGraph("hand", ops), cluster);
  task.groups.num_groups = task.sim.num_ops;
  task.groups.num_devices = cluster.num_devices();
  task.groups.cost_us.assign(ops.size(), 1.0);
  task.groups.allowed.assign(ops.size() * cluster.devices.size(), 1);
  for (int32_t o = 0; o < task.sim.num_ops; ++o) {
    task.group_of_op.push_back(o);
    task.unit_of_op.push_back(o);
    task.stage_of_op.push_back(-1);
    task.microbatch_of_op.push_back(-1);
    const OpIndex original = ops[static_cast<size_t>(o)].copy_of;
    task.copy_of_op.push_back(original == Op::kNoCopy ? o : original);
  }
  task.levels = std::make_shared<const SearchLevels>(std::vector<std::vector<GroupIndex>>{task.unit_of_op});
  for (const Device& device : cluster.devices) task.device_kinds.push_back(device.kind);
  return task;
}

// Devices of one kind, 10 bytes a us between them, no overheads.
inline Cluster HandCluster(int devices, int64_t memory_bytes = 1000000) {
  Cluster cluster;
  for (int d = 0; d < devices; ++d) cluster.devices.push_back({"d:" + std::to_string(d), "x", memory_bytes});
  cluster.bandwidth_bytes_per_us = 10;
  return cluster;
}

// K80s with links of 7.6 GB/s, for graphs of families.
inline Cluster K80Cluster(int devices) {
  Cluster cluster = HandCluster(devices, 11'000'000'000);
  for (Device& device : cluster.devices) device.kind = "k80";
  cluster.bandwidth_bytes_per_us = 7600;
  return cluster;
}

// With one output of `bytes`.
inline Op HandOp(const std::string& name, double cost_us, const std::vector<OpIndex>& inputs, int64_t bytes = 100) {
  std::vector<OpInput> first_outputs;
  for (const OpIndex input : inputs) first_outputs.push_back({input, 0});
  return MakeOp(name, cost_us, std::move(first_outputs), {bytes});
}

// a (10 us) -> b (20), c (30) -> d (10); every tensor takes 10 us to another device.
inline std::vector<Op> Diamond() {
  return {HandOp("a", 10, {}), HandOp("b", 20, {0}), HandOp("c", 30, {0}), HandOp("d", 10, {1, 2})};
}

}  // namespace emplace
