// `emplace place` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/files/file_io.h"
#include "tests/tools/tiny_graph.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

using CliPlaceTest = TinyGraphFolder;

TEST_F(CliPlaceTest, PlaceWritesAPlacementThatSimulatesToWhatItPrinted) {
  const Outcome placed = Emplace(
      "place --graph g.graph.json --devices d.yaml --policy p.safetensors --seconds 0.05 --out placed.json --trace "
      "t.json --json");
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  for (const char* key : {"makespan_us", "single_device_us", "lower_bound_us", "feasible", "method", "found_by",
                          "evaluations", "seconds"}) {
    EXPECT_TRUE(Json::parse(placed.out).contains(key)) << key;
  }
  EXPECT_EQ(Json::parse(placed.out)["method"], "auto");
  EXPECT_LE(Json::parse(placed.out)["lower_bound_us"], Json::parse(placed.out)["makespan_us"]);
  const Outcome simulated = Emplace("simulate --graph g.graph.json --devices d.yaml --placement placed.json --json");
  ASSERT_EQ(simulated.exit_code, 0) << simulated.err;
  EXPECT_EQ(Json::parse(placed.out)["makespan_us"], Json::parse(simulated.out)["makespan_us"]);
  EXPECT_EQ(Json::parse(placed.out)["single_device_us"], 35.0);
  EXPECT_TRUE(Json::parse(ReadFile(folder_ / "t.json")).contains("traceEvents"));
}

TEST_F(CliPlaceTest, ASearchThatIsInterruptedHandsOutItsBest) {
  const Outcome outcome =
      EmplaceInterrupted("place --graph g.graph.json --devices d.yaml --seconds 1000 --json --out best.json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["makespan_us"], 25.0);
  EXPECT_TRUE(fs::exists(folder_ / "best.json"));
}

TEST_F(CliPlaceTest, PlaceWritesTheOrderThatItIsAskedFor) {
  ASSERT_EQ(Emplace("generate ptb --out parts --count 1 --size small --microbatches 4").exit_code, 0);
  const std::string inputs = "--graph parts/ptb_00.graph.json --devices d.yaml ";
  const auto placed = [&](const std::string& order) {
    const Outcome outcome =
        Emplace("place " + inputs + "--method expert --order " + order + " --out placed.json --json");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const Outcome simulated = Emplace("simulate " + inputs + "--placement placed.json --json");
    EXPECT_EQ(simulated.exit_code, 0) << simulated.err;
    Json printed = Json::parse(outcome.out);
    EXPECT_EQ(printed["makespan_us"], Json::parse(simulated.out)["makespan_us"]);
    EXPECT_EQ(printed["peak_bytes"], Json::parse(simulated.out)["peak_bytes"]);
    EXPECT_TRUE(Json::parse(ReadFile(folder_ / "placed.json")).contains("order"));
    return printed;
  };
  const Json best = placed("best");
  for (const char* const order : {"arrival", "rank", "depth-first", "1f1b", "least-memory"}) {
    const Json printed = placed(order);
    EXPECT_EQ(printed["order"], order);
    EXPECT_LE(best["makespan_us"].get<double>(), printed["makespan_us"].get<double>() * (1 + 1e-9));  // Rounding.
  }
  EXPECT_FALSE(
      Json::parse(Emplace("place " + inputs + "--method auto --budget 500 --order none --json").out).contains("order"));
  ExpectRefused("place " + inputs + "--method expert --order fifo", "fifo");
  ExpectRefused("place " + inputs + "--method expert --out ''", "--out: it is empty, expected a file");
}

TEST_F(CliPlaceTest, PlaceForThroughputLevelsTheLoads) {
  // a (10 us), b (20), c (5): the best cut leaves 20 us on the busiest device.
  const Outcome placed = Emplace("place --graph g.graph.json --devices d.yaml --objective throughput --json");
  ASSERT_EQ(placed.exit_code, 0) << placed.err;
  EXPECT_EQ(Json::parse(placed.out)["method"], "auto");
  EXPECT_EQ(Json::parse(placed.out)["max_load_us"], 20.0);
  ExpectRefused("place --graph g.graph.json --devices d.yaml --objective speed", "speed");
  ExpectRefused("place --graph g.graph.json --devices d.yaml --method heft --objective throughput",
                "expected auto or dp");
}

TEST_F(CliPlaceTest, PlaceForThroughputDividesAChain) {
  Write("chain.graph.json", R"({"format": "emplace.graph/1", "name": "chain", "ops": [
    {"name": "d", "cost_us": 10, "inputs": ["c:0"]},
    {"name": "c", "cost_us": 10, "inputs": ["b:0"], "outputs": [{"bytes": 1000}]},
    {"name": "b", "cost_us": 10, "inputs": ["a:0"], "outputs": [{"bytes": 1000}]},
    {"name": "a", "cost_us": 10, "outputs": [{"bytes": 1000}]}]})");
  const Outcome outcome = Emplace("place --graph chain.graph.json --devices d.yaml --objective throughput --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out)["max_load_us"], 21.0);  // Two ops, and a tensor of 1 us.
}

