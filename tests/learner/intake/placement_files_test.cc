#include "learner/intake/placement_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "common/files/file_io.h"
#include "common/strings.h"
#include "policy/placeto/placeto_kind.h"
#include "simulator/engine/simulator.h"
#include "simulator/graph/placement.h"
#include "tests/learner/episodes.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using Json = nlohmann::json;

class PlacementFilesTest : public testing::Test {
 protected:
  PlacementFilesTest() : folder_(fs::path(testing::TempDir()) / ("placement_files_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    dir_ = std::make_unique<RunDirectory>(folder_, false, std::chrono::milliseconds(0), never_);
    environment_.memory_penalty = environment_.memory_penalty_cap = 1e12;
  }
  ~PlacementFilesTest() override { fs::remove_all(folder_); }

  // One sitting of a run: it finds what earlier ones have left, and samples.
  struct Sitting {
    Sitting(const PlacementFilesTest& test, const Workload& graphs)
        : workload(graphs),
          environment(test.environment_),
          best(graphs.train, PlacetoKind(), environment, test.clock_),
          files(*test.dir_, graphs, best) {}

    void Sample(int count, uint64_t seed) {
      TrajectoryChecker checker(workload.train, PlacetoKind(), environment);
      for (const Trajectory& episode : Episodes(workload.train, environment, SmallPolicy(1, 3), count, Rng(seed))) {
        EXPECT_EQ(best.Consider(episode, checker.Check(episode), checker), std::nullopt);
      }
    }

    const Workload& workload;
    const EnvironmentConfig environment;
    BestPlacements best;
    PlacementFiles files;
  };

  std::vector<Json> Lines() const {
    std::vector<Json> lines;
    for (const std::string& line : Split(ReadFile(dir_->placement_lines()), '\n')) {
      if (!line.empty()) lines.push_back(Json::parse(line));
    }
    return lines;
  }
  Json Index() const { return Json::parse(ReadFile(dir_->placements() / "index.json")).at("graphs"); }
  fs::path PathOf(size_t graph) const { return dir_->placements() / Index()[graph].at("file").get<std::string>(); }
  Json FoundIn(size_t graph) const { return Json::parse(ReadFile(PathOf(graph))).at("found"); }

  // Every file says what its placement simulates to, as does the last line of its graph.
  void ExpectConsistent(const Workload& workload) const {
    std::map<std::string, Json> last;
    for (const Json& line : Lines()) last[line.at("graph")] = line;
    for (size_t graph = 0; graph < workload.train.size(); ++graph) {
      ASSERT_TRUE(fs::exists(PathOf(graph))) << graph;
      const Placement placement =
          LoadOrderedPlacement(PathOf(graph), workload.train_graphs[graph], workload.cluster).placement;
      const Json found = FoundIn(graph);
      EXPECT_EQ(found.at("makespan_us"), Simulator(workload.train[graph].sim).Makespan(placement));
      EXPECT_EQ(found.at("graph"), Index()[graph].at("graph"));
      EXPECT_EQ(last[found.at("graph")], found);
    }
  }

  const fs::path folder_;
  const std::atomic<bool> never_ = false;
  const RunClock clock_{0};
  const Workload workload_ = RoomyWorkload(4, 3);
  EnvironmentConfig environment_;
  std::unique_ptr<RunDirectory> dir_;
};

TEST_F(PlacementFilesTest, AGraphIsListedBeforeAnythingIsFound) {
  Sitting sitting(*this, workload_);
  const std::string name = workload_.train[0].name;
  EXPECT_EQ(Index()[1],
            (Json{{"graph", name + "-2"}, {"file", name + "-2.placement.json"}, {"episodes", 0}, {"steps", 0}}));
  EXPECT_TRUE(Lines().empty());
  EXPECT_FALSE(fs::exists(PathOf(1)));
}

TEST_F(PlacementFilesTest, WritesEveryFindAndTheBest) {
  Sitting sitting(*this, workload_);
  std::map<std::string, double> best;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    sitting.Sample(20, seed);
    sitting.files.Write();
    ExpectConsistent(workload_);
  }
  const std::vector<SampleCounts> counts = sitting.best.counts();
  int64_t episodes = 0;
  for (size_t graph = 0; graph < counts.size(); ++graph) {
    EXPECT_EQ(Index()[graph].at("episodes"), counts[graph].episodes);
    EXPECT_EQ(Index()[graph].at("steps"), counts[graph].steps);
    episodes += counts[graph].episodes;
  }
  EXPECT_EQ(episodes, 100);
  EXPECT_GT(Lines().size(), workload_.train.size());
  for (const Json& line : Lines()) {
    EXPECT_EQ(line.at("update"), 3);
    EXPECT_GT(line.at("episodes"), 0);
    const auto [before, first] = best.try_emplace(line.at("graph"), std::numeric_limits<double>::infinity());
    EXPECT_LT(line.at("makespan_us"), before->second);
    before->second = line.at("makespan_us");
  }
}

TEST_F(PlacementFilesTest, AResumedRunGoesOn) {
  double ratio = 0;
  std::vector<Json> lines;
  std::vector<SampleCounts> counts;
  {
    Sitting sitting(*this, workload_);
    sitting.Sample(60, 1);
    sitting.files.Write();
    ratio = sitting.best.GeometricMeanRatio();
    counts = sitting.best.counts();
    lines = Lines();
  }
  Sitting sitting(*this, workload_);
  EXPECT_EQ(sitting.best.GeometricMeanRatio(), ratio);
  sitting.Sample(60, 1);  // Nothing new.
  sitting.files.Write();
  EXPECT_EQ(Lines(), lines);
  for (size_t graph = 0; graph < counts.size(); ++graph) {
    EXPECT_EQ(Index()[graph].at("episodes"), 2 * counts[graph].episodes);
    EXPECT_EQ(Index()[graph].at("steps"), 2 * counts[graph].steps);
  }
  ExpectConsistent(workload_);
}

