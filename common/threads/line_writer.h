// Writes lines for people to the standard output or error of this process. Whoever reads them may stop to: a terminal
// after Ctrl-S, a pipe whose reader hangs. A write then takes for ever, so a thread of the object's own does it, and
// those who have something to say never wait.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace emplace {

// Any thread may call any function.
class LineWriter {
 public:
  // descriptor: stays open for as long as the process lives. capacity: texts that may wait; further ones are left out,
  // and a line tells how many there were.
  explicit LineWriter(int descriptor, size_t capacity = 1000);
  ~LineWriter();  // Gives what waits a second.
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // Writes one or more lines some time later. `text` lacks the last line break.
  void Write(std::string text);
  // Waits until all is written, for at most `timeout`. Returns whether it is.
  bool Flush(std::chrono::milliseconds timeout);

 private:
  struct State;
  std::shared_ptr<State> state_;  // Shared with the thread, which outlives the object where a write never ends.
};

}  // namespace emplace
