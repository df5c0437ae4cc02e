#include "simulator/simulator.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/error.h"
#include "common/trajectory.h"
#include "simulator/peak_memory.h"

namespace emplace {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int32_t kNone = -1;

// First in, first out queues over the indices [0, size), each index in at most one queue: linked through one array, so
// that no queue ever allocates.
class LinkedQueues {
 public:
  LinkedQueues(int32_t queues, int32_t size)
      : head_(static_cast<size_t>(queues)), tail_(static_cast<size_t>(queues)), next_(static_cast<size_t>(size)) {}

  void Clear() { std::fill(head_.begin(), head_.end(), kNone); }
  bool Empty(size_t queue) const { return head_[queue] == kNone; }
  void Push(size_t queue, int32_t item) {
    next_[static_cast<size_t>(item)] = kNone;
    if (head_[queue] == kNone) {
      head_[queue] = item;
    } else {
      next_[static_cast<size_t>(tail_[queue])] = item;
    }
    tail_[queue] = item;
  }
  int32_t Pop(size_t queue) {
    const int32_t item = head_[queue];
    head_[queue] = next_[static_cast<size_t>(item)];
    return item;
  }

 private:
  std::vector<int32_t> head_;
  std::vector<int32_t> tail_;
  std::vector<int32_t> next_;
};

}  // namespace

// No general priority queue is needed. A device either runs an op whose end is to come, or has a turn to come, or idles;
// a link likewise with a tensor on its way. So the next event is the earliest of 2 D slots. An op's end makes all its local
// consumers ready in one go, and a delivery all its remote ones: the rule's order, by (producer, consumer), is the slots'
// order by producer and the consumers' ascending order within.
struct Simulator::Impl {
  explicit Impl(const SimGraph& sim_graph);
  void Simulate(std::span<const DeviceIndex> placement, bool keep_transfers);

  void Schedule(size_t slot, double time, size_t rank) {
    slot_time[slot] = time;
    slot_order[slot] = rank << kSlotBits | slot;
  }
  void Cancel(size_t slot) { slot_time[slot] = kNever; }
  void ScheduleDeviceTurn(size_t device, double time) { Schedule(device, time, num_ops + num_devices + device); }
  void ScheduleLinkTurn(size_t device, double time) { Schedule(LinkSlot(device), time, num_ops + device); }
  size_t LinkSlot(size_t device) const { return num_devices + device; }
  uint64_t NextEvent(double& time) const;

  void FinishOp(size_t device, double now);
  void Deliver(size_t device, double now);
  void ServeLink(size_t device, double now, bool keep_transfers);
  void ServeDevice(size_t device, double now);
  void QueueTransfers(OpIndex op, size_t device, double now);
  void QueueOp(OpIndex op, double now);

  // Events at equal times go by rank: input-ready [0, n) by producer, links [n, n + D), devices [n + D, n + 2 D).
  // A slot's rank is kept shifted over its own index, so that the least of them names the slot as well.
  static constexpr int kSlotBits = 9;
  static_assert(2 * kMaxDevices <= 1 << kSlotBits);

  const SimGraph& graph;
  const size_t num_devices;
  const size_t num_ops;
  // The consumers of each op over all its tensors, ascending, and how many of its tensors each reads.
  Csr consumers;
  std::vector<int32_t> tensors_read;  // [consumers.items]

  std::span<const DeviceIndex> place;
  std::vector<double> slot_time;      // [2 D] devices, then links; kNever: idle
  std::vector<uint64_t> slot_order;   // [2 D] rank << kSlotBits | slot
  std::vector<double> turn_after;     // [2 D] when a running slot has its next turn
  std::vector<OpIndex> running;       // [D] op
  std::vector<int32_t> sending;       // [D] tensor
  std::vector<int32_t> missing;       // [n] inputs that are not ready
  LinkedQueues device_queue;          // Of ops.
  LinkedQueues link_queue;            // Of tensors.
  struct Outgoing {
    int32_t first_remote_consumer;
    int32_t tensor;
  };
  std::vector<Outgoing> outgoing;     // Scratch of QueueTransfers.
  std::vector<int32_t> producer_of;   // [T]
  std::vector<OpIndex> start_order;   // [n] ops as they started
  Timeline timeline;
  PeakMemory peak;
};

