#include "common/open_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace emplace {
namespace {

TEST(OpenFiles, TheSoftLimitIsRaisedToTheHardOne) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(OpenFileLimit(), 64);
  const int64_t raised = RaiseOpenFileLimit();
  EXPECT_EQ(raised, OpenFileLimit());
  if (before.rlim_max != RLIM_INFINITY) {
    EXPECT_EQ(raised, static_cast<int64_t>(before.rlim_max));
  } else {
    EXPECT_GT(raised, 64);
  }
  EXPECT_EQ(RaiseOpenFileLimit(), raised) << "a second time changes nothing";
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace emplace
