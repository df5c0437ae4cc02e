#include "policy/placeto/cuda/cuda_support.h"

#include "common/error.h"
#include "common/strings.h"

namespace emplace::gpu {

void Check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  throw RunFailed(StrCat("GPU: ", what, ": ", cudaGetErrorString(result)));
}

DeviceMemory AllocateDevice(size_t bytes) {
  void* memory = nullptr;
  Check(cudaMalloc(&memory, bytes), "cannot allocate device memory");
  return DeviceMemory(static_cast<std::byte*>(memory));
}

PinnedMemory AllocatePinned(size_t bytes) {
  void* memory = nullptr;
  Check(cudaMallocHost(&memory, bytes), "cannot allocate pinned memory");
  return PinnedMemory(static_cast<std::byte*>(memory));
}

Stream::Stream() { Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cannot create a stream"); }
Stream::~Stream() { cudaStreamDestroy(stream_); }
void Stream::Synchronize() const { Check(cudaStreamSynchronize(stream_), "work on the device failed"); }

Event::Event() { Check(cudaEventCreate(&event_), "cannot create an event"); }
Event::~Event() { cudaEventDestroy(event_); }
void Event::Record(const Stream& stream) { Check(cudaEventRecord(event_, stream.get()), "cannot record an event"); }
double Event::UsSince(const Event& earlier) const {
  float ms = 0;
  Check(cudaEventElapsedTime(&ms, earlier.event_, event_), "cannot ask for the time of an event");
  return 1e3 * static_cast<double>(ms);
}

void Recording::Finish(const Stream& stream) {
  cudaGraph_t graph = nullptr;
  Check(cudaStreamEndCapture(stream.get(), &graph), "cannot end a recording");
  Clear();
  const cudaError_t made = cudaGraphInstantiate(&executable_, graph, 0);
  cudaGraphDestroy(graph);
  Check(made, "cannot prepare a recording");
}
void Recording::Replay(const Stream& stream) const {
  Check(cudaGraphLaunch(executable_, stream.get()), "cannot replay a recording");
}
void Recording::Clear() {
  if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
  executable_ = nullptr;
}

}  // namespace emplace::gpu
