#include "actor/hardware/devices/gpu_streams.h"

#include <c10/core/StreamGuard.h>

#include "actor/hardware/devices/tensor_copy.h"

namespace emplace {

c10::Device TorchDevice(const LocalDevice& device) {
  if (!device.is_gpu()) return c10::DeviceType::CPU;
  return {c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(device.gpu)};
}

GpuStreams::GpuStreams(const std::vector<StreamId>& streams, int32_t num_marks, bool timed,
                       const std::vector<LocalDevice>& devices, const std::vector<at::Tensor>& tensors)
    : gpus_(c10::DeviceType::CUDA), devices_(devices), tensors_(tensors) {
  for (const StreamId id : streams) {
    const LocalDevice& from = Local(id.from);
    const LocalDevice& to = Local(id.to);
    streams_.emplace(id, gpus_.getStreamFromGlobalPool(TorchDevice(from.is_gpu() ? from : to)));
    if (id.from != id.to && from.is_gpu() && to.is_gpu()) {
      arrivals_.emplace(id, gpus_.getStreamFromGlobalPool(TorchDevice(to)));
    }
  }
  const c10::EventFlag flag = timed ? c10::EventFlag::BACKEND_DEFAULT : c10::EventFlag::PYTORCH_DEFAULT;
  events_.reserve(static_cast<size_t>(num_marks));
  for (int32_t mark = 0; mark < num_marks; ++mark) events_.emplace_back(c10::DeviceType::CUDA, flag);
}

void GpuStreams::EnterThread(DeviceIndex device) const {
  gpus_.setDevice(TorchDevice(Local(device)));
  gpus_.exchangeStream(streams_.at(ComputeStream(device)));
}

at::Tensor GpuStreams::Copy(const at::Tensor& source, StreamId link) const {
  if (!source.defined()) return {};
  std::vector<c10::Stream> current = {streams_.at(link)};
  if (const auto arrival = arrivals_.find(link); arrival != arrivals_.end()) current.push_back(arrival->second);
  const c10::MultiStreamGuard guard(current);
  const LocalDevice& to = Local(link.to);
  if (!to.is_gpu()) return CopyBesideThread(source, at::TensorOptions().pinned_memory(true));
  const c10::TensorOptions target = at::TensorOptions(TorchDevice(to));
  if (Local(link.from).is_gpu()) return CopyBesideThread(source, target);
  return CopyBesideThread(CopyOnCpu(source, /*pinned=*/true), target);
}

void GpuStreams::DrainGpus() const {
  for (const LocalDevice& device : devices_) {
    if (device.is_gpu()) gpus_.synchronizeDevice(static_cast<c10::DeviceIndex>(device.gpu));
  }
}

void GpuStreams::Put(int32_t mark, StreamId stream) { events_[static_cast<size_t>(mark)].record(streams_.at(stream)); }

void GpuStreams::Wait(StreamId stream, int32_t mark) { events_[static_cast<size_t>(mark)].block(streams_.at(stream)); }

void GpuStreams::WaitOnHost(int32_t mark) { events_[static_cast<size_t>(mark)].synchronize(); }

void GpuStreams::Drain(StreamId stream) { gpus_.synchronizeStream(streams_.at(stream)); }

void GpuStreams::Use(int32_t value, StreamId stream) {
  const at::Tensor& tensor = tensors_[static_cast<size_t>(value)];
  if (tensor.defined()) tensor.record_stream(streams_.at(stream));
}

double GpuStreams::MicrosBetween(int32_t first, int32_t second) const {
  return 1e3 * events_[static_cast<size_t>(first)].elapsedTime(events_[static_cast<size_t>(second)]);
}

}  // namespace emplace
