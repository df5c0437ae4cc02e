#include "learner/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/files/file_io.h"
#include "common/strings.h"
#include "simulator/graph/graph_io.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WorkloadTest : public testing::Test {
 protected:
  WorkloadTest() : folder_(fs::path(testing::TempDir()) / StrCat("workload_", ::getpid())) {
    MakeFolder(folder_);
    WriteFileAtomically(folder_ / "d.yaml",
                        "devices:\n  - {name: \"a:0\", kind: a, memory_bytes: 1.0e9}\n"
                        "  - {name: \"a:1\", kind: a, memory_bytes: 1.0e9}\n"
                        "op_overhead_us: 0\ntransfer: {bandwidth_bytes_per_us: 100, overhead_us: 1}\n");
    config_.workload.family = "";
    config_.workload.devices = (folder_ / "d.yaml").string();
  }
  ~WorkloadTest() override { fs::remove_all(folder_); }

  std::string WriteGraph(const std::string& name) {
    Op op;
    op.name = "op";
    op.type = "t";
    op.cost = OpCost::Everywhere(1);
    const fs::path path = folder_ / (name + ".graph.json");
    WriteFileAtomically(path, GraphToJson(OpGraph(name, {op})));
    return path.string();
  }
  Workload Build(int train, int validation) {
    config_.workload.train_graphs.clear();
    config_.workload.validation_graphs.clear();
    for (int i = 0; i < train; ++i) config_.workload.train_graphs.push_back(WriteGraph(StrCat("t", i)));
    for (int i = 0; i < validation; ++i) config_.workload.validation_graphs.push_back(WriteGraph(StrCat("v", i)));
    return BuildWorkload(config_, folder_ / "graphs");
  }
  static std::vector<std::string> Names(const std::vector<PlacementTask>& tasks) {
    std::vector<std::string> names;
    for (const PlacementTask& task : tasks) names.push_back(task.name);
    return names;
  }

  const fs::path folder_;
  RunConfig config_;
};

TEST_F(WorkloadTest, TheHashOfConditionsTellsMachinesAndStartsFromOthers) {
  const std::string hash = Build(2, 1).conditions_hash;
  EXPECT_EQ(Build(3, 2).conditions_hash, hash);
  config_.environment.start = Start::kSingle;
  EXPECT_NE(Build(2, 1).conditions_hash, hash);
  config_.environment.start = RunConfig().environment.start;
  EXPECT_EQ(Build(2, 1).conditions_hash, hash);
  // The same file, edited: its name tells nothing.
  const std::string machine = ReadFile(folder_ / "d.yaml");
  WriteFileAtomically(folder_ / "d.yaml", std::string(machine).replace(machine.find(": 100,"), 6, ": 50,"));
  EXPECT_NE(Build(2, 1).conditions_hash, hash);
}

TEST_F(WorkloadTest, TheHashTellsGraphsFromOthers) {
  const std::string hash = Build(2, 1).graphs_hash;
  EXPECT_EQ(Build(2, 1).graphs_hash, hash);
  EXPECT_NE(Build(3, 1).graphs_hash, hash);
  EXPECT_NE(Build(2, 2).graphs_hash, hash);
  config_.workload.test_graphs = {WriteGraph("w")};
  EXPECT_NE(Build(2, 1).graphs_hash, hash);
}

TEST_F(WorkloadTest, GivenValidationGraphsChooseTheVersion) {
  const Workload workload = Build(12, 1);
  EXPECT_EQ(workload.choice, VersionChoice::kValidation);
  EXPECT_EQ(workload.train.size(), 12U);
  EXPECT_THAT(Names(workload.validation), ElementsAre("v0"));
  EXPECT_EQ(workload.NumValidation(), 1U);
}

TEST_F(WorkloadTest, OfManyTrainingGraphsSomeAreHeldOut) {
  const Workload workload = Build(11, 0);
  EXPECT_EQ(workload.choice, VersionChoice::kHeldOut);
  EXPECT_THAT(Names(workload.validation), ElementsAre("t4", "t9"));
  EXPECT_THAT(Names(workload.train), ElementsAre("t0", "t1", "t2", "t3", "t5", "t6", "t7", "t8", "t10"));
  ASSERT_EQ(workload.train_graphs.size(), workload.train.size());
  for (size_t i = 0; i < workload.train.size(); ++i) EXPECT_EQ(workload.train_graphs[i].name(), workload.train[i].name);
  EXPECT_THAT(DescribeChoice(workload), HasSubstr("held out to choose the best policy on: t4, t9"));
}

// The best on the graphs that it has learnt by heart would be the most overfitted one.
TEST_F(WorkloadTest, OfFewTrainingGraphsTheLastVersionIsTaken) {
  const Workload workload = Build(9, 0);
  EXPECT_EQ(workload.choice, VersionChoice::kLast);
  EXPECT_TRUE(workload.takes_last);
  EXPECT_EQ(workload.train.size(), 9U);
  EXPECT_EQ(workload.NumValidation(), 0U);
  EXPECT_THAT(DescribeChoice(workload), HasSubstr("ends with the last policy"));
  EXPECT_STREQ(ValidationName(workload.choice), "training");
}

TEST_F(WorkloadTest, TheConfigurationMayAskForTheLastVersion) {
  EXPECT_FALSE(Build(12, 1).takes_last);
  config_.evaluation.final_policy = FinalPolicy::kLast;
  const Workload workload = Build(12, 1);
  EXPECT_TRUE(workload.takes_last);
  EXPECT_EQ(workload.choice, VersionChoice::kValidation);
  EXPECT_EQ(workload.NumValidation(), 1U);
  EXPECT_THAT(DescribeChoice(workload), HasSubstr("ends with the last policy, as evaluation.final_policy says"));
}

TEST_F(WorkloadTest, OneGraphIsASearch) {
  const Workload workload = Build(1, 0);
  EXPECT_EQ(workload.choice, VersionChoice::kSearch);
  EXPECT_THAT(Names(workload.validation), ElementsAre("t0"));
  EXPECT_THAT(Names(workload.test), IsEmpty());
}

}  // namespace
}  // namespace emplace
