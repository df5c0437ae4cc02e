#include "learner/actors/actor_sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "common/error.h"
#include "common/files/content_hash.h"
#include "common/strings.h"
#include "common/wire/access/keys.h"
#include "simulator/task/task_bundle.h"
#include "tests/learner/pipeline/front_end_fixture.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

class ActorSessionsTest : public FrontEndFixture {};

TEST_F(ActorSessionsTest, WhoJoinsGetsAllItNeeds) {
  config_.name = "a run of its own";
  const auto front_end = Start();
  HandPlayedActor actor(front_end->address(), "host/0", 7);
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
  EXPECT_EQ(reply.hash, Hash64(reply.blob));
  EXPECT_EQ(ParsePolicy(reply.blob, "reply").values, weights_->values);

  EXPECT_EQ(actor.Join().actor, welcome.actor);  // A repeated Hello of one process.
  HandPlayedActor restarted(front_end->address(), "host/0", 8);
  const ActorKey again = restarted.Join().actor;
  EXPECT_EQ(again.actor_id, welcome.actor.actor_id);
  EXPECT_GT(again.incarnation, welcome.actor.incarnation);
  HandPlayedActor other(front_end->address(), "host/1", 7);
  EXPECT_NE(other.Join().actor.actor_id, welcome.actor.actor_id);
}

TEST_F(ActorSessionsTest, AnActorOfAnEarlierSessionLearnsOfIt) {
  const auto front_end = Start();
  HandPlayedActor actor(front_end->address(), "a", 1);
  actor.Join();
  const auto reply = actor.Ask<Notice>(Heartbeat{actor.key(), actor.session() + 1, 100, 0});
  EXPECT_EQ(reply.session, front_end->session());
  EXPECT_EQ(ledger_.Total().produced, 0U);  // Another session's numbers are not this one's.
}

TEST_F(ActorSessionsTest, StrangeActorsAreRefusedWithTheReason) {
  const auto front_end = Start();
  const auto refusal = [&](const Hello& hello) {
    HandPlayedActor actor(front_end->address(), "a", 1);
    return actor.Ask<Refusal>(hello).reason;
  };
  EXPECT_THAT(refusal(Hello{kProtocolVersion + 1, "a", 1}), HasSubstr("protocol"));
  for (const std::string& name : {std::string(), std::string("two words"), std::string("line\nbreak"),
                                  std::string("\xff\xfe"), std::string("zero\0", 5), std::string(301, 'x')}) {
    EXPECT_THAT(refusal(Hello{kProtocolVersion, name, 1}), HasSubstr("name"));
  }
  EXPECT_TRUE(ledger_.ByActor().empty());
}

TEST_F(ActorSessionsTest, WhoSaysHelloAllTheTimeIsWelcomedNowAndThen) {
  const auto front_end = Start();
  HandPlayedActor actor(front_end->address(), "a", 1);
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

TEST_F(ActorSessionsTest, WhoIsOneTooManyForTheLimitOfOpenFilesIsTold) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 100 + 2 * 2;  // The learner's own, and two for each of two actors.
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const auto front_end = Start();
  ::setrlimit(RLIMIT_NOFILE, &before);
  HandPlayedActor first(front_end->address(), "a", 1);
  HandPlayedActor second(front_end->address(), "b", 2);
  HandPlayedActor third(front_end->address(), "c", 3);
  first.Join();
  second.Join();
  EXPECT_THAT(third.Ask<Refusal>(Hello{kProtocolVersion, "c", 3}).reason, HasSubstr("no room for more than 2 actors"));
  second.Join();  // A repeated Hello takes nobody's room,
  HandPlayedActor successor(front_end->address(), "b", 4);
  successor.Join();  // nor does who comes in an actor's place,
  first.Leave();
  third.Join();  // and who goes leaves his.
}

