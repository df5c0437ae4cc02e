#include "learner/intake/front_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <zmq.hpp>

#include "common/error.h"
#include "common/strings.h"
#include "common/wire/actor_endpoint.h"
#include "common/wire/codec.h"
#include "common/wire/keys.h"
#include "policy/placeto/placeto_kind.h"
#include "simulator/environment/simulated_measure.h"
#include "simulator/graph/graph_io.h"
#include "tests/learner/episodes.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

constexpr milliseconds kSoon(10);
constexpr int kTries = 1000;  // Times kSoon: how long something may take that must happen.

bool Await(const std::function<bool()>& condition) {
  for (int i = 0; i < kTries; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(kSoon);
  }
  return false;
}

// An actor, played by hand: its two connections and its numbering.
class Client {
 public:
  Client(const std::string& address, std::string name, uint64_t nonce, const std::optional<ActorKeys>& keys = {})
      : keys_(keys), control_(address, keys), name_(std::move(name)), nonce_(nonce) {}

  template <typename Reply>
  Reply Ask(const ActorMessage& question) {
    for (int i = 0; i < kTries; ++i) {
      // Asked again now and then: before it is connected, nothing is sent.
      if (i % 50 == 0 && !control_.Send(question)) --i;
      if (std::optional<Reply> reply = ReceiveIf<Reply>()) return *std::move(reply);
    }
    ADD_FAILURE() << name_ << " got no answer";
    return {};
  }

  void Measure() { measures_ = true; }

  // The next message, if it is of this type and comes soon.
  template <typename Wanted>
  std::optional<Wanted> ReceiveIf() {
    auto received = control_.Receive(kSoon);
    if (!received) return std::nullopt;
    if (auto* const wanted = std::get_if<Wanted>(&*received)) return std::move(*wanted);
    return std::nullopt;
  }

  template <typename Wanted>
  bool Receives() {
    for (int i = 0; i < kTries; ++i) {
      if (ReceiveIf<Wanted>()) return true;
    }
    return false;
  }

  Welcome Join(const std::vector<Incarnation>& earlier = {}) {
    Welcome welcome = Ask<Welcome>(Hello{kProtocolVersion, name_, nonce_, earlier, measures_});
    key_ = welcome.actor;
    session_ = welcome.session;
    trajectories_.emplace(welcome.trajectories_endpoint, 4, keys_);
    return welcome;
  }

  Notice Beat() { return Ask<Notice>(Heartbeat{key_, session_, produced_, 0}); }
  void BeatOnce() { control_.Send(Heartbeat{key_, session_, produced_, 0}); }

