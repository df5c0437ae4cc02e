#include "simulator/simulator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/error.h"
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

// No general priority queue is needed. A device has at most one op whose end is still to come, a link at most one tensor
// on its way, and each has at most one event of its own pending: so the next event is the earliest of 4 D slots.
// A finished op makes all its local consumers ready in one go, and a delivered tensor all its remote ones: the rule's
// order, by (producer, consumer), is the slots' order by producer and the consumers' ascending order within.
struct Simulator::Impl {
  explicit Impl(const SimGraph& sim_graph);
  void Simulate(std::span<const DeviceIndex> placement, bool keep_transfers);

  size_t NextSlot() const;
  void FinishOp(size_t device, double now);
  void Deliver(size_t device, double now);
  void ServeLink(size_t device, double now, bool keep_transfers);
  void ServeDevice(size_t device, double now);
  void QueueTransfers(OpIndex op, size_t device, double now);
  void InputsReady(OpIndex op, int32_t count, double now);

  // Slots [0, D) an op's end, [D, 2D) a delivery, [2D, 3D) a link's turn, [3D, 4D) a device's turn: in tie order.
  size_t OfFinish(size_t device) const { return device; }
  size_t OfDelivery(size_t device) const { return num_devices + device; }
  size_t OfLink(size_t device) const { return 2 * num_devices + device; }
  size_t OfDevice(size_t device) const { return 3 * num_devices + device; }

  const SimGraph& graph;
  const size_t num_devices;
  // The consumers of each op over all its tensors, ascending, and how many of its tensors each reads.
  Csr consumers;
  std::vector<int32_t> tensors_read;  // [consumers.items]

