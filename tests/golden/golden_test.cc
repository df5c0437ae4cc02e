// One file of each format, kept: today's program reads them, and still writes the same bytes. When a format has to
// change, give it a new version, keep reading the old one or refuse it, and only then make the files anew (README.md).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <filesystem>
#include <functional>
#include <set>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/files/format_version.h"
#include "common/strings.h"
#include "common/wire/messages/control_codec.h"
#include "common/wire/messages/rank_codec.h"
#include "common/wire/messages/trajectory_codec.h"
#include "learner/storage/checkpoint_store.h"
#include "tests/golden/golden_objects.h"
#include "tests/learner/episodes.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

const fs::path kFiles = EMPLACE_GOLDEN_FILES;

std::vector<FrameView> Views(const std::vector<Frame>& frames) {
  std::vector<FrameView> views;
  for (const Frame& frame : frames) views.emplace_back(reinterpret_cast<const uint8_t*>(frame.data()), frame.size());
  return views;
}

// `text` with the first `format` in it, "emplace.NAME/N", as version N + 1.
std::string OfNextVersion(std::string text, const std::string& format) {
  const size_t at = text.find(format);
  EXPECT_NE(at, std::string::npos);
  ++text[at + format.size() - 1];
  return text;
}

// The state.json of the next version: sound, so its checksum of all before it is right.
std::string OfNextCheckpointVersion(const std::string& state) {
  std::string text = OfNextVersion(state, "emplace.checkpoint/3");
  const std::string key = ",\n \"state_xxh64\": \"";
  const size_t end = text.rfind(key);
  EXPECT_NE(end, std::string::npos);
  const auto checksum = static_cast<unsigned long long>(XXH64(text.data(), end, 0));
  return text.replace(end + key.size(), 16, Format("%016llx", checksum));
}

void ExpectRefusedAsOtherVersion(const std::string& format, const std::function<void()>& read) {
  try {
    read();
    ADD_FAILURE() << format << " of another version is taken";
  } catch (const OtherVersion& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kBadInput);
    EXPECT_THAT(error.what(), AllOf(HasSubstr(format), HasSubstr("another version of Emplace")));
  }
}

TEST(Golden, APolicyIsReadAndWrittenAsItWas) {
  const std::string bytes = ReadFile(kFiles / "policy.safetensors");
  const PolicyWeights policy = ParsePolicy(bytes, "golden");
  const PolicyWeights expected = GoldenPolicy();
  EXPECT_EQ(policy.shape, expected.shape);
  EXPECT_EQ(policy.values, expected.values);
  EXPECT_EQ(policy.version, expected.version);
  EXPECT_EQ(policy.metadata, expected.metadata);
  EXPECT_EQ(SerializePolicy(policy), bytes);
}

void ExpectGolden(const Checkpoint& checkpoint) {
  const Checkpoint expected = GoldenCheckpoint();
  EXPECT_EQ(checkpoint.policy.values, expected.policy.values);
  ExpectEqual(checkpoint.updater, expected.updater);
  EXPECT_EQ(checkpoint.rng_seed, expected.rng_seed);
  EXPECT_EQ(checkpoint.rng_state, expected.rng_state);
  EXPECT_EQ(checkpoint.updates, expected.updates);
  EXPECT_EQ(checkpoint.train_seconds, expected.train_seconds);
  EXPECT_EQ(checkpoint.best_validation, expected.best_validation);
  EXPECT_EQ(checkpoint.validation_history, expected.validation_history);
  EXPECT_EQ(checkpoint.ledger_json, expected.ledger_json);
  EXPECT_EQ(checkpoint.kernel_path, expected.kernel_path);
  EXPECT_EQ(checkpoint.config_yaml, expected.config_yaml);
}