Simulator::Impl::Impl(const SimGraph& sim_graph)
    : graph(sim_graph),
      num_devices(static_cast<size_t>(graph.num_devices)),
      num_ops(static_cast<size_t>(graph.num_ops)),
      slot_time(2 * num_devices),
      slot_order(2 * num_devices),
      turn_after(2 * num_devices),
      running(num_devices),
      sending(num_devices),
      missing(graph.num_inputs),
      device_queue(graph.num_devices, graph.num_ops),
      link_queue(graph.num_devices, static_cast<int32_t>(graph.tensor_bytes.size())),
      peak(graph) {
  EMPLACE_CHECK(graph.num_devices <= kMaxDevices);
  size_t most_tensors = 0;
  std::vector<int32_t> readers;
  for (size_t o = 0; o < num_ops; ++o) {
    const int32_t first = graph.tensor_begin[o];
    const int32_t last = graph.tensor_begin[o + 1];
    most_tensors = std::max(most_tensors, static_cast<size_t>(last - first));
    readers.clear();
    for (int32_t tensor = first; tensor < last; ++tensor) {
      producer_of.push_back(static_cast<int32_t>(o));
      const std::span<const int32_t> row = graph.tensor_consumers.Row(tensor);
      readers.insert(readers.end(), row.begin(), row.end());
    }
    std::sort(readers.begin(), readers.end());
    for (size_t i = 0; i < readers.size(); ++i) {
      if (i > 0 && readers[i] == readers[i - 1]) {
        ++tensors_read.back();
      } else {
        consumers.items.push_back(readers[i]);
        tensors_read.push_back(1);
      }
    }
    consumers.begin.push_back(static_cast<int32_t>(consumers.items.size()));
  }
  outgoing.reserve(most_tensors);
  start_order.reserve(num_ops);
  timeline.start_us.resize(num_ops);
  timeline.finish_us.resize(num_ops);
  timeline.peak_bytes.resize(num_devices);
  timeline.transfers.reserve(graph.tensor_bytes.size());
}

// The order of the earliest event. Without branches that depend on the times: no processor could predict those.
uint64_t Simulator::Impl::NextEvent(double& time) const {
  double earliest = kNever;
  for (const double slot : slot_time) earliest = std::min(earliest, slot);
  uint64_t first = std::numeric_limits<uint64_t>::max();
  for (size_t slot = 0; slot < slot_time.size(); ++slot) {
    // All ones where the slot is later, which makes its order the greatest.
    const uint64_t later = uint64_t{0} - static_cast<uint64_t>(slot_time[slot] != earliest);
    first = std::min(first, slot_order[slot] | later);
  }
  time = earliest;
  return first;
}

void Simulator::Impl::QueueOp(OpIndex op, double now) {
  const auto device = static_cast<size_t>(place[static_cast<size_t>(op)]);
  device_queue.Push(device, op);
  // An idle device gets its turn now, after all that is ready now; a busy one has its next turn already.
  if (slot_time[device] == kNever) ScheduleDeviceTurn(device, now);
}

void Simulator::Impl::FinishOp(size_t device, double now) {
  const OpIndex op = running[device];
  bool remote = false;
  const auto first = static_cast<size_t>(consumers.begin[static_cast<size_t>(op)]);
  const auto last = static_cast<size_t>(consumers.begin[static_cast<size_t>(op) + 1]);
  for (size_t i = first; i < last; ++i) {
    const int32_t consumer = consumers.items[i];
    const bool local = static_cast<size_t>(place[static_cast<size_t>(consumer)]) == device;
    remote |= !local;
    const int32_t left = missing[static_cast<size_t>(consumer)] - (local ? tensors_read[i] : 0);
    missing[static_cast<size_t>(consumer)] = left;
    if (left == 0) QueueOp(consumer, now);  // It was not before: a consumer elsewhere still misses this very input.
  }
  if (remote) QueueTransfers(op, device, now);
  ScheduleDeviceTurn(device, turn_after[device]);
}

void Simulator::Impl::QueueTransfers(OpIndex op, size_t device, double now) {
  const int32_t first_tensor = graph.tensor_begin[static_cast<size_t>(op)];
  const int32_t last_tensor = graph.tensor_begin[static_cast<size_t>(op) + 1];
  if (last_tensor - first_tensor == 1) {
    link_queue.Push(device, first_tensor);
  } else {
    outgoing.clear();
    for (int32_t tensor = first_tensor; tensor < last_tensor; ++tensor) {
      for (const int32_t consumer : graph.tensor_consumers.Row(tensor)) {
        if (static_cast<size_t>(place[static_cast<size_t>(consumer)]) == device) continue;
        outgoing.push_back({consumer, tensor});
        break;
      }
    }
    std::sort(outgoing.begin(), outgoing.end(), [](const Outgoing& a, const Outgoing& b) {
      return std::pair(a.first_remote_consumer, a.tensor) < std::pair(b.first_remote_consumer, b.tensor);
    });
    for (const Outgoing& transfer : outgoing) link_queue.Push(device, transfer.tensor);
  }
  if (slot_time[LinkSlot(device)] == kNever) ScheduleLinkTurn(device, now);
}