  // Sends `episode` as this client's next one.
  bool Produce(Trajectory episode, milliseconds timeout = milliseconds(10'000)) {
    episode.actor = key_;
    episode.sequence = produced_ + 1;
    if (!trajectories_->Send(episode, timeout)) return false;
    ++produced_;
    return true;
  }
  bool Repeat(Trajectory episode, uint64_t sequence) { return SendAs(key_, std::move(episode), sequence); }
  // Sends an episode that another incarnation of this process, say, has played.
  bool SendAs(const ActorKey& actor, Trajectory episode, uint64_t sequence) {
    episode.actor = actor;
    episode.sequence = sequence;
    return trajectories_->Send(episode, milliseconds(10'000));
  }

  // A clean end: all that was produced leaves first.
  void Leave() {
    trajectories_->Close(milliseconds(10'000));
    control_.Send(Goodbye{key_, produced_});
  }

  ActorEndpoint& control() { return control_; }
  const ActorKey& key() const { return key_; }
  uint64_t session() const { return session_; }
  uint64_t produced() const { return produced_; }

 private:
  const std::optional<ActorKeys> keys_;
  ActorEndpoint control_;
  const std::string name_;
  const uint64_t nonce_;
  ActorKey key_;
  uint64_t session_ = 0;
  uint64_t produced_ = 0;
  bool measures_ = false;
  std::optional<TrajectorySocket> trajectories_;
};

class FrontEndTest : public testing::Test {
 protected:
  FrontEndTest() : tasks_(TwoDeviceTasks(1, 3)), weights_(std::make_shared<const PolicyWeights>(SmallPolicy(1, 5))) {
    config_.learner.buffer = 64;
    config_.learner.actor_timeout_s = 60;
    episodes_ = Episodes(tasks_, config_.environment, *weights_, 8, Rng(2));
  }

  std::unique_ptr<FrontEnd> Start() {
    return std::make_unique<FrontEnd>(tasks_, config_, ledger_, placements_, weights_, clocks_);
  }
  const Trajectory& episode(uint64_t i) const { return episodes_[i % episodes_.size()]; }

  // Takes `count` episodes as if for updates.
  void Train(FrontEnd& front_end, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      const std::optional<Episode> taken = front_end.Pop(milliseconds(10'000));
      ASSERT_TRUE(taken.has_value());
      ledger_.CountTrained(taken->trajectory.actor);
    }
  }

  const std::vector<PlacementTask> tasks_;
  const std::shared_ptr<const PolicyWeights> weights_;
  RunConfig config_;
  std::vector<Trajectory> episodes_;
  Ledger ledger_;
  const RunClock clock_{0};
  BestPlacements placements_{tasks_, PlacetoKind(), config_.environment, clock_};
  StageClocks clocks_;
};

TEST_F(FrontEndTest, WhoJoinsGetsAllItNeeds) {
  config_.name = "a run of its own";
  const auto front_end = Start();
  Client actor(front_end->address(), "host/0", 7);
  const Welcome welcome = actor.Join();
  EXPECT_EQ(welcome.session, front_end->session());
  EXPECT_EQ(ParseRunConfig(welcome.config_yaml, "welcome", {}).name, config_.name);
  ASSERT_EQ(welcome.tasks.size(), tasks_.size());
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const PlacementTask task = TaskFromBundle(welcome.tasks[i]);
    EXPECT_EQ(task.name, tasks_[i].name);
    EXPECT_EQ(task.groups.allowed, tasks_[i].groups.allowed);
  }
  const auto reply = actor.Ask<WeightsReply>(WeightsRequest{actor.key()});
  EXPECT_EQ(reply.version, 5U);
  EXPECT_EQ(reply.hash, WeightsHash(reply.blob));
  EXPECT_EQ(ParsePolicy(reply.blob, "reply").values, weights_->values);

  EXPECT_EQ(actor.Join().actor, welcome.actor);  // A repeated Hello of one process.
  Client restarted(front_end->address(), "host/0", 8);
  const ActorKey again = restarted.Join().actor;
  EXPECT_EQ(again.actor_id, welcome.actor.actor_id);
  EXPECT_GT(again.incarnation, welcome.actor.incarnation);
  Client other(front_end->address(), "host/1", 7);
  EXPECT_NE(other.Join().actor.actor_id, welcome.actor.actor_id);
}

TEST_F(FrontEndTest, NewWeightsAreAnnouncedAndServed) {
  const auto front_end = Start();
  Client actor(front_end->address(), "a", 1);
  actor.Join();
  EXPECT_EQ(actor.Beat().version, 5U);
  front_end->Publish(std::make_shared<const PolicyWeights>(SmallPolicy(2, 6)));
  std::optional<Notice> notice;  // Unasked.
  for (int i = 0; i < kTries && !notice; ++i) notice = actor.ReceiveIf<Notice>();
  ASSERT_TRUE(notice.has_value());
  EXPECT_EQ(notice->session, front_end->session());
  EXPECT_EQ(notice->version, 6U);
  EXPECT_EQ(actor.Beat().version, 6U);
  EXPECT_EQ(actor.Ask<WeightsReply>(WeightsRequest{actor.key()}).version, 6U);
}

TEST_F(FrontEndTest, AnActorOfAnEarlierSessionLearnsOfIt) {
  const auto front_end = Start();
  Client actor(front_end->address(), "a", 1);
  actor.Join();
  const auto reply = actor.Ask<Notice>(Heartbeat{actor.key(), actor.session() + 1, 100, 0});
  EXPECT_EQ(reply.session, front_end->session());
  EXPECT_EQ(ledger_.Total().produced, 0U);  // Another session's numbers are not this one's.
}

TEST_F(FrontEndTest, StrangeActorsAreRefusedWithTheReason) {
  const auto front_end = Start();
  const auto refusal = [&](const Hello& hello) {
    Client actor(front_end->address(), "a", 1);
    return actor.Ask<Refusal>(hello).reason;
  };
  EXPECT_THAT(refusal(Hello{kProtocolVersion + 1, "a", 1}), HasSubstr("protocol"));
  for (const std::string& name : {std::string(), std::string("two words"), std::string("line\nbreak"),
                                  std::string("\xff\xfe"), std::string("zero\0", 5), std::string(65, 'x')}) {
    EXPECT_THAT(refusal(Hello{kProtocolVersion, name, 1}), HasSubstr("name"));
  }
  EXPECT_TRUE(ledger_.ByActor().empty());
}

TEST_F(FrontEndTest, WhoSaysHelloAllTheTimeIsWelcomedNowAndThen) {
  const auto front_end = Start();
  Client actor(front_end->address(), "a", 1);
  actor.Join();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 30; ++i) actor.control().Send(Hello{kProtocolVersion, "a", 1});
  actor.control().Send(Heartbeat{actor.key(), actor.session(), 0, 0});
  int welcomes = 0;
  for (int i = 0; i < kTries; ++i) {
    const auto received = actor.control().Receive(kSoon);
    if (!received) continue;
    if (std::holds_alternative<Notice>(*received)) break;  // It comes after all Welcomes.
    if (std::holds_alternative<Welcome>(*received)) ++welcomes;
  }
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_LE(welcomes, 4 + static_cast<int>(taken.count()));
}

TEST_F(FrontEndTest, WhoIsOneTooManyForTheLimitOfOpenFilesIsTold) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 100 + 2 * 2;  // The learner's own, and two for each of two actors.
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const auto front_end = Start();
  ::setrlimit(RLIMIT_NOFILE, &before);
  Client first(front_end->address(), "a", 1);
  Client second(front_end->address(), "b", 2);
  Client third(front_end->address(), "c", 3);
  first.Join();
  second.Join();
  EXPECT_THAT(third.Ask<Refusal>(Hello{kProtocolVersion, "c", 3}).reason, HasSubstr("no room for more than 2 actors"));
  second.Join();  // A repeated Hello takes nobody's room,
  Client successor(front_end->address(), "b", 4);
  successor.Join();  // nor does who comes in an actor's place,
  first.Leave();
  third.Join();  // and who goes leaves his.
}

TEST_F(FrontEndTest, SoundEpisodesComeWithTheirMakespan) {
  const auto front_end = Start();
  Client actor(front_end->address(), "a", 1);
  actor.Join();
  uint64_t steps = 0;
  for (uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(actor.Produce(episode(i)));
    steps += episode(i).actions.size();
    const std::optional<Episode> got = front_end->Pop(milliseconds(10'000));
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->trajectory.sequence, i + 1);
    EXPECT_EQ(got->trajectory.actions, episode(i).actions);
    const PlacementTask& task = tasks_[got->trajectory.graph];
    if (task.single_device >= 0) {
      EXPECT_DOUBLE_EQ(got->ratio, got->makespan_us / task.single_device_us);
    } else {
      EXPECT_TRUE(std::isnan(got->ratio));
    }
  }
  const FrontEndStats stats = front_end->stats();
  EXPECT_EQ(stats.episodes, 8);
  EXPECT_EQ(stats.steps, static_cast<int64_t>(steps));
}

TEST_F(FrontEndTest, NothingUnsoundReachesTheLearner) {
  const auto front_end = Start();
  Client actor(front_end->address(), "a", 1);
  const Welcome welcome = actor.Join();

  Trajectory wrong_rho = episode(0);
  wrong_rho.rho.back() += 1;
  Trajectory too_long = episode(1);
  too_long.actions.push_back(0);
  too_long.start_placement.push_back(0);
  too_long.behaviour_log_prob.push_back(-1);
  too_long.rho.push_back(too_long.rho.back());
  Trajectory from_the_future = episode(2);
  from_the_future.policy_version = 6;
  ASSERT_TRUE(actor.Produce(wrong_rho));
  ASSERT_TRUE(actor.Produce(too_long));
  ASSERT_TRUE(actor.Produce(from_the_future));
  ASSERT_TRUE(actor.Produce(episode(3)));
  ASSERT_TRUE(actor.Repeat(episode(3), actor.produced()));
  ASSERT_TRUE(actor.Repeat(episode(4), actor.produced()));

  Trajectory strangers = episode(5);
  strangers.actor = {77, 1};
  strangers.sequence = 1;
  TrajectorySocket stranger(welcome.trajectories_endpoint, 4);
  ASSERT_TRUE(stranger.Send(strangers, milliseconds(10'000)));
  zmq::context_t context;
  zmq::socket_t noise(context, zmq::socket_type::dealer);
  noise.set(zmq::sockopt::linger, 0);
  noise.connect(welcome.trajectories_endpoint);
  noise.send(zmq::str_buffer("not a trajectory"), zmq::send_flags::none);

  const std::optional<Episode> sound = front_end->Pop(milliseconds(10'000));
  ASSERT_TRUE(sound.has_value());
  EXPECT_EQ(sound->trajectory.sequence, actor.produced());
  ledger_.CountTrained(actor.key());
  EXPECT_TRUE(Await([&] { return front_end->stats().duplicates == 2 && front_end->stats().malformed >= 2; }));
  EXPECT_FALSE(front_end->Pop(milliseconds(100)).has_value());
  const LedgerCounts total = ledger_.Total();
  EXPECT_EQ(total.produced, actor.produced());
  EXPECT_EQ(total.trained, 1U);
  EXPECT_EQ(total.trained + total.rejected + total.lost, actor.produced());
  EXPECT_EQ(total.rejected, 3U);
  EXPECT_EQ(front_end->stats().episodes, 1);
}

TEST_F(FrontEndTest, InLockstepWorkIsDealtToActorsAndTakenFromThoseThatGo) {
  EpisodeDealer dealer(weights_->version, 6);
  FrontEnd front_end(tasks_, config_, ledger_, placements_, weights_, clocks_, &dealer);
  Client a(front_end.address(), "a", 1);
  Client b(front_end.address(), "b", 2);
  a.Join();
  b.Join();
  ASSERT_TRUE(Await([&] { return front_end.stats().actors_alive == 2; }));
  const auto ask = [&](Client& client, uint64_t session) {
    return client.Ask<Work>(WorkRequest{client.key(), session, weights_->version});
  };
  EXPECT_EQ(ask(a, a.session()).episodes, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(ask(b, b.session()).episodes, (std::vector<uint32_t>{3, 4, 5}));
  EXPECT_TRUE(ask(b, b.session()).episodes.empty());
  a.Leave();
  ASSERT_TRUE(Await([&] { return front_end.stats().actors_alive == 1; }));
  EXPECT_EQ(ask(b, b.session()).episodes, (std::vector<uint32_t>{0, 1, 2}));
}

TEST_F(FrontEndTest, NobodySpeaksForAnActorOfAnotherKey) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / StrCat("emplace_front_end_keys_", ::getpid());
  std::filesystem::remove_all(folder);
  MakeRunKeys(folder, 2);
  config_.network.keys = (folder / "learner.keys").string();
  const ActorKeys own = LoadActorKeys(folder / "actor-0.keys");
  const ActorKeys others = LoadActorKeys(folder / "actor-1.keys");
  EpisodeDealer dealer(weights_->version, 6);
  FrontEnd front_end(tasks_, config_, ledger_, placements_, weights_, clocks_, &dealer);
  std::filesystem::remove_all(folder);
  Client actor(front_end.address(), "a", 1, own);
  Client liar(front_end.address(), "b", 2, others);
  const Welcome welcome = actor.Join();
  liar.Join();
  ASSERT_TRUE(Await([&] { return front_end.stats().actors_alive == 2; }));

  EXPECT_THAT(liar.Ask<Refusal>(Hello{kProtocolVersion, "a", 3}).reason, HasSubstr("another key"));
  ASSERT_TRUE(Await([&] { return front_end.stats().malformed == 1; }));
  const auto is_refused = [&](const ActorMessage& message) {
    const int64_t before = front_end.stats().malformed;
    EXPECT_TRUE(liar.control().Send(message));
    return Await([&] { return front_end.stats().malformed > before; });
  };
  EXPECT_TRUE(is_refused(Heartbeat{actor.key(), actor.session(), 1000, 0}));
  EXPECT_TRUE(is_refused(WorkRequest{actor.key(), actor.session(), weights_->version}));
  EXPECT_TRUE(is_refused(Goodbye{actor.key(), 1000}));
  const int64_t refused = front_end.stats().malformed;
  TrajectorySocket trajectories(welcome.trajectories_endpoint, 4, others);
  Trajectory forged = episode(0);
  forged.actor = actor.key();
  forged.sequence = 1'000'000;
  ASSERT_TRUE(trajectories.Send(forged, milliseconds(10'000)));
  EXPECT_TRUE(Await([&] { return front_end.stats().malformed > refused; }));

  EXPECT_EQ(front_end.stats().actors_alive, 2);
  EXPECT_EQ(ledger_.Total().produced, 0U);
  EXPECT_EQ(actor.Ask<Work>(WorkRequest{actor.key(), actor.session(), weights_->version}).episodes,
            (std::vector<uint32_t>{0, 1, 2}));
  ASSERT_TRUE(actor.Produce(episode(0)));
  EXPECT_TRUE(front_end.Pop(milliseconds(10'000)).has_value());
  ledger_.CountTrained(actor.key());
}

TEST_F(FrontEndTest, WhatAnActorStillHasFromALearnerBeforeIsTakenUnderTheLagRule) {
  const auto front_end = Start();
  Client actor(front_end->address(), "a", 2);
  const Welcome welcome = actor.Join({{40, 1}});
  const ActorKey before{welcome.actor.actor_id, 40};
  TrajectorySocket socket(welcome.trajectories_endpoint, 4);
  Trajectory spooled = episode(0);
  spooled.actor = before;
  spooled.sequence = 11;
  ASSERT_TRUE(socket.Send(spooled, milliseconds(10'000)));
  const std::optional<Episode> taken = front_end->Pop(milliseconds(10'000));
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->trajectory.actor, before);
  ledger_.CountTrained(before);
  // Of weights that were lost with that learner: nothing that this actor could be blamed for.
  spooled.policy_version = weights_->version + 3;
  for (uint64_t i = 0; i < 40; ++i) {
    spooled.sequence = 12 + i;
    ASSERT_TRUE(socket.Send(spooled, milliseconds(10'000)));
  }
  EXPECT_TRUE(Await([&] { return ledger_.Total().stale == 40; }));
  EXPECT_EQ(ledger_.Total().rejected, 0U);
  EXPECT_EQ(front_end->stats().cut_off, 0);
}

TEST_F(FrontEndTest, WhoSendsUnsoundEpisodesAllTheTimeIsCutOff) {
  const auto front_end = Start();
  Client liar(front_end->address(), "a", 1);
  liar.Join();
  for (int i = 0; i < 40; ++i) {
    Trajectory too_long = episode(1);
    too_long.actions.push_back(0);
    too_long.start_placement.push_back(0);
    too_long.behaviour_log_prob.push_back(0);
    too_long.rho.push_back(0);
    liar.Produce(too_long);
  }
  EXPECT_TRUE(Await([&] { return front_end->stats().cut_off > 0; }));
  // Without keys it may come back, as another connection.
  EXPECT_LE(ledger_.Total().rejected, 17U * (1 + static_cast<uint64_t>(front_end->stats().cut_off)));
}

// What only the simulator can tell counts against the sender like what anybody can see.
TEST_F(FrontEndTest, WhoLiesAboutRewardsAllTheTimeIsCutOff) {
  const auto front_end = Start();
  Client liar(front_end->address(), "a", 1);
  liar.Join();
  for (int i = 0; i < 60; ++i) {
    Trajectory false_one = episode(1);
    for (float& rho : false_one.rho) rho += 0.5F;
    liar.Produce(false_one);
    std::this_thread::sleep_for(milliseconds(5));
  }
  EXPECT_TRUE(Await([&] { return front_end->stats().cut_off > 0; }));
  EXPECT_EQ(front_end->stats().episodes, 0);
}

TEST_F(FrontEndTest, AFullBufferPushesBackAndLosesNothing) {
  config_.learner.buffer = 2;
  const auto front_end = Start();
  Client actor(front_end->address(), "a", 1);
  actor.Join();
  // What fits into the buffer, both sockets' queues and the kernel is bounded; then the actor is held up.
  while (actor.Produce(episode(actor.produced()), milliseconds(200))) {
    ASSERT_LT(actor.produced(), 5000U) << "nothing pushes back";
  }
  EXPECT_EQ(front_end->stats().episodes, 2);
  EXPECT_GT(front_end->stats().blocked_s, 0);
  EXPECT_EQ(actor.Beat().session, front_end->session());  // Control is not held up.
  EXPECT_TRUE(Await([&] { return front_end->stats().under_way == static_cast<int64_t>(actor.produced()) - 2; }));

  const uint64_t produced = actor.produced();
  Train(*front_end, produced);
  actor.Leave();
  EXPECT_TRUE(Await([&] { return front_end->stats().actors_alive == 0; }));
  const LedgerCounts total = ledger_.Total();
  EXPECT_EQ(total.produced, produced);
  EXPECT_EQ(total.trained, produced);
  EXPECT_EQ(total.lost, 0U);
}

TEST_F(FrontEndTest, SilentActorsAreNoticedAndMayReturn) {
  config_.learner.actor_timeout_s = 0.2;
  const auto front_end = Start();
  Client actor(front_end->address(), "a", 1);
  actor.Join();
  EXPECT_TRUE(Await([&] { return front_end->stats().actors_gone == 1; }));
  EXPECT_EQ(front_end->stats().actors_alive, 0);
  EXPECT_TRUE(Await([&] {
    actor.BeatOnce();
    return front_end->stats().actors_alive == 1;
  }));
  EXPECT_EQ(front_end->stats().actors_gone, 0);
}

TEST_F(FrontEndTest, ActorsThatAnswerButFinishNothingEndTheRunAndAreNamed) {
  config_.learner.watchdog_s = 0.3;
  const auto front_end = Start();
  EXPECT_FALSE(front_end->Pop(milliseconds(600)).has_value());  // Nobody has come yet: that is no hang.
  Client actor(front_end->address(), "node7/3", 1);
  actor.Join();
  const auto fails = [&]() -> std::string {
    for (int i = 0; i < kTries; ++i) {
      actor.BeatOnce();
      try {
        front_end->Pop(kSoon);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::Kind::kRunFailed);
        return error.what();
      }
    }
    return "nothing failed";
  };
  EXPECT_THAT(fails(),
              AllOf(HasSubstr("'actors'"), HasSubstr("1 of 1"), HasSubstr("'node7/3'"), HasSubstr("watchdog_s")));
}

TEST_F(FrontEndTest, WhoTakesAnActorsPlaceEndsTheWaitForIt) {
  const auto front_end = Start();
  Client killed(front_end->address(), "a", 1);
  killed.Join();
  EXPECT_TRUE(Await([&] { return front_end->stats().actors_alive == 1; }));
  Client replacement(front_end->address(), "a", 2);
  replacement.Join();
  EXPECT_TRUE(Await([&] { return front_end->stats().actors_gone == 1; }));
  EXPECT_EQ(front_end->stats().actors_alive, 1);
}

TEST_F(FrontEndTest, TheEndWaitsForGoodbyesAndCountsWhatIsLeft) {
  config_.learner.buffer = 4;
  const auto front_end = Start();
  uint64_t produced = 0;
  std::thread actors([&] {
    Client actor(front_end->address(), "a", 1);
    actor.Join();
    // Plays on until it is told to stop; then sends a last episode.
    for (int i = 0; i < kTries && !actor.ReceiveIf<Stop>(); ++i) {
      actor.BeatOnce();
      actor.Produce(episode(actor.produced()), kSoon);
    }
    EXPECT_TRUE(actor.Produce(episode(0)));
    produced = actor.produced();
    actor.Leave();
  });
  Train(*front_end, 5);
  front_end->Finish(milliseconds(30'000));
  actors.join();
  const LedgerCounts total = ledger_.Total();
  EXPECT_EQ(total.produced, produced);
  EXPECT_EQ(total.trained, 5U);
  EXPECT_EQ(total.stale, produced - 5);  // Came in time for no update.
  EXPECT_EQ(total.lost, 0U);
  EXPECT_EQ(front_end->stats().actors_gone, 1);
}

// On a busy machine the last episodes may come long after the goodbye, which has another connection.
TEST_F(FrontEndTest, TheEndWaitsForWhatWasSentBeforeAGoodbye) {
  const auto front_end = Start();
  Client actor(front_end->address(), "a", 1);
  actor.Join();
  ASSERT_TRUE(actor.Produce(episode(0)));
  ASSERT_TRUE(Await([&] { return front_end->stats().episodes == 1; }));
  std::thread late([&] {
    EXPECT_TRUE(actor.Receives<Stop>());
    actor.control().Send(Goodbye{actor.key(), 2});
    std::this_thread::sleep_for(milliseconds(1000));
    EXPECT_TRUE(actor.Produce(episode(1)));
    actor.Leave();
  });
  front_end->Finish(milliseconds(10'000));
  late.join();
  const LedgerCounts total = ledger_.Total();
  EXPECT_EQ(total.stale, 2U);
  EXPECT_EQ(total.lost, 0U);
}

// An actor hears of the end only after the episode that it plays, which may take longer than the front end waits for
// what is on its way.
TEST_F(FrontEndTest, TheEndWaitsForWhatWasSentBeforeALateGoodbye) {
  const auto front_end = Start();
  Client actor(front_end->address(), "a", 1);
  actor.Join();
  std::thread late([&] {
    EXPECT_TRUE(actor.Receives<Stop>());
    std::this_thread::sleep_for(milliseconds(3500));
    actor.control().Send(Goodbye{actor.key(), 1});
    std::this_thread::sleep_for(milliseconds(500));
    EXPECT_TRUE(actor.Produce(episode(0)));
    actor.Leave();
  });
  front_end->Finish(milliseconds(10'000));
  late.join();
  EXPECT_EQ(ledger_.Total().stale, 1U);
  EXPECT_EQ(ledger_.Total().lost, 0U);
}

TEST_F(FrontEndTest, ATakenPortIsSaid) {
  const auto first = Start();
  const std::string address = first->address();
  config_.network.port = std::stoi(address.substr(address.rfind(':') + 1));
  try {
    Start();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kRunFailed);
    EXPECT_THAT(error.what(), HasSubstr("cannot listen"));
  }
}

// Several slots whose actors are started, killed outright, replaced and ended, all at once and at random, repeating
// some of what they send, while the learner trains. At the end the ledger must say what the actors know.
TEST_F(FrontEndTest, TheLedgerBalancesUnderRandomKillsAndRestarts) {
  constexpr int kSlots = 3;
  constexpr int kLives = 5;
  config_.learner.buffer = 4;
  config_.learner.actor_timeout_s = 2;  // The last of a slot may have been killed; nobody takes its place.
  const auto front_end = Start();

  struct Slot {
    std::map<ActorKey, uint64_t> produced;  // By every life.
    uint64_t surely_sent = 0;               // By lives that ended cleanly.
    uint64_t repeated = 0;
  };
  std::vector<Slot> slots(kSlots);
  std::atomic<int> running = kSlots;
  std::vector<std::thread> actors;
  for (int s = 0; s < kSlots; ++s) {
    actors.emplace_back([&, s] {
      Rng rng = Rng(11).Fork("slot", static_cast<uint64_t>(s));
      Slot& slot = slots[static_cast<size_t>(s)];
      for (int life = 0; life < kLives; ++life) {
        Client actor(front_end->address(), "slot/" + std::to_string(s), rng.Next());
        actor.Join();
        const bool clean = rng.UniformInt(0, 1) == 0;
        const int64_t count = rng.UniformInt(0, 30);
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_TRUE(actor.Produce(episode(rng.Next())));
          if (clean && rng.UniformInt(0, 5) == 0) {
            ASSERT_TRUE(actor.Repeat(episode(0), actor.produced()));
            ++slot.repeated;
          }
          if (rng.UniformInt(0, 3) == 0) actor.BeatOnce();
        }
        actor.Beat();  // So that the learner knows of all of them, even of those that get lost.
        slot.produced[actor.key()] = actor.produced();
        if (!clean) continue;  // Killed: its sockets close with all that is queued.
        slot.surely_sent += actor.produced();
        actor.Leave();
      }
      --running;
    });
  }
  Rng rng(12);
  while (running > 0) {
    const std::optional<Episode> taken = front_end->Pop(kSoon);
    if (!taken) continue;
    if (rng.UniformInt(0, 3) == 0) {
      ledger_.CountStale(taken->trajectory.actor);
    } else {
      ledger_.CountTrained(taken->trajectory.actor);
    }
  }
  for (std::thread& actor : actors) actor.join();
  front_end->Finish(milliseconds(30'000));

  const auto by_actor = ledger_.ByActor();
  ASSERT_EQ(by_actor.size(), static_cast<size_t>(kSlots));
  uint64_t repeated = 0;
  for (int s = 0; s < kSlots; ++s) {
    const Slot& slot = slots[static_cast<size_t>(s)];
    const LedgerCounts& counts = by_actor.at("slot/" + std::to_string(s));
    uint64_t produced = 0;
    for (const auto& [key, count] : slot.produced) produced += count;
    EXPECT_EQ(slot.produced.size(), static_cast<size_t>(kLives));  // No two lives shared a key.
    EXPECT_EQ(counts.produced, produced);
    EXPECT_EQ(counts.rejected, 0U);
    EXPECT_EQ(counts.produced, counts.trained + counts.stale + counts.lost);
    EXPECT_GE(counts.trained + counts.stale, slot.surely_sent);
    repeated += slot.repeated;
  }
  EXPECT_EQ(front_end->stats().duplicates, static_cast<int64_t>(repeated));
  EXPECT_EQ(front_end->stats().malformed, 0);
}

// --- Actors that measure ---

class MeasuringTest : public FrontEndTest {
 protected:
  MeasuringTest() { config_.hardware = {.recheck = 0, .tolerance = 2}; }

  std::unique_ptr<FrontEnd> StartForMeasuring() {
    return std::make_unique<FrontEnd>(workload_.train, config_, ledger_, measured_placements_, weights_, clocks_,
                                      nullptr, RunnableGraphs{workload_.train_graphs, workload_.cluster}, &measuring_);
  }
  // With rewards as the simulator has them, but for a factor.
  Trajectory Measured(uint64_t i, double factor = 1) {
    Trajectory trajectory = measured_[i % measured_.size()];
    trajectory.claim = Claim::kMeasured;
    for (float& rho : trajectory.rho) rho += static_cast<float>(std::log(factor));
    return trajectory;
  }

  const Workload workload_ = RoomyWorkload(1, 3);
  const std::vector<Trajectory> measured_ = Episodes(workload_.train, {}, *weights_, 8, Rng(2));
  BestPlacements measured_placements_{workload_.train, PlacetoKind(), config_.environment, clock_};
  std::atomic<bool> measuring_ = false;
};

TEST_F(MeasuringTest, WhoMeasuresGetsTheOpsAndOthersAreToldToPause) {
  const auto front_end = StartForMeasuring();
  Client simulating(front_end->address(), "a", 1);
  EXPECT_TRUE(simulating.Join().graphs.empty());
  EXPECT_FALSE(simulating.Beat().measuring);
  Client actor(front_end->address(), "hardware", 2);
  actor.Measure();
  const Welcome welcome = actor.Join();
  ASSERT_EQ(welcome.graphs.size(), workload_.train.size());
  for (size_t i = 0; i < welcome.graphs.size(); ++i) {
    EXPECT_EQ(ParseGraph(welcome.graphs[i], "welcome").num_ops(), workload_.train[i].sim.num_ops);
  }
  EXPECT_EQ(ParseClusterWithoutFiles(welcome.machine, "welcome").num_devices(), 2);
  EXPECT_TRUE(simulating.Beat().measuring);
  EXPECT_TRUE(Await([&] { return measuring_ && front_end->stats().measuring == 1; }));
  actor.Leave();
  EXPECT_TRUE(Await([&] { return !measuring_; }));
  EXPECT_FALSE(simulating.Beat().measuring);
}

TEST_F(MeasuringTest, LockstepRefusesWhoMeasures) {
  config_.training.sync = Sync::kLockstep;
  const auto front_end = StartForMeasuring();
  Client actor(front_end->address(), "hardware", 1);
  const Hello hello{kProtocolVersion, "hardware", 1, {}, true};
  EXPECT_THAT(actor.Ask<Refusal>(hello).reason, HasSubstr("training.sync is lockstep"));
  EXPECT_TRUE(ledger_.ByActor().empty());
}

TEST_F(MeasuringTest, MeasuredRewardsOfWhoSimulatesAreRejected) {
  const auto front_end = StartForMeasuring();
  Client actor(front_end->address(), "a", 1);
  actor.Join();
  ASSERT_TRUE(actor.Produce(Measured(0)));
  EXPECT_TRUE(Await([&] { return ledger_.Total().rejected == 1; }));
  EXPECT_EQ(ledger_.Total().measured, 0U);
}

// What its sender says at the first look is true: they are the simulator's.
TEST_F(MeasuringTest, SimulatedRewardsOfWhoMeasuresAreRejected) {
  const auto front_end = StartForMeasuring();
  Client actor(front_end->address(), "hardware", 1);
  actor.Measure();
  actor.Join();
  Trajectory episode = Measured(0);
  episode.claim = Claim::kSimulated;
  ASSERT_TRUE(actor.Produce(episode));
  EXPECT_TRUE(Await([&] { return ledger_.Total().rejected == 1; }));
  ASSERT_TRUE(actor.Produce(Measured(1)));
  EXPECT_TRUE(front_end->Pop(milliseconds(10'000)));
}

// The process connects again to a learner that was started anew, and may send what it has before it joins.
TEST_F(MeasuringTest, BeforeItsActorHasJoinedAgainAnEpisodeMayBeMeasured) {
  const ActorKey before = ledger_.Join("hardware", 1, 1);
  const auto front_end = StartForMeasuring();
  Client actor(front_end->address(), "another", 2);
  actor.Join();
  ASSERT_TRUE(actor.SendAs(before, Measured(0), 1));
  const std::optional<Episode> episode = front_end->Pop(milliseconds(10'000));
  ASSERT_TRUE(episode);
  EXPECT_EQ(episode->proof, Proof::kUnverified);
}

TEST_F(MeasuringTest, InLockstepNoEpisodeIsMeasured) {
  config_.training.sync = Sync::kLockstep;
  const ActorKey before = ledger_.Join("hardware", 1, 1);
  const auto front_end = StartForMeasuring();
  Client actor(front_end->address(), "another", 2);
  actor.Join();
  ASSERT_TRUE(actor.SendAs(before, Measured(0), 1));
  EXPECT_TRUE(Await([&] { return ledger_.Total().rejected == 1; }));
}

TEST_F(MeasuringTest, WithoutAnotherActorMeasuredRewardsAreUnverified) {
  config_.hardware.recheck = 1;
  const auto front_end = StartForMeasuring();
  Client actor(front_end->address(), "hardware", 1);
  actor.Measure();
  actor.Join();
  ASSERT_TRUE(actor.Produce(Measured(0, 1.5)));
  const std::optional<Episode> episode = front_end->Pop(milliseconds(10'000));
  ASSERT_TRUE(episode);
  EXPECT_EQ(episode->proof, Proof::kUnverified);
  EXPECT_NEAR(episode->measured_ratio, 1.5 * episode->ratio, 1e-3 * episode->ratio);
  EXPECT_EQ(ledger_.Total().measured, 1U);
  EXPECT_EQ(ledger_.Total().measured_again, 0U);
}

// The learner asks the other actor, and what that measures decides.
TEST_F(MeasuringTest, AnotherActorConfirmsOrRefutes) {
  config_.hardware.recheck = 1;
  const auto front_end = StartForMeasuring();
  Client actor(front_end->address(), "a", 1);
  actor.Measure();
  actor.Join();
  Client other(front_end->address(), "b", 2);
  other.Measure();
  other.Join();
  const auto answer = [&](double factor) {
    std::optional<MeasureRequest> request;
    for (int i = 0; i < kTries && !request; ++i) request = other.ReceiveIf<MeasureRequest>();
    ASSERT_TRUE(request);
    const PlacementTask& task = workload_.train[request->graph];
    std::vector<DeviceIndex> ops(task.group_of_op.size());
    task.Expand(request->groups, ops);
    const double makespan_us = SimulatedMeasure(task).Run(request->groups, ops).makespan_us;
    other.control().Send(MeasureReply{other.key(), request->id, factor * makespan_us});
  };
  ASSERT_TRUE(actor.Produce(Measured(0)));
  answer(1.5);
  const std::optional<Episode> episode = front_end->Pop(milliseconds(10'000));
  ASSERT_TRUE(episode);
  EXPECT_EQ(episode->proof, Proof::kMeasuredAgain);
  EXPECT_EQ(ledger_.Total().measured_again, 1U);
  ASSERT_TRUE(actor.Produce(Measured(1)));
  answer(3);
  EXPECT_TRUE(Await([&] { return ledger_.Total().rejected == 1; }));
  EXPECT_EQ(ledger_.Total().measured, 1U);
}

// An episode that waits for an answer when the run ends is counted like all others.
TEST_F(MeasuringTest, TheLedgerBalancesWithAnEpisodeHeldBack) {
  config_.hardware.recheck = 1;
  const auto front_end = StartForMeasuring();
  Client actor(front_end->address(), "a", 1);
  Client other(front_end->address(), "b", 2);
  for (Client* const client : {&actor, &other}) {
    client->Measure();
    client->Join();
  }
  ASSERT_TRUE(actor.Produce(Measured(0)));
  EXPECT_TRUE(other.Receives<MeasureRequest>());
  actor.Leave();
  other.Leave();
  front_end->Finish(milliseconds(10'000));
  const LedgerCounts total = ledger_.Total();
  EXPECT_EQ(total.produced, 1U);
  EXPECT_EQ(total.stale, 1U);
  EXPECT_EQ(total.lost, 0U);
}

}  // namespace
}  // namespace emplace
