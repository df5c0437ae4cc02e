#include "common/threads/line_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <thread>
#include <vector>

#include "common/strings.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;

// A pipe whose other end is read only when the test wants it.
class Pipe {
 public:
  Pipe() {
    EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0);
    EXPECT_GT(::fcntl(ends_[1], F_SETPIPE_SZ, 4096), 0);
  }
  ~Pipe() {
    for (const int end : ends_) ::close(end);
  }
  int in() const { return ends_[1]; }
  // Waits for the next line; without its line break.
  std::string ReadLine() const {
    std::string line;
    char c = 0;
    while (::read(ends_[0], &c, 1) == 1 && c != '\n') line += c;
    return line;
  }

 private:
  std::array<int, 2> ends_{};
};

TEST(LineWriter, WritesInOrder) {
  const Pipe pipe;
  LineWriter writer(pipe.in());
  for (int i = 0; i < 100; ++i) writer.Write(StrCat("line ", i));
  writer.Write("two\nlines");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(pipe.ReadLine(), StrCat("line ", i));
  EXPECT_EQ(pipe.ReadLine(), "two");
  EXPECT_EQ(pipe.ReadLine(), "lines");
  EXPECT_TRUE(writer.Flush(milliseconds(10'000)));
}

TEST(LineWriter, NobodyWaitsForWhoDoesNotRead) {
  const Pipe pipe;
  LineWriter writer(pipe.in(), 10);
  const std::string block(1000, 'x');
  std::vector<std::thread> talkers;
  for (int t = 0; t < 4; ++t) {
    talkers.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) writer.Write(block);
    });
  }
  for (std::thread& talker : talkers) talker.join();
  EXPECT_FALSE(writer.Flush(milliseconds(10)));
  // Each of the 4,000 is there, or counted in a line of its place.
  size_t written = 0;
  size_t left_out = 0;
  while (written + left_out < 4000) {
    const std::string line = pipe.ReadLine();
    size_t count = 0;
    if (line == block) {
      ++written;
    } else {
      ASSERT_EQ(std::sscanf(line.c_str(), "(%zu lines were left out here: nobody read them)", &count), 1) << line;
    }
    left_out += count;
  }
  EXPECT_EQ(written + left_out, 4000U);
  EXPECT_GE(written, 10U);
  EXPECT_GT(left_out, 3000U);
  EXPECT_TRUE(writer.Flush(milliseconds(10'000)));
  writer.Write("and on");
  EXPECT_EQ(pipe.ReadLine(), "and on");
}

TEST(LineWriter, AWriteThatNeverEndsDoesNotKeepTheProcess) {
  std::signal(SIGPIPE, SIG_IGN);
  const Pipe pipe;
  LineWriter writer(pipe.in());
  for (int i = 0; i < 100; ++i) writer.Write(std::string(1000, 'x'));
  EXPECT_FALSE(writer.Flush(milliseconds(10)));
  // Its destructor returns all the same; the pipe's lets the write end.
}

TEST(LineWriter, AReaderThatIsGoneIsNoError) {
  std::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ::close(ends[0]);
  LineWriter writer(ends[1]);
  writer.Write("who hears?");
  EXPECT_TRUE(writer.Flush(milliseconds(10'000)));
  ::close(ends[1]);
}

}  // namespace
}  // namespace emplace
