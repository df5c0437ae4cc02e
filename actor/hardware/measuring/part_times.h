// Times of the ops and copies of several steps.
#pragma once

#include <vector>

#include "actor/hardware/measuring/measurement.h"
#include "actor/hardware/program/step_program.h"
#include "actor/hardware/step_runner.h"
#include "actor/hardware/step_timer.h"

namespace emplace {

// [values] what each copy took in this step, in us, as CopyTime says; NaN for a value that is no copy of a tensor, and
// for one that was not made. REQUIRES: times are those of a step of this program.
std::vector<double> CopyTimesOf(const StepProgram& program, const StepTimes& times);

// Collects the steps of one program. Not thread-safe.
class PartMeasurements {
 public:
  // REQUIRES: program outlives it.
  explicit PartMeasurements(const StepProgram& program) : program_(program) {}

  void Add(const StepTimes& times);
  PartTimes Medians() const;                                // REQUIRES: a step was added.
  const StepMeasurements& steps() const { return steps_; }  // Of the same steps.

 private:
  const StepProgram& program_;
  StepMeasurements steps_;
  std::vector<std::vector<double>> copy_us_;  // [values][steps in which the copy was made]
};

}  // namespace emplace
