#include "api/serving.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/strings.h"
#include "simulator/graph/graph_io.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

// Two ops, of which the cache of the first grows by 10 bytes a token and that of the second by 20.
OpGraph GraphWith(const std::string& llm) {
  return ParseGraph(StrCat(R"({"format": "emplace.graph/1", "name": "m", "meta": {"llm": )", llm, R"(}, "ops": [
    {"name": "a", "cost_us": 1, "param_bytes": 100, "attrs": {"cache_bytes_per_token": 10}},
    {"name": "b", "cost_us": 1, "param_bytes": 200, "attrs": {"cache_bytes_per_token": 20}},
    {"name": "c", "cost_us": 1}]})"),
                    "m.json");
}

Cluster TwoDevices(int64_t first, int64_t second) {
  Cluster cluster;
  cluster.devices = {{.name = "x:0", .kind = "x", .memory_bytes = first},
                     {.name = "x:1", .kind = "x", .memory_bytes = second}};
  return cluster;
}

ServingFigures FiguresOf(const std::string& llm, const Cluster& cluster, const Placement& placement,
                         const std::vector<int64_t>& peaks) {
  const OpGraph graph = GraphWith(llm);
  return Serving(graph, cluster, *ServedStepOf(graph), placement, peaks, /*makespan_us=*/50'000,
                 /*max_load_us=*/20'000);
}

constexpr char kDecode[] = R"({"phase": "decode", "streams": 4, "tokens": 1, "context": 10, "most_context": 1000})";

TEST(Serving, ADecodeStepMakesATokenForEachStream) {
  const ServingFigures figures = FiguresOf(kDecode, TwoDevices(10'000'000, 10'000'000), {0, 1, 0}, {100, 200});
  EXPECT_DOUBLE_EQ(figures.stream_tokens_per_s, 20);
  EXPECT_DOUBLE_EQ(figures.pipeline_tokens_per_s, 200);
  EXPECT_EQ(figures.longest_context, 1000);
  EXPECT_EQ(figures.limited_by, "");
  EXPECT_EQ(ShownServing(figures, "  "),
            "  one stream           20.00 tokens/s\n"
            "  many streams         up to 200.00 tokens/s in all, in batches of 4, one in each stage at a time\n"
            "  longest context      1000 tokens, limited by the model\n");
}

TEST(Serving, APromptIsTheTimeToTheFirstToken) {
  const ServingFigures figures =
      FiguresOf(R"({"phase": "prefill", "streams": 1, "prompt": 64, "context": 100, "most_context": 1000})",
                TwoDevices(10'000'000, 10'000'000), {0, 0, 0}, {300, 0});
  EXPECT_DOUBLE_EQ(figures.first_token_s, 0.05);
  EXPECT_DOUBLE_EQ(figures.pipeline_tokens_per_s, 3200);
  EXPECT_EQ(figures.stream_tokens_per_s, 0);
  EXPECT_NE(ShownServing(figures, "").find("first token          0.050 s after a prompt of 64 tokens"),
            std::string::npos);
}

TEST(Serving, TheFullestDeviceLimitsTheContext) {
  // 45 bytes left on x:0 are 4 tokens of `a`, 190 on x:1 are 9 of `b`.
  ServingFigures figures = FiguresOf(kDecode, TwoDevices(145, 390), {0, 1, 0}, {100, 200});
  EXPECT_EQ(figures.longest_context, 14);
  EXPECT_EQ(figures.limited_by, "x:0");
  figures = FiguresOf(kDecode, TwoDevices(145, 1000), {1, 1, 0}, {0, 300});
  EXPECT_EQ(figures.longest_context, 10 + 700 / 30);
  EXPECT_EQ(figures.limited_by, "x:1");
  // Too full already: so many tokens less. Without any cache there, nothing helps.
  figures = FiguresOf(kDecode, TwoDevices(70, 1000), {0, 1, 0}, {100, 200});
  EXPECT_EQ(figures.longest_context, 7);
  figures = FiguresOf(kDecode, TwoDevices(70, 1000), {1, 1, 0}, {100, 200});
  EXPECT_EQ(figures.longest_context, 0);
}

TEST(Serving, ACacheOfAWindowGrowsNoFurther) {
  const auto longest = [](int64_t context, int64_t memory_bytes) {
    const OpGraph graph = ParseGraph(StrCat(R"({"format": "emplace.graph/1", "name": "m", "meta": {"llm": {
        "phase": "decode", "streams": 1, "tokens": 1, "most_context": 1000, "context": )",
                                            context, R"(}}, "ops": [
        {"name": "a", "cost_us": 1, "attrs": {"cache_bytes_per_token": 10}},
        {"name": "b", "cost_us": 1, "attrs": {"cache_bytes_per_token": 20, "cache_most_tokens": 50}}]})"),
                                     "m.json");
    const int64_t peak = 10 * context + 20 * std::min<int64_t>(context, 50);
    return Serving(graph, TwoDevices(memory_bytes, 0), *ServedStepOf(graph), {0, 0}, {peak, 0}, 1, 1).longest_context;
  };
  // 3,000 bytes are 50 tokens of both and 150 more of `a`, whatever the context of the step; 900 are 30 of both.
  for (const int64_t context : {10, 49, 50, 51, 120}) {
    EXPECT_EQ(longest(context, 3000), 200) << context;
    EXPECT_EQ(longest(context, 900), 30) << context;
    EXPECT_EQ(longest(context, 1'000'000), 1000) << context;
  }
}

