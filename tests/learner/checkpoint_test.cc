#include "learner/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/strings.h"
#include "tests/learner/episodes.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kFiles[] = {"policy.safetensors", "optimizer.safetensors", "state.json"};

Checkpoint Sample(int64_t updates) {
  Rng rng(static_cast<uint64_t>(updates));
  Checkpoint checkpoint;
  checkpoint.policy = SmallPolicy(rng.Next(), static_cast<PolicyVersion>(updates));
  checkpoint.policy.metadata["grouping.max_groups"] = "128";
  checkpoint.updater.adam.steps = updates - 1;
  for (size_t i = 0; i < checkpoint.policy.values.size(); ++i) {
    checkpoint.updater.adam.mean.push_back(static_cast<float>(rng.Normal()));
    checkpoint.updater.adam.variance.push_back(static_cast<float>(rng.Uniform()));
  }
  checkpoint.updater.objective.tensors = {SafetensorsTensor::Of<float>("returns", {3}, std::vector<float>{1, 2, 0.1F}),
                                          SafetensorsTensor::Of<double>("weight", {1}, std::vector{0.1 / 3}),
                                          SafetensorsTensor::Of<uint8_t>("none", {0}, std::vector<uint8_t>{})};
  checkpoint.rng_seed = 0xFFFFFFFFFFFFFFFFU;
  checkpoint.rng_state = {rng.Next(), rng.Next(), rng.Next(), rng.Next()};
  checkpoint.updates = updates;
  checkpoint.train_seconds = 0.1 * static_cast<double>(updates);
  checkpoint.best_validation = 1.0 / 3;
  checkpoint.validation_history = {0.9, 2.0 / 3};
  checkpoint.ledger_json = "{\"total\": {}}";
  checkpoint.kernel_path = "avx2";
  checkpoint.config_yaml = "name: \"x\"\n";
  return checkpoint;
}

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
  EXPECT_EQ(a.config_yaml, b.config_yaml);
}

