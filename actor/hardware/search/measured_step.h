// What one measurement says of a placement: its step beside steps of the reference, all ops on the best single device,
// that were timed just before and after it. What slows the whole computer down for a while slows both.
#pragma once

#include "actor/hardware/step_timer.h"

namespace emplace {

struct MeasuredStep {
  double ratio = 0;         // Step time of the placement over that of the reference.
  double reference_us = 0;  // Step time of the reference.
  PartTimes reference_parts;
  PartTimes placement_parts;
};

// Step times are medians of the steps during which no other program took the core of a device, where both placements
// have three of them or more; else what steps come to without other programs, by the medians of their parts
// (StepSeries::replayed_us); else, where nobody has worked that out, medians of all steps.
// REQUIRES: there are steps of both.
MeasuredStep MeasuredStepOf(StepSamples samples);

}  // namespace emplace
