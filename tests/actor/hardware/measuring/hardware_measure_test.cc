#include "actor/hardware/measuring/hardware_measure.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <thread>

#include "actor/reward_source.h"
#include "simulator/environment/placement_env.h"
#include "tests/actor/small_tasks.h"
#include "tests/support/temp_folder.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;

// Samples that a test has chosen, or a failure.
class FakeTimer : public StepTimer {
 public:
  explicit FakeTimer(const std::filesystem::path& locks) : locks_(locks) {}

  void Prepare(size_t graph, const OrderedPlacement& placement) override {
    prepared.emplace_back(graph, placement.placement);
    // Outside of any window: whoever waits for the computer has it still.
    EXPECT_TRUE(MachineLock(locks_).OpenWindow(milliseconds(0)));
    EXPECT_FALSE(other_measures);
    if (fails_to_prepare) throw StepFailed("an op fails");
  }
  StepSamples Time(const StepPlan& plan) override {
    plans.push_back(plan);
    MachineLock other(locks_);
    EXPECT_FALSE(other.OpenWindow(milliseconds(0)));
    EXPECT_GT(other.BeginWork(milliseconds(0)).count(), 0);
    if (fails_to_time) throw StepFailed("hangs");
    return samples;
  }

  StepSamples samples{.reference = {.us = {10, 10}}, .placement = {.us = {20, 20}}};
  std::atomic<bool> other_measures = false;
  bool fails_to_prepare = false;
  bool fails_to_time = false;
  std::vector<std::pair<size_t, std::vector<DeviceIndex>>> prepared;
  std::vector<StepPlan> plans;

 private:
  const std::filesystem::path locks_;
};

std::vector<PlacementTask> TasksWithAReference() {
  std::vector<PlacementTask> tasks = SmallTasks(1, 12);
  std::erase_if(tasks, [](const PlacementTask& task) { return task.single_device < 0; });
  return tasks;
}

class HardwareMeasureTest : public testing::Test {
 protected:
  HardwareMeasureTest() : meter_(config_, timer_, lock_, [this] { return over_; }) {}

  // Measures the placement on the best single device: which one it is is nothing to the meter.
  Measurement Run(size_t graph) {
    const PlacementTask& task = tasks_[graph];
    groups_.assign(static_cast<size_t>(task.groups.num_groups), static_cast<uint8_t>(task.single_device));
    std::vector<DeviceIndex> ops(task.group_of_op.size());
    task.Expand(groups_, ops);
    measure_ = std::make_unique<HardwareMeasure>(task, graph, config_, meter_);
    return measure_->Run(groups_, ops);
  }
  bool WindowIsClosed() { return MachineLock(folder_.path()).OpenWindow(milliseconds(0)); }

  const TempFolder folder_;
  const HardwareConfig config_{.warmup = 2, .steps = 4, .window_s = 0.125, .share = 1, .penalty = 8};
  const std::vector<PlacementTask> tasks_ = TasksWithAReference();
  FakeTimer timer_{folder_.path()};
  MachineLock lock_{folder_.path()};
  bool over_ = false;
  HardwareMeter meter_;
  std::vector<uint8_t> groups_;
  std::unique_ptr<HardwareMeasure> measure_;
};

// A step takes 3 times as long as the reference's, of which the simulator says single_device_us.
TEST_F(HardwareMeasureTest, TheMakespanIsTheRatioToTheReferenceTimesItsSimulatedOne) {
  timer_.samples = {.reference = {.us = {9, 10, 11}}, .placement = {.us = {30, 29, 31}}};
  const Measurement measured = Run(1);
  EXPECT_DOUBLE_EQ(measured.makespan_us, 3 * tasks_[1].single_device_us);
  EXPECT_TRUE(measured.feasible);
  EXPECT_FALSE(measure_->Reproducible());
  ASSERT_EQ(timer_.prepared.size(), 1U);
  EXPECT_EQ(timer_.prepared[0].first, 1U);
  EXPECT_EQ(timer_.prepared[0].second, std::vector<DeviceIndex>(tasks_[1].group_of_op.size(), tasks_[1].single_device));
}

