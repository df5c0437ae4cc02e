#include "simulator/methods/groups/expert_method.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "common/sort_unique.h"
#include "simulator/engine/graph_paths.h"
#include "simulator/methods/lists/list_schedule.h"

namespace emplace {
namespace {

constexpr int32_t kSlices = 32;       // Of a graph without stages.
constexpr int64_t kMostStages = 512;  // Where a graph names more, neighbours count as one: Divide is quadratic.

// Numbers the stages that occur from 0 on, in their order; -1 stays. Returns how many there are.
int32_t Renumber(std::vector<int32_t>& stages) {
  std::vector<int32_t> known = stages;
  SortUnique(known);
  if (!known.empty() && known.front() < 0) known.erase(known.begin());
  const auto count = static_cast<int64_t>(known.size());
  const int64_t kept = std::min(kMostStages, count);
  for (int32_t& stage : stages) {
    if (stage < 0) continue;
    const auto rank = std::lower_bound(known.begin(), known.end(), stage) - known.begin();
    stage = static_cast<int32_t>(rank * kept / count);
  }
  return static_cast<int32_t>(kept);
}

// Of every op: its own stage, or the slice of its depth among as many slices as there are stages.
std::vector<int32_t> Stages(const ScheduleGraph& graph) {
  std::vector<int32_t> stages = graph.task().stage_of_op;
  const int32_t named = Renumber(stages);
  const int32_t slices = named > 0 ? named : kSlices;
  const std::vector<int32_t> depth = OpDepths(graph.task().sim);
  const int32_t deepest = *std::ranges::max_element(depth);
  for (size_t o = 0; o < stages.size(); ++o) {
    if (stages[o] < 0) stages[o] = static_cast<int32_t>(int64_t{depth[o]} * slices / (deepest + 1));
  }
  return stages;
}

// Which device each stage goes to: consecutive stretches in the order of the devices, the greatest load least.
// cost_us [S * D] of a stage on a device.
std::vector<DeviceIndex> Divide(const std::vector<double>& cost_us, size_t devices) {
  const size_t stages = cost_us.size() / devices;
  constexpr double kNever = std::numeric_limits<double>::infinity();
  // least[d][s]: the greatest load when the devices up to d have the stages before s. from[d][s]: where d's stretch
  // begins.
  std::vector<std::vector<double>> least(devices, std::vector<double>(stages + 1, kNever));
  std::vector<std::vector<size_t>> from(devices, std::vector<size_t>(stages + 1));
  for (size_t d = 0; d < devices; ++d) {
    for (size_t s = 0; s <= stages; ++s) {
      double load = 0;
      for (size_t begin = s + 1; begin-- > 0;) {
        if (begin < s) load += cost_us[begin * devices + d];
        const double before = d == 0 ? (begin == 0 ? 0 : kNever) : least[d - 1][begin];
        if (std::max(before, load) < least[d][s]) {
          least[d][s] = std::max(before, load);
          from[d][s] = begin;
        }
      }
    }
  }
  std::vector<DeviceIndex> device_of_stage(stages);
  size_t end = stages;
  for (size_t d = devices; d-- > 0;) {
    const size_t begin = from[d][end];
    std::fill(device_of_stage.begin() + static_cast<std::ptrdiff_t>(begin),
              device_of_stage.begin() + static_cast<std::ptrdiff_t>(end), static_cast<DeviceIndex>(d));
    end = begin;
  }
  return device_of_stage;
}

}  // namespace

MethodResult ExpertMethod::Place(const PlacementTask& task) {
  const ScheduleGraph graph(task, stop_);
  const auto devices = static_cast<size_t>(graph.num_devices());
  const std::vector<int32_t> stages = Stages(graph);
  const auto num_stages = static_cast<size_t>(CountOf(stages));
  const std::vector<int32_t> stage_of_unit = StageOfUnits(graph, stages);
  std::vector<double> cost_us(num_stages * devices);
  for (OpIndex op = 0; op < graph.num_ops(); ++op) {
    const auto stage = static_cast<size_t>(stage_of_unit[static_cast<size_t>(graph.UnitOf(op))]);
    for (size_t d = 0; d < devices; ++d) {
      const double us = graph.CostUs(op, static_cast<DeviceIndex>(d));
      // An op that may not run there goes elsewhere alone: its stage need not.
      cost_us[stage * devices + d] += MayRunAt(us) ? us : graph.MeanCostUs(op);
    }
  }
  const std::vector<DeviceIndex> device_of_stage = Divide(cost_us, devices);
  std::vector<DeviceIndex> wanted;
  for (const int32_t stage : stage_of_unit) wanted.push_back(device_of_stage[static_cast<size_t>(stage)]);
  return PlaceWithinMemory(graph, [&](UnitPlacement& placing) { return placing.PlaceAsWanted(wanted); });
}

}  // namespace emplace
