// The only file that nvcc compiles: every kernel of the pipeline, for every architecture that the build names.
#include <algorithm>
#include <atomic>
#include <deque>

#include "policy/placeto/cuda/cuda_support.h"
#include "policy/placeto/cuda/launches.h"
#include "policy/placeto/cuda/pipeline.h"

namespace emplace::gpu {
namespace {

// A thread block of the GPU, as block.h describes it.
class CudaBlock {
 public:
  __device__ explicit CudaBlock(float* shared) : shared_(shared) {}

  __device__ int32_t rank() const { return static_cast<int32_t>(blockIdx.x); }
  __device__ int32_t ranks() const { return static_cast<int32_t>(gridDim.x); }
  __device__ int32_t threads() const { return static_cast<int32_t>(blockDim.x); }
  __device__ float* shared() const { return shared_; }

  template <typename Item>
  __device__ __forceinline__ void ForEach(int32_t count, const Item& item) {
    for (int32_t i = static_cast<int32_t>(threadIdx.x); i < count; i += threads()) item(i);
    __syncthreads();
  }
  template <typename Item>
  __device__ __forceinline__ void ForEachInGrid(int32_t count, const Item& item) {
    for (int32_t i = rank() * threads() + static_cast<int32_t>(threadIdx.x); i < count; i += threads() * ranks()) {
      item(i);
    }
  }

 private:
  float* shared_;
};

constexpr int kMostThreads = 256;  // Of kThreads and BodyThreads.
static_assert(kThreads <= kMostThreads);

template <typename Kernel>
__global__ void __launch_bounds__(kMostThreads) RunKernel(const __grid_constant__ Kernel kernel) {
  extern __shared__ float4 shared[];
  CudaBlock block(reinterpret_cast<float*>(shared));
  kernel(block);
}

class StreamLauncher {
 public:
  explicit StreamLauncher(cudaStream_t stream) : stream_(stream) {}

  template <typename Kernel>
  void Launch(const Kernel& kernel, int32_t blocks, int32_t threads, int64_t shared_bytes) {
    RunKernel<Kernel>
        <<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), static_cast<size_t>(shared_bytes), stream_>>>(
            kernel);
    Check(cudaGetLastError(), "cannot launch a kernel");
  }

 private:
  cudaStream_t stream_;
};

// Holds a stream until it is opened. Work that is put on the stream meanwhile then runs without waiting for the host.
class Gate {
 public:
  explicit Gate(const Stream& stream) : stream_(stream) {
    Check(cudaLaunchHostFunc(
              stream.get(), [](void* gate) { static_cast<Gate*>(gate)->open_.wait(false); }, this),
          "cannot hold a stream");
  }
  ~Gate() {
    Open();
    cudaStreamSynchronize(stream_.get());  // The stream has gone through before the gate is gone.
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void Open() {
    open_ = true;
    open_.notify_all();
  }

 private:
  const Stream& stream_;
  std::atomic<bool> open_ = false;
};

// Launches kernels on a stream with an event before each.
class TimingLauncher {
 public:
  explicit TimingLauncher(const Stream& stream) : stream_(stream), launcher_(stream.get()) {}

  template <typename Kernel>
  void Launch(const Kernel& kernel, int32_t blocks, int32_t threads, int64_t shared_bytes) {
    Mark();
    launcher_.Launch(kernel, blocks, threads, shared_bytes);
  }
  void Mark() { events_.emplace_back().Record(stream_); }

  // Microseconds from each mark to the next. REQUIRES: the stream has passed the last one.
  std::vector<double> Times() const {
    std::vector<double> times;
    for (size_t i = 0; i + 1 < events_.size(); ++i) times.push_back(events_[i + 1].UsSince(events_[i]));
    return times;
  }

 private:
  const Stream& stream_;
  StreamLauncher launcher_;
  std::deque<Event> events_;
};

int Attribute(cudaDeviceAttr attribute) {
  int device = 0;
  int value = 0;
  Check(cudaGetDevice(&device), "no current device");
  Check(cudaDeviceGetAttribute(&value, attribute, device), "cannot ask the device");
  return value;
}

// Blocks of the kernel that are resident on the device at the same time.
template <typename Kernel>
int32_t ResidentBlocks(int32_t threads, int64_t shared_bytes) {
  Check(cudaFuncSetAttribute(RunKernel<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_bytes)),
        "cannot set a kernel's shared memory");
  int each = 0;
  Check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, RunKernel<Kernel>, threads,
                                                      static_cast<size_t>(shared_bytes)),
        "cannot ask for a kernel's occupancy");
  return std::max(1, each) * Attribute(cudaDevAttrMultiProcessorCount);
}

}  // namespace

LaunchSizes ChooseLaunchSizes(const PlacetoPlan& plan, int32_t max_nodes, int64_t shared_limit) {
  // Where arrays lie in global memory, two blocks a processor: each takes its own memory.
  constexpr int32_t kBlocksWithoutShared = 2;
  const int32_t processors = Attribute(cudaDevAttrMultiProcessorCount);
  const int64_t shared = std::min<int64_t>(shared_limit, Attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  Problem problem;
  problem.plan = plan;
  problem.max_nodes = max_nodes;
  LaunchSizes& sizes = problem.sizes;
  sizes.body_threads = BodyThreads(plan, max_nodes);
  sizes.small_nodes = NodesThatFit(plan, max_nodes, sizes.body_threads, shared);
  sizes.grid_blocks = 4 * processors;
  if (problem.has_small()) {
    sizes.forward_blocks = ResidentBlocks<BodyForwardKernel<true>>(sizes.body_threads, problem.ForwardSharedBytes());
    sizes.backward_blocks = ResidentBlocks<BodyBackwardKernel<true>>(sizes.body_threads, problem.BackwardSharedBytes());
  } else {
    sizes.forward_blocks = kBlocksWithoutShared * processors;
    sizes.backward_blocks = kBlocksWithoutShared * processors;
  }
  return sizes;
}

void ForwardOnStream(cudaStream_t stream, const Problem& problem, const float* values) {
  StreamLauncher launcher(stream);
  LaunchForward(launcher, problem, values);
}

void BackwardOnStream(cudaStream_t stream, const Problem& problem) {
  StreamLauncher launcher(stream);
  LaunchBackward(launcher, problem);
}

void UpdateOnStream(cudaStream_t stream, const Problem& problem, const OptimizerState& optimizer, UpdateReport* report,
                    float* copy) {
  StreamLauncher launcher(stream);
  LaunchUpdate(launcher, problem, optimizer, report, copy);
}

std::vector<double> TimeUpdate(const Stream& stream, const Problem& problem, const OptimizerState& optimizer,
                               UpdateReport* report, float* copy) {
  // Once before: loading a kernel for the first time may wait for all streams, and so for ever for one that is held.
  UpdateOnStream(stream.get(), problem, optimizer, report, copy);
  stream.Synchronize();
  TimingLauncher launcher(stream);
  Gate gate(stream);
  LaunchUpdate(launcher, problem, optimizer, report, copy);
  launcher.Mark();
  gate.Open();
  stream.Synchronize();
  return launcher.Times();
}

}  // namespace emplace::gpu
