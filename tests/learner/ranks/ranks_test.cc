// Ranks as threads of this process, over sockets of the loopback network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <future>
#include <thread>
#include <vector>
#include <zmq.hpp>

#include "common/error.h"
#include "common/strings.h"
#include "common/threads/machine_lock.h"
#include "common/wire/messages/rank_codec.h"
#include "common/wire/sockets.h"
#include "learner/ranks/leading_engine.h"
#include "learner/ranks/rank_follower.h"
#include "learner/ranks/rank_leader.h"
#include "learner/ranks/rank_state.h"
#include "learner/update/make_engine.h"
#include "learner/update/objective/make_loss.h"
#include "simulator/task/task_bundle.h"
#include "tests/learner/ranks/rank_lesson.h"
#include "tests/support/own_machine_lock.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

constexpr double kLong_s = 60;  // Longer than anything takes that works.

std::string MessageOf(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

class Ranks : public testing::Test {
 protected:
  Ranks() { fs::create_directories(folder_); }
  ~Ranks() override { fs::remove_all(folder_); }

  RankLeader::Options LeaderOptions(int64_t ranks, double step_limit_s = kLong_s) const {
    RankLeader::Options options;
    options.ranks = ranks;
    options.network.keys = MakeRankKeys(folder_ / "ranks.keys");
    options.join_limit_s = kLong_s;
    options.step_limit_s = step_limit_s;
    return options;
  }
  RankOptions Rank(int64_t rank, const RankLeader& leader) const {
    return {.rank = rank, .leader = leader.address(), .keys = LoadRankKeys(folder_ / "ranks.keys")};
  }
  RankWelcome Welcome(const RunConfig& config) const {
    RankWelcome welcome;
    welcome.ranks = static_cast<uint32_t>(config.training.ranks);
    welcome.config_yaml = RunConfigToYaml(config);
    for (const PlacementTask& task : lesson_.tasks) welcome.tasks.push_back(ToBundle(task));
    welcome.state = ToBundle(RankState{lesson_.weights, InitialAdamState(lesson_.weights.values.size())});
    return welcome;
  }
  std::unique_ptr<UpdateEngine> EngineOf(RankLeader& leader, const RunConfig& config) const {
    return MakeLeadingEngine(MakeEngine(config.training, lesson_.tasks, lesson_.weights, &leader), leader);
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / StrCat("emplace_ranks_", ::getpid());
  const RankLesson lesson_;
  const std::unique_ptr<DecisionLoss> loss_ = MakeLoss({LossKind::kReinforce, 2, 0.05});
};

// A rank that says and sends what a test wants.
class FakeRank {
 public:
  explicit FakeRank(const RankOptions& options, uint32_t protocol = kProtocolVersion)
      : endpoint_(options.leader, options.keys) {
    endpoint_.Send(RankHello{.protocol = protocol,
                             .rank = static_cast<uint32_t>(options.rank),
                             .host = "elsewhere",
                             .process = 77,
                             .kernel = "none"},
                   milliseconds(20'000));
  }
  template <typename Message>
  Message Await() {
    for (int i = 0; i < 2000; ++i) {
      const std::optional<LeaderMessage> message = endpoint_.Receive(milliseconds(10));
      if (message && std::holds_alternative<Message>(*message)) return std::get<Message>(*message);
    }
    ADD_FAILURE() << "the message did not come";
    return {};
  }
  RankEndpoint& endpoint() { return endpoint_; }

 private:
  RankEndpoint endpoint_;
};

TEST_F(Ranks, AnyNumberOfThemMakesTheStepsOfOne) {
  struct Case {
    int64_t ranks;
    int64_t shards;
    LossSpec loss;
  };
  const LossSpec reinforce{LossKind::kReinforce, 2, 0.05};
  const LossSpec ppo{LossKind::kPpo, 0.2, 0.01};
  for (const Case& c : {Case{2, 2, reinforce}, Case{2, 5, ppo}, Case{3, 8, reinforce}, Case{4, 4, ppo},
                        Case{4, 200, reinforce}}) {  // Most of 200 shards have nothing to do.
    const std::unique_ptr<DecisionLoss> loss = MakeLoss(c.loss);
    const RunConfig config = lesson_.Config(c.ranks, c.shards);
    RankLeader leader(LeaderOptions(c.ranks));
    std::vector<std::future<void>> others;
    for (int64_t rank = 1; rank < c.ranks; ++rank) {
      others.push_back(std::async(std::launch::async, [options = Rank(rank, leader)] { RunRank(options); }));
    }
    leader.Admit(Welcome(config), [] {});
    const std::unique_ptr<UpdateEngine> together = EngineOf(leader, config);
    const std::unique_ptr<UpdateEngine> alone = MakeEngine(config.training, lesson_.tasks, lesson_.weights);
    std::vector<float> values = lesson_.weights.values;
    std::vector<float> expected = values;
    const std::vector<float> later_lags(lesson_.lags.size(), 1.0F);
    for (int step = 0; step < 4; ++step) {
      UpdateInputs inputs = lesson_.Inputs(*loss);  // Of the first epoch of an update, and then of others.
      if (step % 2 == 1) inputs.lags = later_lags;
      const StepOutcome outcome = together->Step(inputs, values);
      const StepOutcome of_one = alone->Step(inputs, expected);
      EXPECT_EQ(values, expected) << c.ranks << " ranks, step " << step;
      EXPECT_EQ(outcome.loss, of_one.loss);
      EXPECT_EQ(outcome.entropy, of_one.entropy);
      EXPECT_EQ(outcome.mean_importance, of_one.mean_importance);
      EXPECT_EQ(outcome.gradient_norm, of_one.gradient_norm);
    }
    EXPECT_NE(values, lesson_.weights.values);
    EXPECT_EQ(together->SaveAdam().mean, alone->SaveAdam().mean);
    EXPECT_EQ(together->SaveAdam().variance, alone->SaveAdam().variance);
    leader.Stop();
    for (std::future<void>& rank : others) rank.get();  // Throws what the rank has thrown.
  }
}

// The window is open when the step is sent: the other rank's share comes when it has closed.
TEST_F(Ranks, OthersPauseForWindows) {
  const OwnMachineLock lock;
  const RunConfig config = lesson_.Config(2, 2);
  RankLeader::Options options = LeaderOptions(2);
  options.measuring = [] { return true; };
  RankLeader leader(options);
  std::future<void> other = std::async(std::launch::async, [options = Rank(1, leader)] { RunRank(options); });
  leader.Admit(Welcome(config), [] {});
  const std::unique_ptr<UpdateEngine> engine = EngineOf(leader, config);
  std::vector<float> values = lesson_.weights.values;
  engine->Step(lesson_.Inputs(*loss_), values);  // Both are under way now.
  MachineLock window;
  ASSERT_TRUE(window.OpenWindow(milliseconds(20'000)));
  std::atomic<bool> closed = false;
  std::thread measuring([&] {
    std::this_thread::sleep_for(milliseconds(50));
    closed = true;
    window.CloseWindow();
  });
  engine->Step(lesson_.Inputs(*loss_), values);
  EXPECT_TRUE(closed);
  measuring.join();
  leader.Stop();
  other.get();
  EXPECT_FALSE(lock.WorkIsUnderWay());
}

TEST_F(Ranks, OneThatIsNoRankOfTheRunIsTold) {
  RankLeader leader(LeaderOptions(3));
  std::vector<std::future<std::string>> refused;
  for (const int64_t rank : {3, 200}) {
    refused.push_back(std::async(std::launch::async,
                                 [options = Rank(rank, leader)] { return MessageOf([&] { RunRank(options); }); }));
  }
  std::vector<std::future<void>> others;
  std::array<std::future<std::string>, 2> twice;  // Of one number: one of them comes second.
  others.push_back(std::async(std::launch::async, [options = Rank(1, leader)] { RunRank(options); }));
  std::future<void> admitted = std::async(std::launch::async, [&] {
    bool all_were_told = false;
    leader.Admit(Welcome(lesson_.Config(3, 3)), [&] {
      if (all_were_told) return;
      for (const auto& rank : refused) {
        if (rank.wait_for(milliseconds(0)) != std::future_status::ready) return;
      }
      all_were_told = true;
      for (auto& rank : twice) {
        rank = std::async(std::launch::async,
                          [options = Rank(2, leader)] { return MessageOf([&] { RunRank(options); }); });
      }
    });
  });
  admitted.get();
  EXPECT_THAT(refused[0].get(),
              AllOf(HasSubstr("refuses this rank: it is rank 3, expected 1 to 2"), HasSubstr("training.ranks is 3")));
  EXPECT_THAT(refused[1].get(), HasSubstr("it is rank 200, expected 1 to 2"));
  const std::unique_ptr<UpdateEngine> engine = EngineOf(leader, lesson_.Config(3, 3));
  std::vector<float> values = lesson_.weights.values;
  // A step deals with the second one, when it comes.
  const auto is_told = [](const std::future<std::string>& rank) {
    return rank.wait_for(milliseconds(1)) == std::future_status::ready;
  };
  for (int i = 0; i < 10'000 && !is_told(twice[0]) && !is_told(twice[1]); ++i) {
    engine->Step(lesson_.Inputs(*loss_), values);
  }
  leader.Stop();
  others[0].get();
  const std::vector<std::string> said = {twice[0].get(), twice[1].get()};
  EXPECT_THAT(said, testing::UnorderedElementsAre("nothing was thrown",
                                                  AllOf(HasSubstr("rank 2 of 3 on"), HasSubstr("is there already"))));
}

TEST_F(Ranks, AStrangerIsNotHeard) {
  RankLeader leader(LeaderOptions(2));
  const RankOptions known = Rank(1, leader);
  RankOptions stranger = known;
  MakeRankKeys(folder_ / "other.keys");
  stranger.keys = LoadRankKeys(folder_ / "other.keys");
  stranger.keys.learner = known.keys.learner;
  EXPECT_THAT(MessageOf([&] { RunRank(stranger); }), HasSubstr("does not let in the key of this process"));
  std::future<void> rank = std::async(std::launch::async, [&] { RunRank(known); });
  leader.Admit(Welcome(lesson_.Config(2, 2)), [] {});
  leader.Stop();
  rank.get();
}

TEST_F(Ranks, OneOfAnotherVersionIsTold) {
  RankLeader leader(LeaderOptions(2));
  FakeRank old(Rank(1, leader), kProtocolVersion - 1);
  std::future<std::string> admitted = std::async(std::launch::async, [&] {
    int looks = 0;
    return MessageOf([&] {
      leader.Admit(Welcome(lesson_.Config(2, 2)), [&] {
        if (++looks == 20) throw RunFailed("enough");
      });
    });
  });
  EXPECT_THAT(old.Await<Refusal>().reason, HasSubstr("of the protocol, expected"));
  EXPECT_EQ(admitted.get(), "enough");
}

// With one real rank and one that does what a test wants, and a step under way.
class RanksInAStep : public Ranks {
 protected:
  // What the step ends with, when rank 2 does this once it has got the step.
  std::string StepWhen(const std::function<void(FakeRank&)>& act, double step_limit_s = kLong_s) {
    RankLeader leader(LeaderOptions(3, step_limit_s));
    std::future<std::string> good =
        std::async(std::launch::async, [options = Rank(1, leader)] { return MessageOf([&] { RunRank(options); }); });
    std::promise<void> over;
    std::thread bad([&, options = Rank(2, leader)] {
      FakeRank rank(options);
      rank.Await<RankData>();
      act(rank);
      if (!leaves_) over.get_future().wait();
    });
    const RunConfig config = lesson_.Config(3, 4);
    leader.Admit(Welcome(config), [] {});
    const std::unique_ptr<UpdateEngine> engine = EngineOf(leader, config);
    std::vector<float> values = lesson_.weights.values;
    std::string said = MessageOf([&] { engine->Step(lesson_.Inputs(*loss_), values); });
    EXPECT_EQ(values, lesson_.weights.values);
    over.set_value();
    bad.join();
    leader.Stop();
    EXPECT_THAT(good.get(), testing::AnyOf("nothing was thrown", HasSubstr("has not sent the sum")));
    return said;
  }

  bool leaves_ = false;  // Rank 2's connection ends once it has done what the test wants.
};

TEST_F(RanksInAStep, OneThatGoesIsNamed) {
  leaves_ = true;
  EXPECT_THAT(StepWhen([](FakeRank&) {}), HasSubstr("rank 2 of 3 on elsewhere (process 77) is gone"));
}

TEST_F(RanksInAStep, OneThatFailsSaysWhy) {
  leaves_ = true;
  EXPECT_EQ(
      StepWhen([](FakeRank& rank) { rank.endpoint().Send(RankFailure{"no memory is left"}, milliseconds(1000)); }),
      "rank 2 of 3 on elsewhere (process 77): no memory is left");
}

TEST_F(RanksInAStep, OneThatHangsIsNamed) {
  EXPECT_THAT(StepWhen([](FakeRank&) {}, 0.3),
              HasSubstr("rank 2 of 3 on elsewhere (process 77) has not sent its share of optimizer step 1 for 0.3 s"));
}

TEST_F(RanksInAStep, AShareThatDoesNotFitNamesItsRank) {
  ArrayBundle share;
  share.Put("rows", std::vector<float>(3));
  share.Put("losses", std::vector<double>(3));
  const auto send = [&](uint64_t step, RankDataKind kind) {
    return StepWhen([&](FakeRank& rank) { rank.endpoint().Send(RankData{kind, step, share}, milliseconds(1000)); });
  };
  EXPECT_THAT(send(1, RankDataKind::kShards),
              AllOf(HasSubstr("rank 2 of 3 on elsewhere"), HasSubstr("a share of 3 numbers and 3 losses, expected")));
  EXPECT_THAT(send(2, RankDataKind::kShards),
              AllOf(HasSubstr("rank 2 of 3 on elsewhere"), HasSubstr("that nobody has asked for")));
  EXPECT_THAT(send(1, RankDataKind::kSum), HasSubstr("that nobody has asked for"));
}

TEST_F(Ranks, ADamagedMessageNamesItsRank) {
  RankLeader leader(LeaderOptions(2));
  const RankOptions options = Rank(1, leader);
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  SetKeys(socket, options.keys);
  socket.connect(options.leader);
  SendFrames(socket, Encode(RankMessage(RankHello{.rank = 1, .host = "elsewhere", .process = 77, .kernel = "none"})),
             zmq::send_flags::none);
  const RunConfig config = lesson_.Config(2, 2);
  leader.Admit(Welcome(config), [] {});
  SendFrames(socket, std::vector<Frame>{"rubbish", "more"}, zmq::send_flags::none);
  const std::unique_ptr<UpdateEngine> engine = EngineOf(leader, config);
  std::vector<float> values = lesson_.weights.values;
  EXPECT_EQ(MessageOf([&] { engine->Step(lesson_.Inputs(*loss_), values); }),
            "rank 1 of 2 on elsewhere (process 77) has sent a message that makes no sense");
}

TEST_F(Ranks, WeightsOfOtherBitsAreFoundOut) {
  RankLeader leader(LeaderOptions(2));
  std::future<std::string> rank =
      std::async(std::launch::async, [options = Rank(1, leader)] { return MessageOf([&] { RunRank(options); }); });
  const RunConfig config = lesson_.Config(2, 2);
  leader.Admit(Welcome(config), [] {});
  const std::unique_ptr<UpdateEngine> engine = EngineOf(leader, config);
  std::vector<float> values = lesson_.weights.values;
  values[5] += 1e-7F;
  EXPECT_THAT(MessageOf([&] { engine->Step(lesson_.Inputs(*loss_), values); }),
              AllOf(HasSubstr("rank 1 of 2 on"), HasSubstr("its weights are not those of rank 0")));
  EXPECT_THAT(rank.get(), HasSubstr("its weights are not those of rank 0"));
}

TEST_F(Ranks, WithoutItsLeaderARankEnds) {
  std::future<std::string> rank;
  {
    RankLeader leader(LeaderOptions(2));
    rank = std::async(std::launch::async, [options = Rank(1, leader)] { return MessageOf([&] { RunRank(options); }); });
    leader.Admit(Welcome(lesson_.Config(2, 2)), [] {});
  }
  EXPECT_THAT(rank.get(), HasSubstr("is gone"));
}

TEST_F(Ranks, OneThatNeverJoinsIsNamed) {
  RankLeader::Options options = LeaderOptions(3);
  options.join_limit_s = 0.3;
  RankLeader leader(options);
  const FakeRank first(Rank(1, leader));
  EXPECT_THAT(MessageOf([&] { leader.Admit(Welcome(lesson_.Config(3, 3)), [] {}); }),
              HasSubstr("rank 2 of 3 has not joined at tcp://127.0.0.1:"));
}

}  // namespace
}  // namespace emplace
