#include "learner/ranks/nccl_collective.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "learner/ranks/shard_message.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds kLookAgain(20);
constexpr std::chrono::milliseconds kTellEvery(100);  // Between calls of while_waiting.

void Check(cudaError_t result, const char* what) {
  if (result != cudaSuccess) throw RunFailed(StrCat("GPU: ", what, ": ", cudaGetErrorString(result)));
}

// What is still under way in a communicator that does not block is no error.
void Check(ncclResult_t result, const char* what) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  throw RunFailed(StrCat("NCCL: ", what, ": ", ncclGetErrorString(result)));
}

}  // namespace

NcclId NewNcclId() {
  ncclUniqueId id;
  Check(ncclGetUniqueId(&id), "cannot make an id");
  const auto* const bytes = reinterpret_cast<const uint8_t*>(id.internal);
  return {bytes, bytes + sizeof(id.internal)};
}

struct NcclCollective::Impl {
  Impl(Options given, const NcclId& bytes) : options(std::move(given)) {
    if (bytes.size() != sizeof(id.internal)) {
      throw BadInput(StrCat("an NCCL id of ", bytes.size(), " bytes, expected ", sizeof(id.internal)));
    }
    std::memcpy(id.internal, bytes.data(), bytes.size());
  }
  ~Impl() {
    if (communicator != nullptr) ncclCommAbort(communicator);
    if (stream != nullptr) cudaStreamDestroy(stream);
    cudaFree(memory);
  }

  // Waits until pending() is false.
  template <typename Pending>
  void Wait(Pending pending) {
    const Clock::time_point start = Clock::now();
    Clock::time_point told = start;
    while (pending()) {
      const Clock::time_point now = Clock::now();
      if (now - told >= kTellEvery) {
        told = now;
        options.while_waiting();
        const double waited_s = std::chrono::duration<double>(now - start).count();
        if (options.limit_s > 0 && waited_s > options.limit_s) {
          throw RunFailed(StrCat("rank ", options.rank, " of ", options.ranks, " has waited ", options.limit_s,
                                 " s for the others in NCCL (learner.watchdog_s)"));
        }
      }
      std::this_thread::sleep_for(kLookAgain);
    }
  }

  void WaitForCommunicator(const char* what) {
    Wait([&] {
      ncclResult_t state = ncclSuccess;
      Check(ncclCommGetAsyncError(communicator, &state), what);
      Check(state, what);
      return state == ncclInProgress;
    });
  }

  void WaitForStream() {
    Wait([&] {
      const cudaError_t state = cudaStreamQuery(stream);
      if (state == cudaErrorNotReady) return true;
      Check(state, "an exchange failed");
      return false;
    });
  }

  // Meets the other ranks, the first time. CUDA's choice of a device holds for one thread.
  void Begin() {
    Check(cudaSetDevice(options.gpu), "cannot be used");
    if (communicator != nullptr) return;
    Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cannot create a stream");
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;  // So that a rank that is gone can be found out meanwhile.
    Check(ncclCommInitRankConfig(&communicator, static_cast<int>(options.ranks), id, static_cast<int>(options.rank),
                                 &config),
          "cannot meet the other ranks");
    WaitForCommunicator("cannot meet the other ranks");
  }

  std::byte* AtLeast(size_t bytes) {
    if (bytes > capacity) {
      cudaFree(memory);
      memory = nullptr;
      Check(cudaMalloc(&memory, bytes), "cannot allocate device memory");
      capacity = bytes;
    }
    return static_cast<std::byte*>(memory);
  }

  void ToDevice(std::byte* to, std::span<const std::byte> from) {
    Check(cudaMemcpyAsync(to, from.data(), from.size(), cudaMemcpyHostToDevice, stream), "cannot copy to the device");
  }
  void FromDevice(std::span<std::byte> to, const std::byte* from) {
    Check(cudaMemcpyAsync(to.data(), from, to.size(), cudaMemcpyDeviceToHost, stream), "cannot copy from the device");
  }

  const Options options;
  ncclUniqueId id{};
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
  void* memory = nullptr;  // On the device, `capacity` bytes.
  size_t capacity = 0;
};

NcclCollective::NcclCollective(Options options, const NcclId& id)
    : impl_(std::make_unique<Impl>(std::move(options), id)) {}
NcclCollective::~NcclCollective() = default;

int64_t NcclCollective::rank() const { return impl_->options.rank; }
int64_t NcclCollective::ranks() const { return impl_->options.ranks; }

void NcclCollective::GatherShards(ShardSums& sums) {
  Impl& impl = *impl_;
  impl.Begin();
  if (rank() > 0) {
    const std::vector<std::byte> own = PackedShares(rank(), sums);
    std::byte* const device = impl.AtLeast(own.size());
    impl.ToDevice(device, own);
    Check(ncclSend(device, own.size(), ncclUint8, 0, impl.communicator, impl.stream), "cannot send a share");
    impl.WaitForCommunicator("cannot send a share");
    impl.WaitForStream();
    return;
  }
  size_t total = 0;
  for (int64_t other = 1; other < ranks(); ++other) total += PackedSize(other, sums);
  std::byte* const device = impl.AtLeast(total);
  Check(ncclGroupStart(), "cannot receive shares");
  size_t at = 0;
  for (int64_t other = 1; other < ranks(); ++other) {
    const size_t size = PackedSize(other, sums);
    Check(ncclRecv(device + at, size, ncclUint8, static_cast<int>(other), impl.communicator, impl.stream),
          "cannot receive shares");
    at += size;
  }
  Check(ncclGroupEnd(), "cannot receive shares");
  impl.WaitForCommunicator("cannot receive shares");
  std::vector<std::byte> host(total);
  impl.WaitForStream();
  impl.FromDevice(host, device);
  impl.WaitForStream();
  std::span<const std::byte> rest = host;
  for (int64_t other = 1; other < ranks(); ++other) {
    const size_t size = PackedSize(other, sums);
    TakePackedShares(rest.first(size), other, sums);
    rest = rest.subspan(size);
  }
}

void NcclCollective::Broadcast(std::span<float> values) {
  Impl& impl = *impl_;
  impl.Begin();
  std::byte* const device = impl.AtLeast(values.size_bytes());
  if (rank() == 0) impl.ToDevice(device, std::as_bytes(values));
  Check(ncclBroadcast(device, device, values.size(), ncclFloat32, 0, impl.communicator, impl.stream),
        "cannot broadcast the gradient");
  impl.WaitForCommunicator("cannot broadcast the gradient");
  if (rank() > 0) impl.FromDevice(std::as_writable_bytes(values), device);
  impl.WaitForStream();
}

}  // namespace emplace
