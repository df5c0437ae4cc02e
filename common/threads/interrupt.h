// Ctrl-C and SIGTERM: a flag for commands that end well with what they have, and a quick end for all others.
#pragma once

#include <atomic>
#include <string>

namespace emplace {

// Whether a signal came since CatchInterrupts was called.
const std::atomic<bool>& Interrupted();
// From now on, SIGINT and SIGTERM set the flag. A command that has not ended a third of a second later, or at a second
// signal, ends then with the exit code 1: with one line on stderr that begins with the program's name, and without
// files that are half written. Processes that are started later have the two signals blocked. REQUIRES: the process has
// no other thread yet.
void CatchInterrupts(const std::string& program);
// For a command that has its result: from now on only a second signal ends it early, so that the result is written,
// however long that takes.
void FinishDespiteInterrupt();

}  // namespace emplace
