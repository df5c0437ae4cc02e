// Owners of the CUDA runtime's resources, and CUDA errors as RunFailed. Only files of this folder include this header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

namespace emplace::gpu {

// Throws RunFailed "what: CUDA's explanation" unless `result` is cudaSuccess.
void Check(cudaError_t result, const char* what);

// Memory of the current device.
struct FreeDevice {
  void operator()(std::byte* memory) const { cudaFree(memory); }
};
using DeviceMemory = std::unique_ptr<std::byte[], FreeDevice>;
DeviceMemory AllocateDevice(size_t bytes);

// Host memory for asynchronous copies to and from the device.
struct FreePinned {
  void operator()(std::byte* memory) const { cudaFreeHost(memory); }
};
using PinnedMemory = std::unique_ptr<std::byte[], FreePinned>;
PinnedMemory AllocatePinned(size_t bytes);

class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  void Synchronize() const;

 private:
  cudaStream_t stream_ = nullptr;
};

// A point in a stream, to measure from.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void Record(const Stream& stream);
  // Microseconds from the earlier point to this one. REQUIRES: the stream has passed both.
  double UsSince(const Event& earlier) const;

 private:
  cudaEvent_t event_ = nullptr;
};

// A recorded sequence of work (a CUDA graph) that can be put on a stream as a whole. Empty until Capture.
class Recording {
 public:
  Recording() = default;
  ~Recording() { Clear(); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Records the work that put() puts on the stream; the work does not run.
  template <typename Put>
  void Capture(const Stream& stream, const Put& put) {
    Check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "cannot begin a recording");
    put();
    Finish(stream);
  }
  void Replay(const Stream& stream) const;
  void Clear();
  bool empty() const { return executable_ == nullptr; }

 private:
  void Finish(const Stream& stream);

  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace emplace::gpu
