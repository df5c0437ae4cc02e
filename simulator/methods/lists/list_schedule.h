// The part that list schedulers (HEFT and Baechi's) and methods that divide a graph share: a graph as their papers see
// it, a placement within the memory that grows op by op, and such a schedule. Its times are estimates: of all links
// only the sender's own is ever busy, and a device runs its ops in the schedule's order. Reported times come from the
// simulator.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "common/csr.h"
#include "simulator/engine/mean_link.h"
#include "simulator/graph/placement.h"
#include "simulator/methods/placement_method.h"
#include "simulator/task/placement_task.h"

namespace emplace {

// n ops, D devices, U units: ops that must stay together (PlacementTask::unit_of_op).
class ScheduleGraph {
 public:
  // stop: ends the placing of ops on the graph early. REQUIRES: task outlives it.
  explicit ScheduleGraph(const PlacementTask& task, StopSignal stop = {});

  const PlacementTask& task() const { return task_; }
  const StopSignal& stop() const { return stop_; }
  int32_t num_ops() const { return task_.sim.num_ops; }
  int32_t num_devices() const { return task_.sim.num_devices; }
  // The op's cost in us, with the overhead after it; NaN if the device may not run the op.
  double CostUs(OpIndex op, DeviceIndex device) const;
  // The mean of CostUs over the devices that may run the op.
  double MeanCostUs(OpIndex op) const { return mean_cost_us_[static_cast<size_t>(op)]; }
  // Time of a transfer in us: latency + bytes / bandwidth. REQUIRES: the devices differ.
  double TransferUs(int32_t tensor, DeviceIndex from, DeviceIndex to) const;
  double MeanTransferUs(int32_t tensor) const;  // Mean over all pairs of devices, with the overhead.
  double MeanLoadUs(int32_t tensor) const;      // Mean time for which a transfer keeps its links busy.
  // Index of a tensor's arrival at a device; if one transfer serves all devices, they share an index.
  size_t ArrivalIndex(int32_t tensor, DeviceIndex device) const {
    if (task_.sim.link_model == LinkModel::kShared) return static_cast<size_t>(tensor);
    return static_cast<size_t>(tensor) * static_cast<size_t>(num_devices()) + static_cast<size_t>(device);
  }

  std::span<const int32_t> InputsOf(OpIndex op) const { return inputs_.Row(op); }  // Tensors.
  OpIndex ProducerOf(int32_t tensor) const { return producer_of_[static_cast<size_t>(tensor)]; }
  std::span<const OpIndex> topological_order() const { return topological_order_; }

  int32_t UnitOf(OpIndex op) const { return task_.unit_of_op[static_cast<size_t>(op)]; }
  int32_t num_units() const { return static_cast<int32_t>(unit_bytes_.size()); }
  // Bytes of a unit on its device if nothing is ever released: parameters, outputs and the largest workspace.
  int64_t UnitBytes(int32_t unit) const { return unit_bytes_[static_cast<size_t>(unit)]; }
  bool UnitMayRunOn(int32_t unit, DeviceIndex device) const;

 private:
  const PlacementTask& task_;
  const StopSignal stop_;
  const MeanLink mean_link_;
  std::vector<double> mean_cost_us_;        // [n]
  std::vector<OpIndex> producer_of_;        // [T]
  Csr inputs_;                              // [n] tensors that the op reads
  std::vector<OpIndex> topological_order_;  // [n]
  std::vector<int64_t> unit_bytes_;         // [U]
  std::vector<uint8_t> unit_allowed_;       // [U * D]
};

// [U] the stage of each unit's most costly op that has one. stage_of_op: [n]; -1: none.
std::vector<int32_t> StageOfUnits(const ScheduleGraph& graph, std::span<const int32_t> stage_of_op);

// Where ops go, unit by unit, within limits of the memory; ops have no times. Not thread-safe.
class UnitPlacement {
 public:
  // room_bytes [D]: upper limit of the UnitBytes on each device. REQUIRES: graph outlives this.
  UnitPlacement(const ScheduleGraph& graph, std::span<const double> room_bytes);

  // The devices on which `op` may be placed. If another op of its unit has been placed, it is that device. Otherwise
  // these are the devices that may run the unit and have room for it, or, if none has room, the one with the most room.
  // Throws Stopped when placing has to end.
  const std::vector<DeviceIndex>& Candidates(OpIndex op);
  // Of these, where `op`'s unit has no device yet, those which may run these ops' units too and have room for all; if
  // there are none, Candidates(op).
  const std::vector<DeviceIndex>& CandidatesWith(OpIndex op, std::span<const OpIndex> others);
  // Puts the op, and with it its unit, on the device. (In a ListSchedule, Place does.)
  void Assign(OpIndex op, DeviceIndex device);
  // Places every op, in topological order, on the device wanted [U] for its unit, or, if that is no candidate, on the
  // first candidate.
  Placement PlaceAsWanted(std::span<const DeviceIndex> wanted);

