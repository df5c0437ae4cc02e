// Finds the time from which a run under another placement differs from the last run.
//
// An op's device first matters to a run when the op gets ready, which is no sooner than its last producer ends. It
// matters earlier, when a producer ends, if that producer then sends other tensors, or to other devices. The device of
// a leading source (run_state.h) matters to nothing but what the source sends. A change of an input from local to
// remote has no effect as long as the same tensors travel at the same times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/csr.h"
#include "simulator/engine/run/run_state.h"

namespace emplace {

// Not thread-safe. Allocates in its constructor only.
class PlacementChange {
 public:
  explicit PlacementChange(const SimGraph& graph) : compared_in_(static_cast<size_t>(graph.num_ops)) {
    producers_ = CsrFromPairs(graph.num_ops, [&](auto visit) {
      for (OpIndex op = 0; op < graph.num_ops; ++op) {
        for (const OpIndex reader : graph.ReadersOf(op)) visit(reader, op);
      }
    });
  }

  // Returns a time in us before which nothing in `last`, a complete run, differs under `placement`; infinity if the
  // placements are equal. changed: the ops that may be on another device. The result is not exact if it is at most
  // `too_early_us`. sends_the_same(op, new_device_of): whether an op that stays on its device, and has readers
  // elsewhere under both placements, requests the same transfers when reader is on new_device_of(reader).
  template <typename SendsTheSame>
  double FirstEffectUs(const RunState& last, std::span<const DeviceIndex> placement, std::span<const OpIndex> changed,
                       double too_early_us, SendsTheSame sends_the_same) {
    ++comparison_;
    double first = std::numeric_limits<double>::infinity();
    const auto old_device_of = [&](OpIndex o) { return last.DeviceOf(o); };
    const auto new_device_of = [&](OpIndex o) { return static_cast<size_t>(placement[static_cast<size_t>(o)]); };
    for (const OpIndex op : changed) {
      if (first <= too_early_us) break;
      const auto o = static_cast<size_t>(op);
      if (placement[o] == last.ops[o].device) continue;
      if (last.leads[o] != 0 && !HasRemoteReaders(last, op, last.DeviceOf(op), old_device_of) &&
          !HasRemoteReaders(last, op, new_device_of(op), new_device_of)) {
        continue;
      }
      double ready = -std::numeric_limits<double>::infinity();  // An op without inputs is ready before all events.
      for (const OpIndex producer : producers_.Row(op)) {
        const auto p = static_cast<size_t>(producer);
        const double finish = last.timeline.finish_us[p];
        ready = std::max(ready, finish);
        // A producer that moves has its own effect, before it even starts.
        if (finish >= first || compared_in_[p] == comparison_ || placement[p] != last.ops[p].device) continue;
        compared_in_[p] = comparison_;
        const bool remote = HasRemoteReaders(last, producer, last.DeviceOf(producer), old_device_of);
        const bool remains = HasRemoteReaders(last, producer, last.DeviceOf(producer), new_device_of);
        if (remote != remains || (remote && !sends_the_same(producer, new_device_of))) first = finish;
      }
      first = std::min(first, ready);
    }
    return first;
  }

 private:
  template <typename DeviceOf>
  static bool HasRemoteReaders(const RunState& last, OpIndex op, size_t device, DeviceOf device_of) {
    const std::span<const int32_t> readers = last.consumers.Row(op);
    return std::any_of(readers.begin(), readers.end(), [&](OpIndex reader) { return device_of(reader) != device; });
  }

  Csr producers_;  // [n] the producer of each input
  uint64_t comparison_ = 0;
  std::vector<uint64_t> compared_in_;  // [n] the last comparison in which what the op sends was compared
};

}  // namespace emplace
