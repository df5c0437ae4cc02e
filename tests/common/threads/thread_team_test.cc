#include "common/threads/thread_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace emplace {
namespace {

TEST(ThreadTeam, CallsEveryIndexOnce) {
  for (const int threads : {1, 2, 4}) {
    ThreadTeam team(threads);
    EXPECT_EQ(team.size(), threads);
    for (size_t count = 0; count < 200; ++count) {
      std::vector<std::atomic<int>> calls(count);
      team.ForEach(count, [&](size_t thread, size_t index) {
        EXPECT_LT(thread, static_cast<size_t>(threads));
        ++calls[index];
      });
      for (const std::atomic<int>& of_index : calls) EXPECT_EQ(of_index, 1);
    }
  }
}

TEST(ThreadTeam, ThrowsWhatWorkThrowsOnceAllHaveEnded) {
  for (const int threads : {1, 2, 4}) {
    ThreadTeam team(threads);
    for (size_t thrower = 0; thrower < 20; ++thrower) {
      std::atomic<int> working = 0;
      const auto work = [&](size_t /*thread*/, size_t index) {
        ++working;
        std::this_thread::yield();
        --working;
        if (index >= thrower) throw std::out_of_range(std::to_string(index));
      };
      try {
        team.ForEach(20, work);
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::out_of_range& thrown) {
        EXPECT_EQ(thrown.what(), std::to_string(thrower));
      }
      EXPECT_EQ(working, 0);
      std::atomic<int> calls = 0;
      team.ForEach(20, [&](size_t /*thread*/, size_t /*index*/) { ++calls; });  // As if nothing had been.
      EXPECT_EQ(calls, 20);
    }
  }
}

}  // namespace
}  // namespace emplace
