// Profiles of small graphs; the times themselves are not tested.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "actor/hardware/measuring/link_profile.h"
#include "actor/hardware/measuring/op_profile.h"
#include "common/rng.h"
#include "simulator/graph/graph_io.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;

const Cluster kOneCpu{.devices = {{"cpu:0", "epyc", int64_t{1} << 40}}, .bandwidth_bytes_per_us = 1};

TEST(ProfileOps, TimesEachOpOfTheGraphOnce) {
  const OpGraph graph = LoadGraph(std::filesystem::path(EMPLACE_TEST_GRAPHS) / "cnn.graph.json.zst");
  const RunnablePart part = FindRunnablePart(graph, {Processor::kCpu});
  const OpProfile profile = ProfileOps(part.graph, kOneCpu, 0, 0.01);
  EXPECT_GE(profile.steps, 2);
  EXPECT_GE(profile.op_overhead_us, 0);
  EXPECT_TRUE(part.not_run.empty());
  int64_t profiled = 0;
  std::set<CostKey> keys;
  for (const ProfiledCost& cost : profile.costs) {
    EXPECT_GT(cost.us, 0);
    EXPECT_EQ(cost.key.kind, "epyc");
    EXPECT_TRUE(keys.insert(cost.key).second);
    profiled += cost.ops;
  }
  int64_t runnable = 0;
  for (const Op& op : graph.ops()) runnable += op.call_json.empty() ? 0 : 1;
  EXPECT_EQ(profiled, runnable);
}

TEST(FindRunnablePart, SaysWhatCannotBeRunAndWhatNeedsIt) {
  const OpGraph graph = LoadGraph(std::filesystem::path(EMPLACE_TEST_GRAPHS) / "mlp.graph.json");
  std::vector<Op> ops = graph.ops();
  size_t broken = 0;
  while (ops[broken].name != "addmm_1") ++broken;
  ops[broken].call_json.clear();
  const RunnablePart part = FindRunnablePart(OpGraph("broken", ops), {Processor::kCpu});
  // Nothing that is left reads what was left out, and each op left out has a reason.
  EXPECT_EQ(part.graph.num_ops() + static_cast<int32_t>(part.not_run.size()), graph.num_ops());
  ASSERT_FALSE(part.not_run.empty());
  EXPECT_EQ(part.not_run.front().name, "addmm_1");
  EXPECT_THAT(part.not_run.front().reason, HasSubstr("has no call"));
  std::set<std::string> out;
  for (const UnprofiledOp& op : part.not_run) out.insert(op.name);
  EXPECT_TRUE(out.contains("mse_loss"));
  for (const Op& op : part.graph.ops()) {
    EXPECT_FALSE(out.contains(op.name));
    for (const OpInput& input : op.inputs) EXPECT_FALSE(out.contains(part.graph.op(input.producer).name));
  }
  EXPECT_GT(ProfileOps(part.graph, kOneCpu, 0, 0.001).costs.size(), 0u);
}

TEST(FitLink, FindsTheLinkThatMadeTheTimes) {
  Rng rng(5);
  for (int trial = 0; trial < 100; ++trial) {
    const LinkFit link{.bandwidth_bytes_per_us = rng.Uniform(10, 20000), .latency_us = rng.Uniform(0, 50)};
    std::vector<TransferTime> times;
    for (int64_t bytes = 1024; bytes <= int64_t{1} << 24; bytes *= 4) {
      times.push_back({bytes, link.latency_us + static_cast<double>(bytes) / link.bandwidth_bytes_per_us});
    }
    const LinkFit fit = FitLink(times);
    EXPECT_NEAR(fit.bandwidth_bytes_per_us, link.bandwidth_bytes_per_us, 1e-6 * link.bandwidth_bytes_per_us);
    EXPECT_NEAR(fit.latency_us, link.latency_us, 1e-6);
  }
  // Times below a line through the origin have no latency: 2 us for 10 bytes and 40 us for 100 bytes. The slope has the
  // least sum of (1 - 10 s / 2)^2 and (1 - 100 s / 40)^2: s = (5 + 2.5) / (25 + 6.25) = 0.24.
  const LinkFit fit = FitLink({{10, 2}, {100, 40}});
  EXPECT_EQ(fit.latency_us, 0);
  EXPECT_DOUBLE_EQ(fit.bandwidth_bytes_per_us, 1 / 0.24);
  EXPECT_DOUBLE_EQ(FitLink({{10, 3}, {1000, 3}}).latency_us, 3);
}

TEST(TimeTransfers, TimesEverySize) {
  Cluster two = kOneCpu;
  two.devices.push_back({"cpu:1", "epyc", int64_t{1} << 40});
  const std::vector<TransferTime> times = TimeTransfers(two, 1, 0);
  ASSERT_GE(times.size(), 5u);
  for (size_t i = 0; i < times.size(); ++i) {
    EXPECT_GT(times[i].us, 0);
    if (i > 0) {
      EXPECT_GT(times[i].bytes, times[i - 1].bytes);
    }
  }
}

}  // namespace
}  // namespace emplace
