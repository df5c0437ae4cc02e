#include "common/files/file_end.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/rng.h"
#include "common/strings.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

namespace fs = std::filesystem;

// Lines from none to longer than what is read at once, against the text split from its start.
TEST(FileEnd, LinesComeFromTheLastToTheFirst) {
  const fs::path path = fs::path(testing::TempDir()) / StrCat("file_end_", ::getpid());
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    std::string text;
    const int64_t lines = rng.UniformInt(0, 20);
    for (int64_t i = 0; i < lines; ++i) {
      const int64_t longest = rng.UniformInt(0, 4) == 0 ? 200'000 : 10;
      text += std::string(static_cast<size_t>(rng.UniformInt(0, longest)), static_cast<char>('a' + i)) + "\n";
    }
    if (rng.UniformInt(0, 1) == 0) text += "half a line";
    WriteFileAtomically(path, text);
    std::vector<std::string> expected = Split(text, '\n');
    if (!expected.empty() && expected.back().empty()) expected.pop_back();  // After the last line break.

    LinesFromEnd reader(path);
    EXPECT_EQ(reader.offset(), text.size());
    while (const std::optional<std::string> line = reader.Next()) {
      ASSERT_FALSE(expected.empty()) << seed;
      ASSERT_EQ(*line, expected.back()) << seed;
      ASSERT_EQ(text.substr(reader.offset(), line->size()), *line) << seed;
      expected.pop_back();
    }
    EXPECT_TRUE(expected.empty()) << seed;
  }
  fs::remove(path);
}

TEST(FileEnd, ItIsReplaced) {
  const fs::path path = fs::path(testing::TempDir()) / StrCat("file_end_", ::getpid());
  WriteFileAtomically(path, "one\ntwo\nthree\n");
  ReplaceEnd(path, 4, "2\n");
  EXPECT_EQ(ReadFile(path), "one\n2\n");
  ReplaceEnd(path, 6, "three, and longer than before\n");
  EXPECT_EQ(ReadFile(path), "one\n2\nthree, and longer than before\n");
  ReplaceEnd(path, 0, "");
  EXPECT_EQ(ReadFile(path), "");
  fs::remove(path);
  EXPECT_THROW(LinesFromEnd{path}, Error);
  EXPECT_THROW(ReplaceEnd(path, 0, "x"), Error);
}

}  // namespace
}  // namespace emplace
