#include "simulator/methods/groups/data_parallel_method.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "common/sort_unique.h"
#include "simulator/methods/groups/spread_by_bytes.h"
#include "simulator/methods/lists/list_schedule.h"

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
  const auto microbatches = static_cast<size_t>(CountOf(of_unit));
  std::vector<double> cost_us(microbatches * devices);
  for (OpIndex op = 0; op < graph.num_ops(); ++op) {
    const int32_t microbatch = of_unit[static_cast<size_t>(graph.UnitOf(op))];
    if (microbatch < 0) continue;
    for (size_t d = 0; d < devices; ++d) {
      const double us = graph.CostUs(op, static_cast<DeviceIndex>(d));
      // An op that may not run there goes elsewhere alone.
      cost_us[static_cast<size_t>(microbatch) * devices + d] += MayRunAt(us) ? us : graph.MeanCostUs(op);
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
  SortUnique(used);
  std::vector<int32_t> shared;
  std::vector<int64_t> bytes;
  for (int32_t unit = 0; unit < graph.num_units(); ++unit) {
    bytes.push_back(graph.UnitBytes(unit));
    if (of_unit[static_cast<size_t>(unit)] == kShared) shared.push_back(unit);
  }
  const std::vector<DeviceIndex> device_of = SpreadByBytes(shared, bytes, graph.num_devices(), [&](int32_t unit) {
    std::vector<DeviceIndex> candidates;
    std::ranges::copy_if(used, std::back_inserter(candidates),
                         [&](DeviceIndex device) { return graph.UnitMayRunOn(unit, device); });
    return candidates;
  });
  for (size_t unit = 0; unit < wanted.size(); ++unit) {
    if (device_of[unit] >= 0) wanted[unit] = device_of[unit];  // Else the schedule finds a device that may.
  }
}

// Whether units on one device that read a tensor, which is sent there once, have equal parts of that time, or each
// counts it in full.
enum class Counted : uint8_t { kInParts, kInFull };

// Calls visit(from, to, us) for each tensor that ops of one unit make and those of another one read, once for each such
// pair of units. us: the time of the transfer, or of the reader's part of it.
template <typename Visit>
void ForEachTensorBetweenUnits(const ScheduleGraph& graph, const std::vector<DeviceIndex>& device_of_unit,
                               Counted counted, Visit visit) {
  const SimGraph& sim = graph.task().sim;
  std::vector<std::pair<DeviceIndex, int32_t>> readers;  // Device and unit.
  for (int32_t tensor = 0; tensor < sim.tensor_consumers.rows(); ++tensor) {
    const int32_t from = graph.UnitOf(graph.ProducerOf(tensor));
    readers.clear();
    for (const OpIndex reader : sim.tensor_consumers.Row(tensor)) {
      const int32_t unit = graph.UnitOf(reader);
      if (unit != from) readers.emplace_back(device_of_unit[static_cast<size_t>(unit)], unit);
    }
    SortUnique(readers);
    for (auto begin = readers.begin(); begin != readers.end();) {
      const auto end =
          std::find_if(begin, readers.end(), [&](const auto& reader) { return reader.first != begin->first; });
      const double parts = counted == Counted::kInParts ? static_cast<double>(end - begin) : 1;
      for (; begin != end; ++begin) visit(from, begin->second, graph.MeanTransferUs(tensor) / parts);
    }
  }
}

// What a unit of a micro-batch exchanges with the shared unit with which it exchanges most, and with all others.
struct Exchange {
  int32_t shared = -1;  // -1: with none.
  double shared_us = 0;
  double others_us = 0;
};

// [U]; only those of the units of micro-batches mean anything.
std::vector<Exchange> ExchangesOfUnits(const ScheduleGraph& graph, const std::vector<int32_t>& of_unit,
                                       const std::vector<DeviceIndex>& device_of_unit, Counted counted) {
  struct WithShared {
    int32_t unit;
    int32_t shared;
    double us;
  };
  std::vector<WithShared> parts;
  std::vector<Exchange> exchanges(of_unit.size());
  ForEachTensorBetweenUnits(graph, device_of_unit, counted, [&](int32_t from, int32_t to, double us) {
    exchanges[static_cast<size_t>(from)].others_us += us;
    exchanges[static_cast<size_t>(to)].others_us += us;
    const bool to_shared = of_unit[static_cast<size_t>(to)] == kShared;
    if (to_shared == (of_unit[static_cast<size_t>(from)] == kShared)) return;
    parts.push_back(to_shared ? WithShared{from, to, us} : WithShared{to, from, us});
  });
  std::ranges::stable_sort(parts, {}, [](const WithShared& part) { return std::pair(part.unit, part.shared); });
  for (auto begin = parts.begin(); begin != parts.end();) {
    double us = 0;
    auto end = begin;
    for (; end != parts.end() && end->unit == begin->unit && end->shared == begin->shared; ++end) us += end->us;
    Exchange& own = exchanges[static_cast<size_t>(begin->unit)];
    if (us > own.shared_us) {
      own.shared = begin->shared;
      own.shared_us = us;
    }
    begin = end;
  }
  for (Exchange& own : exchanges) own.others_us -= own.shared_us;
  return exchanges;
}

// `wanted` with units of all micro-batches that take little time, such as embeddings, moved to the parameter that they
// read or whose gradient they make: where the transfers that this saves, shared out over the links of the devices, take
// longer than the unit's ops.
std::vector<DeviceIndex> WithLightUnitsAtParameters(const ScheduleGraph& graph, const std::vector<int32_t>& of_unit,
                                                    const std::vector<DeviceIndex>& wanted) {
  const std::vector<Exchange> exchanges = ExchangesOfUnits(graph, of_unit, wanted, Counted::kInParts);
  std::vector<double> cost_us(of_unit.size());
  for (OpIndex op = 0; op < graph.num_ops(); ++op)
    cost_us[static_cast<size_t>(graph.UnitOf(op))] += graph.MeanCostUs(op);
  std::vector<DeviceIndex> moved = wanted;
  for (size_t unit = 0; unit < exchanges.size(); ++unit) {
    const Exchange& own = exchanges[unit];
    if (of_unit[unit] == kShared || own.shared < 0) continue;
    const double saved_us = (own.shared_us - own.others_us) / graph.num_devices();
    if (saved_us > cost_us[unit]) moved[unit] = wanted[static_cast<size_t>(own.shared)];
  }
  return moved;
}

// `wanted` with the units moved to a parameter that exchange most with it, where all of these together exchange more
// with it than with the rest of their micro-batches, and each counts in full what it reads. The products of an unrolled
// layer then mostly run where the layer's parameter is. That takes longer than WithLightUnitsAtParameters, but may fit
// a shorter memory.
std::vector<DeviceIndex> WithUnitsAtHeavyParameters(const ScheduleGraph& graph, const std::vector<int32_t>& of_unit,
                                                    const std::vector<DeviceIndex>& wanted) {
  const std::vector<Exchange> exchanges = ExchangesOfUnits(graph, of_unit, wanted, Counted::kInFull);
  const auto shared_of = [&](int32_t unit) {
    return of_unit[static_cast<size_t>(unit)] == kShared ? -1 : exchanges[static_cast<size_t>(unit)].shared;
  };
  std::vector<double> gain_us(exchanges.size());  // Of all units together that would move to a shared one.
  ForEachTensorBetweenUnits(graph, wanted, Counted::kInFull, [&](int32_t from, int32_t to, double us) {
    const int32_t of_from = shared_of(from);
    const int32_t of_to = shared_of(to);
    if (of_from == to || of_to == from) {
      gain_us[static_cast<size_t>(of_from == to ? to : from)] += us;
      return;
    }
    if (of_from == of_to) return;
    if (of_from >= 0) gain_us[static_cast<size_t>(of_from)] -= us;
    if (of_to >= 0) gain_us[static_cast<size_t>(of_to)] -= us;
  });
  std::vector<DeviceIndex> moved = wanted;
  for (size_t unit = 0; unit < exchanges.size(); ++unit) {
    const int32_t to = shared_of(static_cast<int32_t>(unit));
    if (to >= 0 && gain_us[static_cast<size_t>(to)] > 0) moved[unit] = wanted[static_cast<size_t>(to)];
  }
  return moved;
}

}  // namespace

