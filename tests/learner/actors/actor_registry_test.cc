#include "learner/actors/actor_registry.h"

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

const ActorRegistry::Time kStart = ActorRegistry::Time(seconds(1000));
constexpr ActorKey kA{0, 10};
constexpr ActorKey kANext{0, 11};
constexpr ActorKey kB{1, 10};

class ActorRegistryTest : public testing::Test {
 protected:
  ActorRegistry Make(const ActorRegistry::Limits& limits) {
    return ActorRegistry(limits, [this](const ActorKey& actor) { gone_.push_back(actor); });
  }
  static std::map<ActorKey, PeerId> Present(const ActorRegistry& registry) {
    std::map<ActorKey, PeerId> present;
    registry.ForEachAlive([&](const ActorKey& actor, const PeerId& peer) { present[actor] = peer; });
    return present;
  }

  std::vector<ActorKey> gone_;
};

TEST_F(ActorRegistryTest, WhoJoinsIsThereUntilItLeavesOrFallsSilent) {
  ActorRegistry registry = Make({.silent_s = 10, .hang_s = 0, .max_actors = 5});
  registry.Join(kA, "peer 1", "a", kStart);
  registry.Join(kB, "peer 2", "b", kStart);
  EXPECT_EQ(registry.alive(), 2);
  EXPECT_TRUE(registry.MarkHeard(kB, "peer 3", kStart + seconds(8)));
  registry.ExpireSilent(kStart + seconds(11));
  EXPECT_THAT(gone_, ElementsAre(kA));
  EXPECT_EQ(Present(registry), (std::map<ActorKey, PeerId>{{kB, "peer 3"}}));
  EXPECT_TRUE(registry.MarkHeard(kA, "peer 4", kStart + seconds(12)));  // Heard again.
  EXPECT_EQ(registry.alive(), 2);
  EXPECT_TRUE(registry.Leave(kB));
  EXPECT_TRUE(registry.Leave(kB));  // Said twice.
  EXPECT_THAT(gone_, ElementsAre(kA, kB));
  EXPECT_EQ(registry.alive(), 1);
  EXPECT_EQ(registry.gone(), 1);
  EXPECT_FALSE(registry.MarkHeard({7, 7}, "stranger", kStart));
  EXPECT_FALSE(registry.Leave({7, 7}));
  EXPECT_FALSE(registry.HasJoined({7, 7}));
}

TEST_F(ActorRegistryTest, ALaterIncarnationTakesThePlaceOfTheEarlierOne) {
  ActorRegistry registry = Make({.silent_s = 10, .hang_s = 0, .max_actors = 5});
  registry.Join(kA, "peer 1", "a", kStart);
  registry.Join(kB, "peer 2", "b", kStart);
  registry.Join(kANext, "peer 3", "a", kStart);
  EXPECT_THAT(gone_, ElementsAre(kA));
  EXPECT_EQ(Present(registry), (std::map<ActorKey, PeerId>{{kANext, "peer 3"}, {kB, "peer 2"}}));
}

TEST_F(ActorRegistryTest, KnowsWhatEachIncarnationHasJoinedAs) {
  ActorRegistry registry = Make({.silent_s = 10, .hang_s = 0, .max_actors = 5});
  EXPECT_EQ(registry.Measures(kA), std::nullopt);
  registry.Join(kA, "peer 1", "a", kStart, true);
  registry.Join(kANext, "peer 2", "a", kStart, false);
  EXPECT_EQ(registry.Measures(kA), true);
  EXPECT_EQ(registry.Measures(kANext), false);
  // Of an earlier learner: as the latest of its id.
  EXPECT_EQ(registry.Measures({kA.actor_id, kA.incarnation - 1}), false);
  EXPECT_EQ(registry.Measures(kB), std::nullopt);
  registry.Join(kB, "peer 3", "b", kStart, true);
  EXPECT_EQ(registry.Measures({kB.actor_id, kB.incarnation - 1}), true);
  EXPECT_EQ(registry.Measures({kB.actor_id + 1, 0}), std::nullopt);
}

