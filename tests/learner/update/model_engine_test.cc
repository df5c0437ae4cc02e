#include "learner/update/model_engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "learner/update/objective/reinforce_loss.h"
#include "policy/models.h"
#include "tests/learner/episodes.h"
#include "tests/learner/update/update_lesson.h"
#include "tests/support/random_policy.h"

namespace emplace {
namespace {

PolicyWeights RandomWeights() {
  Rng rng(3);
  return RandomPlacetoWeights(PlacetoShape::Of(SmallPolicy(0).shape), rng);
}

struct TestLesson : UpdateLesson {
  ReinforceLoss loss{/*clip=*/2, /*entropy=*/0.05};

  TestLesson() : UpdateLesson(RandomWeights()) {}
  UpdateInputs inputs() const { return Inputs(loss, /*gradient_clip=*/1e9, /*learning_rate=*/1e-3); }
  std::unique_ptr<UpdateEngine> Engine(int64_t shards) const {
    return MakeModelEngine(MakeModel(weights.shape, tasks), weights, shards);
  }
};

TEST(ModelEngine, ShardsWithNothingToDoStayOutOfEveryStep) {
  const TestLesson lesson;
  std::vector<float> whole(lesson.weights.values.size());
  std::vector<float> parts(whole.size());
  const std::unique_ptr<UpdateEngine> one = lesson.Engine(1);
  const std::unique_ptr<UpdateEngine> thousand = lesson.Engine(1000);  // The first has nothing to do, nor have most.
  for (int step = 0; step < 3; ++step) {
    const StepOutcome expected = one->Step(lesson.inputs(), whole);
    EXPECT_NEAR(thousand->Step(lesson.inputs(), parts).loss, expected.loss, 1e-6) << "step " << step;
  }
}

// One step is decided by the gradient alone, through its first moment: a tenth of the gradient.
TEST(ModelEngine, ShardsAddUpToTheWhole) {
  const TestLesson lesson;
  std::vector<float> values(lesson.weights.values.size());
  const std::unique_ptr<UpdateEngine> whole = lesson.Engine(1);
  const StepOutcome expected = whole->Step(lesson.inputs(), values);
  ASSERT_GT(expected.gradient_norm, 1e-3);
  for (const int64_t shards : {2, 3, 5, 8, 1000}) {  // Of a thousand, most have nothing to do.
    const std::unique_ptr<UpdateEngine> parts = lesson.Engine(shards);
    const StepOutcome outcome = parts->Step(lesson.inputs(), values);
    EXPECT_NEAR(outcome.loss, expected.loss, 1e-9);
    EXPECT_NEAR(outcome.entropy, expected.entropy, 1e-9);
    EXPECT_NEAR(outcome.mean_importance, expected.mean_importance, 1e-9);
    EXPECT_NEAR(outcome.gradient_norm, expected.gradient_norm, 1e-5 * expected.gradient_norm);
    const AdamState sum = parts->SaveAdam();
    for (size_t i = 0; i < sum.mean.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(sum.mean[i]), static_cast<double>(whole->SaveAdam().mean[i]),
                  1e-6 * expected.gradient_norm);
    }
  }
}

TEST(ModelEngine, EqualInputsGiveEqualBits) {
  const TestLesson lesson;
  std::vector<std::vector<float>> values(2, std::vector<float>(lesson.weights.values.size()));
  for (std::vector<float>& own : values) {
    const std::unique_ptr<UpdateEngine> engine = lesson.Engine(3);
    for (int step = 0; step < 3; ++step) engine->Step(lesson.inputs(), own);
  }
  EXPECT_EQ(values[0], values[1]);
  EXPECT_NE(values[0], lesson.weights.values);
}

}  // namespace
}  // namespace emplace