MethodResult DataParallelMethod::Place(const PlacementTask& task) {
  const ScheduleGraph graph(task, stop_);
  const std::vector<int32_t> of_unit = MicrobatchesOfUnits(graph);
  const std::vector<DeviceIndex> device_of_microbatch = DevicesOfMicrobatches(graph, of_unit);
  std::vector<DeviceIndex> wanted(of_unit.size());
  for (size_t unit = 0; unit < of_unit.size(); ++unit) {
    if (of_unit[unit] >= 0) wanted[unit] = device_of_microbatch[static_cast<size_t>(of_unit[unit])];
  }
  SpreadShared(graph, of_unit, device_of_microbatch, wanted);
  MethodResult best;
  const auto place = [&](const std::vector<DeviceIndex>& devices) {
    MethodResult result;
    try {
      result = PlaceWithinMemory(graph, [&](UnitPlacement& placing) { return placing.PlaceAsWanted(devices); });
    } catch (const Stopped&) {  // The best so far is kept.
      if (!best.placement) throw;
      return;
    }
    result.evaluations += best.evaluations;
    if (best.placement && !(*result.score < *best.score)) {
      best.evaluations = result.evaluations;
    } else {
      best = std::move(result);
    }
  };
  const auto fits = [&] { return best.score->bytes_over == 0; };
  const std::vector<DeviceIndex> light = WithLightUnitsAtParameters(graph, of_unit, wanted);
  place(light);
  if (!fits()) {
    const std::vector<DeviceIndex> heavy = WithUnitsAtHeavyParameters(graph, of_unit, wanted);
    if (heavy != light) place(heavy);
  }
  // Where memory is short, each takes several simulations, and `wanted` is rarely faster.
  const bool fits_a_short_memory = fits() && best.evaluations > 1;
  if (wanted != light && !fits_a_short_memory) place(wanted);
  return best;
}

}  // namespace emplace