  std::span<const DeviceIndex> place;
  std::vector<double> slot_time;      // [4 D] kNever: nothing pending
  std::vector<int32_t> slot_producer; // [2 D] op whose inputs get ready there
  std::vector<int32_t> on_link;       // [D] tensor on its way
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
      slot_time(4 * num_devices),
      slot_producer(2 * num_devices),
      on_link(num_devices),
      missing(graph.num_inputs),
      device_queue(graph.num_devices, graph.num_ops),
      link_queue(graph.num_devices, static_cast<int32_t>(graph.tensor_bytes.size())),
      peak(graph) {
  const auto n = static_cast<size_t>(graph.num_ops);
  size_t most_tensors = 0;
  for (size_t o = 0; o < n; ++o) {
    const int32_t first = graph.tensor_begin[o];
    const int32_t last = graph.tensor_begin[o + 1];
    most_tensors = std::max(most_tensors, static_cast<size_t>(last - first));
    std::vector<int32_t> readers;
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
  start_order.reserve(n);
  timeline.start_us.resize(n);
  timeline.finish_us.resize(n);
  timeline.peak_bytes.resize(num_devices);
  timeline.transfers.reserve(graph.tensor_bytes.size());
}

size_t Simulator::Impl::NextSlot() const {
  size_t best = 0;
  for (size_t slot = 1; slot < slot_time.size(); ++slot) {
    if (slot_time[slot] < slot_time[best]) best = slot;
  }
  // Equal times: slots are in the order of the rule, but for input-ready events, which go by producer.
  if (best < 2 * num_devices) {
    for (size_t slot = best + 1; slot < 2 * num_devices; ++slot) {
      if (slot_time[slot] == slot_time[best] && slot_producer[slot] < slot_producer[best]) best = slot;
    }
  }
  return best;
}

void Simulator::Impl::InputsReady(OpIndex op, int32_t count, double now) {
  int32_t& left = missing[static_cast<size_t>(op)];
  left -= count;
  if (left > 0) return;
  const auto device = static_cast<size_t>(place[static_cast<size_t>(op)]);
  device_queue.Push(device, op);
  // An idle device gets its turn now, after all that is ready now; a busy one has its next turn already.
  double& turn = slot_time[OfDevice(device)];
  if (turn == kNever) turn = now;
}

void Simulator::Impl::FinishOp(size_t device, double now) {
  const OpIndex op = slot_producer[OfFinish(device)];
  slot_time[OfFinish(device)] = kNever;
  bool remote = false;
  const auto first = static_cast<size_t>(consumers.begin[static_cast<size_t>(op)]);
  const auto last = static_cast<size_t>(consumers.begin[static_cast<size_t>(op) + 1]);
  for (size_t i = first; i < last; ++i) {
    const int32_t consumer = consumers.items[i];
    if (static_cast<size_t>(place[static_cast<size_t>(consumer)]) == device) {
      InputsReady(consumer, tensors_read[i], now);
    } else {
      remote = true;
    }
  }
  if (remote) QueueTransfers(op, device, now);
}

void Simulator::Impl::QueueTransfers(OpIndex op, size_t device, double now) {
  outgoing.clear();
  for (int32_t tensor = graph.tensor_begin[static_cast<size_t>(op)];
       tensor < graph.tensor_begin[static_cast<size_t>(op) + 1]; ++tensor) {
    for (const int32_t consumer : graph.tensor_consumers.Row(tensor)) {
      if (static_cast<size_t>(place[static_cast<size_t>(consumer)]) == device) continue;
      // By first remote consumer, then by tensor: tensors come in ascending order, so insertion keeps that.
      const auto after = std::upper_bound(outgoing.begin(), outgoing.end(), consumer, [](int32_t c, const Outgoing& other) {
        return c < other.first_remote_consumer;
      });
      outgoing.insert(after, {consumer, tensor});
      break;
    }
  }
  for (const Outgoing& transfer : outgoing) link_queue.Push(device, transfer.tensor);
  double& turn = slot_time[OfLink(device)];
  if (turn == kNever) turn = now;
}

void Simulator::Impl::Deliver(size_t device, double now) {
  slot_time[OfDelivery(device)] = kNever;
  for (const int32_t consumer : graph.tensor_consumers.Row(on_link[device])) {
    if (static_cast<size_t>(place[static_cast<size_t>(consumer)]) != device) InputsReady(consumer, 1, now);
  }
}

void Simulator::Impl::ServeLink(size_t device, double now, bool keep_transfers) {
  if (link_queue.Empty(device)) {
    slot_time[OfLink(device)] = kNever;
    return;
  }
  const int32_t tensor = link_queue.Pop(device);
  const double delivered =
      now + static_cast<double>(graph.tensor_bytes[static_cast<size_t>(tensor)]) / graph.bandwidth_bytes_per_us;
  on_link[device] = tensor;
  slot_producer[OfDelivery(device)] = producer_of[static_cast<size_t>(tensor)];
  slot_time[OfDelivery(device)] = delivered;
  slot_time[OfLink(device)] = delivered + graph.transfer_overhead_us;
  if (keep_transfers) {
    timeline.transfers.push_back(
        {tensor, static_cast<DeviceIndex>(device), now, delivered, delivered + graph.transfer_overhead_us});
  }
}

void Simulator::Impl::ServeDevice(size_t device, double now) {
  if (device_queue.Empty(device)) {
    slot_time[OfDevice(device)] = kNever;
    return;
  }
  const OpIndex op = device_queue.Pop(device);
  const double cost = graph.cost_us[static_cast<size_t>(op) * num_devices + device];
  const double finish = now + cost;
  timeline.start_us[static_cast<size_t>(op)] = now;
  timeline.finish_us[static_cast<size_t>(op)] = finish;
  start_order.push_back(op);
  slot_producer[OfFinish(device)] = op;
  slot_time[OfFinish(device)] = finish;
  slot_time[OfDevice(device)] = cost == 0 ? finish : finish + graph.op_overhead_us;
}

void Simulator::Impl::Simulate(std::span<const DeviceIndex> placement, bool keep_transfers) {
  EMPLACE_CHECK(placement.size() == static_cast<size_t>(graph.num_ops));
  place = placement;
  std::copy(graph.num_inputs.begin(), graph.num_inputs.end(), missing.begin());
  std::fill(slot_time.begin(), slot_time.end(), kNever);
  device_queue.Clear();
  link_queue.Clear();
  start_order.clear();
  timeline.transfers.clear();
  for (OpIndex op = 0; op < graph.num_ops; ++op) {
    if (missing[static_cast<size_t>(op)] == 0) InputsReady(op, 0, 0.0);
  }
  double now = 0;
  while (true) {
    const size_t slot = NextSlot();
    if (slot_time[slot] == kNever) break;
    now = slot_time[slot];
    const size_t device = slot % num_devices;
    switch (slot / num_devices) {
      case 0: FinishOp(device, now); break;
      case 1: Deliver(device, now); break;
      case 2: ServeLink(device, now, keep_transfers); break;
      default: ServeDevice(device, now); break;
    }
  }
  EMPLACE_CHECK(start_order.size() == placement.size());
  timeline.makespan_us = now;
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
