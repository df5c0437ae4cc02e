// The streams and events of the GPUs that a step runs on, by LibTorch's interfaces for all kinds of accelerators.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <map>
#include <vector>

#include "actor/hardware/devices/local_devices.h"
#include "actor/hardware/devices/stream_order.h"
#include "actor/hardware/program/step_program.h"

namespace emplace {

// Where the device's tensors are.
c10::Device TorchDevice(const LocalDevice& device);

class GpuStreams : public Streams {
 public:
  // streams, num_marks: those of the step (StreamOrder). timed: whether marks have times. tensors: [values] whose
  // memory Use means. REQUIRES: tensors and devices outlive this; FindLocalGpus has found the GPUs.
  GpuStreams(const std::vector<StreamId>& streams, int32_t num_marks, bool timed,
             const std::vector<LocalDevice>& devices, const std::vector<at::Tensor>& tensors);

  // Has what the calling thread runs from now on run on the device's compute stream.
  void EnterThread(DeviceIndex device) const;
  // A copy of the tensor, of link.from, on link.to, which the link's stream makes. Undefined for an undefined one.
  at::Tensor Copy(const at::Tensor& source, StreamId link) const;
  // Returns when all GPUs of the step have nothing more to do.
  void DrainGpus() const;

  void Put(int32_t mark, StreamId stream) override;
  void Wait(StreamId stream, int32_t mark) override;
  void WaitOnHost(int32_t mark) override;
  void Drain(StreamId stream) override;
  void Use(int32_t value, StreamId stream) override;
  double MicrosBetween(int32_t first, int32_t second) const override;

 private:
  const LocalDevice& Local(DeviceIndex device) const { return devices_[static_cast<size_t>(device)]; }

  const c10::impl::VirtualGuardImpl gpus_;
  const std::vector<LocalDevice>& devices_;
  const std::vector<at::Tensor>& tensors_;
  std::map<StreamId, c10::Stream> streams_;
  // For links between two GPUs, the stream of the receiver on which the copy's memory is made: what frees it may
  // otherwise have to wait for all that the receiver computes.
  std::map<StreamId, c10::Stream> arrivals_;
  std::vector<c10::Event> events_;  // [marks]
};

}  // namespace emplace
