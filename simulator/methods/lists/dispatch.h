// The orders that come of a rule by which free devices choose among the ops that are ready, where a device may not
// begin any number of micro-batches. Without such a limit, a priority does (priority.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "simulator/engine/run/event_slots.h"
#include "simulator/graph/device_order.h"
#include "simulator/methods/lists/list_schedule.h"

namespace emplace {

// n ops, D devices.
struct DispatchRule {
  std::vector<int32_t> wave;    // [n] ops of lower waves go first
  std::vector<double> rank_us;  // [n] of one wave, ops of higher rank go first, then those of lower index
  // [D] the most micro-batches that a device has begun and not ended, counting only its own ops. It
  // begins micro-batches in their order, and waves must not fall from one micro-batch to the next.
  std::vector<int32_t> most_begun;
};

// Goes through a step of the placed graph as the simulator does, but whenever a device gets free, it starts the first
// ready op by the rule. If no device may start anything, for the limits are too low for the graph, the first ready op
// starts nevertheless. Times are estimates as those of list_schedule.h: of all links only the sender's own is ever
// busy. Not thread-safe. After its first run it allocates little.
class Dispatcher {
 public:
  // REQUIRES: graph outlives it.
  explicit Dispatcher(const ScheduleGraph& graph);

  // REQUIRES: placement [n] is legal.
  void Run(std::span<const DeviceIndex> placement, const DispatchRule& rule);
  // Of the last run. They can be followed (CheckOrders).
  const DeviceOrders& orders() const { return orders_; }

 private:
  struct Ready {
    double rank_us;
    int32_t wave;
    OpIndex op;
    // Whether the other one goes first. So the first one is on top of a heap.
    bool operator<(const Ready& other) const {
      if (wave != other.wave) return wave > other.wave;
      return rank_us != other.rank_us ? rank_us < other.rank_us : op > other.op;
    }
  };
  struct Delivery {
    double time_us;
    int32_t tensor;
    DeviceIndex to;
  };
  // A sending link delivers in the order in which it was asked to.
  struct Link {
    std::vector<Delivery> asked;
    size_t delivered = 0;  // Of those asked for.
    double free_us = 0;
  };
  // The micro-batches of one device.
  struct Begun {
    std::vector<int32_t> ops_left;  // By micro-batch: ops on the device that have not ended.
    size_t next = 0;                // The first micro-batch that has not begun.
    int32_t count = 0;              // Micro-batches that have begun and not ended.

    void SkipAbsent();
  };
  struct Device {
    std::vector<Ready> ready;  // A heap.
    OpIndex running = -1;      // The last op that started.
    double free_us = 0;
    bool may_start = false;  // Whether it is in may_start_.
    Link link;
    Begun begun;
  };
  // Slots of events_. Each device has one of each.
  enum Slot : size_t { kOpEnds, kDeviceFree, kDelivery, kSlots };

  void Reset(std::span<const DeviceIndex> placement, const DispatchRule& rule);
  size_t DeviceOf(OpIndex op) const { return static_cast<size_t>(placement_[static_cast<size_t>(op)]); }
  int32_t MicrobatchOf(OpIndex op) const;
  void Schedule(size_t device, Slot slot, double time_us) { events_.Schedule(device * kSlots + slot, time_us, 0); }
  void MayStartSoon(size_t device);
  void MakeReady(OpIndex op);
  void TakeInput(OpIndex op);
  bool MayStart(const Device& device, size_t index) const;
  void StartOnFreeDevices(double now);
  void StartAnyway(double now);
  void StartFirst(size_t index, double now);
  void Handle(size_t slot, double now);
  void EndOp(OpIndex op, double now);
  void Send(int32_t tensor, size_t from, double now);
  void Deliver(const Delivery& delivery, size_t from);

  const ScheduleGraph& graph_;
  const SimGraph& sim_;
  EventSlots events_;
  std::vector<int32_t> missing_;  // [n] inputs that are not there
  std::vector<Device> devices_;   // [D]
  DeviceOrders orders_;
  int32_t started_ = 0;
  std::vector<size_t> may_start_;           // Devices that have got free, or an op that is ready, at this moment.
  std::vector<DeviceIndex> elsewhere_;      // Scratch: the other devices that read a tensor.
  std::span<const DeviceIndex> placement_;  // These two are of the run.
  const DispatchRule* rule_ = nullptr;
};

}  // namespace emplace
