#include "policy/config/run_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;
using Overrides = std::vector<std::string>;

RunConfig Parse(const std::string& yaml, const Overrides& overrides = {}) {
  return ParseRunConfig(yaml, "run.yaml", "/base/configs", overrides);
}

std::string ConfigError(const std::string& yaml, const Overrides& overrides = {}) {
  return BadInputOf([&] { Parse(yaml, overrides); });
}

TEST(RunConfig, WhatIsNotGivenIsTheDefault) {
  const RunConfig config = Parse("training: {iterations: 7}\n");
  EXPECT_EQ(config.training.iterations, 7);
  EXPECT_EQ(config.training.gradient_clip, RunConfig().training.gradient_clip);
  EXPECT_EQ(Parse("").workload.family, "ptb");
}

TEST(RunConfig, ReadsBackEqual) {
  const RunConfig config = Parse(
      "name: mine\nseed: 18446744073709551615\nworkload: {family: '', train_graphs: [a b.json, /c.json], ranges: "
      "['steps=1..2']}\n"
      "training: {learning_rate: 1.0e-07, normalize_advantages: none}\nenvironment: {start: best}\n");
  EXPECT_EQ(config.seed, 18446744073709551615U);
  EXPECT_EQ(config.workload.train_graphs, (Overrides{"/base/configs/a b.json", "/c.json"}));
  const std::string yaml = RunConfigToYaml(config);
  EXPECT_EQ(RunConfigToYaml(ParseRunConfig(yaml, "again", "/elsewhere")), yaml);
}

TEST(RunConfig, OverridesComeLast) {
  const RunConfig config =
      Parse("training: {iterations: 7}\n", {"training.iterations=9", "name=x", "workload.ranges=[steps=3]"});
  EXPECT_EQ(config.training.iterations, 9);
  EXPECT_EQ(config.name, "x");
  EXPECT_EQ(config.workload.ranges, (Overrides{"steps=3"}));
}

TEST(RunConfig, TheSameKindKeepsTheKeysOfItsSection) {
  const std::string yaml = "policy: {kind: sgdp, output_scale: 0.5}\n";
  EXPECT_THAT(RunConfigToYaml(Parse(yaml, {"policy.kind=sgdp"})), HasSubstr("output_scale: 0.5"));
  EXPECT_THAT(RunConfigToYaml(Parse(yaml, {"policy.kind=rnn"})), testing::Not(HasSubstr("output_scale: 0.5")));
}

TEST(RunConfig, RelativePathsStartAtTheConfigurationsFolder) {
  EXPECT_EQ(Parse("workload: {devices: ../here.yaml}\n").workload.devices, "/base/here.yaml");
  EXPECT_EQ(Parse("workload: {devices: /there.yaml}\n").workload.devices, "/there.yaml");
}

TEST(RunConfig, ErrorsNamePlaceValueAndExpectation) {
  EXPECT_THAT(ConfigError("training: {iteratons: 3}\n"), HasSubstr("run.yaml:1:12: "));
  EXPECT_THAT(ConfigError("training: {iteratons: 3}\n"), HasSubstr("did you mean 'iterations'"));
  EXPECT_THAT(ConfigError("trainin: {}\n"), HasSubstr("run.yaml:1:1: "));
  EXPECT_THAT(ConfigError("training:\n  iterations: many\n"), HasSubstr("run.yaml:2:15: "));
  EXPECT_THAT(ConfigError("training: {iterations: 1.5}\n"), HasSubstr("iterations"));
  EXPECT_THAT(ConfigError("training: {learning_rate: -1}\n"), HasSubstr("learning_rate"));
  EXPECT_THAT(ConfigError("training: {learning_rate: .nan}\n"), HasSubstr("learning_rate"));
  EXPECT_THAT(ConfigError("environment: {start: somewhere}\n"), HasSubstr("random, single, best"));
  EXPECT_THAT(ConfigError("training: [1, 2]\n"), HasSubstr("run.yaml:1:11: "));
  EXPECT_THAT(ConfigError("just text\n"), HasSubstr("run.yaml:1:1: "));
  EXPECT_THAT(ConfigError("training: {iterations: 3\n"), HasSubstr("not valid YAML"));
  EXPECT_THAT(ConfigError("training: {iterations: 3, iterations: 4}\n"),
              HasSubstr("run.yaml:1:27: 'training.iterations' is given twice"));
  EXPECT_THAT(ConfigError("name: a\n---\ntraining: {iterations: 5}\n"),
              HasSubstr("run.yaml:2:1: more follows the YAML document that ends here, expected one document"));
  for (const char* stray : {",", "]", "}", "name: a\n]\n", "? ]"})
    EXPECT_THAT(ConfigError(stray), HasSubstr("run.yaml:")) << stray;
  EXPECT_THAT(ConfigError("training: {}\ntraining: {}\n"), HasSubstr("run.yaml:2:1: 'training' is given twice"));
}

