// A whole actor, in this process, against a fake learner over real sockets.
#include "actor/actor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "actor/reward_source.h"
#include "common/error.h"
#include "common/strings.h"
#include "common/wire/access/keys.h"
#include "common/wire/learner_endpoint.h"
#include "tests/actor/fake_learner.h"
#include "tests/actor/small_tasks.h"

namespace emplace {
namespace {

using Received = FakeLearner::Received;

constexpr char kConfig[] =
    "seed: 3\nactor: {episodes_in_flight: 2, send_queue: 4, heartbeat_s: 0.05, patience_s: 20}\n";

FakeLearnerOptions Options() {
  FakeLearnerOptions options;
  options.config_yaml = kConfig;
  return options;
}

// Below those that connections get by chance: an actor that tries to reach the port while nobody listens could get it
// as its own, and would be connected to itself. A learner listens on two ports.
int PortToReturnTo() { return 20000 + 2 * (::getpid() % 6000); }

// Runs an actor on a thread; its destructor interrupts it.
class RunningActor {
 public:
  explicit RunningActor(const std::string& learner, int patience_ms = 20000,
                        std::unique_ptr<RewardSource> rewards = std::make_unique<SimulatedRewards>())
      : rewards_(std::move(rewards)), thread_([this, learner, patience_ms] {
          try {
            RunActor(
                {.learner = learner, .name = "test/0", .keys = {}, .patience = std::chrono::milliseconds(patience_ms)},
                interrupted_, *rewards_);
          } catch (const Error& error) {
            failure_ = error;
          }
        }) {}
  ~RunningActor() {
    if (thread_.joinable()) Interrupt();
  }

  void Interrupt() {
    interrupted_ = true;
    thread_.join();
  }
  // Waits for the actor to end by itself.
  std::optional<Error> End() {
    thread_.join();
    return failure_;
  }
  const std::optional<Error>& failure() const { return failure_; }  // After its end.

 private:
  const std::unique_ptr<RewardSource> rewards_;
  std::atomic<bool> interrupted_ = false;
  std::optional<Error> failure_;
  std::thread thread_;
};

// Rewards that are never ready: Begin throws an error, or without one waits until the actor is to end.
class UnreadyRewards : public RewardSource {
 public:
  explicit UnreadyRewards(std::optional<Error> error = {}) : error_(std::move(error)) {}
  bool measures() const override { return true; }
  MeasureFactory Begin(const std::shared_ptr<const Session>& /*session*/, std::function<bool()> is_over) override {
    if (error_) throw Error(*error_);
    while (!is_over()) std::this_thread::yield();
    throw MeasurementCancelled();
  }
  std::chrono::microseconds window_time() const override { return std::chrono::microseconds(0); }