TEST_F(ActorSessionsTest, InLockstepWorkIsDealtToActorsAndTakenFromThoseThatGo) {
  EpisodeDealer dealer(weights_->version, 6);
  const auto front_end = Start({.dealer = &dealer});
  HandPlayedActor a(front_end->address(), "a", 1);
  HandPlayedActor b(front_end->address(), "b", 2);
  a.Join();
  b.Join();
  ASSERT_TRUE(Await([&] { return front_end->stats().actors.alive == 2; }));
  const auto ask = [&](HandPlayedActor& client, uint64_t session) {
    return client.Ask<Work>(WorkRequest{client.key(), session, weights_->version});
  };
  EXPECT_EQ(ask(a, a.session()).episodes, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(ask(b, b.session()).episodes, (std::vector<uint32_t>{3, 4, 5}));
  EXPECT_TRUE(ask(b, b.session()).episodes.empty());
  a.Leave();
  ASSERT_TRUE(Await([&] { return front_end->stats().actors.alive == 1; }));
  EXPECT_EQ(ask(b, b.session()).episodes, (std::vector<uint32_t>{0, 1, 2}));
}

TEST_F(ActorSessionsTest, NobodySpeaksForAnActorOfAnotherKey) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / StrCat("emplace_front_end_keys_", ::getpid());
  std::filesystem::remove_all(folder);
  MakeRunKeys(folder, 2);
  config_.network.keys = (folder / "learner.keys").string();
  const ActorKeys own = LoadActorKeys(folder / "actor-0.keys");
  const ActorKeys others = LoadActorKeys(folder / "actor-1.keys");
  EpisodeDealer dealer(weights_->version, 6);
  const auto front_end = Start({.dealer = &dealer});
  std::filesystem::remove_all(folder);
  HandPlayedActor actor(front_end->address(), "a", 1, own);
  HandPlayedActor liar(front_end->address(), "b", 2, others);
  const Welcome welcome = actor.Join();
  liar.Join();
  ASSERT_TRUE(Await([&] { return front_end->stats().actors.alive == 2; }));

  EXPECT_THAT(liar.Ask<Refusal>(Hello{kProtocolVersion, "a", 3}).reason, HasSubstr("another key"));
  ASSERT_TRUE(Await([&] { return front_end->stats().malformed == 1; }));
  const auto is_refused = [&](const ActorMessage& message) {
    const int64_t before = front_end->stats().malformed;
    EXPECT_TRUE(liar.control().Send(message));
    return Await([&] { return front_end->stats().malformed > before; });
  };
  EXPECT_TRUE(is_refused(Heartbeat{actor.key(), actor.session(), 1000, 0}));
  EXPECT_TRUE(is_refused(WorkRequest{actor.key(), actor.session(), weights_->version}));
  EXPECT_TRUE(is_refused(Goodbye{actor.key(), 1000}));
  const int64_t refused = front_end->stats().malformed;
  TrajectorySocket trajectories(welcome.trajectories_endpoint, 4, others);
  Trajectory forged = episode(0);
  forged.actor = actor.key();
  forged.sequence = 1'000'000;
  ASSERT_TRUE(trajectories.Send(forged, milliseconds(10'000)));
  EXPECT_TRUE(Await([&] { return front_end->stats().malformed > refused; }));

  EXPECT_EQ(front_end->stats().actors.alive, 2);
  EXPECT_EQ(ledger_.Total().produced, 0U);
  EXPECT_EQ(actor.Ask<Work>(WorkRequest{actor.key(), actor.session(), weights_->version}).episodes,
            (std::vector<uint32_t>{0, 1, 2}));
  ASSERT_TRUE(actor.Produce(episode(0)));
  EXPECT_TRUE(front_end->Pop(milliseconds(10'000)).has_value());
  ledger_.CountTrained(actor.key());
}

TEST_F(ActorSessionsTest, SilentActorsAreNoticedAndMayReturn) {
  config_.learner.actor_timeout_s = 0.2;
  const auto front_end = Start();
  HandPlayedActor actor(front_end->address(), "a", 1);
  actor.Join();
  EXPECT_TRUE(Await([&] { return front_end->stats().actors.gone == 1; }));
  EXPECT_EQ(front_end->stats().actors.alive, 0);
  EXPECT_TRUE(Await([&] {
    actor.BeatOnce();
    return front_end->stats().actors.alive == 1;
  }));
  EXPECT_EQ(front_end->stats().actors.gone, 0);
}

TEST_F(ActorSessionsTest, ActorsThatAnswerButFinishNothingEndTheRunAndAreNamed) {
  config_.learner.watchdog_s = 0.3;
  const auto front_end = Start();
  EXPECT_FALSE(front_end->Pop(milliseconds(600)).has_value());  // Nobody has come yet: that is no hang.
  HandPlayedActor actor(front_end->address(), "node7/3", 1);
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

TEST_F(ActorSessionsTest, WhoTakesAnActorsPlaceEndsTheWaitForIt) {
  const auto front_end = Start();
  HandPlayedActor killed(front_end->address(), "a", 1);
  killed.Join();
  EXPECT_TRUE(Await([&] { return front_end->stats().actors.alive == 1; }));
  HandPlayedActor replacement(front_end->address(), "a", 2);
  replacement.Join();
  EXPECT_TRUE(Await([&] { return front_end->stats().actors.gone == 1; }));
  EXPECT_EQ(front_end->stats().actors.alive, 1);
}

}  // namespace
}  // namespace emplace
