#include "tools/cli/search_line.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>
#include <thread>

namespace emplace {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

const SearchProgress kProgress = {.seconds = 1.25, .evaluations = 42, .best_us = 1234.5, .found_by = "m-etf"};

/// What `reader` gives: at least `bytes` of it, fewer where no more comes within 10 s. A terminal may hand over in
/// several pieces what was written to it.
std::string ReadAtLeast(int reader, size_t bytes) {
  std::string text;
  pollfd ready = {.fd = reader, .events = POLLIN, .revents = 0};
  while (text.size() < bytes && ::poll(&ready, 1, 10'000) == 1) {
    std::array<char, 1000> piece{};
    const ssize_t got = ::read(reader, piece.data(), piece.size());
    if (got <= 0) {
      break;
    }
    text.append(piece.data(), static_cast<size_t>(got));
  }
  return text;
}

TEST(SearchLine, WritesNothingToAFile) {
  const File file(std::tmpfile(), std::fclose);
  {
    SearchLine line(file.get());
    std::this_thread::sleep_for(std::chrono::milliseconds(150));  // Long enough for a line on a terminal.
    line.Show(kProgress);
  }
  EXPECT_EQ(std::ftell(file.get()), 0);
}

TEST(SearchLine, TellsATerminalWhatTheBestIsAndLeavesAnEmptyLine) {
  int reader = -1;
  int writer = -1;
  ASSERT_EQ(::openpty(&reader, &writer, nullptr, nullptr, nullptr), 0);
  const File terminal(::fdopen(writer, "w"), std::fclose);
  {
    SearchLine line(terminal.get());
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    line.Show(kProgress);
    line.Show(kProgress);  // A moment later: not again.
  }
  std::fflush(terminal.get());
  const std::string clear = "\r\x1b[K";
  const std::string expected = clear + "1.2 s, 42 placements, best 1.234 ms, found by m-etf" + clear;
  EXPECT_EQ(ReadAtLeast(reader, expected.size()), expected);
  ::close(reader);
}

}  // namespace
}  // namespace emplace
