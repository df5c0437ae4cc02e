#include "common/files/open_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

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

// The thread takes all that its limit gives; the others can still open what they like.
TEST(OpenFiles, AThreadCanHaveATableOfItsOwn) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  const std::optional<int64_t> open_before = CountOpenFiles();
  // Plain numbers: where no file can be opened, a sanitizer cannot look at an object with virtual functions.
  enum Stage : int { kStarting, kShared, kFull, kSeen };
  std::atomic<int> stage = kStarting;
  const auto enter = [&](Stage next) {
    stage = next;
    stage.notify_all();
  };
  std::thread greedy([&] {
    if (!UnshareOpenFiles()) {
      enter(kShared);
      return;
    }
    while (::open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {
    }
    EXPECT_EQ(errno, EMFILE);
    EXPECT_FALSE(CountOpenFiles().has_value());
    enter(kFull);
    stage.wait(kFull);
  });
  stage.wait(kStarting);
  const bool unshared = stage == kFull;
  if (unshared) {
    EXPECT_EQ(CountOpenFiles(), open_before);
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_GE(fd, 0);
    ::close(fd);
  }
  enter(kSeen);
  greedy.join();
  ::setrlimit(RLIMIT_NOFILE, &before);
  if (!unshared) GTEST_SKIP() << "this system has one table of open files for all threads";
}

}  // namespace
}  // namespace emplace