 private:
  const std::optional<Error> error_;
};

// A Goodbye after no episode.
bool SaidGoodbye(const FakeLearner& learner) {
  return learner.Await([](const Received& received) {
    return received.goodbyes.size() == 1 && received.goodbyes[0].actor == ActorKey{4, 1} &&
           received.goodbyes[0].produced == 100;
  });
}

// Sequences within each key are first, first + 1, ... without gap or repeat; returns the number of each key.
std::map<ActorKey, uint64_t> CheckSequences(const std::vector<Trajectory>& trajectories, uint64_t first) {
  std::map<ActorKey, uint64_t> last;
  for (const Trajectory& trajectory : trajectories) {
    const auto known = last.emplace(trajectory.actor, first - 1).first;
    EXPECT_EQ(trajectory.sequence, known->second + 1);
    known->second = trajectory.sequence;
  }
  return last;
}

TEST(Actor, TrajectoriesFlowAndGoodbyeCountsThem) {
  FakeLearnerOptions options = Options();
  options.first_sequence = 101;
  FakeLearner learner(options);
  RunningActor actor(learner.address());
  EXPECT_TRUE(learner.Await([](const Received& received) { return received.trajectories.size() >= 50; }));
  actor.Interrupt();
  EXPECT_FALSE(actor.failure().has_value());
  ASSERT_TRUE(learner.Await([](const Received& received) { return !received.goodbyes.empty(); }));
  const ActorKey key{4, 1};
  EXPECT_EQ(learner.received().goodbyes[0].actor, key);
  const uint64_t produced = learner.received().goodbyes[0].produced;
  // Everything produced arrives: nothing was in the way.
  EXPECT_TRUE(learner.Await([&](const Received& received) { return received.trajectories.size() == produced - 100; }));
  EXPECT_EQ(CheckSequences(learner.received().trajectories, 101), (std::map<ActorKey, uint64_t>{{key, produced}}));
  EXPECT_EQ(learner.received().hellos[0].name, "test/0");
  EXPECT_EQ(learner.received().hellos[0].protocol, kProtocolVersion);
  uint64_t before = 100;
  for (const Heartbeat& heartbeat : learner.received().heartbeats) {
    EXPECT_EQ(heartbeat.actor, key);
    EXPECT_GE(heartbeat.produced, before);
    before = heartbeat.produced;
  }
  EXPECT_LE(before, produced);
}

TEST(Actor, NewerWeightsReplaceOlderOnes) {
  FakeLearner learner(Options());
  RunningActor actor(learner.address());
  for (const PolicyVersion version : {PolicyVersion{3}, PolicyVersion{7}, PolicyVersion{8}}) {
    learner.Announce(version);
    EXPECT_TRUE(learner.Await([&](const Received& received) {
      return !received.trajectories.empty() && received.trajectories.back().policy_version == version;
    }));
  }
  learner.AnnounceQuietly(9);  // A notice can be lost; the reply to a heartbeat makes up for it.
  EXPECT_TRUE(learner.Await([](const Received& received) { return received.trajectories.back().policy_version == 9; }));
  EXPECT_TRUE(learner.Await([](const Received& received) { return received.heartbeats.back().version == 9; }));
  actor.Interrupt();
  PolicyVersion before = 0;
  for (const Trajectory& trajectory : learner.received().trajectories) {
    EXPECT_GE(trajectory.policy_version, before);
    before = trajectory.policy_version;
  }
}

TEST(Actor, DamagedWeightsAreAskedForAgain) {
  FakeLearnerOptions options = Options();
  options.damage_first_weights = true;
  FakeLearner learner(options);
  RunningActor actor(learner.address());
  EXPECT_TRUE(learner.Await([](const Received& received) { return !received.trajectories.empty(); }));
  EXPECT_GE(learner.received().weights_served, 2);
}

TEST(Actor, StopEndsItWithAGoodbye) {
  FakeLearner learner(Options());
  RunningActor actor(learner.address());
  EXPECT_TRUE(learner.Await([](const Received& received) { return received.trajectories.size() >= 5; }));
  learner.StopActors();
  EXPECT_FALSE(actor.End().has_value());
  EXPECT_TRUE(learner.Await([](const Received& received) { return !received.goodbyes.empty(); }));
  EXPECT_TRUE(learner.Await(
      [](const Received& received) { return received.trajectories.size() == received.goodbyes[0].produced; }));
}

TEST(Actor, AFullBufferPausesIt) {
  FakeLearner learner(Options());
  learner.AcceptTrajectories(false);
  RunningActor actor(learner.address());
  // What queues and kernel buffers hold is bounded: after a while, `produced` stands still.
  uint64_t produced = 0;
  size_t still = 0;
  EXPECT_TRUE(learner.Await([&](const Received& received) {
    if (received.heartbeats.empty() || received.heartbeats.back().produced == 0) return false;
    still = received.heartbeats.back().produced == produced ? still + 1 : 0;
    produced = received.heartbeats.back().produced;
    return still > 60;
  }));
  learner.AcceptTrajectories(true);
  EXPECT_TRUE(learner.Await([&](const Received& received) { return received.trajectories.size() > produced; }));
  CheckSequences(learner.received().trajectories, 1);
}

// A learner that has this limit from the start: an actor's first heartbeat comes before its first episode ends.
TEST(Actor, ALimitHoldsItUntilTheLearnerRaisesIt) {
  FakeLearner learner(Options());
  learner.LimitActors(6);
  RunningActor actor(learner.address());
  const auto come = [](size_t count) {
    return [count](const Received& received) { return received.trajectories.size() >= count; };
  };
  EXPECT_TRUE(learner.Await(come(6)));
  const size_t heartbeats = learner.received().heartbeats.size();
  EXPECT_TRUE(learner.Await([&](const Received& received) { return received.heartbeats.size() > heartbeats + 10; }));
  EXPECT_EQ(learner.received().trajectories.size(), 6U);
  learner.LimitActors(9);  // Less than a wave more.
  EXPECT_TRUE(learner.Await(come(9)));
  learner.LimitActors(100);
  EXPECT_TRUE(learner.Await(come(100)));
  CheckSequences(learner.received().trajectories, 1);
}

TEST(Actor, ALimitThatIsNeverRaisedDoesNotHoldItForEver) {
  FakeLearner learner(Options());
  learner.LimitActors(4);
  RunningActor actor(learner.address());
  const auto goes_on = [](const Received& received) { return received.trajectories.size() > 4; };
  EXPECT_TRUE(learner.Await(goes_on) || learner.Await(goes_on));  // It waits for 5 s, as long as Await does.
}

TEST(Actor, ALearnerThatReturnsGetsANewIncarnation) {
  FakeLearnerOptions first_options = Options();
  first_options.port = PortToReturnTo();
  std::optional<FakeLearner> first(first_options);
  RunningActor actor(first->address());
  EXPECT_TRUE(first->Await([](const Received& received) { return received.trajectories.size() >= 10; }));
  const uint64_t old_nonce = first->received().hellos[0].nonce;
  FakeLearnerOptions options = Options();
  options.port = first->port();
  options.session = 2;
  options.incarnation = 2;
  options.seed = 9;  // Other graphs, other weights.
  first.reset();
  FakeLearner second(options);
  const ActorKey old_key{4, 1}, new_key{4, 2};
  EXPECT_TRUE(second.Await([&](const Received& received) {
    return !received.trajectories.empty() && received.trajectories.back().actor == new_key;
  }));
  actor.Interrupt();
  EXPECT_FALSE(actor.failure().has_value());
  ASSERT_TRUE(second.Await([](const Received& received) { return received.goodbyes.size() == 2; }));
  EXPECT_EQ(second.received().goodbyes[0].actor, old_key);
  EXPECT_GE(second.received().goodbyes[0].produced, 10U);
  EXPECT_EQ(second.received().goodbyes[1].actor, new_key);
  EXPECT_NE(second.received().hellos[0].nonce, old_nonce);
  const uint64_t produced = second.received().goodbyes[1].produced;
  uint64_t old_before = 0, new_before = 0;
  for (const Trajectory& trajectory : second.received().trajectories) {
    // What the old incarnation still had queued comes first, under its own key.
    if (trajectory.actor == old_key) {
      EXPECT_EQ(new_before, 0U);
      EXPECT_GT(trajectory.sequence, old_before);
      old_before = trajectory.sequence;
    } else {
      EXPECT_EQ(trajectory.actor, new_key);
      EXPECT_EQ(trajectory.sequence, ++new_before);
    }
  }
  EXPECT_EQ(new_before, produced);
  EXPECT_LE(old_before, second.received().goodbyes[0].produced);
}

TEST(Actor, ALearnerThatIsReplacedWhileALimitHoldsItIsJoined) {
  FakeLearnerOptions options = Options();
  options.port = PortToReturnTo();
  std::optional<FakeLearner> first(options);
  first->LimitActors(4);
  RunningActor actor(first->address());
  EXPECT_TRUE(first->Await([](const Received& received) { return received.trajectories.size() == 4; }));
  options.port = first->port();
  options.session = 2;
  options.incarnation = 2;
  first.reset();
  FakeLearner second(options);
  EXPECT_TRUE(second.Await([](const Received& received) {
    return !received.trajectories.empty() && received.trajectories.back().actor == ActorKey{4, 2};
  }));
  actor.Interrupt();
  EXPECT_FALSE(actor.failure().has_value());
}

TEST(Actor, ARefusalEndsItWithTheReason) {
  FakeLearnerOptions options = Options();
  options.refusal = "protocol 1 is too old";
  FakeLearner learner(options);
  RunningActor actor(learner.address());
  const auto failure = actor.End();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->exit_code(), 2);
  EXPECT_THAT(failure->what(), testing::HasSubstr("protocol 1 is too old"));
}

TEST(Actor, DamagedGraphsEndIt) {
  FakeLearnerOptions options = Options();
  options.damage_tasks = true;
  FakeLearner learner(options);
  RunningActor actor(learner.address());
  const auto failure = actor.End();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->exit_code(), 2);
}

