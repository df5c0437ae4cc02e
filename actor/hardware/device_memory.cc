#include "actor/hardware/device_memory.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace emplace {

struct DeviceMemory::Held {
  std::atomic<int64_t> bytes = 0;
  std::atomic<int64_t> peak_bytes = 0;

  void Add(int64_t more) {
    const int64_t now = bytes += more;
    int64_t peak = peak_bytes;
    while (now > peak && !peak_bytes.compare_exchange_weak(peak, now)) {
    }
  }
};

namespace {

// The counts that the calling thread's allocations belong to. Of any type, since DeviceMemory::Held is private.
struct Counted {
  void (*add)(void* held, int64_t bytes);
  std::shared_ptr<void> held;
};
thread_local Counted counted;

// LibTorch's allocator on the CPU, with a count of what threads allocate that work for a device.
class CountingAllocator final : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Allocator& plain) : plain_(plain) {}

  c10::DataPtr allocate(size_t bytes) override {
    c10::DataPtr data = plain_.allocate(bytes);
    if (counted.held == nullptr) return data;
    auto block = std::make_unique<Block>(Block{std::move(data), static_cast<int64_t>(bytes), counted});
    block->counted.add(block->counted.held.get(), block->bytes);
    void* const address = block->data.get();
    return {address, block.release(), &Free, c10::Device(c10::DeviceType::CPU)};
  }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  struct Block {
    c10::DataPtr data;
    int64_t bytes;
    Counted counted;
  };

  static void Free(void* context) {
    const std::unique_ptr<Block> block(static_cast<Block*>(context));
    block->counted.add(block->counted.held.get(), -block->bytes);
  }

  c10::Allocator& plain_;
};

// The process keeps it: tensors that it has made may live as long.
void LookAtAllocations() {
  static CountingAllocator* const allocator = [] {
    auto* const counting = new CountingAllocator(*c10::GetCPUAllocator());
    c10::SetCPUAllocator(counting, /*priority=*/1);
    return counting;
  }();
  static_cast<void>(allocator);
}

}  // namespace

DeviceMemory::DeviceMemory(const std::vector<LocalDevice>& devices) : devices_(devices) {
  for (size_t device = 0; device < devices.size(); ++device) held_.push_back(std::make_shared<Held>());
  LookAtAllocations();
}

DeviceMemory::~DeviceMemory() = default;

void DeviceMemory::CountThreadFor(std::optional<DeviceIndex> device) {
  if (!device || devices_[static_cast<size_t>(*device)].is_gpu()) {
    counted = {};
    return;
  }
  counted = {[](void* held, int64_t bytes) { static_cast<Held*>(held)->Add(bytes); },
             held_[static_cast<size_t>(*device)]};
}

void DeviceMemory::ResetPeaks() {
  for (size_t device = 0; device < devices_.size(); ++device) {
    held_[device]->peak_bytes = held_[device]->bytes.load();
    if (!devices_[device].is_gpu()) continue;
    c10::getDeviceAllocator(c10::DeviceType::CUDA)->resetPeakStats(static_cast<c10::DeviceIndex>(devices_[device].gpu));
  }
}

std::vector<int64_t> DeviceMemory::PeakBytes() const {
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  std::vector<int64_t> peaks;
  for (size_t device = 0; device < devices_.size(); ++device) {
    peaks.push_back(held_[device]->peak_bytes);
    if (!devices_[device].is_gpu()) continue;
    const auto stats = c10::getDeviceAllocator(c10::DeviceType::CUDA)
                           ->getDeviceStats(static_cast<c10::DeviceIndex>(devices_[device].gpu));
    peaks.back() = stats.allocated_bytes[kAll].peak;
  }
  return peaks;
}

}  // namespace emplace
