#include "learner/storage/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "common/strings.h"
#include "tests/learner/storage/sample_checkpoint.h"

namespace emplace {
namespace {

using ::testing::HasSubstr;

// Also where a digit becomes another: each byte but the closing newline, the one that says nothing.
TEST(Checkpoint, AFlippedBitOfTheStateIsNoticed) {
  const CheckpointFiles good = SerializeCheckpoint(SampleCheckpoint(10));
  for (size_t at = 0; at + 1 < good.state.size(); ++at) {
    for (const int bit : {1, 4}) {
      CheckpointFiles files = good;
      files.state[at] = static_cast<char>(files.state[at] ^ bit);
      EXPECT_THROW(ParseCheckpoint(files, "x"), Error) << "byte " << at << ", bit " << bit;
    }
  }
}

// Numbers that JSON lets pass, and the library would turn into others; and a generator that only ever gives zero.
TEST(Checkpoint, NumbersThatCannotBeAreRefused) {
  const CheckpointFiles good = SerializeCheckpoint(SampleCheckpoint(10));
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

// Only format 1 had none: golden_test reads one.
TEST(Checkpoint, OneWithoutAChecksumOfItsStateIsRefused) {
  CheckpointFiles files = SerializeCheckpoint(SampleCheckpoint(10));
  const size_t checksum = files.state.rfind(",\n \"state_xxh64\"");
  ASSERT_NE(checksum, std::string::npos);
  files.state = files.state.substr(0, checksum) + "\n}\n";
  EXPECT_THROW(ParseCheckpoint(files, "x"), Error);
}

}  // namespace
}  // namespace emplace