  bool IsPlaced(OpIndex op) const { return DeviceOf(op) >= 0; }
  // Whether an op of its unit is placed, so that it has to go there.
  bool IsDecided(OpIndex op) const { return device_of_unit_[static_cast<size_t>(graph_.UnitOf(op))] >= 0; }
  // -1: it is not placed.
  DeviceIndex DeviceOf(OpIndex op) const { return device_of_op_[static_cast<size_t>(op)]; }
  // REQUIRES: all ops are placed.
  Placement placement() const { return device_of_op_; }
  double used_bytes(DeviceIndex device) const { return used_bytes_[static_cast<size_t>(device)]; }
  double room_bytes(DeviceIndex device) const { return room_bytes_[static_cast<size_t>(device)]; }

 protected:
  const ScheduleGraph& graph() const { return graph_; }

 private:
  const ScheduleGraph& graph_;
  std::vector<double> room_bytes_;           // [D]
  std::vector<double> used_bytes_;           // [D]
  std::vector<DeviceIndex> device_of_unit_;  // [U] -1: none yet
  Placement device_of_op_;                   // [n] -1: none yet
  std::vector<DeviceIndex> candidates_;      // Scratch.
};

// A placement whose ops have times. Not thread-safe.
class ListSchedule : public UnitPlacement {
 public:
  // As of UnitPlacement.
  ListSchedule(const ScheduleGraph& graph, std::span<const double> room_bytes);

  // The time in us at which all inputs of `op` can be on the device. An input that is sent for another op already
  // arrives with that transfer; the others queue at their senders' links. REQUIRES: the inputs' producers are placed.
  double ReadyUs(OpIndex op, DeviceIndex device);
  // The earliest start of `op` in us after all ops that have been placed on the device.
  double AppendedStartUs(OpIndex op, DeviceIndex device);
  // The earliest start of `op` in us before, between or after the ops that have been placed on the device.
  double InsertedStartUs(OpIndex op, DeviceIndex device);
  void Place(OpIndex op, DeviceIndex device, double start_us);

  // REQUIRES: the op was placed.
  double finish_us(OpIndex op) const { return finish_us_[static_cast<size_t>(op)]; }

 private:
  // When a device is busy: start and end in us, not overlapping.
  using Intervals = std::map<double, double>;
  struct Busy {
    Intervals ops;     // Of each op that takes any time.
    Intervals blocks;  // The same, those that touch as one: between any two there is a gap.
  };

  // The time in us at which `tensor` is on `device` if it is sent over links that are free at link_free_us [D]. Updates
  // link_free_us.
  double ArrivalUs(int32_t tensor, DeviceIndex device, std::vector<double>& link_free_us) const;

  std::vector<double> finish_us_;        // [n]
  std::vector<Busy> busy_;               // [D]
  std::vector<double> link_free_us_;     // [D] of the sending link
  std::vector<double> arrival_us_;       // By ScheduleGraph::ArrivalIndex; -1: not sent.
  std::vector<double> scratch_link_us_;  // [D]
};

// Which ops have all their inputs made, as a schedule goes on.
class ReadyOps {
 public:
  // REQUIRES: graph outlives it.
  explicit ReadyOps(const ScheduleGraph& graph) : graph_(graph), missing_(graph.task().sim.num_inputs) {}

  std::vector<OpIndex> First() const;  // Those that read nothing.
  // Adds the ops to `ready` whose last missing input was made by `op`.
  void Placed(OpIndex op, std::vector<OpIndex>& ready);

 private:
  const ScheduleGraph& graph_;
  std::vector<int32_t> missing_;  // [n] number of inputs that are not made yet
};

// Calls place(room_bytes [D], used_bytes [D]) with the limits of memory_limits.h until the simulated peaks of the
// placement of the task's ops that it returns fit the memory, or it throws Stopped, and returns the best result, with
// its score. `place` writes what it gave each device. Throws Stopped where there is no result.
using PlaceInRoom = std::function<Placement(std::span<const double> room_bytes, std::span<double> used_bytes)>;
MethodResult WithinMemory(const PlacementTask& task, const PlaceInRoom& place);
// Both call `place` with the limits of memory_limits.h until the simulated peaks fit the memory, or the graph's stop
// says so, and return the best result, with its score. Throw Stopped where there is none.
MethodResult PlaceWithinMemory(const ScheduleGraph& graph, const std::function<Placement(UnitPlacement&)>& place);
MethodResult ScheduleWithinMemory(const ScheduleGraph& graph, const std::function<Placement(ListSchedule&)>& place);

}  // namespace emplace
