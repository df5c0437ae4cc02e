#include "actor/hardware/devices/device_memory.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <new>

#include "common/error.h"

namespace emplace {

struct HeldMemory {
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

// Of the device that the calling thread's allocations count for; null for none.
thread_local std::shared_ptr<HeldMemory> counted;

// LibTorch's allocator on the CPU, with a note before each block of which device it counts for.
class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &Free, c10::Device(c10::DeviceType::CPU)};
    auto* const block = new (c10::alloc_cpu(bytes + kNoteBytes)) Note{static_cast<int64_t>(bytes), counted};
    if (block->counted != nullptr) block->counted->Add(block->bytes);
    void* const data = reinterpret_cast<std::byte*>(block) + kNoteBytes;
    return {data, data, &Free, c10::Device(c10::DeviceType::CPU)};
  }
  // Operators that keep bare pointers free them by this.
  c10::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  struct Note {
    int64_t bytes;
    std::shared_ptr<HeldMemory> counted;
  };
  static constexpr size_t kNoteBytes = 64;  // The blocks of LibTorch begin at multiples of this.
  static_assert(sizeof(Note) <= kNoteBytes);

  static void Free(void* data) {
    if (data == nullptr) return;
    auto* const block = reinterpret_cast<Note*>(static_cast<std::byte*>(data) - kNoteBytes);
    if (block->counted != nullptr) block->counted->Add(-block->bytes);
    block->~Note();
    c10::free_cpu(block);
  }
};

// Set before main, and for as long as the process lives: what an operator allocates by one allocator it may free by the
// one that is set then.
const bool kAllocatorIsSet = [] {
  static CountingAllocator allocator;
  c10::SetCPUAllocator(&allocator, /*priority=*/1);
  return true;
}();

}  // namespace

DeviceMemory::DeviceMemory(const std::vector<LocalDevice>& devices) : devices_(devices) {
  EMPLACE_CHECK(kAllocatorIsSet);
  for (size_t device = 0; device < devices.size(); ++device) held_.push_back(std::make_shared<HeldMemory>());
}

DeviceMemory::~DeviceMemory() = default;

void DeviceMemory::CountThreadFor(std::optional<DeviceIndex> device) {
  if (!device || devices_[static_cast<size_t>(*device)].is_gpu()) {
    counted = nullptr;
  } else {
    counted = held_[static_cast<size_t>(*device)];
  }
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
