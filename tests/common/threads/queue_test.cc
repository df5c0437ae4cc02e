#include "common/threads/queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

namespace emplace {
namespace {

using std::chrono::milliseconds;

TEST(BoundedQueue, KeepsOrderAndCapacity) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.TryPush(1));
  EXPECT_TRUE(queue.TryPush(2));
  EXPECT_FALSE(queue.TryPush(3));
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(queue.Pop(milliseconds(0)), 1);
  EXPECT_EQ(queue.Pop(milliseconds(0)), 2);
  EXPECT_EQ(queue.Pop(milliseconds(0)), std::nullopt);
}

TEST(BoundedQueue, ARefusedValueStaysWithItsOwner) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  EXPECT_TRUE(queue.TryPush(std::make_unique<int>(1)));
  auto second = std::make_unique<int>(2);
  EXPECT_FALSE(queue.TryPush(std::move(second), milliseconds(1)));
  ASSERT_NE(second, nullptr);
  queue.Close();
  EXPECT_FALSE(queue.Push(std::move(second)));
  EXPECT_NE(second, nullptr);
}

TEST(BoundedQueue, WhatIsInsideOutlivesClose) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.TryPush(1));
  queue.Close();
  EXPECT_TRUE(queue.closed());
  EXPECT_FALSE(queue.TryPush(2));
  EXPECT_EQ(queue.Pop(milliseconds(1000)), 1);
  EXPECT_EQ(queue.Pop(milliseconds(1000)), std::nullopt);
}

TEST(BoundedQueue, CloseWakesWhoWaits) {
  BoundedQueue<int> full(1);
  EXPECT_TRUE(full.TryPush(1));
  BoundedQueue<int> empty(1);
  std::jthread producer([&] { EXPECT_FALSE(full.Push(2)); });
  std::jthread planner([&] { EXPECT_FALSE(full.WaitForRoom()); });
  std::jthread consumer([&] { EXPECT_EQ(empty.Pop(std::chrono::hours(1)), std::nullopt); });
  std::jthread patient([&] { EXPECT_EQ(empty.Pop(), std::nullopt); });
  full.Close();
  empty.Close();
}

TEST(BoundedQueue, RoomThatWasWaitedForIsStillThere) {
  constexpr int kItems = 2000;
  BoundedQueue<int> queue(2);
  std::jthread producer([&] {
    for (int i = 0; i < kItems; ++i) {
      EXPECT_TRUE(queue.WaitForRoom());
      EXPECT_TRUE(queue.TryPush(int{i}));
    }
    queue.Close();
  });
  for (int i = 0; i < kItems; ++i) EXPECT_EQ(queue.Pop(), i);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueue, ManyProducersAndConsumersLoseNothing) {
  constexpr int kThreads = 4;
  constexpr int kItems = 2000;
  BoundedQueue<int> queue(3);
  std::vector<std::vector<int>> got(kThreads);
  {
    std::vector<std::jthread> consumers;
    for (auto& mine : got) {
      consumers.emplace_back([&] {
        while (std::optional<int> item = queue.Pop(std::chrono::hours(1))) mine.push_back(*item);
      });
    }
    std::vector<std::jthread> producers;
    for (int t = 0; t < kThreads; ++t) {
      producers.emplace_back([&, t] {
        for (int i = 0; i < kItems; ++i) EXPECT_TRUE(queue.Push(t * kItems + i));
      });
    }
    producers.clear();
    queue.Close();
  }
  std::vector<int> all;
  for (const auto& mine : got) {
    // Items of one producer reach each consumer in the order in which they were pushed.
    std::vector<int> last(kThreads, -1);
    for (const int item : mine) {
      int& before = last[static_cast<size_t>(item / kItems)];
      EXPECT_LT(before, item);
      before = item;
    }
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), static_cast<size_t>(kThreads * kItems));
  for (int i = 0; i < kThreads * kItems; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i);
}

}  // namespace
}  // namespace emplace
