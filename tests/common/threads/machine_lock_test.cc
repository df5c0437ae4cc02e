#include "common/threads/machine_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "common/error.h"
#include "common/files/file_io.h"
#include "tests/support/bad_input.h"
#include "tests/support/own_machine_lock.h"
#include "tests/support/temp_folder.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kNow(0);
constexpr milliseconds kLong(60'000);

TEST(MachineLock, OneWindowAtATime) {
  const TempFolder folder;
  MachineLock first(folder.path());
  MachineLock second(folder.path());
  EXPECT_TRUE(first.OpenWindow(kNow));
  EXPECT_FALSE(second.OpenWindow(kNow));
  first.CloseWindow();
  EXPECT_TRUE(second.OpenWindow(kNow));
}

TEST(MachineLock, AFolderThatIsNotThereIsBadInput) {
  const OwnMachineLock own;
  EXPECT_EQ(BadInputOf([] { MachineLockFolder(); }), "");
  ::setenv("EMPLACE_LOCK_FOLDER", "/nowhere/at/all", 1);
  EXPECT_EQ(BadInputOf([] { MachineLockFolder(); }),
            "EMPLACE_LOCK_FOLDER is '/nowhere/at/all', expected a folder that is there");
}

TEST(MachineLock, UnitsOfWorkGoBesideEachOther) {
  const TempFolder folder;
  MachineLock first(folder.path());
  MachineLock second(folder.path());
  EXPECT_EQ(first.BeginWork(kLong).count(), 0);
  EXPECT_EQ(second.BeginWork(kLong).count(), 0);
}

TEST(MachineLock, AWindowOpensWhenTheUnitsUnderWayHaveEnded) {
  const TempFolder folder;
  MachineLock worker(folder.path());
  worker.BeginWork(kNow);
  std::atomic<bool> ended = false;
  bool ended_before = false;
  std::thread measuring([&] {
    MachineLock window(folder.path());
    EXPECT_TRUE(window.OpenWindow(kLong));
    ended_before = ended;
  });
  std::this_thread::sleep_for(milliseconds(20));
  ended = true;
  worker.EndWork();
  measuring.join();
  EXPECT_TRUE(ended_before);
}

TEST(MachineLock, NoUnitBeginsWhileAWindowIsOpen) {
  const TempFolder folder;
  MachineLock window(folder.path());
  ASSERT_TRUE(window.OpenWindow(kNow));
  std::atomic<bool> closed = false;
  bool closed_before = false;
  std::thread working([&] {
    MachineLock worker(folder.path());
    EXPECT_GT(worker.BeginWork(kLong).count(), 0);
    closed_before = closed;
  });
  std::this_thread::sleep_for(milliseconds(20));
  closed = true;
  window.CloseWindow();
  working.join();
  EXPECT_TRUE(closed_before);
}

// Whoever waits for another window, or for units to end, and is told to stop has opened none.
TEST(MachineLock, WaitingForAWindowCanBeStopped) {
  const TempFolder folder;
  const std::atomic<bool> stop = true;
  MachineLock first(folder.path());
  MachineLock second(folder.path());
  ASSERT_TRUE(first.OpenWindow(kNow));
  EXPECT_FALSE(second.OpenWindow(kLong, &stop));
  first.CloseWindow();
  first.BeginWork(kNow);
  EXPECT_FALSE(second.OpenWindow(kLong, &stop));
  EXPECT_EQ(MachineLock(folder.path()).BeginWork(kNow).count(), 0);  // The gate is free again.
  first.EndWork();
  EXPECT_TRUE(second.OpenWindow(kNow, &stop));  // Nothing to wait for.
}

// A process that stands still while it measures, or while it works, holds nobody up for good.
TEST(MachineLock, WaitsAreBounded) {
  const TempFolder folder;
  MachineLock window(folder.path());
  ASSERT_TRUE(window.OpenWindow(kNow));
  MachineLock worker(folder.path());
  EXPECT_GT(worker.BeginWork(milliseconds(5)).count(), 0);
  worker.EndWork();
  window.CloseWindow();
  worker.BeginWork(kNow);
  EXPECT_TRUE(window.OpenWindow(milliseconds(5)));
}

TEST(MachineLock, AKilledProcessLetsGo) {
  const TempFolder folder;
  { const MachineLock make_files(folder.path()); }
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    MachineLock window(folder.path());
    const char opened = window.OpenWindow(kNow) ? 'y' : 'n';
    [[maybe_unused]] const ssize_t written = ::write(ready[1], &opened, 1);
    while (true) ::pause();
  }
  char opened = 0;
  ASSERT_EQ(::read(ready[0], &opened, 1), 1);
  EXPECT_EQ(opened, 'y');
  MachineLock worker(folder.path());
  EXPECT_FALSE(worker.OpenWindow(kNow));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(worker.BeginWork(kLong).count(), 0);
  worker.EndWork();
  EXPECT_TRUE(worker.OpenWindow(kNow));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(MachineLock, AFolderWithoutRoomForTheFilesIsNamed) {
  const TempFolder folder;
  const auto open = [](const std::filesystem::path& where) { const MachineLock lock(where); };
  EXPECT_THROW(open(folder.path() / "none"), Error);
  // A link in a folder that everybody may write to could lead anywhere.
  WriteFileAtomically(folder.path() / "somewhere", "");
  std::filesystem::create_symlink(folder.path() / "somewhere", folder.path() / "emplace-measuring.lock");
  EXPECT_THROW(open(folder.path()), Error);
}

}  // namespace
}  // namespace emplace
