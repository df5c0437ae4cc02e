// From when on a run under another placement differs from the last one.
//
// Where an op is placed matters to a run first when it gets ready, no sooner than its last producer ends; or when one
// of its producers ends, if what that one sends to other devices is then not the same. It is not yet a difference that
// the op waits for an input as a local or as a remote reader, while the same tensors travel at the same times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/csr.h"
#include "simulator/run_state.h"

namespace emplace {

// Not thread-safe; allocates in its constructor only.
class PlacementChange {
 public:
  explicit PlacementChange(const SimGraph& graph);

  // A time before which nothing that happens in `last`, a complete run, differs under `placement`; infinity where they
  // are the same, and any time up to `too_early_us` where it would be no later than that. sends_the_same(op), of an op
  // that stays where it is and has readers elsewhere under both placements: whether it sends the same.
  template <typename SendsTheSame>
  double FirstEffectUs(const RunState& last, std::span<const DeviceIndex> placement, double too_early_us,
                       SendsTheSame sends_the_same) {
    std::fill(compared_.begin(), compared_.end(), uint8_t{0});
    double first = std::numeric_limits<double>::infinity();
    for (size_t o = 0; o < last.num_ops && first > too_early_us; ++o) {
      if (placement[o] == last.ops[o].device) continue;
      double ready = -std::numeric_limits<double>::infinity();  // Of an op without inputs: before all events.
      for (const OpIndex producer : producers_.Row(static_cast<int32_t>(o))) {
        const auto p = static_cast<size_t>(producer);
        const double finish = last.timeline.finish_us[p];
        ready = std::max(ready, finish);
        // A producer that moves has its own effect, before it even starts.
        if (finish >= first || compared_[p] != 0 || placement[p] != last.ops[p].device) continue;
        compared_[p] = 1;
        const bool remote = HasRemoteReaders(last, producer, [&](OpIndex reader) { return last.DeviceOf(reader); });
        const bool remains = HasRemoteReaders(last, producer, [&](OpIndex reader) {
          return static_cast<size_t>(placement[static_cast<size_t>(reader)]);
        });
        if (remote != remains || (remote && !sends_the_same(producer))) first = finish;
      }
      first = std::min(first, ready);
    }
    return first;
  }

 private:
  template <typename DeviceOf>
  static bool HasRemoteReaders(const RunState& last, OpIndex op, DeviceOf device_of) {
    const std::span<const int32_t> readers = last.consumers.Row(op);
    return std::any_of(readers.begin(), readers.end(),
                       [&](OpIndex reader) { return device_of(reader) != last.DeviceOf(op); });
  }

  Csr producers_;                  // [n] the producer of each input
  std::vector<uint8_t> compared_;  // [n] scratch: whether what the op sends was compared
};

}  // namespace emplace
