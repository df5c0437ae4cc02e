// Owners of the CUDA runtime's resources, and CUDA errors as RunFailed. Only files of this folder include this header.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <utility>

namespace emplace::gpu {

// Throws RunFailed "what: CUDA's explanation" unless `result` is cudaSuccess.
void Check(cudaError_t result, const char* what);

// Memory of the current device. Move assignment frees the old memory.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(size_t bytes);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

// Host memory for asynchronous copies to and from the device.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  explicit PinnedMemory(size_t bytes);
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

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