TEST_F(CliPlaceTest, PlaceFindsTheSameWithABudgetAndAnyNumberOfThreads) {
  ASSERT_EQ(Emplace("generate ptb --out ptb --count 1 --size small").exit_code, 0);
  const std::string place = "place --graph ptb/ptb_00.graph.json --devices d.yaml --budget 300 --json --threads ";
  const Json one = Json::parse(Emplace(place + "1").out);
  const Json three = Json::parse(Emplace(place + "3").out);
  for (const char* key : {"makespan_us", "evaluations", "found_by"}) EXPECT_EQ(one[key], three[key]) << key;
}

// Two ops that only the processor may run, for which it lacks a few bytes beside what it receives, and one for the GPU.
TEST_F(CliPlaceTest, PlacesNoOpWhereItMayNotRunThoughNothingFits) {
  Write("tight.graph.json", R"({"format": "emplace.graph/1", "name": "tight", "ops": [
    {"name": "a", "cost_us": {"cpu": 10}, "param_bytes": 60, "outputs": [{"bytes": 1}]},
    {"name": "b", "cost_us": {"cpu": 10}, "param_bytes": 60, "inputs": ["a:0"], "outputs": [{"bytes": 1}]},
    {"name": "c", "cost_us": {"gpu": 10}, "param_bytes": 100, "inputs": ["b:0"], "outputs": [{"bytes": 1}]}]})");
  Write("tight.yaml", R"(
devices:
  - {name: "cpu:0", kind: cpu, memory_bytes: 100}
  - {name: "gpu:0", kind: gpu, memory_bytes: 300}
op_overhead_us: 0
transfer: {bandwidth_bytes_per_us: 1, overhead_us: 0})");
  for (const std::string objective : {"latency", "throughput"}) {
    const Outcome outcome = Emplace(
        "place --graph tight.graph.json --devices tight.yaml --seconds 0.2 --out tight.json --json --objective " +
        objective);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Json printed = Json::parse(outcome.out);
    EXPECT_EQ(printed["feasible"], false);
    EXPECT_EQ(printed["makespan_us"], 31.0);
    EXPECT_LT(printed["lower_bound_us"], 31.0);
    EXPECT_EQ(Emplace("simulate --graph tight.graph.json --devices tight.yaml --placement tight.json").exit_code, 0);
  }
}

TEST_F(CliPlaceTest, WhatAGraphSaysOfItsServingIsCheckedBeforeTheSearch) {
  Write("llm.graph.json", R"({"format": "emplace.graph/1", "name": "llm", "meta": {"llm": {"phase": "decode",
    "streams": 1, "context": 8, "most_context": 8, "tokens": 1}}, "ops": [
    {"name": "a", "cost_us": 10, "attrs": {"cache_bytes_per_token": "4"}}]})");
  ExpectRefused("place --graph llm.graph.json --devices d.yaml --seconds 100 --out p.json",
                "llm.graph.json: op 'a': attrs.cache_bytes_per_token is \"4\", expected a number of bytes");
}

TEST_F(CliPlaceTest, PlaceSaysHowMuchMemoryIsMissing) {
  Write("small.yaml",
        "devices: [{name: a, kind: x, memory_bytes: 1}, {name: b, kind: x, memory_bytes: 1}]\nop_overhead_us: 0\n"
        "transfer: {bandwidth_bytes_per_us: 1, overhead_us: 0}\n");
  Write("large.graph.json",
        R"({"format": "emplace.graph/1", "name": "large", "ops": [{"name": "a", "cost_us": 1, "param_bytes": 5}]})");
  ExpectRefused("place --graph large.graph.json --devices small.yaml", "'a' needs 5 bytes, expected at most 1 bytes");
}

}  // namespace
}  // namespace emplace
