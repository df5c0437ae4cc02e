#include "learner/evaluation/evaluation_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "policy/placeto/placeto_kind.h"
#include "tests/learner/episodes.h"

namespace emplace {
namespace {

Workload SmallWorkload() {
  Workload workload;
  workload.validation = TwoDeviceTasks(1, 3);
  workload.test = TwoDeviceTasks(2, 2);
  workload.num_devices = 2;
  return workload;
}

const std::atomic<bool> kNobodyMeasures = false;

TEST(EvaluationThread, ReportsWhatTheEvaluatorSays) {
  const Workload workload = SmallWorkload();
  StageClock clock;
  EvaluationThread thread(workload, {}, clock, kNobodyMeasures);
  EXPECT_FALSE(thread.Poll().has_value());
  const auto weights = std::make_shared<const PolicyWeights>(SmallPolicy(3, 9));
  thread.Submit(weights);
  thread.WaitIdle();
  const std::optional<EvaluationReport> report = thread.Poll();
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->weights, weights);
  EXPECT_EQ(report->validation.ratios, Evaluate(*weights, workload.validation, {}).ratios);
  EXPECT_EQ(report->test.ratios, Evaluate(*weights, workload.test, {}).ratios);
  EXPECT_FALSE(thread.Poll().has_value());  // Once.
  EXPECT_GT(clock.seconds().busy, 0);
}

TEST(EvaluationThread, ANewerPolicyTakesThePlaceOfOneThatWaits) {
  const Workload workload = SmallWorkload();
  StageClock clock;
  EvaluationThread thread(workload, {}, clock, kNobodyMeasures);
  std::vector<PolicyVersion> reported;
  for (PolicyVersion version = 1; version <= 200; ++version) {
    thread.Submit(std::make_shared<const PolicyWeights>(SmallPolicy(3, version)));
  }
  while (reported.empty() || reported.back() < 200) {
    thread.WaitIdle();
    if (const auto report = thread.Poll()) reported.push_back(report->weights->version);
  }
  // Nobody read a report in between: whichever the thread took first, then the newest.
  EXPECT_LE(reported.size(), 2U);
}

TEST(EvaluationThread, AFailureReachesWhoeverAsks) {
  const Workload workload = SmallWorkload();
  StageClock clock;
  EvaluationThread thread(workload, {}, clock, kNobodyMeasures);
  PlacetoShape three_devices;
  three_devices.num_devices = 3;
  thread.Submit(std::make_shared<const PolicyWeights>(InitialPlaceto(three_devices, Rng(1))));
  thread.WaitIdle();
  try {
    thread.Poll();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 1);
    EXPECT_THAT(error.what(), testing::HasSubstr("evaluation: the policy is for 3 devices"));
  }
  thread.Submit(std::make_shared<const PolicyWeights>(SmallPolicy(3, 9)));
  thread.WaitIdle();  // Does not wait for ever.
}

}  // namespace
}  // namespace emplace
