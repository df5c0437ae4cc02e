#include "simulator/task/coarse_task.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "simulator/engine/contraction.h"

namespace emplace {

CoarseTask::CoarseTask(const PlacementTask& whole, std::vector<std::vector<GroupIndex>> levels)
    : whole_(whole), group_of_op_(levels.front()), allowed_(whole.sim.AllowedOf(group_of_op_, CountOf(group_of_op_))) {
  Contraction contraction = Contract(whole.sim, group_of_op_);
  op_of_ = std::move(contraction.op_of);
  task_.name = whole.name;
  task_.sim = std::move(contraction.graph);
  const auto ops = static_cast<size_t>(task_.sim.num_ops);
  for (std::vector<GroupIndex>& level : levels) {
    std::vector<GroupIndex> groups(ops);
    for (size_t op = 0; op < op_of_.size(); ++op) groups[static_cast<size_t>(op_of_[op])] = level[op];
    level = std::move(groups);
  }
  task_.unit_of_op = levels.front();
  task_.levels = std::make_shared<const SearchLevels>(std::move(levels));
  task_.microbatch_of_op.assign(ops, -1);
  task_.stage_of_op.assign(ops, -1);
  task_.copy_of_op.resize(ops);
  std::iota(task_.copy_of_op.begin(), task_.copy_of_op.end(), 0);
  task_.device_kinds = whole.device_kinds;
}

Placement CoarseTask::Coarsened(std::span<const DeviceIndex> whole_placement) const {
  constexpr double kLeastUs = 1e-3;  // So that ops that cost nothing count, too.
  const auto devices = static_cast<size_t>(whole_.sim.num_devices);
  // A group may run on fewer devices than its ops do: any of these comes before all others.
  std::vector<double> work_us(allowed_.size(), -std::numeric_limits<double>::infinity());
  for (size_t i = 0; i < work_us.size(); ++i) {
    if (allowed_[i] == 1) work_us[i] = 0;
  }
  for (size_t op = 0; op < group_of_op_.size(); ++op) {
    const size_t row = static_cast<size_t>(group_of_op_[op]) * devices;
    work_us[row + static_cast<size_t>(whole_placement[op])] +=
        kLeastUs + whole_.sim.MeanBusyUs(static_cast<OpIndex>(op));
  }
  Placement placement;
  for (const GroupIndex group : task_.unit_of_op) {
    const auto row = std::span(work_us).subspan(static_cast<size_t>(group) * devices, devices);
    placement.push_back(static_cast<DeviceIndex>(std::ranges::max_element(row) - row.begin()));
  }
  return placement;
}

Placement CoarseTask::Expanded(std::span<const DeviceIndex> placement) const {
  Placement whole(op_of_.size());
  for (size_t op = 0; op < whole.size(); ++op) whole[op] = placement[static_cast<size_t>(op_of_[op])];
  return whole;
}

}  // namespace emplace
