#include "learner/ranks/step_message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/error.h"
#include "common/rng.h"
#include "learner/ranks/rank_state.h"
#include "learner/ranks/shard_message.h"
#include "learner/update/model_engine.h"
#include "learner/update/objective/make_loss.h"
#include "policy/models.h"
#include "policy/policy_kinds.h"
#include "tests/learner/ranks/rank_lesson.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

class StepMessage : public testing::Test {
 protected:
  ArrayBundle Bundle() const { return ToBundle(lesson_.Inputs(*loss_), lesson_.weights.values); }
  ReceivedStep Read(const ArrayBundle& bundle) const {
    return {bundle, lesson_.tasks, FindPolicyKind(lesson_.weights.shape.kind)};
  }

  const RankLesson lesson_;
  const std::unique_ptr<DecisionLoss> loss_ = MakeLoss({LossKind::kPpo, 0.25, 0.05});
};

TEST_F(StepMessage, ComesAsItWasSent) {
  const ReceivedStep step = Read(Bundle());
  const UpdateInputs sent = lesson_.Inputs(*loss_);
  const UpdateInputs got = step.inputs();
  ASSERT_EQ(got.episodes.size(), sent.episodes.size());
  for (size_t i = 0; i < sent.episodes.size(); ++i) {
    EXPECT_EQ(got.episodes[i].graph, sent.episodes[i].graph);
    EXPECT_EQ(got.episodes[i].start_placement, sent.episodes[i].start_placement);
    EXPECT_EQ(got.episodes[i].actions, sent.episodes[i].actions);
    EXPECT_EQ(got.episodes[i].behaviour_log_prob, sent.episodes[i].behaviour_log_prob);
  }
  ASSERT_EQ(got.samples.size(), sent.samples.size());
  for (size_t i = 0; i < sent.samples.size(); ++i) {
    EXPECT_EQ(got.samples[i].episode, sent.samples[i].episode);
    EXPECT_EQ(got.samples[i].decision, sent.samples[i].decision);
  }
  EXPECT_TRUE(std::ranges::equal(got.advantages, sent.advantages));
  EXPECT_TRUE(std::ranges::equal(got.lags, sent.lags));
  EXPECT_EQ(got.loss.spec(), sent.loss.spec());
  EXPECT_EQ(got.gradient_clip, sent.gradient_clip);
  EXPECT_EQ(got.learning_rate, sent.learning_rate);
  EXPECT_EQ(step.values_hash(), HashOfValues(lesson_.weights.values));
}

std::vector<std::string> NamesOf(const ArrayBundle& bundle) {
  std::vector<std::string> names;
  for (const NamedArray& array : bundle.arrays()) names.push_back(array.name);
  return names;
}

TEST_F(StepMessage, OnlyWhatHasChangedIsSentAgain) {
  // An update in three epochs: the second one has other lags and weights, the third one other weights.
  std::vector<float> values = lesson_.weights.values;
  const std::vector<float> later_lags(lesson_.lags.size(), 1.0F);
  std::vector<ArrayBundle> epochs = {Bundle()};
  UpdateInputs inputs = lesson_.Inputs(*loss_);
  inputs.lags = later_lags;
  for (const float weight : {0.5F, 0.25F}) {
    values[0] = weight;
    epochs.push_back(ToBundle(inputs, values));
  }
  const std::vector<std::vector<std::string>> expected = {NamesOf(epochs[0]), {"lags", "values_hash"}, {"values_hash"}};
  ArrayBundle sent;
  ArrayBundle received;
  for (size_t epoch = 0; epoch < epochs.size(); ++epoch) {
    const ArrayBundle changed = ChangedArrays(sent, epochs[epoch]);
    EXPECT_EQ(NamesOf(changed), expected[epoch]);
    TakeChanges(changed, received);
    sent = epochs[epoch];
    for (const NamedArray& array : sent.arrays()) {
      const auto got = std::ranges::find(received.arrays(), array.name, &NamedArray::name);
      ASSERT_NE(got, received.arrays().end()) << array.name;
      EXPECT_EQ(got->bytes, array.bytes) << array.name;
    }
    Read(received);
  }
  // Weights that have stayed are no reason for a message without arrays.
  EXPECT_EQ(NamesOf(ChangedArrays(sent, sent)), std::vector<std::string>{"values_hash"});
}

