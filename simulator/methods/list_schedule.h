// What the list schedulers share (HEFT, Baechi's): a graph as their papers see it, and a schedule that grows op by
// op. Its times are estimates: of the links only the sender's own is ever busy, and a device runs its ops in the
// schedule's order. What is reported of a placement comes from the simulator.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "common/csr.h"
#include "simulator/methods/placement_method.h"
#include "simulator/placement.h"
#include "simulator/placement_task.h"

namespace emplace {

// n ops, D devices, U units: ops that must stay together (PlacementTask::unit_of_op).
class ScheduleGraph {
 public:
  // REQUIRES: task outlives it.
  explicit ScheduleGraph(const PlacementTask& task);

  const PlacementTask& task() const { return task_; }
  int32_t num_ops() const { return task_.sim.num_ops; }
  int32_t num_devices() const { return task_.sim.num_devices; }
  // Microseconds, with the overhead that follows; NaN where the op may not run.
  double CostUs(OpIndex op, DeviceIndex device) const;
  double MeanCostUs(OpIndex op) const {
    return mean_cost_us_[static_cast<size_t>(op)];
  }  // Over the devices that may run it.
  // From one device to another: latency and bytes over bandwidth. REQUIRES: they differ.
  double TransferUs(int32_t tensor, DeviceIndex from, DeviceIndex to) const;
  double MeanTransferUs(int32_t tensor) const;  // Over all pairs of different devices, with the overhead.

  std::span<const int32_t> InputsOf(OpIndex op) const { return inputs_.Row(op); }  // Tensors.
  OpIndex ProducerOf(int32_t tensor) const { return producer_of_[static_cast<size_t>(tensor)]; }
  std::span<const OpIndex> topological_order() const { return topological_order_; }

  int32_t UnitOf(OpIndex op) const { return task_.unit_of_op[static_cast<size_t>(op)]; }
  int32_t num_units() const { return static_cast<int32_t>(unit_bytes_.size()); }
  // What a unit adds to its device if nothing is ever released: parameters, outputs, the largest workspace.
  int64_t UnitBytes(int32_t unit) const { return unit_bytes_[static_cast<size_t>(unit)]; }
  bool UnitMayRunOn(int32_t unit, DeviceIndex device) const;

 private:
  const PlacementTask& task_;
  std::vector<double> mean_cost_us_;        // [n]
  std::vector<OpIndex> producer_of_;        // [T]
  Csr inputs_;                              // [n] tensors that the op reads
  std::vector<OpIndex> topological_order_;  // [n]
  std::vector<int64_t> unit_bytes_;         // [U]
  std::vector<uint8_t> unit_allowed_;       // [U * D]
  double mean_fixed_us_ = 0;                // Of a transfer: latency and overhead, mean over pairs.
  double mean_us_per_byte_ = 0;
};

// Not thread-safe.
class ListSchedule {
 public:
  // room_bytes [D]: how many UnitBytes each device may get. REQUIRES: graph outlives it.
  ListSchedule(const ScheduleGraph& graph, std::span<const double> room_bytes);

  // The devices that `op` may go to: that of its unit, where another op of it has been placed; else those that may run
  // the unit and have room for it; where none has, the one with most room.
  const std::vector<DeviceIndex>& Candidates(OpIndex op);

  // When all inputs of `op` could be there: those that were sent for another op arrive with that; the others queue at
  // their senders' links. REQUIRES: their producers are placed.
  double ReadyUs(OpIndex op, DeviceIndex device);
  // The earliest start there after all that the device has been given.
  double AppendedStartUs(OpIndex op, DeviceIndex device);
  // The earliest start there, before, between or after what it has been given.
  double InsertedStartUs(OpIndex op, DeviceIndex device);
  void Place(OpIndex op, DeviceIndex device, double start_us);

  // Places every op, in topological order, where `wanted` [U] says for its unit; where it may not go there, or there is
  // no room, on the first candidate.
  Placement PlaceAsWanted(std::span<const DeviceIndex> wanted);

  // REQUIRES: all ops are placed.
  Placement placement() const { return device_of_op_; }
  double finish_us(OpIndex op) const { return finish_us_[static_cast<size_t>(op)]; }
  double used_bytes(DeviceIndex device) const { return used_bytes_[static_cast<size_t>(device)]; }

 private:
  struct Busy {
    double start_us;
    double end_us;
  };

  // When `tensor` is on `device`, if it is sent over links that are free at link_free_us [D]; brings these up to date.
  double ArrivalUs(int32_t tensor, DeviceIndex device, std::vector<double>& link_free_us) const;
  // Where a tensor's arrival is kept: one transfer serves all devices, or each has its own.
  size_t ArrivalIndex(int32_t tensor, DeviceIndex device) const;

  const ScheduleGraph& graph_;
  std::vector<double> room_bytes_;           // [D]
  std::vector<double> used_bytes_;           // [D]
  std::vector<DeviceIndex> device_of_unit_;  // [U] -1: none yet
  Placement device_of_op_;                   // [n]
  std::vector<double> finish_us_;            // [n]
  std::vector<std::vector<Busy>> busy_;      // [D] by time, apart from each other
  std::vector<double> link_free_us_;         // [D] of the sending link
  std::vector<double> arrival_us_;           // By ArrivalIndex; -1: not sent
  std::vector<DeviceIndex> candidates_;      // Scratch.
  std::vector<double> scratch_link_us_;      // [D]
};

// Which ops have all their inputs made, as a schedule goes on.
class ReadyOps {
 public:
  // REQUIRES: graph outlives it.
  explicit ReadyOps(const ScheduleGraph& graph) : graph_(graph), missing_(graph.task().sim.num_inputs) {}

  std::vector<OpIndex> First() const;  // Those that read nothing.
  // Adds to `ready` what `op` was the last input of.
  void Placed(OpIndex op, std::vector<OpIndex>& ready);

 private:
  const ScheduleGraph& graph_;
  std::vector<int32_t> missing_;  // [n] inputs that are not made
};

// Schedules until the simulated peaks fit the memory: UnitBytes overstate what a device holds at a time, so the first
// try has no limit at all, and each further one has limits that follow from the peaks before. Returns the best try.
MethodResult ScheduleWithinMemory(const ScheduleGraph& graph, const std::function<Placement(ListSchedule&)>& schedule);

}  // namespace emplace
