// Ctrl-C and SIGTERM as a flag, for commands that end well with what they have.
#pragma once

#include <atomic>

namespace emplace {

// Whether a signal came since CatchInterrupts was called.
const std::atomic<bool>& Interrupted();
// From now on, SIGINT and SIGTERM set the flag instead of ending the process; a second signal ends it.
void CatchInterrupts();

}  // namespace emplace
