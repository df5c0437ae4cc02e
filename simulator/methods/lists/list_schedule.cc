#include "simulator/methods/lists/list_schedule.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/error.h"
#include "simulator/engine/graph_paths.h"
#include "simulator/methods/memory_limits.h"
#include "simulator/methods/placement_scorer.h"

namespace emplace {
MethodResult WithinMemory(const PlacementTask& task, const PlaceInRoom& place) {
  MemoryLimits limits(task.sim.memory_bytes);
  PlacementScorer scorer(task);
  MethodResult best;
  std::vector<double> used(static_cast<size_t>(task.sim.num_devices));
  do {
    Placement placement;
    try {
      placement = place(limits.room_bytes(), used);
    } catch (const Stopped&) {
      if (!best.placement) throw;
      break;
    }
    const SearchScore score = scorer.Score(placement);
    ++best.evaluations;
    if (!best.placement || score < *best.score) {
      best.score = score;
      best.placement = std::move(placement);
    }
    if (score.bytes_over == 0) break;
  } while (limits.Lower(used, scorer.peak_bytes()));
  return best;
}

namespace {

// Units: UnitPlacement or ListSchedule.
template <typename Units>
MethodResult WithinMemoryBy(const ScheduleGraph& graph, const std::function<Placement(Units&)>& place) {
  return WithinMemory(graph.task(), [&](std::span<const double> room_bytes, std::span<double> used_bytes) {
    Units units(graph, room_bytes);
    Placement placement = place(units);
    for (size_t d = 0; d < used_bytes.size(); ++d) used_bytes[d] = units.used_bytes(static_cast<DeviceIndex>(d));
    return placement;
  });
}

}  // namespace

ScheduleGraph::ScheduleGraph(const PlacementTask& task, StopSignal stop)
    : task_(task), stop_(std::move(stop)), mean_link_(MeanLinkOf(task.sim)) {
  const SimGraph& sim = task.sim;
  const auto n = static_cast<size_t>(sim.num_ops);
  EMPLACE_CHECK(task.unit_of_op.size() == n);

  producer_of_ = TensorProducers(sim);
  inputs_ = CsrFromPairs(sim.num_ops, [&](auto visit) {
    for (int32_t tensor = 0; tensor < sim.tensor_consumers.rows(); ++tensor) {
      for (const OpIndex consumer : sim.tensor_consumers.Row(tensor)) visit(consumer, tensor);
    }
  });
  topological_order_ = TopologicalOrder(sim);
  const auto units = static_cast<size_t>(CountOf(task.unit_of_op));
  unit_bytes_.assign(units, 0);
  unit_allowed_ = sim.AllowedOf(task.unit_of_op, static_cast<int32_t>(units));
  std::vector<int64_t> workspace(units);
  for (size_t o = 0; o < n; ++o) {
    const auto unit = static_cast<size_t>(task.unit_of_op[o]);
    unit_bytes_[unit] += sim.param_bytes[o] + sim.output_bytes[o];
    workspace[unit] = std::max(workspace[unit], sim.temp_bytes[o]);
    mean_cost_us_.push_back(sim.MeanBusyUs(static_cast<OpIndex>(o)));
  }
  for (size_t unit = 0; unit < units; ++unit) unit_bytes_[unit] += workspace[unit];
}

double ScheduleGraph::CostUs(OpIndex op, DeviceIndex device) const { return task_.sim.BusyUs(op, device); }

double ScheduleGraph::TransferUs(int32_t tensor, DeviceIndex from, DeviceIndex to) const {
  return task_.sim.LinkTimesOf(from, to).TransferUs(task_.sim.tensor_bytes[static_cast<size_t>(tensor)]);
}

double ScheduleGraph::MeanTransferUs(int32_t tensor) const {
  return mean_link_.TransferUs(task_.sim.tensor_bytes[static_cast<size_t>(tensor)]);
}

double ScheduleGraph::MeanLoadUs(int32_t tensor) const {
  return mean_link_.BusyUs(task_.sim.tensor_bytes[static_cast<size_t>(tensor)]);
}

bool ScheduleGraph::UnitMayRunOn(int32_t unit, DeviceIndex device) const {
  return unit_allowed_[static_cast<size_t>(unit) * static_cast<size_t>(num_devices()) + static_cast<size_t>(device)] ==
         1;
}

std::vector<int32_t> StageOfUnits(const ScheduleGraph& graph, std::span<const int32_t> stage_of_op) {
  const auto units = static_cast<size_t>(graph.num_units());
  std::vector<int32_t> stage_of_unit(units, -1);
  std::vector<double> most_us(units, -1);
  for (OpIndex op = 0; op < graph.num_ops(); ++op) {
    const int32_t stage = stage_of_op[static_cast<size_t>(op)];
    const auto unit = static_cast<size_t>(graph.UnitOf(op));
    if (stage < 0 || graph.MeanCostUs(op) <= most_us[unit]) continue;
    most_us[unit] = graph.MeanCostUs(op);
    stage_of_unit[unit] = stage;
  }
  return stage_of_unit;
}

UnitPlacement::UnitPlacement(const ScheduleGraph& graph, std::span<const double> room_bytes)
    : graph_(graph),
      room_bytes_(room_bytes.begin(), room_bytes.end()),
      used_bytes_(room_bytes.size()),
      device_of_unit_(static_cast<size_t>(graph.num_units()), -1),
      device_of_op_(static_cast<size_t>(graph.num_ops()), -1) {}

const std::vector<DeviceIndex>& UnitPlacement::Candidates(OpIndex op) {
  graph_.stop().Poll();
  candidates_.clear();
  const int32_t unit = graph_.UnitOf(op);
  if (device_of_unit_[static_cast<size_t>(unit)] >= 0) {
    candidates_.push_back(device_of_unit_[static_cast<size_t>(unit)]);
    return candidates_;
  }
  const auto bytes = static_cast<double>(graph_.UnitBytes(unit));
  DeviceIndex roomiest = -1;
  double most_left = 0;
  for (DeviceIndex device = 0; device < graph_.num_devices(); ++device) {
    if (!graph_.UnitMayRunOn(unit, device)) continue;
    const double left = room_bytes_[static_cast<size_t>(device)] - used_bytes(device) - bytes;
    if (left >= 0) candidates_.push_back(device);
    if (roomiest < 0 || left > most_left) {
      roomiest = device;
      most_left = left;
    }
  }
  if (candidates_.empty()) candidates_.push_back(roomiest);
  return candidates_;
}

const std::vector<DeviceIndex>& UnitPlacement::CandidatesWith(OpIndex op, std::span<const OpIndex> others) {
  Candidates(op);
  if (IsDecided(op)) return candidates_;
  auto bytes = static_cast<double>(graph_.UnitBytes(graph_.UnitOf(op)));
  for (const OpIndex other : others) bytes += static_cast<double>(graph_.UnitBytes(graph_.UnitOf(other)));
  const auto has_place_for_all = [&](DeviceIndex device) {
    return used_bytes(device) + bytes <= room_bytes_[static_cast<size_t>(device)] &&
           std::ranges::all_of(others, [&](OpIndex o) { return graph_.UnitMayRunOn(graph_.UnitOf(o), device); });
  };
  if (std::ranges::any_of(candidates_, has_place_for_all))
    std::erase_if(candidates_, [&](DeviceIndex device) { return !has_place_for_all(device); });
  return candidates_;
}

void UnitPlacement::Assign(OpIndex op, DeviceIndex device) {
  const int32_t unit = graph_.UnitOf(op);
  if (device_of_unit_[static_cast<size_t>(unit)] < 0) {
    device_of_unit_[static_cast<size_t>(unit)] = device;
    used_bytes_[static_cast<size_t>(device)] += static_cast<double>(graph_.UnitBytes(unit));
  }
  device_of_op_[static_cast<size_t>(op)] = device;
}

Placement UnitPlacement::PlaceAsWanted(std::span<const DeviceIndex> wanted) {
  for (const OpIndex op : graph_.topological_order()) {
    const std::vector<DeviceIndex>& candidates = Candidates(op);
    const DeviceIndex here = wanted[static_cast<size_t>(graph_.UnitOf(op))];
    const bool possible = std::find(candidates.begin(), candidates.end(), here) != candidates.end();
    Assign(op, possible ? here : candidates.front());
  }
  return placement();
}

ListSchedule::ListSchedule(const ScheduleGraph& graph, std::span<const double> room_bytes)
    : UnitPlacement(graph, room_bytes),
      finish_us_(static_cast<size_t>(graph.num_ops())),
      busy_(room_bytes.size()),
      link_free_us_(room_bytes.size()),
      arrival_us_(graph.ArrivalIndex(static_cast<int32_t>(graph.task().sim.tensor_bytes.size()), 0), -1),
      scratch_link_us_(room_bytes.size()) {}

double ListSchedule::ArrivalUs(int32_t tensor, DeviceIndex device, std::vector<double>& link_free_us) const {
  const OpIndex producer = graph().ProducerOf(tensor);
  const DeviceIndex from = DeviceOf(producer);
  if (from == device) return finish_us(producer);
  const double sent = arrival_us_[graph().ArrivalIndex(tensor, device)];
  if (sent >= 0) return sent;
  double& link = link_free_us[static_cast<size_t>(from)];
  const double arrival = std::max(link, finish_us(producer)) + graph().TransferUs(tensor, from, device);
  link = arrival + graph().task().sim.LinkTimesOf(from, device).busy_after_us;
  return arrival;
}

double ListSchedule::ReadyUs(OpIndex op, DeviceIndex device) {
  scratch_link_us_ = link_free_us_;
  double ready_us = 0;
  for (const int32_t tensor : graph().InputsOf(op)) {
    ready_us = std::max(ready_us, ArrivalUs(tensor, device, scratch_link_us_));
  }
  return ready_us;
}

double ListSchedule::AppendedStartUs(OpIndex op, DeviceIndex device) {
  const Intervals& blocks = busy_[static_cast<size_t>(device)].blocks;
  return std::max(ReadyUs(op, device), blocks.empty() ? 0 : blocks.rbegin()->second);
}

double ListSchedule::InsertedStartUs(OpIndex op, DeviceIndex device) {
  const double cost_us = graph().CostUs(op, device);
  double start_us = ReadyUs(op, device);
  // What takes no time also fits between two ops that touch.
  const Busy& busy = busy_[static_cast<size_t>(device)];
  const Intervals& intervals = start_us + cost_us > start_us ? busy.blocks : busy.ops;
  auto next = intervals.upper_bound(start_us);
  if (next != intervals.begin() && std::prev(next)->second > start_us) --next;
  for (; next != intervals.end() && start_us + cost_us > next->first; ++next)
    start_us = std::max(start_us, next->second);
  return start_us;
}

void ListSchedule::Place(OpIndex op, DeviceIndex device, double start_us) {
  for (const int32_t tensor : graph().InputsOf(op)) {
    const bool local = DeviceOf(graph().ProducerOf(tensor)) == device;
    if (!local) arrival_us_[graph().ArrivalIndex(tensor, device)] = ArrivalUs(tensor, device, link_free_us_);
  }
  const double end_us = start_us + graph().CostUs(op, device);
  Assign(op, device);
  finish_us_[static_cast<size_t>(op)] = end_us;
  if (end_us <= start_us) return;
  Busy& busy = busy_[static_cast<size_t>(device)];
  busy.ops.emplace(start_us, end_us);
  auto next = busy.blocks.upper_bound(start_us);
  const bool touches = next != busy.blocks.end() && next->first == end_us;
  const double block_end_us = touches ? next->second : end_us;
  if (touches) next = busy.blocks.erase(next);
  if (next != busy.blocks.begin() && std::prev(next)->second == start_us) {
    std::prev(next)->second = block_end_us;
  } else {
    busy.blocks.emplace_hint(next, start_us, block_end_us);
  }
}

std::vector<OpIndex> ReadyOps::First() const {
  std::vector<OpIndex> ready;
  for (OpIndex op = 0; op < graph_.num_ops(); ++op) {
    if (missing_[static_cast<size_t>(op)] == 0) ready.push_back(op);
  }
  return ready;
}

void ReadyOps::Placed(OpIndex op, std::vector<OpIndex>& ready) {
  for (const OpIndex reader : graph_.task().sim.ReadersOf(op)) {
    if (--missing_[static_cast<size_t>(reader)] == 0) ready.push_back(reader);
  }
}

MethodResult PlaceWithinMemory(const ScheduleGraph& graph, const std::function<Placement(UnitPlacement&)>& place) {
  return WithinMemoryBy(graph, place);
}

MethodResult ScheduleWithinMemory(const ScheduleGraph& graph, const std::function<Placement(ListSchedule&)>& place) {
  return WithinMemoryBy(graph, place);
}

}  // namespace emplace