// The resolved file is what a resumed run and the actors read; its writer would put U+FFFD for each of these.
TEST(RunConfig, TextThatTheResolvedFileCannotHoldIsRefused) {
  EXPECT_THAT(ConfigError("workload: {devices: caf\xE9.yaml}\n"),
              HasSubstr("run.yaml:1:21: workload.devices is caf\xE9.yaml, expected text in UTF-8"));
  EXPECT_THAT(ConfigError("workload: {ranges: [a, \"\\uFFFE\"]}\n"), HasSubstr("expected a list of texts in UTF-8"));
  EXPECT_THAT(ConfigError("", {"name=\xFF"}), HasSubstr("expected text in UTF-8"));
}

TEST(RunConfig, ErrorsOfOverridesNameThem) {
  EXPECT_THAT(ConfigError("", {"training.iteratons=3"}), HasSubstr("did you mean 'training.iterations'"));
  EXPECT_THAT(ConfigError("", {"training.iterations"}), HasSubstr("expected section.key=value"));
  EXPECT_THAT(ConfigError("", {"training.iterations=many"}), HasSubstr("many"));
  EXPECT_THAT(ConfigError("", {"training.iterations=[1"}), HasSubstr("not valid YAML"));
}

TEST(RunConfig, FieldsThatExcludeEachOtherAreTold) {
  EXPECT_THAT(ConfigError("workload: {family: ''}\n"), HasSubstr("expected a family, or workload.train_graphs"));
  EXPECT_THAT(ConfigError("workload: {family: ptb, train_graphs: [a.json]}\n"), HasSubstr("expected one"));
  for (const std::string list : {"validation_graphs", "test_graphs"}) {
    EXPECT_THAT(ConfigError("workload: {family: ptb, " + list + ": [a.json]}\n"),
                HasSubstr("workload.family and workload." + list + " are both given, expected one of them"));
  }
  EXPECT_THAT(ConfigError("actor: {heartbeat_s: 10}\n"),
              HasSubstr("actor.heartbeat_s is 10, expected less than learner.actor_timeout_s, 10"));
  EXPECT_THAT(ConfigError("training: {baseline: batch}\n"),
              HasSubstr("environment.episodes_per_start is 1, expected at"));
  EXPECT_THAT(ConfigError("workload: {count: 4, train: 5}\n"), HasSubstr("expected at most workload.count, 4"));
  EXPECT_THAT(ConfigError("instances: {min_ops: 500, max_ops: 400}\n"),
              HasSubstr("instances.min_ops is 500, expected at most instances.max_ops, 400"));
  EXPECT_THAT(ConfigError("instances: {min_devices: 5, max_devices: 4}\n"),
              HasSubstr("instances.min_devices is 5, expected at most instances.max_devices, 4"));
}

TEST(RunConfig, KeysOfAKindThatDoNotGoTogetherAreTold) {
  EXPECT_THAT(ConfigError("policy: {kind: sgdp, heads: 3}\n"),
              HasSubstr("run.yaml: policy.heads is 3, expected a divisor of policy.hidden, "));
  for (const char* kind : {"rnn", "hierarchical"}) {
    EXPECT_THAT(ConfigError("", {std::string("policy.kind=") + kind, "policy.hidden=31"}),
                HasSubstr("run.yaml: policy.hidden is 31, expected an even number"));
  }
}

