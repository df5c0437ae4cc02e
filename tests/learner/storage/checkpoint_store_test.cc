#include "learner/storage/checkpoint_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/strings.h"
#include "tests/learner/episodes.h"
#include "tests/learner/storage/sample_checkpoint.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kFiles[] = {"policy.safetensors", "optimizer.safetensors", "state.json"};

void ExpectEqual(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_TRUE(a.policy.shape == b.policy.shape);
  EXPECT_EQ(a.policy.version, b.policy.version);
  EXPECT_EQ(a.policy.values, b.policy.values);
  EXPECT_EQ(a.policy.metadata, b.policy.metadata);
  ExpectEqual(a.updater, b.updater);
  EXPECT_EQ(a.rng_seed, b.rng_seed);
  EXPECT_EQ(a.rng_state, b.rng_state);
  EXPECT_EQ(a.updates, b.updates);
  EXPECT_EQ(a.train_seconds, b.train_seconds);
  EXPECT_EQ(a.best_validation, b.best_validation);
  EXPECT_EQ(a.validation_history, b.validation_history);
  EXPECT_EQ(a.ledger_json, b.ledger_json);
  EXPECT_EQ(a.kernel_path, b.kernel_path);
  EXPECT_EQ(a.graphs_hash, b.graphs_hash);
  EXPECT_EQ(a.conditions_hash, b.conditions_hash);
  EXPECT_EQ(a.config_yaml, b.config_yaml);
}

class CheckpointStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const ::testing::TestInfo* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / ("emplace_checkpoint_" + std::string(info->name())) / "checkpoints";
    fs::remove_all(folder_.parent_path());
  }
  void TearDown() override { fs::remove_all(folder_.parent_path()); }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  fs::path folder_;
};

TEST_F(CheckpointStoreTest, ReadsBackEqualBitForBit) {
  const CheckpointStore store(folder_, 3);
  EXPECT_FALSE(store.LoadNewest().has_value());
  store.Write(SampleCheckpoint(7));
  ExpectEqual(store.LoadNewest().value(), SampleCheckpoint(7));
  ExpectEqual(LoadCheckpoint(folder_ / "update_00000007"), SampleCheckpoint(7));
  // What `emplace place --policy` loads.
  EXPECT_EQ(LoadPolicy(folder_ / "update_00000007" / "policy.safetensors").values, SampleCheckpoint(7).policy.values);
}

TEST_F(CheckpointStoreTest, KeepsTheLastAndTheBest) {
  const CheckpointStore store(folder_, 2);
  EXPECT_FALSE(store.LoadBest().has_value());
  for (int64_t updates = 1; updates <= 12; ++updates) {
    store.Write(SampleCheckpoint(updates));
    if (updates == 4 || updates == 5) store.WriteBest(SampleCheckpoint(updates).policy);
  }
  EXPECT_THAT(Names(), ElementsAre("best", "update_00000011", "update_00000012"));
  EXPECT_EQ(store.LoadNewest()->updates, 12);
  EXPECT_EQ(store.LoadBest()->values, SampleCheckpoint(5).policy.values);
}

TEST_F(CheckpointStoreTest, FindsAndRemovesThoseOfVeryLongRuns) {
  const CheckpointStore store(folder_, 2);
  for (const int64_t updates : {99'999'999, 100'000'000, 123'456'789}) store.Write(SampleCheckpoint(updates));
  EXPECT_THAT(Names(), ElementsAre("update_100000000", "update_123456789"));
  EXPECT_EQ(store.LoadNewest()->updates, 123'456'789);
}

TEST_F(CheckpointStoreTest, ADamagedOneGivesWayToTheOneBefore) {
  const CheckpointStore store(folder_, 3);
  store.Write(SampleCheckpoint(10));
  store.Write(SampleCheckpoint(20));
  for (const char* file : kFiles) {
    const fs::path path = folder_ / "update_00000020" / file;
    const std::string whole = ReadFile(path);
    // The closing newline of state.json is the one byte that says nothing.
    const size_t last = whole.size() - (std::string(file) == "state.json" ? 2 : 1);
    for (const size_t length : {size_t{0}, size_t{1}, size_t{8}, whole.size() / 2, last}) {
      WriteFileAtomically(path, std::string_view(whole).substr(0, length));
      EXPECT_EQ(store.LoadNewest()->updates, 10) << file << " cut to " << length;
    }
    fs::remove(path);
    EXPECT_EQ(store.LoadNewest()->updates, 10) << file << " gone";
    WriteFileAtomically(path, whole);
    EXPECT_EQ(store.LoadNewest()->updates, 20);
  }
}

