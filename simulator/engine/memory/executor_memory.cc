#include "simulator/engine/memory/executor_memory.h"

#include <algorithm>

#include "simulator/engine/graph_paths.h"

namespace emplace {

ExecutorMemory::ExecutorMemory(const SimGraph& graph) : graph_(graph) {
  const auto tensors = static_cast<int32_t>(graph.tensor_bytes.size());
  const Csr& consumers = graph.tensor_consumers;
  tensor_of_.resize(consumers.items.size());
  for (int32_t tensor = 0; tensor < tensors; ++tensor) {
    const auto row = static_cast<size_t>(tensor);
    std::fill(tensor_of_.begin() + consumers.begin[row], tensor_of_.begin() + consumers.begin[row + 1], tensor);
  }
  reads_ = CsrFromPairs(graph.num_ops, [&](auto visit) {
    for (size_t reader = 0; reader < tensor_of_.size(); ++reader) {
      if (graph.tensor_bytes[static_cast<size_t>(tensor_of_[reader])] == 0) continue;
      visit(consumers.items[reader], static_cast<int32_t>(reader));
    }
  });
  producer_of_ = TensorProducers(graph);
  devices_.resize(static_cast<size_t>(graph.num_devices));
  order_.resize(static_cast<size_t>(graph.num_ops));
  needed_.resize(static_cast<size_t>(tensors));
  copy_of_.resize(tensor_of_.size());
  copy_needed_.resize(tensor_of_.size());
  first_reader_.resize(devices_.size());
  counted_.resize(devices_.size());
}

void ExecutorMemory::Compute(std::span<const DeviceIndex> placement, const RunState& run,
                             std::span<int64_t> peak_bytes) {
  placement_ = placement;
  start_us_ = run.timeline.start_us;
  Begin(run);
  for (const OpIndex op : run.leading) EndOp(op, 0);
  for (size_t i = 0; i < run.log_size; ++i) {
    const int32_t entry = run.log[i];
    if (entry >= 0) {
      EndOp(entry, run.log_us[i]);
    } else {
      Deliver(~entry, run.log_us[i]);
    }
  }
  for (size_t d = 0; d < devices_.size(); ++d) {
    peak_bytes[d] = std::max(devices_[d].peak_bytes, devices_[d].held_bytes);
  }
}

void ExecutorMemory::Begin(const RunState& run) {
  std::fill(counted_.begin(), counted_.end(), -1);
  size_t last = 0;
  for (size_t d = 0; d < devices_.size(); ++d) {
    Device& device = devices_[d];
    device = {.next_start = last, .last_start = last, .now_us = 0, .held_bytes = 0, .peak_bytes = 0};
    run.ForEachStarted(d, [&](OpIndex op) {
      order_[last++] = op;
      device.held_bytes += graph_.param_bytes[static_cast<size_t>(op)];
    });
    device.last_start = last;
  }
}

ExecutorMemory::Device& ExecutorMemory::At(size_t device, double now_us) {
  Device& at = devices_[device];
  while (at.next_start < at.last_start) {
    const OpIndex op = order_[at.next_start];
    const double start_us = start_us_[static_cast<size_t>(op)];
    if (start_us > now_us) break;
    Start(at, op, start_us);
    ++at.next_start;
  }
  MoveTo(at, now_us);
  return at;
}

void ExecutorMemory::Start(Device& device, OpIndex op, double start_us) {
  MoveTo(device, start_us);
  device.held_bytes += graph_.output_bytes[static_cast<size_t>(op)] + graph_.temp_bytes[static_cast<size_t>(op)];
}

void ExecutorMemory::MoveTo(Device& device, double now_us) {
  if (now_us <= device.now_us) return;
  device.peak_bytes = std::max(device.peak_bytes, device.held_bytes);
  device.now_us = now_us;
}

void ExecutorMemory::EndOp(OpIndex op, double now_us) {
  const auto o = static_cast<size_t>(op);
  const size_t on = DeviceOf(op);
  Device& device = At(on, now_us);
  int64_t kept_bytes = graph_.staying_bytes[o];
  for (const int32_t tensor : graph_.TensorsOf(op)) kept_bytes += CountReaders(tensor, on);
  device.held_bytes -= graph_.output_bytes[o] - kept_bytes + graph_.temp_bytes[o];
  for (const int32_t reader : reads_.Row(op)) {
    const int32_t copy = copy_of_[static_cast<size_t>(reader)];
    const int32_t tensor = tensor_of_[static_cast<size_t>(reader)];
    if (copy == kLocal) {
      ReleaseOnce(tensor, device);
    } else if (--copy_needed_[static_cast<size_t>(copy)] == 0) {
      device.held_bytes -= graph_.tensor_bytes[static_cast<size_t>(tensor)];
    }
  }
}

// Counts who needs a tensor that was made on this device. Returns the bytes that it holds there.
int64_t ExecutorMemory::CountReaders(int32_t tensor, size_t device) {
  const auto t = static_cast<size_t>(tensor);
  if (graph_.tensor_bytes[t] == 0) return 0;
  int32_t local = 0;
  int32_t copies = 0;
  for (int32_t reader = graph_.tensor_consumers.begin[t]; reader < graph_.tensor_consumers.begin[t + 1]; ++reader) {
    const auto r = static_cast<size_t>(reader);
    const size_t to = DeviceOfReader(reader);
    if (to == device) {
      copy_of_[r] = kLocal;
      ++local;
      continue;
    }
    if (counted_[to] != tensor) {
      counted_[to] = tensor;
      first_reader_[to] = reader;
      copy_needed_[r] = 0;
      ++copies;
    }
    copy_of_[r] = first_reader_[to];
    ++copy_needed_[static_cast<size_t>(first_reader_[to])];
  }
  needed_[t] = local + (graph_.link_model == LinkModel::kShared ? std::min(copies, 1) : copies);
  return graph_.tensor_held_bytes[t];
}

// The numbers of transfers are those of the link models (links/).
void ExecutorMemory::Deliver(int32_t transfer, double now_us) {
  const bool once = graph_.link_model == LinkModel::kShared;
  const int32_t tensor = once ? transfer : tensor_of_[static_cast<size_t>(transfer)];
  const auto t = static_cast<size_t>(tensor);
  if (graph_.tensor_bytes[t] == 0) return;
  ReleaseOnce(tensor, At(DeviceOf(producer_of_[t]), now_us));
  if (!once) {
    TakeCopy(tensor, transfer, now_us);
    return;
  }
  for (int32_t reader = graph_.tensor_consumers.begin[t]; reader < graph_.tensor_consumers.begin[t + 1]; ++reader) {
    if (copy_of_[static_cast<size_t>(reader)] == reader) TakeCopy(tensor, reader, now_us);
  }
}

void ExecutorMemory::TakeCopy(int32_t tensor, int32_t reader, double now_us) {
  At(DeviceOfReader(reader), now_us).held_bytes += graph_.tensor_bytes[static_cast<size_t>(tensor)];
}

// One of those who need the tensor on its op's device needs it no more.
void ExecutorMemory::ReleaseOnce(int32_t tensor, Device& device) {
  const auto t = static_cast<size_t>(tensor);
  if (--needed_[t] == 0) device.held_bytes -= graph_.tensor_held_bytes[t];
}

}  // namespace emplace