TEST(RunConfig, GraphsToJudgeByAreNoneOfTheOthers) {
  const std::string lists = "workload: {family: '', train_graphs: [a.json, a.json, b.json], ";
  EXPECT_EQ(Parse(lists + "validation_graphs: [c.json], test_graphs: [d.json]}\n").workload.train_graphs.size(), 3U);
  EXPECT_THAT(ConfigError(lists + "test_graphs: [c.json, ./x/../b.json]}\n"),
              HasSubstr("b.json', which workload.train_graphs has already, expected"));
  EXPECT_THAT(ConfigError(lists + "validation_graphs: [c.json], test_graphs: [c.json]}\n"),
              HasSubstr("c.json', which workload.validation_graphs has already"));
  EXPECT_THAT(ConfigError(lists + "test_graphs: [c.json, c.json]}\n"),
              HasSubstr("c.json', which workload.test_graphs has already"));
}

TEST(RunConfig, EvolutionThatMirrorsCandidatesNeedsPairs) {
  const std::string yaml =
      "policy: {kind: planner}\ntraining: {objective: evolution, sync: lockstep, episodes_per_update: 15}\n"
      "evolution: {population: 5, algorithm: openai}\n";
  EXPECT_THAT(ConfigError(yaml), HasSubstr("evolution.population is 5, expected an even number"));
  EXPECT_EQ(Parse(yaml, {"evolution.algorithm=cma"}).evolution.population, 5);
  EXPECT_THAT(ConfigError(yaml, {"evolution.algorithm=cma", "training.device=cuda"}),
              HasSubstr("training.device is cuda, expected auto or cpu"));
}

TEST(RunConfig, ABatchIsABaselineForEpisodesOfOneStart) {
  const std::string yaml = "training: {baseline: batch}\n";
  EXPECT_EQ(Parse(yaml, {"environment.episodes_per_start=4"}).environment.episodes_per_start, 4);
  EXPECT_EQ(Parse(yaml, {"environment.start=single"}).environment.episodes_per_start, 1);
  EXPECT_EQ(Parse(yaml, {"policy.kind=rnn"}).environment.episodes_per_start, 1);  // Rewarded for whole placements.
}

TEST(RunConfig, ShardsThatAreNotGivenAreAsManyAsRanks) {
  const auto shards = [](const std::string& yaml, const std::vector<std::string>& overrides) {
    const RunConfig config = ParseRunConfig(yaml, "run.yaml", "/", overrides);
    // What is written says so, whatever it was read from.
    const RunConfig again = ParseRunConfig(RunConfigToYaml(config), "resolved", "/");
    EXPECT_EQ(again.training.ranks, config.training.ranks);
    EXPECT_EQ(again.training.shards, config.training.shards);
    return config.training.shards;
  };
  EXPECT_EQ(shards("", {}), 1);
  EXPECT_EQ(shards("training: {ranks: 3}\n", {}), 3);
  EXPECT_EQ(shards("training: {ranks: 3}\n", {"training.ranks=5"}), 5);
  EXPECT_EQ(shards("training: {ranks: 3, shards: 8}\n", {}), 8);
  EXPECT_EQ(shards("training: {ranks: 3}\n", {"training.shards=4"}), 4);
  EXPECT_THAT(ConfigError("training: {shards: 1, ranks: 2}\n"),
              HasSubstr("training.shards is 1, expected at least training.ranks, 2"));
  // A resumed run reads the resolved file: the bits are to stay those of its shards.
  EXPECT_THAT(ConfigError(RunConfigToYaml(RunConfig()), {"training.ranks=2"}), HasSubstr("training.shards is 1"));
}

TEST(RunConfig, HelpNamesEveryKeyOnce) {
  const std::string help = RunConfigHelp();
  for (const std::string key : {"training.iterations", "workload.ranges", "network.bind", "checkpoint.keep"}) {
    const size_t at = help.find(key);
    ASSERT_NE(at, std::string::npos) << key;
    EXPECT_EQ(help.find(key + " ", at + 1), std::string::npos) << key;
  }
}

}  // namespace
}  // namespace emplace
