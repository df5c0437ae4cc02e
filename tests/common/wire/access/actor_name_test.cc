#include "common/wire/access/actor_name.h"

#include <gtest/gtest.h>

namespace emplace {
namespace {

TEST(ActorName, IsShortAndPrintable) {
  for (const std::string name : {"a", "host-1.example/4711", "!~"}) EXPECT_TRUE(IsActorName(name)) << name;
  EXPECT_TRUE(IsActorName(std::string(300, 'x')));
  EXPECT_FALSE(IsActorName(std::string(301, 'x')));
  for (const std::string name : {"", " ", "a b", "a\n", "a\x7f", "\xc3\xa4"}) EXPECT_FALSE(IsActorName(name)) << name;
}

}  // namespace
}  // namespace emplace