TEST(Actor, SilenceEndsIt) {
  RunningActor actor("tcp://127.0.0.1:1", 200);
  const auto failure = actor.End();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->exit_code(), 1);
  EXPECT_THAT(failure->what(), testing::HasSubstr("tcp://127.0.0.1:1: the learner has been silent"));
}

TEST(Actor, SilenceAfterAWelcomeEndsIt) {
  FakeLearnerOptions options = Options();
  options.config_yaml = "actor: {heartbeat_s: 0.05, patience_s: 0.3}\n";
  std::optional<FakeLearner> learner(options);
  RunningActor actor(learner->address());
  EXPECT_TRUE(learner->Await([](const Received& received) { return !received.trajectories.empty(); }));
  learner.reset();
  const auto failure = actor.End();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->exit_code(), 1);
}

TEST(Actor, AnInterruptBeforeTheWelcomeIsAnEnd) {
  RunningActor actor("tcp://127.0.0.1:1");
  actor.Interrupt();
  EXPECT_FALSE(actor.failure().has_value());
}

// A heartbeat tells that the actor has joined, and so that its rewards are made ready.
bool HasJoined(const FakeLearner& learner) {
  return learner.Await([](const Received& received) { return !received.heartbeats.empty(); });
}

TEST(Actor, AnInterruptWhileRewardsAreMadeReadyIsAnEndWithAGoodbye) {
  FakeLearnerOptions options = Options();
  options.first_sequence = 101;
  FakeLearner learner(options);
  RunningActor actor(learner.address(), 20000, std::make_unique<UnreadyRewards>());
  EXPECT_TRUE(HasJoined(learner));
  actor.Interrupt();
  EXPECT_FALSE(actor.failure().has_value());
  EXPECT_TRUE(SaidGoodbye(learner));
}

