#include "simulator/engine/memory/memory_over_time.h"

#include <algorithm>
#include <limits>
#include <map>

#include "simulator/engine/memory/placeto_memory.h"

namespace emplace {
namespace {

// What changes at one time: what is taken is there before what is released is gone, but by the executor's rule, where
// only what is held beyond that time counts.
struct Change {
  int64_t taken = 0;
  int64_t released = 0;
};

class MemoryChanges {
 public:
  MemoryChanges(const SimGraph& sim, std::span<const DeviceIndex> placement, const Timeline& timeline)
      : sim_(sim), placement_(placement), timeline_(timeline), changes_(static_cast<size_t>(sim.num_devices)) {}

  const std::vector<std::map<double, Change>>& ByPlacetosRule() {
    for (OpIndex o = 0; o < sim_.num_ops; ++o) {
      const auto i = static_cast<size_t>(o);
      Hold(o, sim_.param_bytes[i], 0, kEnd);
      Hold(o, sim_.output_bytes[i], timeline_.start_us[i], HeldUntil(sim_, o, placement_, timeline_.start_us));
      Hold(o, sim_.temp_bytes[i], timeline_.start_us[i], timeline_.finish_us[i]);
    }
    return changes_;
  }

  const std::vector<std::map<double, Change>>& ByExecutorsRule() {
    std::vector<double> sent_us(sim_.tensor_bytes.size());
    for (const Transfer& transfer : timeline_.transfers) {
      double& sent = sent_us[static_cast<size_t>(transfer.tensor)];
      sent = std::max(sent, transfer.delivered_us);
      HoldCopies(transfer);
    }
    for (OpIndex o = 0; o < sim_.num_ops; ++o) {
      const auto i = static_cast<size_t>(o);
      const double start_us = timeline_.start_us[i];
      int64_t left_bytes = sim_.output_bytes[i] - sim_.staying_bytes[i];
      for (const int32_t tensor : sim_.TensorsOf(o)) {
        const auto t = static_cast<size_t>(tensor);
        const double read_us = LastReaderUs(tensor, placement_[i], timeline_.finish_us[i]);
        Hold(o, sim_.tensor_held_bytes[t], start_us, std::max(read_us, sent_us[t]));
        left_bytes -= sim_.tensor_held_bytes[t];
      }
      Hold(o, left_bytes + sim_.temp_bytes[i], start_us, timeline_.finish_us[i]);
      Hold(o, sim_.staying_bytes[i], start_us, kEnd);
      Hold(o, sim_.param_bytes[i], 0, kEnd);
    }
    return changes_;
  }

 private:
  static constexpr double kEnd = std::numeric_limits<double>::infinity();

  void Hold(OpIndex op, int64_t bytes, double from_us, double until_us) {
    HoldOn(placement_[static_cast<size_t>(op)], bytes, from_us, until_us);
  }
  void HoldOn(DeviceIndex device, int64_t bytes, double from_us, double until_us) {
    if (bytes == 0) return;
    std::map<double, Change>& changes = changes_[static_cast<size_t>(device)];
    changes[from_us].taken += bytes;
    if (until_us < kEnd) changes[until_us].released += bytes;
  }
  // The copies that a transfer makes, on each device until its last reader there.
  void HoldCopies(const Transfer& transfer) {
    const int64_t bytes = sim_.tensor_bytes[static_cast<size_t>(transfer.tensor)];
    for (DeviceIndex device = 0; device < sim_.num_devices; ++device) {
      if (device == transfer.from || (transfer.to != Transfer::kAllReaders && transfer.to != device)) continue;
      const double until_us = LastReaderUs(transfer.tensor, device, -1);
      if (until_us >= 0) HoldOn(device, bytes, transfer.delivered_us, until_us);
    }
  }
  // When the last reader of a tensor on a device ends; `least` if there is none, or if that is later.
  double LastReaderUs(int32_t tensor, DeviceIndex device, double least) const {
    for (const OpIndex reader : sim_.tensor_consumers.Row(tensor)) {
      const auto r = static_cast<size_t>(reader);
      if (placement_[r] == device) least = std::max(least, timeline_.finish_us[r]);
    }
    return least;
  }

  const SimGraph& sim_;
  std::span<const DeviceIndex> placement_;
  const Timeline& timeline_;
  std::vector<std::map<double, Change>> changes_;  // [D] by time
};

}  // namespace

std::vector<std::vector<MemorySample>> MemoryOverTime(const SimGraph& sim, std::span<const DeviceIndex> placement,
                                                      const Timeline& timeline) {
  MemoryChanges changes(sim, placement, timeline);
  const bool placeto = sim.memory_rule == MemoryRule::kPlaceto;
  std::vector<std::vector<MemorySample>> samples;
  for (const std::map<double, Change>& device : placeto ? changes.ByPlacetosRule() : changes.ByExecutorsRule()) {
    std::vector<MemorySample>& row = samples.emplace_back();
    int64_t held = 0;
    for (const auto& [time_us, change] : device) {
      if (placeto && change.taken > 0 && change.released > 0) row.push_back({time_us, held + change.taken});
      held += change.taken - change.released;
      row.push_back({time_us, held});
    }
  }
  return samples;
}

}  // namespace emplace
