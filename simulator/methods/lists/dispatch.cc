#include "simulator/methods/lists/dispatch.h"

#include <algorithm>

#include "common/error.h"
#include "common/sort_unique.h"

namespace emplace {
namespace {

constexpr DeviceIndex kEverywhere = -1;  // A delivery to all devices that read the tensor, but its maker's.

}  // namespace

void Dispatcher::Begun::SkipAbsent() {
  while (next < ops_left.size() && ops_left[next] == 0) ++next;
}

Dispatcher::Dispatcher(const ScheduleGraph& graph)
    : graph_(graph),
      sim_(graph.task().sim),
      events_(static_cast<size_t>(sim_.num_devices) * kSlots),
      devices_(static_cast<size_t>(sim_.num_devices)),
      orders_(devices_.size()) {}

void Dispatcher::Reset(std::span<const DeviceIndex> placement, const DispatchRule& rule) {
  placement_ = placement;
  rule_ = &rule;
  events_.Clear();
  missing_ = sim_.num_inputs;
  started_ = 0;
  may_start_.clear();
  for (std::vector<OpIndex>& order : orders_) order.clear();
  for (Device& device : devices_) {
    device.ready.clear();
    device.free_us = 0;
    device.may_start = false;
    device.link.asked.clear();
    device.link.delivered = 0;
    device.link.free_us = 0;
    device.begun = {};
  }
  for (OpIndex op = 0; op < sim_.num_ops; ++op) {
    const int32_t microbatch = MicrobatchOf(op);
    if (microbatch < 0) continue;
    std::vector<int32_t>& left = devices_[DeviceOf(op)].begun.ops_left;
    left.resize(std::max(left.size(), static_cast<size_t>(microbatch) + 1));
    ++left[static_cast<size_t>(microbatch)];
  }
  for (Device& device : devices_) device.begun.SkipAbsent();
}

void Dispatcher::Run(std::span<const DeviceIndex> placement, const DispatchRule& rule) {
  Reset(placement, rule);
  for (OpIndex op = 0; op < sim_.num_ops; ++op) {
    if (missing_[static_cast<size_t>(op)] == 0) MakeReady(op);
  }
  double now = 0;
  StartOnFreeDevices(now);
  while (started_ < sim_.num_ops) {
    if (events_.Empty()) {
      StartAnyway(now);
      continue;
    }
    now = events_.Next().time_us;
    while (!events_.Empty() && events_.Next().time_us == now) Handle(events_.Next().slot, now);
    StartOnFreeDevices(now);
  }
}

int32_t Dispatcher::MicrobatchOf(OpIndex op) const { return graph_.task().microbatch_of_op[static_cast<size_t>(op)]; }

void Dispatcher::MayStartSoon(size_t device) {
  if (devices_[device].may_start) return;
  devices_[device].may_start = true;
  may_start_.push_back(device);
}

void Dispatcher::MakeReady(OpIndex op) {
  const auto o = static_cast<size_t>(op);
  std::vector<Ready>& ready = devices_[DeviceOf(op)].ready;
  ready.push_back({rule_->rank_us[o], rule_->wave[o], op});
  std::push_heap(ready.begin(), ready.end());
  MayStartSoon(DeviceOf(op));
}

void Dispatcher::TakeInput(OpIndex op) {
  if (--missing_[static_cast<size_t>(op)] == 0) MakeReady(op);
}

// Whether the device may start its first ready op. An op of a micro-batch that has begun may start. Where one may not,
// none after it may: it begins no earlier micro-batch.
bool Dispatcher::MayStart(const Device& device, size_t index) const {
  const int32_t microbatch = MicrobatchOf(device.ready.front().op);
  const Begun& begun = device.begun;
  if (microbatch < 0 || static_cast<size_t>(microbatch) < begun.next) return true;
  return static_cast<size_t>(microbatch) == begun.next && begun.count < rule_->most_begun[index];
}

void Dispatcher::StartOnFreeDevices(double now) {
  for (const size_t index : may_start_) {
    Device& device = devices_[index];
    device.may_start = false;
    if (device.free_us <= now && !device.ready.empty() && MayStart(device, index)) StartFirst(index, now);
  }
  may_start_.clear();
}

void Dispatcher::StartAnyway(double now) {
  const auto waiting = std::ranges::find_if(devices_, [](const Device& device) { return !device.ready.empty(); });
  EMPLACE_CHECK(waiting != devices_.end());
  StartFirst(static_cast<size_t>(waiting - devices_.begin()), now);
}

void Dispatcher::StartFirst(size_t index, double now) {
  Device& device = devices_[index];
  const OpIndex op = device.ready.front().op;
  std::pop_heap(device.ready.begin(), device.ready.end());
  device.ready.pop_back();
  device.running = op;
  orders_[index].push_back(op);
  ++started_;
  const int32_t microbatch = MicrobatchOf(op);
  Begun& begun = device.begun;
  if (microbatch >= 0 && static_cast<size_t>(microbatch) >= begun.next) {
    begun.next = static_cast<size_t>(microbatch) + 1;
    begun.SkipAbsent();
    ++begun.count;
  }
  const double busy_us = graph_.CostUs(op, static_cast<DeviceIndex>(index));
  const double end_us = now + (busy_us > 0 ? busy_us - sim_.op_overhead_us : 0);
  device.free_us = now + busy_us;
  Schedule(index, kOpEnds, end_us);
  if (device.free_us > end_us) Schedule(index, kDeviceFree, device.free_us);
}

// Handles the next event.
void Dispatcher::Handle(size_t slot, double now) {
  const size_t index = slot / kSlots;
  Device& device = devices_[index];
  switch (static_cast<Slot>(slot % kSlots)) {
    case kOpEnds:
      events_.Cancel(slot);
      MayStartSoon(index);
      EndOp(device.running, now);
      break;
    case kDelivery: {
      Link& link = device.link;
      const Delivery delivery = link.asked[link.delivered++];
      if (link.delivered < link.asked.size()) {
        Schedule(index, kDelivery, link.asked[link.delivered].time_us);
      } else {
        events_.Cancel(slot);
      }
      Deliver(delivery, index);
      break;
    }
    default:
      events_.Cancel(slot);
      MayStartSoon(index);
      break;
  }
}

void Dispatcher::EndOp(OpIndex op, double now) {
  const size_t index = DeviceOf(op);
  const int32_t microbatch = MicrobatchOf(op);
  Begun& begun = devices_[index].begun;
  if (microbatch >= 0 && --begun.ops_left[static_cast<size_t>(microbatch)] == 0) --begun.count;
  for (const int32_t tensor : sim_.TensorsOf(op)) {
    elsewhere_.clear();
    for (const OpIndex reader : sim_.tensor_consumers.Row(tensor)) {
      if (DeviceOf(reader) == index) {
        TakeInput(reader);
      } else {
        elsewhere_.push_back(placement_[static_cast<size_t>(reader)]);
      }
    }
    if (!elsewhere_.empty()) Send(tensor, index, now);
  }
}

// Sends a tensor to the devices elsewhere_.
void Dispatcher::Send(int32_t tensor, size_t from, double now) {
  const bool once = sim_.link_model == LinkModel::kShared;
  if (!once) {
    SortUnique(elsewhere_);
  }
  Link& link = devices_[from].link;
  for (const DeviceIndex to : elsewhere_) {
    const double arrival = std::max(link.free_us, now) + graph_.TransferUs(tensor, static_cast<DeviceIndex>(from), to);
    link.free_us = arrival + sim_.LinkTimesOf(static_cast<DeviceIndex>(from), to).busy_after_us;
    if (link.delivered == link.asked.size()) Schedule(from, kDelivery, arrival);
    link.asked.push_back({arrival, tensor, once ? kEverywhere : to});
    if (once) break;
  }
}

void Dispatcher::Deliver(const Delivery& delivery, size_t from) {
  for (const OpIndex reader : sim_.tensor_consumers.Row(delivery.tensor)) {
    const DeviceIndex on = placement_[static_cast<size_t>(reader)];
    if (delivery.to == kEverywhere ? static_cast<size_t>(on) != from : on == delivery.to) TakeInput(reader);
  }
}

}  // namespace emplace
