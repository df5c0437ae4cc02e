#include "learner/pipeline/front_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <thread>

#include "common/error.h"
#include "tests/learner/pipeline/front_end_fixture.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class FrontEndTest : public FrontEndFixture {
 protected:
  // Takes `count` episodes as if for updates.
  void Train(WholeFrontEnd& front_end, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      const std::optional<Episode> taken = front_end.Pop(milliseconds(10'000));
      ASSERT_TRUE(taken.has_value());
      ledger_.CountTrained(taken->trajectory.actor);
    }
  }
};

TEST_F(FrontEndTest, AFullBufferPushesBackAndLosesNothing) {
  config_.learner.buffer = 2;
  const auto front_end = Start();
  HandPlayedActor actor(front_end->address(), "a", 1);
  actor.Join();
  // What fits into the buffer, both sockets' queues and the kernel is bounded; then the actor is held up.
  while (actor.Produce(episode(actor.produced()), milliseconds(200))) {
    ASSERT_LT(actor.produced(), 5000U) << "nothing pushes back";
  }
  EXPECT_EQ(front_end->stats().episodes, 2);
  EXPECT_GT(front_end->stats().blocked_s, 0);
  EXPECT_EQ(actor.Beat().session, front_end->session());  // Control is not held up.
  EXPECT_TRUE(Await([&] { return front_end->stats().actors.under_way == static_cast<int64_t>(actor.produced()) - 2; }));

  const uint64_t produced = actor.produced();
  Train(*front_end, produced);
  actor.Leave();
  EXPECT_TRUE(Await([&] { return front_end->stats().actors.alive == 0; }));
  const LedgerCounts total = ledger_.Total();
  EXPECT_EQ(total.produced, produced);
  EXPECT_EQ(total.trained, produced);
  EXPECT_EQ(total.lost, 0U);
}

TEST_F(FrontEndTest, TheEndWaitsForGoodbyesAndCountsWhatIsLeft) {
  config_.learner.buffer = 4;
  const auto front_end = Start();
  uint64_t produced = 0;
  std::thread actors([&] {
    HandPlayedActor actor(front_end->address(), "a", 1);
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
  EXPECT_EQ(front_end->stats().actors.gone, 1);
}

// On a busy machine the last episodes may come long after the goodbye, which has another connection.
TEST_F(FrontEndTest, TheEndWaitsForWhatWasSentBeforeAGoodbye) {
  const auto front_end = Start();
  HandPlayedActor actor(front_end->address(), "a", 1);
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
  HandPlayedActor actor(front_end->address(), "a", 1);
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
        HandPlayedActor actor(front_end->address(), "slot/" + std::to_string(s), rng.Next());
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

}  // namespace
}  // namespace emplace