TEST(Golden, ACheckpointIsReadAndWrittenAsItWas) {
  const Checkpoint checkpoint = LoadCheckpoint(kFiles / "checkpoint");
  ExpectGolden(checkpoint);
  const CheckpointFiles written = SerializeCheckpoint(checkpoint);
  EXPECT_EQ(written.policy, ReadFile(kFiles / "checkpoint/policy.safetensors"));
  EXPECT_EQ(written.optimizer, ReadFile(kFiles / "checkpoint/optimizer.safetensors"));
  EXPECT_EQ(written.state, ReadFile(kFiles / "checkpoint/state.json"));
}

// With numbers of the objective in state.json.
TEST(Golden, ACheckpointOfVersion2IsReadAsItWas) { ExpectGolden(LoadCheckpoint(kFiles / "checkpoint_2")); }

// And without a checksum of state.json.
TEST(Golden, ACheckpointOfVersion1IsReadAsItWas) { ExpectGolden(LoadCheckpoint(kFiles / "checkpoint_1")); }

TEST(Golden, MessagesAreReadAndWrittenAsTheyWere) {
  std::set<std::string> names;
  for (const GoldenMessage& message : GoldenMessages()) {
    names.insert(message.name);
    const std::vector<Frame> frames = SplitIntoFrames(ReadFile(kFiles / "messages" / message.name));
    EXPECT_EQ(frames, message.frames) << message.name;
    const std::vector<FrameView> views = Views(frames);
    // Read and written again, as whichever kind it is.
    std::vector<Frame> again;
    if (const auto actor = DecodeActorMessage(views)) again = Encode(*actor);
    if (const auto learner = DecodeLearnerMessage(views)) again = Encode(*learner);
    if (const auto rank = DecodeRankMessage(views)) again = Encode(*rank);
    if (const auto leader = DecodeLeaderMessage(views)) again = Encode(*leader);
    if (const auto trajectory = DecodeTrajectory(views)) again = Encode(*trajectory);
    EXPECT_EQ(again, frames) << message.name;
  }
  for (const fs::directory_entry& file : fs::directory_iterator(kFiles / "messages")) {
    EXPECT_TRUE(names.contains(file.path().filename().string())) << file.path() << " is of no message any more";
  }
}

TEST(Golden, OtherVersionsAreRefusedClearly) {
  const std::string policy = ReadFile(kFiles / "policy.safetensors");
  ExpectRefusedAsOtherVersion("emplace.policy/2",
                              [&] { ParsePolicy(OfNextVersion(policy, "emplace.policy/1"), "golden"); });
  CheckpointFiles files = SerializeCheckpoint(GoldenCheckpoint());
  files.state = OfNextCheckpointVersion(files.state);
  ExpectRefusedAsOtherVersion("emplace.checkpoint/4", [&] { ParseCheckpoint(files, "golden"); });
}

// A damaged checkpoint is passed over; one that a newer program wrote is not, or its work would be thrown away.
TEST(Golden, ANewerCheckpointIsNotPassedOver) {
  const fs::path folder = fs::path(testing::TempDir()) / StrCat("emplace_golden_", ::getpid());
  fs::remove_all(folder);
  const CheckpointStore store(folder, 3);
  Checkpoint checkpoint = GoldenCheckpoint();
  store.Write(checkpoint);
  checkpoint.updates = 50;
  checkpoint.policy.version = 50;
  store.Write(checkpoint);
  const fs::path newest = folder / "update_00000050" / "state.json";
  const std::string good = ReadFile(newest);
  WriteFileAtomically(newest, good.substr(0, good.size() / 2));
  EXPECT_EQ(store.LoadNewest()->updates, 40);
  // One flipped bit in the version is damage, too.
  WriteFileAtomically(newest, OfNextVersion(good, "emplace.checkpoint/3"));
  EXPECT_EQ(store.LoadNewest()->updates, 40);
  WriteFileAtomically(newest, OfNextCheckpointVersion(good));
  ExpectRefusedAsOtherVersion("emplace.checkpoint/4", [&] { store.LoadNewest(); });
  fs::remove_all(folder);
}

}  // namespace
}  // namespace emplace