TEST_F(CheckpointStoreTest, AFlippedBitIsNoticed) {
  const CheckpointStore store(folder_, 3);
  store.Write(SampleCheckpoint(10));
  store.Write(SampleCheckpoint(20));
  for (const char* file : {"policy.safetensors", "optimizer.safetensors"}) {
    const fs::path path = folder_ / "update_00000020" / file;
    const std::string whole = ReadFile(path);
    for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 50) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ 4);
      WriteFileAtomically(path, flipped);
      EXPECT_EQ(store.LoadNewest()->updates, 10) << file << ", byte " << at;
    }
    WriteFileAtomically(path, whole);
  }
}

TEST_F(CheckpointStoreTest, WhenAllAreDamagedItSaysSo) {
  const CheckpointStore store(folder_, 3);
  store.Write(SampleCheckpoint(10));
  WriteFileAtomically(folder_ / "update_00000010" / "state.json", "{}");
  try {
    store.LoadNewest();
    FAIL() << "loaded";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("every checkpoint in it is damaged"));
  }
  try {
    LoadCheckpoint(folder_ / "update_00000010");
    FAIL() << "loaded";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("state.json"));
  }
}

TEST_F(CheckpointStoreTest, GoingOnFromTheOneBeforeADamagedOneKeepsWhatIsNew) {
  const CheckpointStore store(folder_, 1);
  store.Write(SampleCheckpoint(10));
  store.Write(SampleCheckpoint(20));
  WriteFileAtomically(folder_ / "update_00000020" / "state.json", "{");
  store.Write(SampleCheckpoint(15));  // With keep = 1, the damaged 20 must not push it out.
  EXPECT_EQ(store.LoadNewest()->updates, 15);
  store.Write(SampleCheckpoint(20));  // And in the end the damaged one is replaced.
  EXPECT_EQ(store.LoadNewest()->updates, 20);
  EXPECT_THAT(Names(), ElementsAre("update_00000020"));
}

TEST_F(CheckpointStoreTest, WhatAKilledRunLeftHalfWrittenIsIgnoredThenRemoved) {
  const CheckpointStore store(folder_, 3);
  store.Write(SampleCheckpoint(10));
  fs::create_directories(folder_ / ".update_00000020.tmp");
  WriteFileAtomically(folder_ / ".update_00000020.tmp" / "state.json", "{");
  fs::create_directories(folder_ / "update_x");
  EXPECT_EQ(store.LoadNewest()->updates, 10);
  store.Write(SampleCheckpoint(30));
  EXPECT_THAT(Names(), ElementsAre("update_00000010", "update_00000030", "update_x"));
}

TEST_F(CheckpointStoreTest, TextThatIsNotUtf8DoesNotCostTheCheckpoint) {
  const CheckpointStore store(folder_, 3);
  Checkpoint checkpoint = SampleCheckpoint(10);
  checkpoint.kernel_path = "\xFF\xFE";
  store.Write(checkpoint);
  EXPECT_EQ(store.LoadNewest()->updates, 10);
}

// As a full disk does: the first files can be written aside, a later one cannot. The one who lifts a limit, or makes
// room, finds the checkpoints that were there, and nothing else.
TEST_F(CheckpointStoreTest, OneThatCannotBeFinishedLeavesNothing) {
  const CheckpointStore store(folder_, 3);
  store.Write(SampleCheckpoint(10));
  const CheckpointFiles files = SerializeCheckpoint(SampleCheckpoint(20));
  ASSERT_LT(files.policy.size(), files.optimizer.size());
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto on_limit = std::signal(SIGXFSZ, SIG_IGN);  // A write past the limit fails, with EFBIG.
  const struct rlimit limit = {.rlim_cur = files.policy.size(), .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::string error = "(written)";
  try {
    store.Write(SampleCheckpoint(20));
  } catch (const Error& failure) {
    error = StrCat(failure.exit_code(), " ", failure.what());
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, on_limit);
  EXPECT_THAT(error, HasSubstr("optimizer.safetensors: cannot be written"));
  EXPECT_EQ(error.substr(0, 2), "1 ");
  EXPECT_THAT(Names(), ElementsAre("update_00000010"));
  ExpectEqual(store.LoadNewest().value(), SampleCheckpoint(10));
}

TEST_F(CheckpointStoreTest, AFolderThatCannotBeWrittenIsAFailedRun) {
  fs::create_directories(folder_.parent_path());
  WriteFileAtomically(folder_, "a file where the folder should be");
  const CheckpointStore store(folder_, 3);
  try {
    store.Write(SampleCheckpoint(10));
    FAIL() << "written";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 1);
  }
}

}  // namespace
}  // namespace emplace