class CheckpointTest : public ::testing::Test {
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

TEST_F(CheckpointTest, ReadsBackEqualBitForBit) {
  const CheckpointStore store(folder_, 3);
  EXPECT_FALSE(store.LoadNewest().has_value());
  store.Write(Sample(7));
  ExpectEqual(store.LoadNewest().value(), Sample(7));
  ExpectEqual(LoadCheckpoint(folder_ / "update_00000007"), Sample(7));
  // What `emplace place --policy` loads.
  EXPECT_EQ(LoadPolicy(folder_ / "update_00000007" / "policy.safetensors").values, Sample(7).policy.values);
}

TEST_F(CheckpointTest, KeepsTheLastAndTheBest) {
  const CheckpointStore store(folder_, 2);
  EXPECT_FALSE(store.LoadBest().has_value());
  for (int64_t updates = 1; updates <= 12; ++updates) {
    store.Write(Sample(updates));
    if (updates == 4 || updates == 5) store.WriteBest(Sample(updates).policy);
  }
  EXPECT_THAT(Names(), ElementsAre("best", "update_00000011", "update_00000012"));
  EXPECT_EQ(store.LoadNewest()->updates, 12);
  EXPECT_EQ(store.LoadBest()->values, Sample(5).policy.values);
}

TEST_F(CheckpointTest, ADamagedOneGivesWayToTheOneBefore) {
  const CheckpointStore store(folder_, 3);
  store.Write(Sample(10));
  store.Write(Sample(20));
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

TEST_F(CheckpointTest, AFlippedBitIsNoticed) {
  const CheckpointStore store(folder_, 3);
  store.Write(Sample(10));
  store.Write(Sample(20));
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

// Also where a digit becomes another: each byte but the closing newline, the one that says nothing.
TEST_F(CheckpointTest, AFlippedBitOfTheStateIsNoticed) {
  const CheckpointFiles good = SerializeCheckpoint(Sample(10));
  for (size_t at = 0; at + 1 < good.state.size(); ++at) {
    for (const int bit : {1, 4}) {
      CheckpointFiles files = good;
      files.state[at] = static_cast<char>(files.state[at] ^ bit);
      EXPECT_THROW(ParseCheckpoint(files, "x"), Error) << "byte " << at << ", bit " << bit;
    }
  }
}

// Numbers that JSON lets pass, and the library would turn into others; and a generator that only ever gives zero.
TEST_F(CheckpointTest, NumbersThatCannotBeAreRefused) {
  const CheckpointFiles good = SerializeCheckpoint(Sample(10));
  const auto error_of = [&good](const std::string& key, const std::string& value) -> std::string {
    CheckpointFiles files = good;
    const size_t at = files.state.find(StrCat("\"", key, "\": ")) + key.size() + 4;
    const size_t end = files.state.find(files.state[at] == '[' ? ']' : ',', at) + (files.state[at] == '[' ? 1 : 0);
    files.state.replace(at, end - at, value);
    try {
      ParseCheckpoint(files, "x");
    } catch (const Error& error) {
      return error.what();
    }
    return "(read)";
  };
  EXPECT_EQ(error_of("updates", "10"), "(read)");
  EXPECT_EQ(error_of("updates", "-1"),
            "x/state.json: updates is -1, expected a whole number in 0..9223372036854775807");
  EXPECT_THAT(error_of("adam_steps", "1e300"), HasSubstr("adam_steps is 1e+300, expected"));
  EXPECT_THAT(error_of("rng_seed", "-7"), HasSubstr("rng_seed is -7, expected"));
  EXPECT_THAT(error_of("rng_state", "[1, 2, 3]"), HasSubstr("rng_state is [1,2,3], expected a list of 4"));
  EXPECT_THAT(error_of("rng_state", "[0, 0, 0, 0]"), HasSubstr("rng_state is all zeros"));
}

TEST_F(CheckpointTest, WhenAllAreDamagedItSaysSo) {
  const CheckpointStore store(folder_, 3);
  store.Write(Sample(10));
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

TEST_F(CheckpointTest, GoingOnFromTheOneBeforeADamagedOneKeepsWhatIsNew) {
  const CheckpointStore store(folder_, 1);
  store.Write(Sample(10));
  store.Write(Sample(20));
  WriteFileAtomically(folder_ / "update_00000020" / "state.json", "{");
  store.Write(Sample(15));  // With keep = 1, the damaged 20 must not push it out.
  EXPECT_EQ(store.LoadNewest()->updates, 15);
  store.Write(Sample(20));  // And in the end the damaged one is replaced.
  EXPECT_EQ(store.LoadNewest()->updates, 20);
  EXPECT_THAT(Names(), ElementsAre("update_00000020"));
}

TEST_F(CheckpointTest, WhatAKilledRunLeftHalfWrittenIsIgnoredThenRemoved) {
  const CheckpointStore store(folder_, 3);
  store.Write(Sample(10));
  fs::create_directories(folder_ / ".update_00000020.tmp");
  WriteFileAtomically(folder_ / ".update_00000020.tmp" / "state.json", "{");
  fs::create_directories(folder_ / "update_x");
  EXPECT_EQ(store.LoadNewest()->updates, 10);
  store.Write(Sample(30));
  EXPECT_THAT(Names(), ElementsAre("update_00000010", "update_00000030", "update_x"));
}

TEST_F(CheckpointTest, TextThatIsNotUtf8DoesNotCostTheCheckpoint) {
  const CheckpointStore store(folder_, 3);
  Checkpoint checkpoint = Sample(10);
  checkpoint.kernel_path = "\xFF\xFE";
  store.Write(checkpoint);
  EXPECT_EQ(store.LoadNewest()->updates, 10);
}

// Only format 1 had none: golden_test reads one.
TEST_F(CheckpointTest, OneWithoutAChecksumOfItsStateIsRefused) {
  CheckpointFiles files = SerializeCheckpoint(Sample(10));
  const size_t checksum = files.state.rfind(",\n \"state_xxh64\"");
  ASSERT_NE(checksum, std::string::npos);
  files.state = files.state.substr(0, checksum) + "\n}\n";
  EXPECT_THROW(ParseCheckpoint(files, "x"), Error);
}

// As a full disk does: the first files can be written aside, a later one cannot. The one who lifts a limit, or makes
// room, finds the checkpoints that were there, and nothing else.
TEST_F(CheckpointTest, OneThatCannotBeFinishedLeavesNothing) {
  const CheckpointStore store(folder_, 3);
  store.Write(Sample(10));
  const CheckpointFiles files = SerializeCheckpoint(Sample(20));
  ASSERT_LT(files.policy.size(), files.optimizer.size());
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto on_limit = std::signal(SIGXFSZ, SIG_IGN);  // A write past the limit fails, with EFBIG.
  const struct rlimit limit = {.rlim_cur = files.policy.size(), .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::string error = "(written)";
  try {
    store.Write(Sample(20));
  } catch (const Error& failure) {
    error = StrCat(failure.exit_code(), " ", failure.what());
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, on_limit);
  EXPECT_THAT(error, HasSubstr("optimizer.safetensors: cannot be written"));
  EXPECT_EQ(error.substr(0, 2), "1 ");
  EXPECT_THAT(Names(), ElementsAre("update_00000010"));
  ExpectEqual(store.LoadNewest().value(), Sample(10));
}

TEST_F(CheckpointTest, AFolderThatCannotBeWrittenIsAFailedRun) {
  fs::create_directories(folder_.parent_path());
  WriteFileAtomically(folder_, "a file where the folder should be");
  const CheckpointStore store(folder_, 3);
  try {
    store.Write(Sample(10));
    FAIL() << "written";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 1);
  }
}

}  // namespace
}  // namespace emplace