// Killed between a placement and its line, in the middle of a line before it, and before the index.
TEST_F(PlacementFilesTest, WhatAKilledRunHadNoTimeForIsMended) {
  std::vector<Json> lines;
  {
    Sitting sitting(*this, workload_);
    const std::string old_index = ReadFile(dir_->placements() / "index.json");
    sitting.Sample(60, 1);
    sitting.files.Write();
    lines = Lines();
    WriteFileAtomically(dir_->placements() / "index.json", old_index);
  }
  std::string text;
  for (size_t i = 0; i + 1 < lines.size(); ++i) text += lines[i].dump() + "\n";
  WriteFileAtomically(dir_->placement_lines(), text + lines.back().dump().substr(0, 30));
  Sitting sitting(*this, workload_);
  EXPECT_EQ(Lines(), lines);
  for (size_t graph = 0; graph < workload_.train.size(); ++graph) {
    EXPECT_EQ(Index()[graph].at("episodes"), FoundIn(graph).at("episodes"));
  }
  ExpectConsistent(workload_);
}

TEST_F(PlacementFilesTest, WhatCannotBeUsedIsForgottenAndFoundAgain) {
  std::vector<std::string> good;
  {
    Sitting sitting(*this, workload_);
    sitting.Sample(60, 1);
    sitting.files.Write();
  }
  for (size_t graph = 0; graph < workload_.train.size(); ++graph) good.push_back(ReadFile(PathOf(graph)));
  // Halved, of another machine, without what is known of it.
  Json no_device = Json::parse(good[1]);
  no_device["devices"][0] = "another";
  Json nothing_known = Json::parse(good[2]);
  nothing_known.erase("found");
  WriteFileAtomically(PathOf(0), good[0].substr(0, good[0].size() / 2));
  WriteFileAtomically(PathOf(1), no_device.dump());
  WriteFileAtomically(PathOf(2), nothing_known.dump());
  Sitting sitting(*this, workload_);
  EXPECT_TRUE(std::isnan(sitting.best.GeometricMeanRatio()));
  // A start that fails changes nothing.
  for (size_t graph = 0; graph < workload_.train.size(); ++graph) EXPECT_TRUE(fs::exists(PathOf(graph)));
  sitting.files.Write();
  for (size_t graph = 0; graph < workload_.train.size(); ++graph) EXPECT_FALSE(fs::exists(PathOf(graph)));
  sitting.Sample(60, 1);
  sitting.files.Write();
  for (size_t graph = 0; graph < workload_.train.size(); ++graph) {
    EXPECT_EQ(Json::parse(ReadFile(PathOf(graph))).at("ops"), Json::parse(good[graph]).at("ops"));
  }
  ExpectConsistent(workload_);
}

TEST_F(PlacementFilesTest, OnAnotherMachineAPlacementIsWorthWhatItIsWorthThere) {
  {
    Sitting sitting(*this, workload_);
    sitting.Sample(60, 1);
    sitting.files.Write();
  }
  const double before = FoundIn(0).at("makespan_us");
  Cluster slow = workload_.cluster;
  slow.op_overhead_us = 1000;
  const Workload other = OnMachine(workload_, slow);
  Sitting sitting(*this, other);
  EXPECT_GT(FoundIn(0).at("makespan_us"), before);
  ExpectConsistent(other);
}

TEST_F(PlacementFilesTest, OnASmallerMachineAPlacementThatDoesNotFitIsForgotten) {
  {
    Sitting sitting(*this, workload_);
    sitting.Sample(60, 1);
    sitting.files.Write();
  }
  Cluster small = workload_.cluster;
  for (Device& device : small.devices) device.memory_bytes = 1;
  const Workload other = OnMachine(workload_, small);
  Sitting sitting(*this, other);
  EXPECT_TRUE(fs::exists(PathOf(0)));
  sitting.files.Write();
  EXPECT_FALSE(fs::exists(PathOf(0)));
  EXPECT_TRUE(std::isnan(sitting.best.GeometricMeanRatio()));
  EXPECT_GT(Index()[0].at("episodes"), 0);
}

TEST(DistinctFileStems, StayInTheirFolderAndApart) {
  EXPECT_THAT(DistinctNames({"a", "b", "a", "a-2", "a"}), ElementsAre("a", "b", "a-2", "a-2-2", "a-3"));
  const std::vector<std::string> names = {"",
                                          ".",
                                          "..",
                                          "../../etc/passwd",
                                          "/abs",
                                          "a/b",
                                          "a_b",
                                          "a b",
                                          "-rf",
                                          "x\ny",
                                          "\xff\xfe",
                                          std::string("z\0z", 3),
                                          ".hide",
                                          "ptb_00.v",
                                          std::string(5000, 'n'),
                                          std::string(5000, 'n')};
  const std::vector<std::string> stems = DistinctFileStems(names);
  ASSERT_EQ(stems.size(), names.size());
  EXPECT_EQ(std::set<std::string>(stems.begin(), stems.end()).size(), names.size());
  const std::string plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
  for (const std::string& stem : stems) {
    EXPECT_EQ(stem.find_first_not_of(plain), std::string::npos) << stem;
    EXPECT_NE(stem.front(), '.') << stem;
    EXPECT_NE(stem.front(), '-') << stem;
    EXPECT_LE(stem.size(), 110U) << stem;
  }
  EXPECT_EQ(stems[13], "ptb_00.v");
}

}  // namespace
}  // namespace emplace
