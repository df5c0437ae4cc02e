#include "learner/update/objective/make_loss.h"

#include <gtest/gtest.h>

#include <vector>

namespace emplace {
namespace {

TEST(MakeLoss, ALossIsMadeAgainFromItsNumbers) {
  const std::vector<uint8_t> actions = {0, 1, 1};
  const std::vector<float> log_prob = {-0.2F, -0.9F, -1.1F};
  const std::vector<float> advantages = {0.5F, -1.5F, 2};
  const std::vector<float> lags = {0, 1, 1};
  const DecisionBatch batch{actions, log_prob, advantages, lags};
  const Decisions decisions{.blocks = {{.count = 3, .num_choices = 2}}, .logits = {0.1F, 0.3F, -1, 2, 0.5F, 0.25F}};
  std::vector<std::vector<float>> gradients;
  for (const LossKind kind : {LossKind::kReinforce, LossKind::kPpo}) {
    const LossSpec spec{.kind = kind, .clip = 0.3, .entropy_weight = 0.07};
    const std::unique_ptr<DecisionLoss> loss = MakeLoss(spec);
    EXPECT_EQ(loss->spec(), spec);
    std::vector<float> gradient(decisions.logits.size());
    loss->Add(batch, decisions, 3, gradient);
    std::vector<float> again(gradient.size());
    MakeLoss(loss->spec())->Add(batch, decisions, 3, again);
    EXPECT_EQ(again, gradient);
    gradients.push_back(gradient);
  }
  EXPECT_NE(gradients[0], gradients[1]);
}

}  // namespace
}  // namespace emplace