TEST(Actor, AStopWhileRewardsAreMadeReadyIsAnEndWithAGoodbye) {
  FakeLearnerOptions options = Options();
  options.first_sequence = 101;
  FakeLearner learner(options);
  RunningActor actor(learner.address(), 20000, std::make_unique<UnreadyRewards>());
  EXPECT_TRUE(HasJoined(learner));
  learner.StopActors();
  EXPECT_FALSE(actor.End().has_value());
  EXPECT_TRUE(SaidGoodbye(learner));
}

TEST(Actor, RewardsThatCannotBeHadEndItWithAGoodbye) {
  FakeLearnerOptions options = Options();
  options.first_sequence = 101;
  FakeLearner learner(options);
  RunningActor actor(learner.address(), 20000, std::make_unique<UnreadyRewards>(BadInput("no such device")));
  const std::optional<Error> failure = actor.End();
  ASSERT_TRUE(failure.has_value());
  EXPECT_STREQ(failure->what(), "no such device");
  EXPECT_TRUE(SaidGoodbye(learner));
}

TEST(Actor, ABadAddressIsSaid) {
  RunningActor actor("127.0.0.1:4000");
  const auto failure = actor.End();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->exit_code(), 2);
}

TEST(Actor, EndsAtALearnerThatWantsKeys) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / StrCat("emplace_actor_keys_", ::getpid());
  MakeRunKeys(folder, 1);
  NetworkOptions options;
  options.keys = LoadLearnerKeys(folder / "learner.keys");
  const LearnerEndpoint learner(options);
  const std::optional<Error> failure = RunningActor(learner.control_address()).End();
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->exit_code(), 2);
  EXPECT_THAT(failure->what(), testing::HasSubstr("only to processes with keys"));
}

}  // namespace
}  // namespace emplace
