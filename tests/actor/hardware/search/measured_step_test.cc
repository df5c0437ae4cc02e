#include "actor/hardware/search/measured_step.h"

#include <gtest/gtest.h>

namespace emplace {
namespace {

StepSeries Series(std::vector<double> us, std::vector<int64_t> preemptions, double replayed_us) {
  return {.us = std::move(us), .preemptions = std::move(preemptions), .parts = {}, .replayed_us = replayed_us};
}

TEST(MeasuredStep, IsByUndisturbedStepsWhereBothHaveThree) {
  const MeasuredStep step = MeasuredStepOf(
      {.reference = Series({20, 90, 30, 10}, {0, 1, 0, 0}, 7), .placement = Series({5, 5, 99, 5}, {0, 0, 2, 0}, 7)});
  EXPECT_EQ(step.ratio, 0.25);
  EXPECT_EQ(step.reference_us, 20);
}

TEST(MeasuredStep, IsElseByWhatTheStepsComeToWithoutOtherPrograms) {
  const MeasuredStep step = MeasuredStepOf(
      {.reference = Series({20, 90, 30, 10}, {0, 1, 0, 0}, 16), .placement = Series({5, 5, 99, 5}, {0, 1, 2, 0}, 8)});
  EXPECT_EQ(step.ratio, 0.5);
  EXPECT_EQ(step.reference_us, 16);
}

TEST(MeasuredStep, IsElseByAllSteps) {
  MeasuredStep step =
      MeasuredStepOf({.reference = Series({20, 30, 40}, {1, 1, 1}, 0), .placement = Series({3, 90, 6}, {0, 0, 0}, 8)});
  EXPECT_EQ(step.ratio, 0.2);
  StepSeries placement = Series({5}, {}, 0);
  placement.parts.op_us = {1};
  step = MeasuredStepOf({.reference = Series({20}, {}, 0), .placement = placement});
  EXPECT_EQ(step.ratio, 0.25);
  EXPECT_EQ(step.placement_parts.op_us, std::vector<double>{1});
}

}  // namespace
}  // namespace emplace
