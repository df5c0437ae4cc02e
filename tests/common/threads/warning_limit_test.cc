#include "common/threads/warning_limit.h"

#include <gtest/gtest.h>

namespace emplace {
namespace {

using std::chrono::seconds;

WarningLimit::Time now_for_test;
WarningLimit::Time Now() { return now_for_test; }

TEST(WarningLimit, LogsSomeAndThenOneNowAndThen) {
  now_for_test = WarningLimit::Time(seconds(1000));
  WarningLimit limit(3, seconds(60), Now);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.Admit("a"), "a");
  for (int i = 0; i < 500; ++i) EXPECT_EQ(limit.Admit("b"), "");
  now_for_test += seconds(59);
  EXPECT_EQ(limit.Admit("b"), "");
  now_for_test += seconds(1);
  EXPECT_EQ(limit.Admit("c"), "c (501 more like this since the last line)");
  EXPECT_EQ(limit.Admit("d"), "");
  now_for_test += seconds(600);
  EXPECT_EQ(limit.Admit("e"), "e (1 more like this since the last line)");
  now_for_test += seconds(60);
  EXPECT_EQ(limit.Admit("f"), "f");
}

}  // namespace
}  // namespace emplace