TEST(Serving, WhatAnOpNeedsWhileItRunsGrowsToo) {
  // At each context the device holds 10 bytes a token beside what one of the ops needs: 7 bytes a token, or 1,000. An
  // op that does not say it needs 4 bytes a token.
  const auto longest = [](int64_t context, int64_t memory_bytes) {
    const OpGraph graph = ParseGraph(
        StrCat(R"({"format": "emplace.graph/1", "name": "m", "meta": {"llm": {"phase": "decode", "streams": 1,
        "tokens": 1, "most_context": 2000, "room_bytes_per_token": 4, "context": )",
               context, R"(}}, "ops": [{"name": "attn", "cost_us": 1, "param_bytes": )", 10 * context,
               R"(, "temp_bytes": )", 7 * context,
               R"(, "attrs": {"cache_bytes_per_token": 10, "room_bytes_per_token": 7}},
        {"name": "window", "cost_us": 1, "temp_bytes": 1000, "attrs": {"cache_most_tokens": 0}},
        {"name": "elsewhere", "cost_us": 1, "temp_bytes": )",
               4 * context, "}]}"),
        "m.json");
    const std::vector<int64_t> peaks = {10 * context + std::max<int64_t>(7 * context, 1000), 4 * context};
    return Serving(graph, TwoDevices(memory_bytes, 4000), *ServedStepOf(graph), {0, 0, 1}, peaks, 1, 1);
  };
  for (const int64_t context : {1, 10, 249, 250, 251, 900}) {
    for (const int64_t memory_bytes : {900, 1000, 1050, 2345, 3499, 3500, 3513, 3514, 9999, 13'999}) {
      int64_t expected = 0;
      while (10 * (expected + 1) + std::max<int64_t>(7 * (expected + 1), 1000) <= memory_bytes) ++expected;
      const ServingFigures figures = longest(context, memory_bytes);
      EXPECT_EQ(figures.longest_context, expected) << context << " " << memory_bytes;
      EXPECT_EQ(figures.limited_by, "x:0");
    }
    // 4,000 bytes of the other device are enough for 1,000 tokens.
    EXPECT_EQ(longest(context, 100'000).longest_context, 1000);
    EXPECT_EQ(longest(context, 100'000).limited_by, "x:1");
  }
}

TEST(Serving, ManyStreamsAreNoSlowerThanOneStepAfterTheOther) {
  const OpGraph graph = GraphWith(kDecode);
  const auto tokens_per_s = [&](double makespan_us, double max_load_us) {
    return Serving(graph, TwoDevices(1000, 1000), *ServedStepOf(graph), {0, 1, 0}, {100, 200}, makespan_us, max_load_us)
        .pipeline_tokens_per_s;
  };
  EXPECT_DOUBLE_EQ(tokens_per_s(50'000, 20'000), 200);
  EXPECT_DOUBLE_EQ(tokens_per_s(10'000, 20'000), 400);
}

TEST(Serving, OtherGraphsServeNothing) {
  EXPECT_FALSE(ServedStepOf(ParseGraph(R"({"format": "emplace.graph/1", "meta": {"by": "me"}, "ops": []})", "g")));
  EXPECT_FALSE(ServedStepOf(ParseGraph(R"({"format": "emplace.graph/1", "ops": []})", "g")));
}

TEST(Serving, ErrorsNameWhatIsWrong) {
  const auto error = [](const std::string& llm) { return BadInputOf([&] { ServedStepOf(GraphWith(llm)); }); };
  EXPECT_EQ(error("3"), "m: meta.llm is 3, expected an object");
  EXPECT_EQ(error(R"({"phase": "chat"})"), "m: meta.llm.phase is 'chat', expected decode, prefill or both");
  EXPECT_EQ(error(R"({"phase": "decode", "streams": 0})"),
            "m: meta.llm.streams is 0, expected a whole number of at least 1");
  EXPECT_EQ(error(R"({"phase": "decode", "streams": 1, "context": 2.5})"),
            "m: meta.llm.context is 2.5, expected a whole number of at least 1");
  EXPECT_EQ(error(R"({"phase": "both", "streams": 1, "context": 2, "most_context": 3})"),
            "m: meta.llm.prompt is missing, expected a whole number of at least 1");
}

}  // namespace
}  // namespace emplace
