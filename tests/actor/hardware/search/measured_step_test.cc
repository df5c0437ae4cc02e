#include "actor/hardware/search/measured_step.h"

#include <gtest/gtest.h>

namespace emplace {
namespace {

double Us(std::vector<double> us, std::vector<int64_t> preemptions) {
  return LeastDisturbedUs({.us = std::move(us), .preemptions = std::move(preemptions), .parts = {}});
}

TEST(LeastDisturbed, IsTheMedianOfTheThreeLeastDisturbedStepsOrOfAllThatAreDisturbedAsLittle) {
  EXPECT_EQ(Us({10, 90, 12, 80, 11}, {0, 1, 0, 2, 0}), 11);
  EXPECT_EQ(Us({10, 90, 12, 80, 11, 13}, {0, 1, 0, 2, 0, 0}), 11.5);
  EXPECT_EQ(Us({10, 90, 12, 80, 14}, {0, 1, 0, 2, 1}), 13);  // The third has one preemption: 10, 12, 14, 90.
  EXPECT_EQ(Us({10, 90, 12}, {}), 12);                       // Nobody has counted.
  EXPECT_EQ(Us({20, 10}, {1, 0}), 15);
}

TEST(MeasuredStep, IsTheRatioOfMedians) {
  const MeasuredStep step =
      MeasuredStepOf({.reference = {.us = {10, 20, 30}, .preemptions = {}, .parts = {}},
                      .placement = {.us = {5, 5}, .preemptions = {}, .parts = {.op_us = {1}, .copies = {}}}});
  EXPECT_EQ(step.ratio, 0.25);
  EXPECT_EQ(step.reference_us, 20);
  EXPECT_EQ(step.placement_parts.op_us, std::vector<double>{1});
}

}  // namespace
}  // namespace emplace
