// Methods end when they are told to, and look at no more than in proportion to the graph.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulator/methods/lists/list_schedule.h"
#include "simulator/methods/placement_method.h"
#include "tests/simulator/methods/hand_tasks.h"
#include "tests/support/random_task.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// Says stop from a number of questions on, and counts them.
struct Counter {
  int64_t until;
  std::atomic<int64_t> asked = 0;

  StopSignal stop() {
    return StopSignal([this] { return ++asked > until; });
  }
};

// A placement that may run, or nothing.
void ExpectLegal(const PlacementTask& task, const MethodOptions& options, const std::string& name) {
  try {
    const MethodResult result = MakeMethod(name, options)->Place(task);
    if (!result.placement) return;
    for (OpIndex op = 0; op < task.sim.num_ops; ++op) {
      const DeviceIndex device = (*result.placement)[static_cast<size_t>(op)];
      ASSERT_TRUE(device >= 0 && device < task.sim.num_devices) << name;
      ASSERT_TRUE(task.sim.MayRun(op, device)) << name;
    }
  } catch (const Stopped& stopped) {
    EXPECT_STREQ(stopped.what(), "interrupted") << name;
  }
}

PlacementTask Small(uint64_t seed) {
  Rng rng(seed);
  RandomTaskOptions options;
  options.max_groups = 6;
  return RandomTask(rng, options);
}

TEST(StoppedMethods, EndAfterFewMoreQuestions) {
  constexpr int64_t kMostMore = 200;  // A method asks at each op, and its threads may ask beside each other.
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const PlacementTask task = Small(seed);
    for (const std::string& name : MethodNames()) {
      if (name == "policy") continue;
      for (const int64_t until : {0, 1, 10, 100}) {
        Counter counter{until};
        ExpectLegal(task, {.budget = 1000, .threads = 2, .stop = counter.stop()}, name);
        EXPECT_LE(counter.asked, until + kMostMore) << name;
      }
    }
  }
}

TEST(StoppedMethods, LoseNothingThatTheyHave) {
  std::set<std::string> seen;
  for (uint64_t seed = 0; seed < Trials(40); ++seed) {
    Rng rng(seed);
    RandomTaskOptions options;
    options.max_groups = 6;
    const PlacementTask task = RandomTask(rng, options);
    for (const std::string name : {"knapsack", "data-parallel", "m-etf"}) {
      Counter whole{std::numeric_limits<int64_t>::max()};
      const MethodResult result = MakeMethod(name, {.stop = whole.stop()})->Place(task);
      if (!result.placement || result.evaluations < 2 || whole.asked < 2) continue;
      Counter counter{whole.asked - 1};
      EXPECT_TRUE(MakeMethod(name, {.stop = counter.stop()})->Place(task).placement.has_value()) << name << " " << seed;
      seen.insert(name);
    }
  }
  EXPECT_TRUE(seen.contains("knapsack"));
}

TEST(StoppedMethods, AutoHasAPlacementAllTheSame) {
  const PlacementTask task = Small(1);
  Counter counter{0};
  EXPECT_TRUE(MakeMethod("auto", {.budget = 1000, .stop = counter.stop()})->Place(task).placement.has_value());
}

// One op, and readers of its tensor, which all get ready at once.
PlacementTask FanOut(int32_t readers) {
  std::vector<Op> ops = {HandOp("source", 10, {})};
  for (int32_t i = 0; i < readers; ++i) ops.push_back(HandOp("reader" + std::to_string(i), 1, {0}));
  return HandTask(ops, HandCluster(2, 1000000000));
}

TEST(ListSchedulers, LookAtEachOfManyReadersAFewTimes) {
  constexpr int64_t kFree = 1 << 22;  // As StartLooks has; all readers at each step would be 8,000 * 8,000 / 2 looks.
  constexpr int64_t kEach = 40;       // Looks at an op and its input, with those that go beyond what is left.
  for (const char* const name : {"m-etf", "heft"}) {
    Counter counter{std::numeric_limits<int64_t>::max()};
    const int32_t readers = 8000;
    EXPECT_TRUE(MakeMethod(name, {.stop = counter.stop()})->Place(FanOut(readers)).placement.has_value());
    EXPECT_LE(counter.asked, kFree + kEach * readers) << name;
  }
}

// The gaps of a device by a plain list of what it runs, as HEFT's paper defines them.
class PlainDevice {
 public:
  double StartUs(double ready_us, double cost_us) const {
    double start_us = ready_us;
    for (const auto& [begin, end] : busy_) {
      if (end <= start_us) continue;
      if (start_us + cost_us <= begin) break;
      start_us = std::max(start_us, end);
    }
    return start_us;
  }
  void Add(double start_us, double end_us) {
    if (end_us <= start_us) return;
    busy_.emplace_back(start_us, end_us);
    std::ranges::sort(busy_);
  }

 private:
  std::vector<std::pair<double, double>> busy_;
};

TEST(ListSchedule, InsertsIntoTheFirstGapThatIsLongEnough) {
  for (uint64_t seed = 0; seed < Trials(50); ++seed) {
    const PlacementTask task = Small(seed);
    const ScheduleGraph graph(task);
    const std::vector<double> room(static_cast<size_t>(graph.num_devices()), std::numeric_limits<double>::infinity());
    ListSchedule schedule(graph, room);
    std::vector<PlainDevice> plain(room.size());
    Rng rng(seed);
    for (const OpIndex op : graph.topological_order()) {
      const std::vector<DeviceIndex> candidates = schedule.Candidates(op);
      for (const DeviceIndex device : candidates) {
        ASSERT_EQ(schedule.InsertedStartUs(op, device),
                  plain[static_cast<size_t>(device)].StartUs(schedule.ReadyUs(op, device), graph.CostUs(op, device)));
      }
      const DeviceIndex device =
          candidates[static_cast<size_t>(rng.UniformInt(0, static_cast<int64_t>(candidates.size()) - 1))];
      const double start_us = schedule.InsertedStartUs(op, device);
      schedule.Place(op, device, start_us);
      plain[static_cast<size_t>(device)].Add(start_us, start_us + graph.CostUs(op, device));
    }
  }
}

}  // namespace
}  // namespace emplace
