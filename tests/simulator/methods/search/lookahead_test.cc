#include "simulator/methods/search/lookahead.h"

#include <gtest/gtest.h>

namespace emplace {
namespace {

TEST(Lookahead, OneThreadNeverLooksAhead) {
  Lookahead lookahead(1);
  for (int i = 0; i < 100; ++i) {
    lookahead.Observe(1, /*taken=*/false);
    EXPECT_EQ(lookahead.count(), 1);
  }
  EXPECT_EQ(lookahead.most(), 1);
}

TEST(Lookahead, LooksFartherWhereMovesAreSeldomTaken) {
  Lookahead lookahead(4);
  EXPECT_EQ(lookahead.count(), 1);  // Nothing is known yet.
  size_t before = 1;
  for (int i = 0; i < 40; ++i) {
    lookahead.Observe(lookahead.count(), /*taken=*/false);
    EXPECT_GE(lookahead.count(), before);
    before = lookahead.count();
  }
  EXPECT_EQ(lookahead.count(), lookahead.most());
  lookahead.Observe(10, /*taken=*/true);
  lookahead.Observe(10, /*taken=*/true);
  EXPECT_LT(lookahead.count(), lookahead.most());
  EXPECT_GE(lookahead.count(), 4);  // A move for each thread.
}

TEST(Lookahead, OneThreadWorksAloneWhereMovesAreOftenTaken) {
  Lookahead lookahead(2);
  lookahead.Observe(1000, /*taken=*/false);
  EXPECT_GT(lookahead.count(), 1);
  for (int i = 0; i < 100; ++i) lookahead.Observe(2, /*taken=*/true);
  EXPECT_EQ(lookahead.count(), 1);
  lookahead.Observe(8, /*taken=*/false);  // Until none is taken for a while.
  EXPECT_GT(lookahead.count(), 1);
}

}  // namespace
}  // namespace emplace
