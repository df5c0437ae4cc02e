#include "simulator/engine/simulator.h"

#include <limits>

#include "common/error.h"
#include "simulator/engine/links/delayed_links.h"
#include "simulator/engine/links/destination_transfers.h"
#include "simulator/engine/links/sender_links.h"
#include "simulator/engine/links/tensor_transfers.h"
#include "simulator/engine/links/topology_links.h"
#include "simulator/engine/memory/peak_memory.h"
#include "simulator/engine/queues/arrival_run.h"
#include "simulator/engine/queues/priority_run.h"
#include "simulator/engine/queues/turn_run.h"
#include "simulator/engine/run/event_loop.h"

namespace emplace {
namespace {

template <typename Run, typename Transfers>
std::unique_ptr<EventLoop> MakeLoopOverSenders(const SimGraph& graph, const DeviceOrders& orders) {
  if (graph.transfer_latency_us > 0)
    return std::make_unique<EventLoopOver<Run, DelayedLinks<Transfers>>>(graph, orders);
  return std::make_unique<EventLoopOver<Run, SenderLinks<Transfers>>>(graph, orders);
}

template <typename Run>
std::unique_ptr<EventLoop> MakeEventLoop(const SimGraph& graph, const DeviceOrders& orders) {
  switch (graph.link_model) {
    case LinkModel::kShared:
      return MakeLoopOverSenders<Run, TensorTransfers>(graph, orders);
    case LinkModel::kPerDestination:
      return MakeLoopOverSenders<Run, DestinationTransfers>(graph, orders);
    case LinkModel::kTopology:
      if (graph.blocking > 0) return std::make_unique<EventLoopOver<TurnRun<Run>, TopologyLinks>>(graph, orders);
      return std::make_unique<EventLoopOver<Run, TopologyLinks>>(graph, orders);
  }
  CheckFailed(__FILE__, __LINE__, "link model is known", "");
}

}  // namespace

struct Simulator::Impl {
  Impl(const SimGraph& sim_graph, const DeviceOrders& orders)
      : graph(sim_graph), loop(MakeEventLoop<ArrivalRun>(graph, orders)), peak(MakePeakMemory(graph)) {}

  const SimGraph& graph;
  std::unique_ptr<EventLoop> loop;
  bool by_priority = false;
  std::unique_ptr<PeakMemory> peak;
};

Simulator::Simulator(const SimGraph& graph, const DeviceOrders& orders)
    : impl_(std::make_unique<Impl>(graph, orders)) {}
Simulator::~Simulator() = default;

void Simulator::SetPriority(std::span<const OpIndex> first_to_last) {
  if (!impl_->by_priority) {
    impl_->loop = MakeEventLoop<PriorityRun>(impl_->graph, {});
    impl_->by_priority = true;
  }
  impl_->loop->SetPriority(first_to_last);
}

double Simulator::Makespan(std::span<const DeviceIndex> placement) {
  impl_->loop->Simulate(placement, /*keep_transfers=*/false);
  return impl_->loop->state().timeline.makespan_us;
}

double Simulator::MakespanAndPeak(std::span<const DeviceIndex> placement, std::span<int64_t> peak_bytes) {
  impl_->loop->Simulate(placement, /*keep_transfers=*/false);
  const RunState& run = impl_->loop->state();
  impl_->peak->Compute(placement, run, peak_bytes);
  return run.timeline.makespan_us;
}

const Timeline& Simulator::Run(std::span<const DeviceIndex> placement) {
  impl_->loop->Simulate(placement, /*keep_transfers=*/true);
  RunState& run = impl_->loop->state();
  impl_->peak->Compute(placement, run, run.timeline.peak_bytes);
  return run.timeline;
}

DeviceOrders Simulator::StartOrders() const {
  const RunState& run = impl_->loop->state();
  DeviceOrders orders(run.num_devices);
  for (size_t device = 0; device < orders.size(); ++device) {
    run.ForEachStarted(device, [&](OpIndex op) { orders[device].push_back(op); });
  }
  return orders;
}

double Simulator::SetBase(std::span<const DeviceIndex> placement) {
  impl_->loop->SetBase(placement);
  return impl_->loop->state().timeline.makespan_us;
}

double Simulator::Try(std::span<const DeviceIndex> placement, std::span<const OpIndex> changed, double limit_us,
                      GiveUp when) {
  const bool ended = impl_->loop->Try(placement, changed, limit_us, when);
  const double makespan_us = impl_->loop->state().timeline.makespan_us;
  return ended && makespan_us <= limit_us ? makespan_us : std::numeric_limits<double>::infinity();
}

void Simulator::Peak(std::span<const DeviceIndex> placement, std::span<int64_t> peak_bytes) {
  const RunState& run = impl_->loop->state();
  impl_->peak->Compute(placement, run, peak_bytes);
}

std::span<const double> Simulator::LatestStartsUs() const { return impl_->loop->LatestStartsUs(); }

const Timeline& Simulator::timeline() const { return impl_->loop->state().timeline; }

size_t Simulator::events() const { return impl_->loop->events(); }

}  // namespace emplace
