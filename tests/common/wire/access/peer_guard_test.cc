#include "common/wire/access/peer_guard.h"

#include <gtest/gtest.h>

namespace emplace {
namespace {

using Verdict = PeerGuard::Verdict;
using std::chrono::milliseconds;

const PeerGuard::Time kStart{};
constexpr PeerGuard::Limits kLimits = {.messages_per_s = 10, .burst = 20, .rubbish = 3, .remembered = 4};

TEST(PeerGuard, WhoKeepsToTheRateIsAlwaysHeard) {
  PeerGuard guard(kLimits);
  for (int i = 0; i < 10'000; ++i) EXPECT_EQ(guard.Hear("a", kStart + i * milliseconds(100)), Verdict::kHear);
  EXPECT_EQ(guard.ignored(), 0);
}

TEST(PeerGuard, ABurstIsHeardAndThenTheRate) {
  PeerGuard guard(kLimits);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(guard.Hear("a", kStart), Verdict::kHear);
  EXPECT_EQ(guard.Hear("a", kStart), Verdict::kIgnore);
  EXPECT_EQ(guard.Hear("b", kStart), Verdict::kHear);  // Another has a burst of its own.
  // Half a second is worth five messages.
  for (int i = 0; i < 5; ++i) EXPECT_EQ(guard.Hear("a", kStart + milliseconds(500)), Verdict::kHear);
  EXPECT_EQ(guard.Hear("a", kStart + milliseconds(500)), Verdict::kIgnore);
  EXPECT_EQ(guard.ignored(), 2);
}

TEST(PeerGuard, WhoSendsTooMuchIsCutOffOnceAndForGood) {
  PeerGuard guard(kLimits);
  int cut = 0;
  for (int i = 0; i < 1000; ++i) cut += guard.Hear("a", kStart) == Verdict::kCutOff ? 1 : 0;
  EXPECT_EQ(cut, 1);
  EXPECT_EQ(guard.cut_off(), 1);
  EXPECT_EQ(guard.ignored(), 1000 - 20);
  EXPECT_EQ(guard.Hear("a", kStart + std::chrono::hours(10)), Verdict::kIgnore);
}

TEST(PeerGuard, AFewMessagesWithoutSenseAreForgivenNotMore) {
  PeerGuard guard(kLimits);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(guard.Hear("a", kStart), Verdict::kHear);
    EXPECT_EQ(guard.Blame("a"), Verdict::kIgnore);
  }
  EXPECT_EQ(guard.Hear("a", kStart), Verdict::kHear);
  EXPECT_EQ(guard.Blame("a"), Verdict::kCutOff);
  EXPECT_EQ(guard.Hear("a", kStart), Verdict::kIgnore);
  EXPECT_EQ(guard.Blame("a"), Verdict::kIgnore);
  EXPECT_EQ(guard.Hear("b", kStart), Verdict::kHear);
}

TEST(PeerGuard, WhatMadeNoSenseIsForgottenInTime) {
  PeerGuard guard(kLimits);
  PeerGuard::Time now = kStart;
  for (int i = 0; i < 100; ++i, now += std::chrono::seconds(601)) {
    EXPECT_EQ(guard.Hear("a", now), Verdict::kHear);
    guard.Accuse("a");
  }
  // Heard all the time, it is forgotten no sooner.
  for (int s = 0; s < 590; ++s) EXPECT_EQ(guard.Hear("b", kStart + std::chrono::seconds(s)), Verdict::kHear);
  for (int i = 0; i < 4; ++i) guard.Accuse("b");
  EXPECT_EQ(guard.Hear("b", kStart + std::chrono::seconds(591)), Verdict::kCutOff);
  EXPECT_EQ(guard.cut_off(), 1);
}

TEST(PeerGuard, WhoIsAccusedTooOftenIsCutOffByItsNextMessage) {
  PeerGuard guard(kLimits);
  EXPECT_EQ(guard.Hear("a", kStart), Verdict::kHear);
  for (int i = 0; i < 3; ++i) guard.Accuse("a");
  EXPECT_EQ(guard.Hear("a", kStart), Verdict::kHear);
  guard.Accuse("a");
  EXPECT_EQ(guard.Hear("a", kStart), Verdict::kCutOff);
  EXPECT_EQ(guard.Hear("a", kStart), Verdict::kIgnore);
  EXPECT_EQ(guard.cut_off(), 1);
  guard.Accuse("nobody");
  EXPECT_EQ(guard.Hear("nobody", kStart), Verdict::kHear);
}

TEST(PeerGuard, OfTooManyPeersTheSilentAreForgotten) {
  PeerGuard guard(kLimits);
  for (int i = 0; i < 100; ++i) guard.Hear("loud", kStart);  // Cut off.
  for (int i = 0; i < 1000; ++i) {
    const PeerGuard::Time now = kStart + i * milliseconds(1);
    EXPECT_EQ(guard.Hear("peer " + std::to_string(i), now), Verdict::kHear);
    EXPECT_EQ(guard.Hear("loud", now + milliseconds(1)), Verdict::kIgnore);  // Not silent, so not forgotten.
  }
}

}  // namespace
}  // namespace emplace
