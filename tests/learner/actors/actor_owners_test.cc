#include "learner/actors/actor_owners.h"

#include <gtest/gtest.h>

namespace emplace {
namespace {

TEST(ActorOwners, ANameBelongsToTheFirstKeyThatJoinsUnderIt) {
  ActorOwners owners;
  EXPECT_TRUE(owners.MayJoin("a", "one"));
  EXPECT_TRUE(owners.MaySpeakFor(0, "two"));  // Nobody has joined yet.
  owners.NoteJoined("a", 0, "one");
  owners.NoteJoined("b", 1, "two");
  EXPECT_TRUE(owners.MayJoin("a", "one"));  // Again, as after a restart.
  EXPECT_FALSE(owners.MayJoin("a", "two"));
  EXPECT_FALSE(owners.MayJoin("a", ""));
  EXPECT_TRUE(owners.MaySpeakFor(0, "one"));
  EXPECT_FALSE(owners.MaySpeakFor(0, "two"));
  EXPECT_FALSE(owners.MaySpeakFor(1, "one"));
  EXPECT_TRUE(owners.MaySpeakFor(2, "one"));
}

TEST(ActorOwners, WithoutKeysEverybodyMay) {
  ActorOwners owners;
  owners.NoteJoined("a", 0, "");
  EXPECT_TRUE(owners.MayJoin("a", ""));
  EXPECT_TRUE(owners.MaySpeakFor(0, ""));
}

}  // namespace
}  // namespace emplace
