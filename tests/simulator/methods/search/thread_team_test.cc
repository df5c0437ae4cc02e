#include "simulator/methods/search/thread_team.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace emplace
