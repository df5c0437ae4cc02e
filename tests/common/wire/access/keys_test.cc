#include "common/wire/access/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>
#include <string>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/strings.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class KeysTest : public testing::Test {
 protected:
  KeysTest() { fs::remove_all(folder_); }
  ~KeysTest() override { fs::remove_all(folder_); }

  const fs::path folder_ = fs::path(testing::TempDir()) / StrCat("emplace_keys_", ::getpid());
};

TEST_F(KeysTest, TheFilesOfARunFitTogether) {
  EXPECT_EQ(MakeRunKeys(folder_, 3).size(), 4U);
  const LearnerKeys learner = LoadLearnerKeys(folder_ / "learner.keys");
  ASSERT_EQ(learner.actors.size(), 3U);
  std::set<std::string> different = {learner.public_key, learner.secret_key};
  for (size_t i = 0; i < 3; ++i) {
    const ActorKeys actor = LoadActorKeys(folder_ / StrCat("actor-", i, ".keys"));
    EXPECT_EQ(actor.learner, learner.public_key);
    EXPECT_EQ(actor.public_key, learner.actors[i]);
    different.insert({actor.public_key, actor.secret_key});
  }
  EXPECT_EQ(different.size(), 8U);
  for (const std::string& key : different) EXPECT_EQ(key.size(), 40U);
}

TEST_F(KeysTest, OnlyTheirOwnerMayReadThem) {
  for (const fs::path& file : MakeRunKeys(folder_, 2)) {
    struct stat status {};
    ASSERT_EQ(::stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U) << file;
  }
  for (const mode_t mode : {0644U, 0640U, 0604U, 0660U, 0777U}) {
    ::chmod((folder_ / "learner.keys").c_str(), mode);
    try {
      LoadLearnerKeys(folder_ / "learner.keys");
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
      EXPECT_THAT(error.what(), AllOf(HasSubstr("learner.keys: mode is 0"), HasSubstr("expected 0600")));
    }
  }
}

TEST_F(KeysTest, RanksHaveNewKeysEachTime) {
  fs::create_directories(folder_);
  const fs::path file = folder_ / "ranks.keys";
  const LearnerKeys before = MakeRankKeys(file);
  const LearnerKeys leader = MakeRankKeys(file);
  const ActorKeys rank = LoadRankKeys(file);
  EXPECT_EQ(rank.learner, leader.public_key);
  EXPECT_EQ(leader.actors, std::vector<std::string>{rank.public_key});
  EXPECT_EQ(std::set<std::string>({before.secret_key, leader.secret_key, rank.secret_key, before.actors[0]}).size(),
            4U);
  EXPECT_EQ(ReadFile(file).find(leader.secret_key), std::string::npos);
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_THROW(LoadActorKeys(file), Error);  // No actor's.
}

TEST_F(KeysTest, NothingIsWrittenOver) {
  MakeRunKeys(folder_, 1);
  const std::string before = ReadFile(folder_ / "learner.keys");
  EXPECT_THROW(MakeRunKeys(folder_, 1), Error);
  EXPECT_THROW(MakeRunKeys(folder_, 2), Error);
  EXPECT_EQ(ReadFile(folder_ / "learner.keys"), before);
  EXPECT_FALSE(fs::exists(folder_ / "actor-1.keys"));
}

TEST_F(KeysTest, ANodeWhoseKeysWereWrittenBeforeACallWasCutShortIsLetIn) {
  MakeRunKeys(folder_, 1);
  const std::string before = ReadFile(folder_ / "learner.keys");
  AddActorKeys(folder_, 2);
  const LearnerKeys after = LoadLearnerKeys(folder_ / "learner.keys");
  WriteFileAtomically(folder_ / "learner.keys", before, 0600);
  EXPECT_TRUE(AddActorKeys(folder_, 2).empty());
  EXPECT_EQ(LoadLearnerKeys(folder_ / "learner.keys").actors, after.actors);
}

TEST_F(KeysTest, FurtherNodesGetKeysAndTheOthersKeepTheirs) {
  EXPECT_THROW(AddActorKeys(folder_, 2), Error);  // There are no keys yet.
  MakeRunKeys(folder_, 2);
  const LearnerKeys before = LoadLearnerKeys(folder_ / "learner.keys");
  const std::string first = ReadFile(folder_ / "actor-0.keys");
  EXPECT_TRUE(AddActorKeys(folder_, 1).empty());
  EXPECT_EQ(AddActorKeys(folder_, 4), (std::vector<fs::path>{folder_ / "actor-2.keys", folder_ / "actor-3.keys"}));
  const LearnerKeys after = LoadLearnerKeys(folder_ / "learner.keys");
  EXPECT_EQ(after.secret_key, before.secret_key);
  ASSERT_EQ(after.actors.size(), 4U);
  EXPECT_EQ(ReadFile(folder_ / "actor-0.keys"), first);
  for (size_t i = 0; i < 4; ++i) {
    const ActorKeys actor = LoadActorKeys(folder_ / StrCat("actor-", i, ".keys"));
    EXPECT_EQ(actor.public_key, after.actors[i]);
    EXPECT_EQ(actor.learner, after.public_key);
  }
}

TEST_F(KeysTest, WhatIsDamagedIsNamedAndNotShown) {
  MakeRunKeys(folder_, 1);
  const fs::path file = folder_ / "actor-0.keys";
  const std::string good = ReadFile(file);
  const std::string secret = LoadActorKeys(file).secret_key;
  std::string short_key = good;
  short_key.erase(short_key.find(secret), 1);
  for (const std::string& bad :
       {std::string("{}"), std::string("[1]"), std::string("not JSON"), good.substr(0, good.size() / 2), short_key}) {
    WriteFileAtomically(file, bad, 0600);
    try {
      LoadActorKeys(file);
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
      EXPECT_THAT(error.what(), HasSubstr("actor-0.keys"));
      EXPECT_THAT(error.what(), testing::Not(HasSubstr(secret.substr(1, 20))));
    }
  }
  EXPECT_THROW(LoadActorKeys(folder_ / "learner.keys"), Error);  // Of the other role.
  EXPECT_THROW(LoadLearnerKeys(folder_ / "actor-0.keys"), Error);
  EXPECT_THROW(LoadLearnerKeys(folder_ / "none.keys"), Error);
}

}  // namespace
}  // namespace emplace
