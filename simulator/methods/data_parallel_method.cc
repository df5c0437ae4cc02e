#include "simulator/methods/data_parallel_method.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "simulator/methods/list_schedule.h"

namespace emplace {
namespace {

constexpr int32_t kUnseen = -2;
constexpr int32_t kShared = -1;

// [U] the micro-batch that all ops of a unit belong to; kShared: there is none. A graph without micro-batches is one.
std::vector<int32_t> MicrobatchesOfUnits(const ScheduleGraph& graph) {
  const auto units = static_cast<size_t>(graph.num_units());
  if (!graph.task().HasMicrobatches()) return std::vector<int32_t>(units, 0);
  std::vector<int32_t> of_unit(units, kUnseen);
  for (OpIndex op = 0; op < graph.num_ops(); ++op) {
    const int32_t own = graph.task().microbatch_of_op[static_cast<size_t>(op)];
    int32_t& unit = of_unit[static_cast<size_t>(graph.UnitOf(op))];
    unit = unit == kUnseen || unit == own ? own : kShared;
  }
  return of_unit;
}

// [K] the device of each micro-batch: where all of them end soonest, if each device ran its own one after the other.
std::vector<DeviceIndex> DevicesOfMicrobatches(const ScheduleGraph& graph, const std::vector<int32_t>& of_unit) {
  const auto devices = static_cast<size_t>(graph.num_devices());
  const auto microbatches = static_cast<size_t>(1 + *std::max_element(of_unit.begin(), of_unit.end()));
  std::vector<double> cost_us(microbatches * devices);
  for (OpIndex op = 0; op < graph.num_ops(); ++op) {
    const int32_t microbatch = of_unit[static_cast<size_t>(graph.UnitOf(op))];
    if (microbatch < 0) continue;
    for (size_t d = 0; d < devices; ++d) {
      const double us = graph.CostUs(op, static_cast<DeviceIndex>(d));
      // An op that may not run there goes elsewhere alone.
      cost_us[static_cast<size_t>(microbatch) * devices + d] += std::isnan(us) ? graph.MeanCostUs(op) : us;
    }
  }
  std::vector<double> load_us(devices);
  std::vector<DeviceIndex> device_of(microbatches);
  for (size_t m = 0; m < microbatches; ++m) {
    size_t least = 0;
    const auto end_us = [&](size_t d) { return load_us[d] + cost_us[m * devices + d]; };
    for (size_t d = 1; d < devices; ++d) {
      if (end_us(d) < end_us(least)) least = d;
    }
    load_us[least] = end_us(least);
    device_of[m] = static_cast<DeviceIndex>(least);
  }
  return device_of;
}

// Gives the units that are shared to the devices with micro-batches, so that all of these have as many bytes.
void SpreadShared(const ScheduleGraph& graph, const std::vector<int32_t>& of_unit,
                  const std::vector<DeviceIndex>& device_of_microbatch, std::vector<DeviceIndex>& wanted) {
  std::vector<DeviceIndex> used = device_of_microbatch;
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::vector<int32_t> shared;
  for (int32_t unit = 0; unit < graph.num_units(); ++unit) {
    if (of_unit[static_cast<size_t>(unit)] == kShared) shared.push_back(unit);
  }
  std::stable_sort(shared.begin(), shared.end(),
                   [&](int32_t a, int32_t b) { return graph.UnitBytes(a) > graph.UnitBytes(b); });
  std::vector<int64_t> bytes(static_cast<size_t>(graph.num_devices()));
  for (const int32_t unit : shared) {
    DeviceIndex least = -1;
    for (const DeviceIndex device : used) {
      if (!graph.UnitMayRunOn(unit, device)) continue;
      if (least < 0 || bytes[static_cast<size_t>(device)] < bytes[static_cast<size_t>(least)]) least = device;
    }
    if (least < 0) continue;  // The schedule finds a device that may.
    bytes[static_cast<size_t>(least)] += graph.UnitBytes(unit);
    wanted[static_cast<size_t>(unit)] = least;
  }
}

// Calls visit(from, to, bytes) for each tensor that ops of one unit make and those of another one read, once for each
// such pair of units.
template <typename Visit>
void ForEachTensorBetweenUnits(const ScheduleGraph& graph, Visit visit) {
  const SimGraph& sim = graph.task().sim;
  std::vector<int32_t> readers;
  for (int32_t tensor = 0; tensor < sim.tensor_consumers.rows(); ++tensor) {
    const int32_t from = graph.UnitOf(graph.ProducerOf(tensor));
    readers.clear();
    for (const OpIndex reader : sim.tensor_consumers.Row(tensor)) readers.push_back(graph.UnitOf(reader));
    std::sort(readers.begin(), readers.end());
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    for (const int32_t to : readers) {
      if (to != from) visit(from, to, sim.tensor_bytes[static_cast<size_t>(tensor)]);
    }
  }
}

// [U] for a unit of a micro-batch, the shared unit with which it exchanges most bytes; -1: there is none.
std::vector<int32_t> SharedPartners(const ScheduleGraph& graph, const std::vector<int32_t>& of_unit) {
  struct Exchange {
    int32_t unit;
    int32_t shared;
    int64_t bytes;
  };
  std::vector<Exchange> exchanges;
  ForEachTensorBetweenUnits(graph, [&](int32_t from, int32_t to, int64_t bytes) {
    const bool to_shared = of_unit[static_cast<size_t>(to)] == kShared;
    if (to_shared == (of_unit[static_cast<size_t>(from)] == kShared)) return;
    exchanges.push_back(to_shared ? Exchange{from, to, bytes} : Exchange{to, from, bytes});
  });
  std::ranges::sort(exchanges, {}, [](const Exchange& one) { return std::pair(one.unit, one.shared); });
  std::vector<int32_t> partner(of_unit.size(), -1);
  std::vector<int64_t> most(of_unit.size());
  for (auto begin = exchanges.begin(); begin != exchanges.end();) {
    int64_t bytes = 0;
    auto end = begin;
    for (; end != exchanges.end() && end->unit == begin->unit && end->shared == begin->shared; ++end)
      bytes += end->bytes;
    const auto own = static_cast<size_t>(begin->unit);
    if (bytes > most[own]) {
      most[own] = bytes;
      partner[own] = begin->shared;
    }
    begin = end;
  }
  return partner;
}

// Moves what reads a parameter and makes its gradient to the parameter, of all micro-batches, where that exchanges more
// bytes with the parameter than with the rest of its micro-batch. So are the fully connected layers of a convolutional
// network best divided (Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014).
void MoveToHeavyParameters(const ScheduleGraph& graph, const std::vector<int32_t>& of_unit,
                           std::vector<DeviceIndex>& wanted) {
  const std::vector<int32_t> partner = SharedPartners(graph, of_unit);
  std::vector<int64_t> gain_bytes(of_unit.size());  // Of the shared unit's partners, all together.
  ForEachTensorBetweenUnits(graph, [&](int32_t from, int32_t to, int64_t bytes) {
    const int32_t of_from = partner[static_cast<size_t>(from)];
    const int32_t of_to = partner[static_cast<size_t>(to)];
    if (of_from == to || of_to == from) {
      gain_bytes[static_cast<size_t>(of_from == to ? to : from)] += bytes;
      return;
    }
    if (of_from == of_to) return;
    if (of_from >= 0) gain_bytes[static_cast<size_t>(of_from)] -= bytes;
    if (of_to >= 0) gain_bytes[static_cast<size_t>(of_to)] -= bytes;
  });
  for (size_t unit = 0; unit < partner.size(); ++unit) {
    const int32_t to = partner[unit];
    if (to >= 0 && gain_bytes[static_cast<size_t>(to)] > 0) wanted[unit] = wanted[static_cast<size_t>(to)];
  }
}

}  // namespace

MethodResult DataParallelMethod::Place(const PlacementTask& task) {
  const ScheduleGraph graph(task);
  const std::vector<int32_t> of_unit = MicrobatchesOfUnits(graph);
  const std::vector<DeviceIndex> device_of_microbatch = DevicesOfMicrobatches(graph, of_unit);
  std::vector<DeviceIndex> wanted(of_unit.size());
  for (size_t unit = 0; unit < of_unit.size(); ++unit) {
    if (of_unit[unit] >= 0) wanted[unit] = device_of_microbatch[static_cast<size_t>(of_unit[unit])];
  }
  SpreadShared(graph, of_unit, device_of_microbatch, wanted);
  const auto place = [&] {
    return PlaceWithinMemory(graph, [&](UnitPlacement& placing) { return placing.PlaceAsWanted(wanted); });
  };
  MethodResult result = place();
  const std::vector<DeviceIndex> before = wanted;
  MoveToHeavyParameters(graph, of_unit, wanted);
  if (wanted == before) return result;
  MethodResult moved = place();
  const int64_t evaluations = result.evaluations + moved.evaluations;
  MethodResult& better = *moved.score < *result.score ? moved : result;
  better.evaluations = evaluations;
  return std::move(better);
}

}  // namespace emplace
