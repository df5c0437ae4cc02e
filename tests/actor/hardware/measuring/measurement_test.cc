#include "actor/hardware/measuring/measurement.h"

#include <gtest/gtest.h>

#include <cmath>

namespace emplace {
namespace {

TEST(Summarize, CountsStepsBeyondTukeysFences) {
  // Sorted: 5 6 12 13 13.5 14 15 16 22.5; the quartiles are at positions 2 and 6.
  const StepStatistics steps = Summarize({13, 22.5, 12, 6, 14, 15, 16, 13.5, 5});
  EXPECT_EQ(steps.steps, 9);
  EXPECT_DOUBLE_EQ(steps.median_us, 13.5);
  EXPECT_DOUBLE_EQ(steps.lower_quartile_us, 12);
  EXPECT_DOUBLE_EQ(steps.upper_quartile_us, 15);
  EXPECT_DOUBLE_EQ(steps.spread_us(), 3);
  // The fences: 12 - 4.5 = 7.5 and 15 + 4.5 = 19.5. Beyond: 22.5, 6, 5.
  EXPECT_EQ(steps.outliers, 3);
  EXPECT_EQ(Summarize({4}).outliers, 0);
}

TEST(StepMeasurements, TakesMediansOfWhatRan) {
  const double never = std::nan("");
  StepMeasurements measurement;
  EXPECT_FALSE(measurement.UndisturbedSteps().has_value());
  measurement.Add({10, 0, {0, never}, {4, never}, {1}, {2}});
  measurement.Add({30, 2, {1, never}, {3, never}, {1}, {6}});
  measurement.Add({20, 1, {1, never}, {10, never}, {1}, {4}});
  EXPECT_DOUBLE_EQ(measurement.Steps().median_us, 20);
  EXPECT_EQ(measurement.UndisturbedSteps()->steps, 1);
  EXPECT_DOUBLE_EQ(measurement.UndisturbedSteps()->median_us, 10);
  EXPECT_DOUBLE_EQ(measurement.MedianOpUs()[0], 4);
  EXPECT_TRUE(std::isnan(measurement.MedianOpUs()[1]));
  EXPECT_DOUBLE_EQ(measurement.MedianCopyUs()[0], 3);
}

}  // namespace
}  // namespace emplace
