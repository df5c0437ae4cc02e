#include "learner/intake/actor_roll.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "common/rng.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const ActorRoll::Time kStart = ActorRoll::Time(seconds(1000));
constexpr ActorKey kA{0, 10};
constexpr ActorKey kANext{0, 11};
constexpr ActorKey kB{1, 10};

class ActorRollTest : public testing::Test {
 protected:
  ActorRoll Make(const ActorRoll::Limits& limits) {
    return ActorRoll(limits, [this](const ActorKey& actor) { gone_.push_back(actor); });
  }
  static std::map<ActorKey, PeerId> Present(const ActorRoll& roll) {
    std::map<ActorKey, PeerId> present;
    roll.ForEach([&](const ActorKey& actor, const PeerId& peer) { present[actor] = peer; });
    return present;
  }

  std::vector<ActorKey> gone_;
};

TEST_F(ActorRollTest, WhoJoinsIsThereUntilItLeavesOrFallsSilent) {
  ActorRoll roll = Make({.silent_s = 10, .hang_s = 0, .actors = 5});
  roll.Join(kA, "peer 1", "a", kStart);
  roll.Join(kB, "peer 2", "b", kStart);
  EXPECT_EQ(roll.alive(), 2);
  EXPECT_TRUE(roll.Hear(kB, "peer 3", kStart + seconds(8)));
  roll.Look(kStart + seconds(11));
  EXPECT_THAT(gone_, ElementsAre(kA));
  EXPECT_EQ(Present(roll), (std::map<ActorKey, PeerId>{{kB, "peer 3"}}));
  EXPECT_TRUE(roll.Hear(kA, "peer 4", kStart + seconds(12)));  // Heard again.
  EXPECT_EQ(roll.alive(), 2);
  EXPECT_TRUE(roll.Leave(kB));
  EXPECT_TRUE(roll.Leave(kB));  // Said twice.
  EXPECT_THAT(gone_, ElementsAre(kA, kB));
  EXPECT_EQ(roll.alive(), 1);
  EXPECT_EQ(roll.gone(), 1);
  EXPECT_FALSE(roll.Hear({7, 7}, "stranger", kStart));
  EXPECT_FALSE(roll.Leave({7, 7}));
  EXPECT_FALSE(roll.Knows({7, 7}));
}

TEST_F(ActorRollTest, ALaterIncarnationTakesThePlaceOfTheEarlierOne) {
  ActorRoll roll = Make({.silent_s = 10, .hang_s = 0, .actors = 5});
  roll.Join(kA, "peer 1", "a", kStart);
  roll.Join(kB, "peer 2", "b", kStart);
  roll.Join(kANext, "peer 3", "a", kStart);
  EXPECT_THAT(gone_, ElementsAre(kA));
  EXPECT_EQ(Present(roll), (std::map<ActorKey, PeerId>{{kANext, "peer 3"}, {kB, "peer 2"}}));
}

TEST_F(ActorRollTest, WhenItIsFullOnlyThoseThatAreThereMayJoin) {
  ActorRoll roll = Make({.silent_s = 10, .hang_s = 0, .actors = 1});
  EXPECT_TRUE(roll.Join(kA, "peer 1", "a", kStart));
  EXPECT_TRUE(roll.Join(kA, "peer 1", "a", kStart));  // A repeated Hello.
  EXPECT_FALSE(roll.Join(kB, "peer 2", "b", kStart));
  EXPECT_FALSE(roll.Knows(kB));
  EXPECT_TRUE(roll.Join(kANext, "peer 3", "a", kStart));  // In its place.
  roll.Leave(kANext);
  EXPECT_TRUE(roll.Join(kB, "peer 2", "b", kStart));
}

TEST_F(ActorRollTest, ActorsThatFinishNothingHangAndTheLastOneHeardIsNamed) {
  ActorRoll roll = Make({.silent_s = 10, .hang_s = 60, .actors = 5});
  ActorRoll::Time now = kStart;
  const auto pass = [&](int64_t count) {  // Seconds, with a look in each.
    std::optional<std::string> hang;
    for (int64_t i = 0; i < count; ++i) hang = roll.Hang(now += seconds(1));
    return hang;
  };
  EXPECT_EQ(pass(1000), std::nullopt);  // Nobody has come yet.
  roll.Join(kA, "peer 1", "node1/0", now);
  roll.Join(kB, "peer 2", "node2/0", now);
  roll.Hear(kB, "peer 2", now + seconds(3));
  EXPECT_EQ(pass(60), std::nullopt);
  EXPECT_THAT(pass(1).value_or(""),
              AllOf(HasSubstr("'actors'"), HasSubstr("2 of 2"), HasSubstr("'node2/0'"), HasSubstr("61 s")));
  roll.NoteWork(now);
  EXPECT_EQ(pass(60), std::nullopt);
  roll.Look(now);
  EXPECT_THAT(pass(1).value_or(""), HasSubstr("0 of 2"));
  // A learner that was stopped for hours holds nothing against its actors.
  roll.NoteWork(now);
  now += std::chrono::hours(5);
  EXPECT_EQ(pass(60), std::nullopt);
}

TEST_F(ActorRollTest, NobodyHangsWhereNobodyLooks) {
  ActorRoll roll = Make({.silent_s = 10, .hang_s = 0, .actors = 5});
  roll.Join(kA, "peer 1", "a", kStart);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(roll.Hang(kStart + i * seconds(1)), std::nullopt);
}

// Against a count made anew each time, through random joins, words, goodbyes and silence.
TEST_F(ActorRollTest, TheCountsAreThoseOfWhoIsThere) {
  Rng rng(3);
  ActorRoll roll = Make({.silent_s = 1, .hang_s = 0, .actors = 4});
  ActorRoll::Time now = kStart;
  std::set<ActorKey> joined;
  for (int turn = 0; turn < 20'000; ++turn) {
    now += milliseconds(rng.UniformInt(0, 200));
    const ActorKey actor{static_cast<uint32_t>(rng.UniformInt(0, 5)), static_cast<uint32_t>(rng.UniformInt(1, 6))};
    switch (rng.UniformInt(0, 3)) {
      case 0:
        if (roll.Join(actor, "peer", "name", now)) joined.insert(actor);
        break;
      case 1:
        EXPECT_EQ(roll.Hear(actor, "peer", now), joined.contains(actor));
        break;
      case 2:
        EXPECT_EQ(roll.Leave(actor), joined.contains(actor));
        break;
      default:
        roll.Look(now);
    }
    ASSERT_EQ(roll.alive(), std::ssize(Present(roll)));
    ASSERT_EQ(roll.alive() + roll.gone(), std::ssize(joined));
  }
  EXPECT_FALSE(gone_.empty());
}

}  // namespace
}  // namespace emplace
