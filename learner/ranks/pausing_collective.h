// Lets windows of measurements open while a rank waits for other ranks (common/threads/pausing_work.h). Those of one
// computer pause for the same window: if one held the window off while it waits for another that pauses, both would
// stand still.
#pragma once

#include <cstdint>
#include <span>

#include "common/threads/pausing_work.h"
#include "learner/update/collective.h"

namespace emplace {

// Not thread-safe.
class PausingCollective final : public Collective {
 public:
  // work: the unit of it that is under way is interrupted for each exchange. REQUIRES: both outlive the object.
  PausingCollective(Collective& collective, PausingWork& work) : collective_(collective), work_(work) {}

  int64_t rank() const override { return collective_.rank(); }
  int64_t ranks() const override { return collective_.ranks(); }
  void GatherShards(ShardSums& sums) override {
    work_.Interrupt();
    collective_.GatherShards(sums);
    work_.GoOn();
  }
  void Broadcast(std::span<float> values) override {
    work_.Interrupt();
    collective_.Broadcast(values);
    work_.GoOn();
  }

 private:
  Collective& collective_;
  PausingWork& work_;
};

}  // namespace emplace