TEST_F(ActorRegistryTest, WindowsAreOpenForNoMoreThanTheTimeSinceTheirActorHasJoined) {
  ActorRegistry registry = Make({.silent_s = 10, .hang_s = 0, .max_actors = 5});
  EXPECT_FALSE(registry.any_measures());
  registry.Join(kA, "peer 1", "a", kStart, /*measures=*/true);
  registry.Join(kB, "peer 2", "b", kStart + seconds(2), /*measures=*/true);
  registry.NoteWindows(kA, 3, kStart + seconds(6));
  registry.Join(kA, "peer 1", "a", kStart + seconds(7), /*measures=*/true);  // Its Hello came twice.
  registry.NoteWindows(kA, 4, kStart + seconds(8));
  registry.NoteWindows(kB, 100, kStart + seconds(6));
  EXPECT_EQ(registry.window_s(), 4 + 4);
  EXPECT_EQ(registry.measuring_s(), 8 + 4);
  registry.Leave(kB);
  EXPECT_EQ(registry.measuring_s(), 8 + 4);
  EXPECT_TRUE(registry.any_measures());
}

TEST_F(ActorRegistryTest, WhenItIsFullOnlyThoseThatAreThereMayJoin) {
  ActorRegistry registry = Make({.silent_s = 10, .hang_s = 0, .max_actors = 1});
  EXPECT_TRUE(registry.Join(kA, "peer 1", "a", kStart));
  EXPECT_TRUE(registry.Join(kA, "peer 1", "a", kStart));  // A repeated Hello.
  EXPECT_FALSE(registry.Join(kB, "peer 2", "b", kStart));
  EXPECT_FALSE(registry.HasJoined(kB));
  EXPECT_TRUE(registry.Join(kANext, "peer 3", "a", kStart));  // In its place.
  registry.Leave(kANext);
  EXPECT_TRUE(registry.Join(kB, "peer 2", "b", kStart));
}

TEST_F(ActorRegistryTest, ActorsThatFinishNothingHangAndTheLastOneHeardIsNamed) {
  ActorRegistry registry = Make({.silent_s = 10, .hang_s = 60, .max_actors = 5});
  ActorRegistry::Time now = kStart;
  const auto pass = [&](int64_t count) {  // Seconds, with a look in each.
    std::optional<std::string> hang;
    for (int64_t i = 0; i < count; ++i) hang = registry.FindHang(now += seconds(1));
    return hang;
  };
  EXPECT_EQ(pass(1000), std::nullopt);  // Nobody has come yet.
  registry.Join(kA, "peer 1", "node1/0", now);
  registry.Join(kB, "peer 2", "node2/0", now);
  registry.MarkHeard(kB, "peer 2", now + seconds(3));
  EXPECT_EQ(pass(60), std::nullopt);
  EXPECT_THAT(pass(1).value_or(""),
              AllOf(HasSubstr("'actors'"), HasSubstr("2 of 2"), HasSubstr("'node2/0'"), HasSubstr("61 s")));
  registry.NoteWork(now);
  EXPECT_EQ(pass(60), std::nullopt);
  registry.ExpireSilent(now);
  EXPECT_THAT(pass(1).value_or(""), HasSubstr("0 of 2"));
  // A learner that was stopped for hours holds nothing against its actors.
  registry.NoteWork(now);
  now += std::chrono::hours(5);
  EXPECT_EQ(pass(60), std::nullopt);
}

TEST_F(ActorRegistryTest, NobodyHangsWhereNobodyLooks) {
  ActorRegistry registry = Make({.silent_s = 10, .hang_s = 0, .max_actors = 5});
  registry.Join(kA, "peer 1", "a", kStart);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(registry.FindHang(kStart + i * seconds(1)), std::nullopt);
}

// Against a count made anew each time, through random joins, words, goodbyes and silence.
TEST_F(ActorRegistryTest, TheCountsAreThoseOfWhoIsThere) {
  Rng rng(3);
  ActorRegistry registry = Make({.silent_s = 1, .hang_s = 0, .max_actors = 4});
  ActorRegistry::Time now = kStart;
  std::set<ActorKey> joined;
  for (int turn = 0; turn < 20'000; ++turn) {
    now += milliseconds(rng.UniformInt(0, 200));
    const ActorKey actor{static_cast<uint32_t>(rng.UniformInt(0, 5)), static_cast<uint32_t>(rng.UniformInt(1, 6))};
    switch (rng.UniformInt(0, 3)) {
      case 0:
        if (registry.Join(actor, "peer", "name", now)) joined.insert(actor);
        break;
      case 1:
        EXPECT_EQ(registry.MarkHeard(actor, "peer", now), joined.contains(actor));
        break;
      case 2:
        EXPECT_EQ(registry.Leave(actor), joined.contains(actor));
        break;
      default:
        registry.ExpireSilent(now);
    }
    ASSERT_EQ(registry.alive(), std::ssize(Present(registry)));
    ASSERT_EQ(registry.alive() + registry.gone(), std::ssize(joined));
  }
  EXPECT_FALSE(gone_.empty());
}

}  // namespace
}  // namespace emplace
