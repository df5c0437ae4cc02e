// How many files and connections this process may have open at once.
#pragma once

#include <cstdint>

namespace emplace {

int64_t OpenFileLimit();

// Raises the soft limit to the hard one, as nobody who needs 3,000 connections should have to know of `ulimit -n`.
// Returns what the limit is now.
int64_t RaiseOpenFileLimit();

}  // namespace emplace
