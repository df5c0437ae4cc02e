#include "learner/update/make_engine.h"

#include <gtest/gtest.h>

#include <string>

#include "common/error.h"
#include "policy/models.h"
#include "tests/learner/episodes.h"

namespace emplace {
namespace {

TEST(MakeEngine, WithoutAGpuCudaIsRefusedAndAutoMeansTheCpu) {
  const std::string why_not = WhyNoGpu(SmallPolicy(0).shape);
  if (why_not.empty()) GTEST_SKIP() << "this computer has a GPU";
  const std::vector<PlacementTask> tasks = TwoDeviceTasks(1, 2);
  TrainingConfig config;
  config.device = LearnerDevice::kAuto;
  EXPECT_EQ(MakeEngine(config, tasks, SmallPolicy(0))->device(), "cpu");
  config.device = LearnerDevice::kCuda;
  for (const int64_t shards : {1, 2}) {
    config.shards = shards;
    try {
      MakeEngine(config, tasks, SmallPolicy(0));
      ADD_FAILURE() << "was made";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kRunFailed);
      EXPECT_EQ(error.what(), "training.device is cuda, but no GPU can be used: " + why_not);
    }
  }
}

}  // namespace
}  // namespace emplace
