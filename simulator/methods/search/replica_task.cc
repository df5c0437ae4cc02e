#include "simulator/methods/search/replica_task.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "common/error.h"
#include "simulator/engine/subgraph.h"
#include "simulator/methods/groups/spread_by_bytes.h"

namespace emplace {
namespace {

// [kept] the groups of these ops, numbered from 0 on in the same order.
std::vector<GroupIndex> GroupsOf(const std::vector<GroupIndex>& group_of_op, const std::vector<OpIndex>& kept) {
  constexpr GroupIndex kUnused = -1;
  std::vector<GroupIndex> number(static_cast<size_t>(CountOf(group_of_op)), kUnused);
  const auto number_of = [&](OpIndex op) -> GroupIndex& {
    return number[static_cast<size_t>(group_of_op[static_cast<size_t>(op)])];
  };
  for (const OpIndex op : kept) number_of(op) = 0;
  GroupIndex next = 0;
  for (GroupIndex& group : number) {
    if (group != kUnused) group = next++;
  }
  std::vector<GroupIndex> groups;
  for (const OpIndex op : kept) groups.push_back(number_of(op));
  return groups;
}

}  // namespace

ReplicaTask::ReplicaTask(const PlacementTask& whole, const Replicas& replicas) : whole_(whole), replicas_(replicas) {
  std::vector<OpIndex> kept;
  std::vector<OpIndex> number(static_cast<size_t>(whole.sim.num_ops), -1);
  for (OpIndex op = 0; op < whole.sim.num_ops; ++op) {
    if (replicas.ReplicaOf(op) > 0) continue;
    number[static_cast<size_t>(op)] = static_cast<OpIndex>(kept.size());
    kept.push_back(op);
  }
  for (OpIndex op = 0; op < whole.sim.num_ops; ++op) {
    stand_in_.push_back(number[static_cast<size_t>(replicas.StandInOf(op))]);
    EMPLACE_CHECK(stand_in_.back() >= 0);
  }
  task_.name = whole.name;
  task_.sim = Subgraph(whole.sim, kept);
  const auto devices = static_cast<size_t>(whole.sim.num_devices);
  for (size_t i = 0; i < task_.sim.cost_us.size(); ++i) {
    if (i % devices >= static_cast<size_t>(replicas.width())) task_.sim.cost_us[i] = kMayNotRunUs;
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    if (replicas.ReplicaOf(kept[i]) >= 0) continue;
    for (std::vector<int64_t>* bytes : {&task_.sim.param_bytes, &task_.sim.output_bytes, &task_.sim.staying_bytes})
      (*bytes)[i] /= replicas.count();
    for (const int32_t tensor : task_.sim.TensorsOf(static_cast<OpIndex>(i)))
      task_.sim.tensor_held_bytes[static_cast<size_t>(tensor)] /= replicas.count();
  }
  std::vector<std::vector<GroupIndex>> levels;
  for (const std::vector<GroupIndex>& level : whole.levels->All()) levels.push_back(GroupsOf(level, kept));
  task_.levels = std::make_shared<const SearchLevels>(std::move(levels));
  task_.unit_of_op = GroupsOf(whole.unit_of_op, kept);
  for (const OpIndex op : kept) {
    const auto o = static_cast<size_t>(op);
    task_.stage_of_op.push_back(whole.stage_of_op[o]);
    task_.copy_of_op.push_back(number[static_cast<size_t>(whole.copy_of_op[o])]);
    const int32_t microbatch = whole.microbatch_of_op[o];
    task_.microbatch_of_op.push_back(microbatch < 0 ? -1 : microbatch / replicas.count());
  }
  task_.device_kinds = whole.device_kinds;
}

Placement ReplicaTask::Expanded(std::span<const DeviceIndex> placement) const {
  const std::vector<GroupIndex>& unit_of_op = whole_.levels->Finest();
  const auto units = static_cast<size_t>(CountOf(unit_of_op));
  std::vector<DeviceIndex> device_of_unit(units);  // Of what is shared, first that in replica 0.
  std::vector<int64_t> unit_bytes(units);
  std::vector<uint8_t> is_shared(units);
  for (size_t op = 0; op < stand_in_.size(); ++op) {
    const auto unit = static_cast<size_t>(unit_of_op[op]);
    const int32_t replica = replicas_.ReplicaOf(static_cast<OpIndex>(op));
    is_shared[unit] = static_cast<uint8_t>(replica < 0);
    unit_bytes[unit] += whole_.sim.param_bytes[op] + whole_.sim.output_bytes[op];
    device_of_unit[unit] = std::max(replica, 0) * replicas_.width() + placement[static_cast<size_t>(stand_in_[op])];
  }
  std::vector<int32_t> shared;
  for (size_t unit = 0; unit < units; ++unit) {
    if (is_shared[unit] == 1) shared.push_back(static_cast<int32_t>(unit));
  }
  const std::vector<DeviceIndex> spread = SpreadByBytes(shared, unit_bytes, whole_.sim.num_devices, [&](int32_t unit) {
    std::vector<DeviceIndex> candidates;
    for (int32_t replica = 0; replica < replicas_.count(); ++replica)
      candidates.push_back(replica * replicas_.width() + device_of_unit[static_cast<size_t>(unit)]);
    return candidates;
  });
  Placement whole;
  for (const GroupIndex unit : unit_of_op) {
    const auto u = static_cast<size_t>(unit);
    whole.push_back(is_shared[u] == 1 ? spread[u] : device_of_unit[u]);
  }
  return whole;
}

}  // namespace emplace
