#include "simulator/run_state.h"

#include <algorithm>

#include "common/error.h"

namespace emplace {

RunState::RunState(const SimGraph& sim_graph, size_t num_link_slots)
    : graph(sim_graph),
      num_ops(static_cast<size_t>(graph.num_ops)),
      num_devices(static_cast<size_t>(graph.num_devices)),
      link_slots(num_link_slots),
      events(num_devices + link_slots),
      missing(graph.num_inputs),
      device_queue(num_devices, num_ops) {
  EMPLACE_CHECK(num_devices + link_slots <= EventSlots::kMaxSlots);
  std::vector<int32_t> readers;
  for (size_t o = 0; o < num_ops; ++o) {
    readers.clear();
    for (int32_t tensor = graph.tensor_begin[o]; tensor < graph.tensor_begin[o + 1]; ++tensor) {
      producer_of.push_back(static_cast<OpIndex>(o));
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
  start_order.reserve(num_ops);
  timeline.start_us.resize(num_ops);
  timeline.finish_us.resize(num_ops);
  timeline.peak_bytes.resize(num_devices);
}

void RunState::Reset(std::span<const DeviceIndex> placement, bool keep_the_transfers) {
  EMPLACE_CHECK(placement.size() == num_ops);
  place = placement;
  keep_transfers = keep_the_transfers;
  std::copy(graph.num_inputs.begin(), graph.num_inputs.end(), missing.begin());
  events.Clear();
  device_queue.Clear();
  start_order.clear();
  timeline.transfers.clear();
}

}  // namespace emplace