TEST_F(StepMessage, AnArrayOfNoStepIsRefused) {
  ArrayBundle received = Bundle();
  ArrayBundle changed;
  changed.Put("lags", lesson_.lags);
  changed.Put("more", lesson_.lags);
  EXPECT_THROW(TakeChanges(changed, received), Error);
  EXPECT_EQ(NamesOf(received), NamesOf(Bundle()));
}

TEST_F(StepMessage, ADamagedOneIsRefusedOrFitsTheTasks) {
  Rng rng(4);
  int refused = 0;
  const std::unique_ptr<UpdateEngine> engine =
      MakeModelEngine(MakeModel(lesson_.weights.shape, lesson_.tasks), lesson_.weights, /*shards=*/3);
  std::vector<float> values(lesson_.weights.values.size());
  const auto trials = static_cast<int>(Trials(2000));
  for (int round = 0; round < trials; ++round) {
    ArrayBundle bundle = Bundle();
    auto& arrays = bundle.arrays();
    NamedArray& array = arrays[static_cast<size_t>(rng.UniformInt(0, std::ssize(arrays) - 1))];
    const size_t element = SizeOf(array.type);
    switch (rng.UniformInt(0, 3)) {
      case 0:
        array.bytes.resize(static_cast<size_t>(rng.UniformInt(0, std::ssize(array.bytes))) / element * element);
        break;
      case 1:
        array.name += "x";
        break;
      case 2:
        array.bytes.insert(array.bytes.end(), array.bytes.begin(), array.bytes.begin() + static_cast<int64_t>(element));
        break;
      default:
        array.bytes[static_cast<size_t>(rng.UniformInt(0, std::ssize(array.bytes) - 1))] ^=
            static_cast<uint8_t>(1U << static_cast<unsigned>(rng.UniformInt(0, 7)));
    }
    try {
      const ReceivedStep step = Read(bundle);
      const UpdateInputs inputs = step.inputs();
      ASSERT_EQ(inputs.advantages.size(), inputs.lags.size());
      for (const Sample& sample : inputs.samples) {
        ASSERT_LT(sample.episode, inputs.episodes.size());
        ASSERT_LT(static_cast<size_t>(sample.decision), inputs.episodes[sample.episode].actions.size());
      }
      engine->Step(inputs, values);  // What is taken can be worked with, whatever its numbers mean.
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
      ++refused;
    }
  }
  EXPECT_GT(refused, trials / 2);
}

TEST(RankState, ComesAsItWasSentOrIsRefused) {
  const RankLesson lesson;
  RankState state{lesson.weights, InitialAdamState(lesson.weights.values.size())};
  state.adam.steps = 7;
  state.adam.mean[2] = 0.5F;
  state.adam.variance[3] = 0.25F;
  const RankState got = RankStateFromBundle(ToBundle(state));
  EXPECT_EQ(got.weights.values, state.weights.values);
  EXPECT_EQ(got.adam.steps, 7);
  EXPECT_EQ(got.adam.mean, state.adam.mean);
  EXPECT_EQ(got.adam.variance, state.adam.variance);
  state.adam.mean.pop_back();
  EXPECT_THROW(RankStateFromBundle(ToBundle(state)), Error);
}

TEST(ShardMessage, ComesAsItWasSentAndNoOtherSizeIsTaken) {
  ShardSums sums(5, 2, 3);
  const ShardRange own = sums.RangeOf(1);
  for (int64_t shard = own.first; shard < own.last; ++shard) sums.row(shard)[1] = static_cast<float>(shard);
  sums.AddOwn(1);
  const ArrayBundle share = SharesOf(1, sums);
  ShardSums taken(5, 2, 3);
  TakeShares(share, 1, taken);
  for (const int64_t shard : sums.PartialSumsOf(1)) EXPECT_EQ(taken.row(shard)[1], sums.row(shard)[1]);

  ShardSums unpacked(5, 2, 3);
  sums.loss(own.first) = {1.5, -2, 0.25};
  TakePackedShares(PackedShares(1, sums), 1, unpacked);
  for (const int64_t shard : sums.PartialSumsOf(1)) EXPECT_EQ(unpacked.row(shard)[1], sums.row(shard)[1]);
  EXPECT_EQ(unpacked.loss(own.first).entropy, -2);

  EXPECT_THROW(TakeShares(share, 0, taken), Error);  // Another rank's.
  ShardSums wider(5, 2, 4);
  EXPECT_THROW(TakeShares(share, 1, wider), Error);
  for (const int64_t shard : sums.PartialSumsOf(1)) EXPECT_EQ(wider.row(shard)[1], 0);
}

}  // namespace
}  // namespace emplace
