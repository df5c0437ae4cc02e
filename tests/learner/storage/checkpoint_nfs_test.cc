// Checkpoints on a file system that cannot exchange two folders, as NFS: this program's renameat2 takes the place of
// the C library's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "common/strings.h"
#include "learner/storage/checkpoint_store.h"
#include "tests/learner/episodes.h"

namespace {
int exchanges_asked_for = 0;
}

extern "C" int renameat2(int, const char*, int, const char*, unsigned int) {
  ++exchanges_asked_for;
  errno = EINVAL;
  return -1;
}

namespace emplace {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class CheckpointOnNfs : public testing::Test {
 protected:
  CheckpointOnNfs() : folder_(fs::path(testing::TempDir()) / StrCat("checkpoint_nfs_", ::getpid())) {
    fs::remove_all(folder_);
  }
  ~CheckpointOnNfs() override { fs::remove_all(folder_); }

  static Checkpoint Sample(int64_t updates, double seconds) {
    Checkpoint checkpoint;
    checkpoint.policy = SmallPolicy(1, static_cast<PolicyVersion>(updates));
    checkpoint.updater.adam.mean.assign(checkpoint.policy.values.size(), 0.5F);
    checkpoint.updater.adam.variance.assign(checkpoint.policy.values.size(), 0.25F);
    checkpoint.updates = updates;
    checkpoint.train_seconds = seconds;
    checkpoint.rng_state = {1, 2, 3, 4};
    checkpoint.kernel_path = "portable";
    return checkpoint;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  const fs::path folder_;
};

TEST_F(CheckpointOnNfs, AnotherOfTheSameUpdateTakesItsPlace) {
  const CheckpointStore store(folder_, 3);
  store.Write(Sample(7, 1));
  store.Write(Sample(7, 2));
  EXPECT_EQ(exchanges_asked_for, 1);
  EXPECT_EQ(store.LoadNewest()->train_seconds, 2);
  EXPECT_THAT(Names(), ElementsAre("update_00000007"));
}

// Killed when the old one was set aside and the new one was not yet in its place.
TEST_F(CheckpointOnNfs, AKillBetweenTheTwoStepsLosesNothing) {
  const CheckpointStore store(folder_, 3);
  store.Write(Sample(7, 1));
  fs::rename(folder_ / "update_00000007", folder_ / ".update_00000007.old");
  fs::create_directory(folder_ / ".update_00000007.tmp");
  EXPECT_EQ(store.LoadNewest()->train_seconds, 1);
  store.Write(Sample(8, 2));
  EXPECT_THAT(Names(), ElementsAre("update_00000007", "update_00000008"));
}

// Killed when the new one was in its place and the old one not yet removed.
TEST_F(CheckpointOnNfs, WhatWasSetAsideGoesWithTheNext) {
  const CheckpointStore store(folder_, 3);
  store.Write(Sample(7, 1));
  fs::copy(folder_ / "update_00000007", folder_ / ".update_00000007.old");
  store.Write(Sample(8, 2));
  EXPECT_THAT(Names(), ElementsAre("update_00000007", "update_00000008"));
  EXPECT_EQ(store.LoadNewest()->train_seconds, 2);
}

}  // namespace
}  // namespace emplace
