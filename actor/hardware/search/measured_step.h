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

// The median in us of the steps that other programs disturbed least: those during which they took a core of a device
// no more often than during the third least disturbed step. On a quiet computer these are the steps without any such
// preemption. Where nobody has counted them, the median of all steps. REQUIRES: there is a step.
double LeastDisturbedUs(const StepSeries& series);

// By these medians. REQUIRES: there are steps of both.
MeasuredStep MeasuredStepOf(StepSamples samples);

}  // namespace emplace
