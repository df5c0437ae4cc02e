// `emplace config` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/strings.h"
#include "policy/config/run_config.h"
#include "tests/tools/cli_folder.h"

namespace emplace {
namespace {

using testing::HasSubstr;

using ConfigCommand = CliFolder;

TEST_F(ConfigCommand, ListsEveryKeyWithDefaultRangeAndHelp) {
  for (const std::string arguments : {"config", "config --help"}) {
    const Outcome outcome = Emplace(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr(RunConfigHelp()));
    EXPECT_THAT(outcome.out, HasSubstr("  actor.send_queue = 8  (1..100000)  Number of finished trajectories"));
  }
}

TEST_F(ConfigCommand, PrintsAConfigurationWithAllItsValues) {
  Write("c.yaml", "name: mine\ntraining: {iterations: 7}\n");
  const Outcome outcome = Emplace("config c.yaml --set training.iterations=9 --set actor.send_queue=3");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            RunConfigToYaml(LoadRunConfig(folder_ / "c.yaml", {"training.iterations=9", "actor.send_queue=3"})));
  EXPECT_THAT(outcome.out, HasSubstr("iterations: 9"));
  Write("again.yaml", outcome.out);
  EXPECT_EQ(Emplace("config again.yaml").out, outcome.out);
}

TEST_F(ConfigCommand, RefusesWhatIsWrongInOneLine) {
  Write("c.yaml", "training:\n  iteration: 7\n");
  ExpectRefused("config c.yaml", "c.yaml:2:3: unknown key 'training.iteration', did you mean 'iterations'?");
  Write("c.yaml", "");
  ExpectRefused("config c.yaml --set training.iterations=0", "iterations is 0, expected 1..");
  ExpectRefused("config none.yaml", "none.yaml");
}

TEST_F(ConfigCommand, SetsValuesOfTheDefaults) {
  const Outcome outcome = Emplace("config --set training.iterations=7 --set workload.family=nmt");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  Write("d.yaml", outcome.out);
  EXPECT_EQ(Emplace("config d.yaml").out, outcome.out);
  EXPECT_THAT(outcome.out, HasSubstr("  iterations: 7  #"));
  EXPECT_THAT(outcome.out, HasSubstr("  family: \"nmt\"  #"));
  ExpectRefused("config --set training.iterations=010x", "--set training.iterations=010x: training.iterations is 010x");
}

}  // namespace
}  // namespace emplace
