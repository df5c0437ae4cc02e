#include "learner/storage/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/error.h"
#include "common/files/file_io.h"
#include "tests/support/bad_input.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class RunDirectoryTest : public testing::Test {
 protected:
  RunDirectoryTest() : folder_(fs::path(testing::TempDir()) / ("run_directory_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
  }
  ~RunDirectoryTest() override { fs::remove_all(folder_); }

  void ExpectRefused(bool resume, const std::string& reason) {
    try {
      const RunDirectory dir(folder_, resume, milliseconds(0), go_on_);
      ADD_FAILURE() << "accepted, expected: " << reason;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
      EXPECT_THAT(error.what(), testing::HasSubstr(folder_.string()));
      EXPECT_THAT(error.what(), testing::HasSubstr(reason));
    }
  }

  const fs::path folder_;
  const std::atomic<bool> go_on_ = false;
};

TEST_F(RunDirectoryTest, ANewRunMakesItsFolder) {
  const RunDirectory dir(folder_ / "a" / "b", false, milliseconds(0), go_on_);
  EXPECT_TRUE(fs::is_directory(folder_ / "a" / "b" / "logs"));
  EXPECT_EQ(dir.log(), folder_ / "a" / "b" / "logs" / "learner.log");
}

TEST_F(RunDirectoryTest, AFolderInWhichNoRunHasBegunGoesIfItIsNew) {
  { const RunDirectory dir(folder_ / "new", false, milliseconds(0), go_on_); }
  EXPECT_FALSE(fs::exists(folder_ / "new"));
  fs::create_directories(folder_ / "old");
  { const RunDirectory dir(folder_ / "old", false, milliseconds(0), go_on_); }
  EXPECT_TRUE(fs::exists(folder_ / "old"));
  {
    const RunDirectory dir(folder_ / "run", false, milliseconds(0), go_on_);
    WriteFileAtomically(dir.config(), "name: x\n");
  }
  EXPECT_TRUE(fs::exists(folder_ / "run" / "config.yaml"));
}

TEST_F(RunDirectoryTest, TheLaunchersLogsAndAFailedStartAreNoRun) {
  fs::create_directories(folder_ / "logs");
  fs::create_directories(folder_ / "graphs");
  ExpectRefused(true, "holds no run");
  const RunDirectory dir(folder_, false, milliseconds(0), go_on_);
}

TEST_F(RunDirectoryTest, ARunIsResumedButNeverOverwritten) {
  {
    const RunDirectory dir(folder_, false, milliseconds(0), go_on_);
    WriteFileAtomically(dir.config(), "name: x\n");
  }
  ExpectRefused(false, "holds a run already");
  EXPECT_EQ(ReadFile(folder_ / "config.yaml"), "name: x\n");
  const RunDirectory dir(folder_, true, milliseconds(0), go_on_);
}

TEST_F(RunDirectoryTest, WithoutAFolderThereIsNothingToResume) {
  ExpectRefused(true, "holds no run");
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(RunDirectoryTest, AFileInTheWayIsSaid) {
  std::ofstream(folder_) << "x";
  ExpectRefused(false, "cannot be made");
}

TEST_F(RunDirectoryTest, TwoLearnersNeverShareOne) {
  auto first = std::make_unique<const RunDirectory>(folder_, false, milliseconds(0), go_on_);
  WriteFileAtomically(first->config(), "name: x\n");
  ExpectRefused(true, "another learner works there");
  {
    const std::atomic<bool> interrupted = true;
    EXPECT_THROW(RunDirectory(folder_, true, std::chrono::hours(1), interrupted), Error);
  }
  // A new run need not wait to be refused.
  EXPECT_THAT(BadInputOf([&] { RunDirectory(folder_, false, std::chrono::hours(1), go_on_); }),
              testing::HasSubstr("holds a run already"));
  // One that was told to stop is waited for.
  std::thread ending([&first] {
    std::this_thread::sleep_for(milliseconds(100));
    first.reset();
  });
  const RunDirectory second(folder_, true, std::chrono::minutes(5), go_on_);
  ending.join();
}

TEST_F(RunDirectoryTest, WhatAKilledLearnerLeftHalfWrittenGoes) {
  const std::vector<fs::path> half = {".ledger.json.4711.tmp", "graphs/.a.graph.json.1.tmp",
                                      "placements/.index.json.99.tmp", "checkpoints/best/.policy.safetensors.12.tmp"};
  const std::vector<fs::path> others = {"config.yaml", ".tmp",     ".12.tmp",
                                        ".notes.tmp",  "x.12.tmp", "checkpoints/.a.1.tmp"};
  for (const std::vector<fs::path>& paths : {half, others}) {
    for (const fs::path& path : paths) {
      fs::create_directories((folder_ / path).parent_path());
      std::ofstream(folder_ / path) << "x";
    }
  }
  const RunDirectory dir(folder_, true, milliseconds(0), go_on_);
  for (const fs::path& path : half) EXPECT_FALSE(fs::exists(folder_ / path)) << path;
  for (const fs::path& path : others) EXPECT_TRUE(fs::exists(folder_ / path)) << path;
}

TEST_F(RunDirectoryTest, TheLauncherReadsWhereTheLearnerListens) {
  const RunDirectory dir(folder_, false, milliseconds(0), go_on_);
  dir.WriteLearnerFile("tcp://127.0.0.1:4000", ~uint64_t{0});
  const auto file = nlohmann::json::parse(ReadFile(folder_ / "learner.json"));
  EXPECT_EQ(file, (nlohmann::json{
                      {"address", "tcp://127.0.0.1:4000"}, {"pid", ::getpid()}, {"session", "18446744073709551615"}}));
  dir.WriteLearnerFile("tcp://127.0.0.1:4000", 1, "tcp://127.0.0.1:4002");
  EXPECT_EQ(nlohmann::json::parse(ReadFile(folder_ / "learner.json"))["ranks_address"], "tcp://127.0.0.1:4002");
}

TEST_F(RunDirectoryTest, TheNextLearnerRemovesTheFileOfTheOneBefore) {
  {
    const RunDirectory dir(folder_, false, milliseconds(0), go_on_);
    WriteFileAtomically(dir.config(), "name: x\n");
    dir.WriteLearnerFile("tcp://127.0.0.1:4000", 1);
    ExpectRefused(true, "another learner works there");
    EXPECT_TRUE(fs::exists(folder_ / "learner.json"));
  }
  const RunDirectory dir(folder_, true, milliseconds(0), go_on_);
  EXPECT_FALSE(fs::exists(folder_ / "learner.json"));
}

}  // namespace
}  // namespace emplace
