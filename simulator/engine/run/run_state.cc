#include "simulator/engine/run/run_state.h"

#include "common/error.h"
#include "simulator/engine/free_sources.h"
#include "simulator/engine/graph_paths.h"

namespace emplace {

RunState::RunState(const SimGraph& sim_graph, const DeviceOrders& orders, size_t num_link_slots, size_t most_transfers)
    : graph(sim_graph),
      num_ops(static_cast<size_t>(graph.num_ops)),
      num_devices(static_cast<size_t>(graph.num_devices)),
      link_slots(num_link_slots),
      is_free(FreeSources(sim_graph)),
      leads(num_ops),
      leading_of(num_devices, num_ops),
      events(num_devices + link_slots),
      ops(num_ops),
      started(num_devices, num_ops),
      device_free_at(num_devices),
      idle_us(num_devices),
      log(num_ops + most_transfers),
      log_us(log.size()) {
  EMPLACE_CHECK(num_devices + link_slots <= EventSlots::kMaxSlots);
  producer_of = TensorProducers(graph);
  CompileOrders(orders);
  std::vector<OpIndex> ready;
  for (size_t o = 0; o < num_ops && orders.empty(); ++o) {
    if (num_inputs[o] == 0) ready.push_back(static_cast<OpIndex>(o));
  }
  leading.reserve(ready.size());
  first_queued.reserve(ready.size());
  FindLeading(ready);
  timeline.transfers.reserve(most_transfers);
  timeline.start_us.resize(num_ops);
  timeline.finish_us.resize(num_ops);
  timeline.peak_bytes.resize(num_devices);
}

void RunState::CompileOrders(const DeviceOrders& orders) {
  num_inputs = graph.num_inputs;
  std::vector<OpIndex> next_in_order(num_ops, -1);
  for (const std::vector<OpIndex>& order : orders) {
    for (size_t i = 1; i < order.size(); ++i) {
      next_in_order[static_cast<size_t>(order[i - 1])] = order[i];
      ++num_inputs[static_cast<size_t>(order[i])];
    }
  }
  consumers.begin.assign(1, 0);
  consumers.begin.reserve(num_ops + 1);
  consumers.items.clear();
  consumers.items.reserve(graph.tensor_consumers.items.size() + num_ops);
  for (size_t o = 0; o < num_ops; ++o) {
    const auto first = static_cast<std::ptrdiff_t>(consumers.items.size());
    const std::span<const OpIndex> readers = graph.ReadersOf(static_cast<OpIndex>(o));
    consumers.items.insert(consumers.items.end(), readers.begin(), readers.end());
    if (next_in_order[o] >= 0) consumers.items.push_back(next_in_order[o]);
    std::sort(consumers.items.begin() + first, consumers.items.end());
    consumers.begin.push_back(static_cast<int32_t>(consumers.items.size()));
  }
}

void RunState::FindLeading(std::span<const OpIndex> order) {
  std::ranges::fill(leads, uint8_t{0});
  // Where transfers block devices, a source that is sent holds up its device, like any op.
  const auto last = std::ranges::find_if(
      order, [this](OpIndex op) { return graph.blocking > 0 || is_free[static_cast<size_t>(op)] == 0; });
  leading.assign(order.begin(), last);
  for (const OpIndex op : leading) leads[static_cast<size_t>(op)] = 1;
  first_queued.clear();
  for (size_t o = 0; o < num_ops; ++o) {
    if (num_inputs[o] == 0 && leads[o] == 0) first_queued.push_back(static_cast<OpIndex>(o));
  }
}

void RunState::Reset(std::span<const DeviceIndex> placement, bool keep_the_transfers) {
  EMPLACE_CHECK(placement.size() == num_ops);
  keep_transfers = keep_the_transfers;
  for (size_t o = 0; o < num_ops; ++o) ops[o] = {num_inputs[o], placement[o]};
  events.Clear();
  started.Clear();
  std::fill(device_free_at.begin(), device_free_at.end(), 0.0);
  std::fill(idle_us.begin(), idle_us.end(), 0.0);
  log_size = 0;
  leading_of.Clear();
  for (const OpIndex op : leading) {
    leading_of.Push(DeviceOf(op), op);
    timeline.start_us[static_cast<size_t>(op)] = 0;
    timeline.finish_us[static_cast<size_t>(op)] = 0;
  }
  timeline.transfers.clear();
}

RunState::History RunState::MakeHistory() const {
  return {.ops = std::vector<OpState>(num_ops),
          .device_links = started.MakeLinks(),
          .start_us = std::vector<double>(num_ops),
          .finish_us = std::vector<double>(num_ops),
          .log = std::vector<int32_t>(log.size()),
          .log_us = std::vector<double>(log.size())};
}

void RunState::SwapHistory(History& other) {
  ops.swap(other.ops);
  started.SwapLinks(other.device_links);
  timeline.start_us.swap(other.start_us);
  timeline.finish_us.swap(other.finish_us);
  log.swap(other.log);
  log_us.swap(other.log_us);
}

void RunState::TakeQueued(const History& other) {
  started.TakeQueued(other.device_links, [](OpIndex) {});
}

void RunState::TakePast(const History& other, size_t log_events) {
  std::copy_n(other.log.begin(), log_events, log.begin());
  std::copy_n(other.log_us.begin(), log_events, log_us.begin());
  started.TakePopped(other.device_links, [&](OpIndex op) {
    const auto o = static_cast<size_t>(op);
    timeline.start_us[o] = other.start_us[o];
    timeline.finish_us[o] = other.finish_us[o];
  });
}

}  // namespace emplace