// A computer that is ten times slower for a whole window changes nothing.
TEST_F(HardwareMeasureTest, DriftOfTheComputerCancels) {
  const double before = Run(0).makespan_us;
  timer_.samples = {.reference = {.us = {100, 100}}, .placement = {.us = {200, 200}}};
  EXPECT_DOUBLE_EQ(Run(0).makespan_us, before);
}

TEST_F(HardwareMeasureTest, AWindowIsOpenWhileStepsAreTimedAndOnlyThen) {
  Run(0);  // FakeTimer looks.
  ASSERT_EQ(timer_.plans.size(), 1U);
  EXPECT_EQ(timer_.plans[0].warmup, 2);
  EXPECT_EQ(timer_.plans[0].steps, 4);
  EXPECT_EQ(timer_.plans[0].window_s, 0.125);
  EXPECT_TRUE(WindowIsClosed());
}

TEST_F(HardwareMeasureTest, AStepIsPreparedOutsideOfOthersWindows) {
  MachineLock other(folder_.path());
  ASSERT_TRUE(other.OpenWindow(milliseconds(0)));
  timer_.other_measures = true;
  std::thread closing([&] {
    std::this_thread::sleep_for(milliseconds(50));
    timer_.other_measures = false;
    other.CloseWindow();
  });
  Run(1);
  closing.join();
  EXPECT_EQ(timer_.prepared.size(), 1U);
}

TEST_F(HardwareMeasureTest, WhatFailsOrHangsGetsThePenalty) {
  timer_.fails_to_prepare = true;
  Measurement measured = Run(0);
  EXPECT_DOUBLE_EQ(measured.makespan_us, 8 * tasks_[0].single_device_us);
  EXPECT_FALSE(measured.feasible);
  timer_.fails_to_prepare = false;
  timer_.fails_to_time = true;
  measured = Run(0);
  EXPECT_DOUBLE_EQ(measured.makespan_us, 8 * tasks_[0].single_device_us);
  EXPECT_FALSE(measured.feasible);
  EXPECT_TRUE(WindowIsClosed());
  timer_.fails_to_time = false;
  EXPECT_TRUE(Run(0).feasible);
}

TEST_F(HardwareMeasureTest, ThePenaltyIsTheUpperLimit) {
  timer_.samples = {.reference = {.us = {1, 1}}, .placement = {.us = {1000, 1000}}};
  EXPECT_DOUBLE_EQ(Run(0).makespan_us, 8 * tasks_[0].single_device_us);
}

TEST_F(HardwareMeasureTest, WhoIsToldToEndWaitsForNoWindow) {
  over_ = true;
  HardwareMeter meter({.share = 0.01}, timer_, lock_, [this] { return over_; });
  const std::vector<DeviceIndex> ops(tasks_[0].group_of_op.size(), 0);
  EXPECT_NO_THROW(meter.Ratio(0, ops));                     // There is nothing to wait for.
  EXPECT_THROW(meter.Ratio(0, ops), MeasurementCancelled);  // Its share of the time is used up.
}

// By hand: {1, 2, 3, 4, 100} has the median 3; the quartiles are 2 and 4, the fences -1 and 7, and the mean of what is
// within them is 2.5.
TEST(RatioOf, FollowsTheRuleForOutliers) {
  const StepSamples samples{.reference = {.us = {1, 1}}, .placement = {.us = {1, 2, 3, 4, 100}}};
  EXPECT_DOUBLE_EQ(RatioOf(samples, StepCenter::kMedian), 3);
  EXPECT_DOUBLE_EQ(RatioOf(samples, StepCenter::kTukey), 2.5);
}

}  // namespace
}  // namespace emplace
