#include "simulator/engine/trace_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "tests/support/random_run.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// Every property that a viewer and a reader rely on, on random runs.
TEST(TraceWriter, ShowsTheRunAsItWas) {
  for (uint64_t seed = 0; seed < Trials(200); ++seed) {
    const auto& [graph, cluster, placement, sim, run] = MakeRandomRun(seed);
    const nlohmann::json trace = nlohmann::json::parse(TraceToJson(graph, cluster, sim, placement, run));

    OpIndex op = 0;
    size_t transfers = 0;
    std::vector<int64_t> peak(cluster.devices.size());
    std::map<int64_t, std::string> flows;                                           // Phases by id.
    std::map<std::tuple<int, int>, std::vector<std::pair<double, double>>> slices;  // By row.
    for (const nlohmann::json& event : trace["traceEvents"]) {
      const std::string phase = event["ph"];
      if (phase == "X") {
        const double begin = event["ts"];
        slices[{event["pid"], event["tid"]}].push_back({begin, begin + event["dur"].get<double>()});
        if (event["cat"] == "transfer") {
          ++transfers;
        } else {
          ASSERT_EQ(event["name"], graph.op(op).name);  // In op order.
          ASSERT_EQ(event["pid"], placement[static_cast<size_t>(op)]);
          ASSERT_EQ(begin, run.start_us[static_cast<size_t>(op)]);
          ++op;
        }
      } else if (phase == "C") {
        int64_t& most = peak[event["pid"].get<size_t>()];
        most = std::max(most, event["args"]["bytes"].get<int64_t>());
      } else if (phase != "M") {
        flows[event["id"]] += phase;
      }
    }
    ASSERT_EQ(op, graph.num_ops());
    size_t links_used = 0;
    for (const Transfer& transfer : run.transfers) {
      const int32_t pair = transfer.from * cluster.num_devices() + transfer.to;
      links_used += cluster.link_model == LinkModel::kTopology ? sim.routes.channels.Row(pair).size() : 1;
    }
    ASSERT_EQ(transfers, links_used);
    ASSERT_EQ(peak, run.peak_bytes) << "seed " << seed;
    for (const auto& [id, phases] : flows) {
      // With a topology, a step for each link on the way.
      const size_t steps = phases.size() - 2;
      ASSERT_EQ(phases, "s" + std::string(steps, 't') + "f");
      ASSERT_TRUE(cluster.link_model == LinkModel::kTopology ? steps >= 1 : steps == 1);
    }
    for (auto& [row, intervals] : slices) {
      std::sort(intervals.begin(), intervals.end());
      for (size_t i = 1; i < intervals.size(); ++i) ASSERT_GE(intervals[i].first, intervals[i - 1].second - 1e-6);
    }
  }
}

}  // namespace
}  // namespace emplace
