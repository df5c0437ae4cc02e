#include "simulator/engine/simulator.h"

#include <limits>

#include "common/error.h"
#include "simulator/engine/event_loop.h"
#include "simulator/engine/links/destination_transfers.h"
#include "simulator/engine/links/sender_links.h"
#include "simulator/engine/links/tensor_transfers.h"
#include "simulator/engine/links/topology_links.h"
#include "simulator/engine/peak_memory.h"

namespace emplace {
namespace {

std::unique_ptr<EventLoop> MakeEventLoop(const SimGraph& graph, const DeviceOrders& orders) {
  switch (graph.link_model) {
    case LinkModel::kShared:
      return std::make_unique<EventLoopOver<SenderLinks<TensorTransfers>>>(graph, orders);
    case LinkModel::kPerDestination:
      return std::make_unique<EventLoopOver<SenderLinks<DestinationTransfers>>>(graph, orders);
    case LinkModel::kTopology:
      return std::make_unique<EventLoopOver<TopologyLinks>>(graph, orders);
  }
  CheckFailed(__FILE__, __LINE__, "link model is known", "");
}

}  // namespace

struct Simulator::Impl {
  Impl(const SimGraph& graph, const DeviceOrders& orders) : loop(MakeEventLoop(graph, orders)), peak(graph) {}

  std::unique_ptr<EventLoop> loop;
  PeakMemory peak;
};

Simulator::Simulator(const SimGraph& graph, const DeviceOrders& orders)
    : impl_(std::make_unique<Impl>(graph, orders)) {}
Simulator::~Simulator() = default;

void Simulator::SetOrders(const DeviceOrders& orders) { impl_->loop->SetOrders(orders); }

double Simulator::Makespan(std::span<const DeviceIndex> placement) {
  impl_->loop->Run(placement, /*keep_transfers=*/false);
  return impl_->loop->state().timeline.makespan_us;
}

double Simulator::MakespanAndPeak(std::span<const DeviceIndex> placement, std::span<int64_t> peak_bytes) {
  impl_->loop->Run(placement, /*keep_transfers=*/false);
  const RunState& run = impl_->loop->state();
  impl_->peak.Compute(placement, run.device_queue, run.timeline, peak_bytes);
  return run.timeline.makespan_us;
}

const Timeline& Simulator::Run(std::span<const DeviceIndex> placement) {
  impl_->loop->Run(placement, /*keep_transfers=*/true);
  RunState& run = impl_->loop->state();
  impl_->peak.Compute(placement, run.device_queue, run.timeline, run.timeline.peak_bytes);
  return run.timeline;
}

DeviceOrders Simulator::StartOrders() const {
  const RunState& run = impl_->loop->state();
  DeviceOrders orders(run.num_devices);
  for (size_t device = 0; device < orders.size(); ++device) {
    run.device_queue.ForEachPushed(device, [&](OpIndex op) { orders[device].push_back(op); });
  }
  return orders;
}

double Simulator::SetBase(std::span<const DeviceIndex> placement) {
  impl_->loop->Hold(placement);
  return impl_->loop->state().timeline.makespan_us;
}

double Simulator::Try(std::span<const DeviceIndex> placement, double limit_us, GiveUp when) {
  const bool ended = impl_->loop->Try(placement, limit_us, when);
  const double makespan_us = impl_->loop->state().timeline.makespan_us;
  return ended && makespan_us <= limit_us ? makespan_us : std::numeric_limits<double>::infinity();
}

void Simulator::Peak(std::span<const DeviceIndex> placement, std::span<int64_t> peak_bytes) {
  const RunState& run = impl_->loop->state();
  impl_->peak.Compute(placement, run.device_queue, run.timeline, peak_bytes);
}

const Timeline& Simulator::timeline() const { return impl_->loop->state().timeline; }

size_t Simulator::events() const { return impl_->loop->events(); }

}  // namespace emplace