void Simulator::Impl::Deliver(size_t device, double now) {
  for (const int32_t consumer : graph.tensor_consumers.Row(sending[device])) {
    const bool remote = static_cast<size_t>(place[static_cast<size_t>(consumer)]) != device;
    const int32_t left = missing[static_cast<size_t>(consumer)] - static_cast<int32_t>(remote);
    missing[static_cast<size_t>(consumer)] = left;
    if (remote && left == 0) QueueOp(consumer, now);
  }
  ScheduleLinkTurn(device, turn_after[LinkSlot(device)]);
}

void Simulator::Impl::ServeLink(size_t device, double now, bool keep_transfers) {
  if (link_queue.Empty(device)) {
    Cancel(LinkSlot(device));
    return;
  }
  const int32_t tensor = link_queue.Pop(device);
  const double delivered =
      now + static_cast<double>(graph.tensor_bytes[static_cast<size_t>(tensor)]) / graph.bandwidth_bytes_per_us;
  const double free = delivered + graph.transfer_overhead_us;
  sending[device] = tensor;
  turn_after[LinkSlot(device)] = free;
  Schedule(LinkSlot(device), delivered, static_cast<size_t>(producer_of[static_cast<size_t>(tensor)]));
  if (keep_transfers) {
    timeline.transfers.push_back({tensor, static_cast<DeviceIndex>(device), now, delivered, free});
  }
}

void Simulator::Impl::ServeDevice(size_t device, double now) {
  if (device_queue.Empty(device)) {
    Cancel(device);
    return;
  }
  const OpIndex op = device_queue.Pop(device);
  const double cost = graph.cost_us[static_cast<size_t>(op) * num_devices + device];
  const double finish = now + cost;
  timeline.start_us[static_cast<size_t>(op)] = now;
  timeline.finish_us[static_cast<size_t>(op)] = finish;
  start_order.push_back(op);
  running[device] = op;
  turn_after[device] = cost == 0 ? finish : finish + graph.op_overhead_us;
  Schedule(device, finish, static_cast<size_t>(op));
}

void Simulator::Impl::Simulate(std::span<const DeviceIndex> placement, bool keep_transfers) {
  EMPLACE_CHECK(placement.size() == num_ops);
  place = placement;
  std::copy(graph.num_inputs.begin(), graph.num_inputs.end(), missing.begin());
  std::fill(slot_time.begin(), slot_time.end(), kNever);
  device_queue.Clear();
  link_queue.Clear();
  start_order.clear();
  timeline.transfers.clear();
  for (OpIndex op = 0; op < graph.num_ops; ++op) {
    if (missing[static_cast<size_t>(op)] == 0) QueueOp(op, 0.0);
  }
  double last = 0;
  double now = 0;
  while (true) {
    const uint64_t order = NextEvent(now);
    if (now == kNever) break;
    last = now;
    const uint64_t rank = order >> kSlotBits;
    const size_t slot = order & ((1u << kSlotBits) - 1);
    const bool is_device = slot < num_devices;
    const size_t device = is_device ? slot : slot - num_devices;
    if (rank < num_ops) {
      if (is_device) {
        FinishOp(device, now);
      } else {
        Deliver(device, now);
      }
    } else if (is_device) {
      ServeDevice(device, now);
    } else {
      ServeLink(device, now, keep_transfers);
    }
  }
  EMPLACE_CHECK(start_order.size() == num_ops);
  timeline.makespan_us = last;
}

Simulator::Simulator(const SimGraph& graph) : impl_(std::make_unique<Impl>(graph)) {}
Simulator::~Simulator() = default;

double Simulator::Makespan(std::span<const DeviceIndex> placement) {
  impl_->Simulate(placement, /*keep_transfers=*/false);
  return impl_->timeline.makespan_us;
}

double Simulator::MakespanAndPeak(std::span<const DeviceIndex> placement, std::span<int64_t> peak_bytes) {
  impl_->Simulate(placement, /*keep_transfers=*/false);
  impl_->peak.Compute(placement, impl_->start_order, impl_->timeline, peak_bytes);
  return impl_->timeline.makespan_us;
}

const Timeline& Simulator::Run(std::span<const DeviceIndex> placement) {
  impl_->Simulate(placement, /*keep_transfers=*/true);
  impl_->peak.Compute(placement, impl_->start_order, impl_->timeline, impl_->timeline.peak_bytes);
  return impl_->timeline;
}

}  // namespace emplace
