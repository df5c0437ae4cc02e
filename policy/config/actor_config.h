// Sections `actor` and `hardware` of a run's configuration: what actors do, and how those that measure do it.
#pragma once

#include <cstdint>

#include "common/config/field_table.h"

namespace emplace {

struct ActorConfig {
  int64_t episodes_in_flight = 4;
  int64_t send_queue = 8;
  double heartbeat_s = 1.0;
  double patience_s = 3600;
};

// What stands for the timed steps of a placement: their median, or the mean of those within Tukey's fences.
enum class StepCenter { kMedian, kTukey };

// How hardware actors measure, and how the learner checks what they say.
struct HardwareConfig {
  int64_t warmup = 1;
  int64_t steps = 6;
  StepCenter outliers = StepCenter::kMedian;
  double window_s = 0.5;
  double share = 0.5;
  double timeout_s = 30;
  double penalty = 10;
  double recheck = 0.1;
  double tolerance = 1.5;
};

FieldTable<ActorConfig> ActorFields();
FieldTable<HardwareConfig> HardwareFields();

}  // namespace emplace
