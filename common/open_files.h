// How many files and connections this process may have open at once.
#pragma once

#include <cstdint>

namespace emplace {

// The limit of this process (ulimit -n).
int64_t OpenFileLimit();

// Raises the soft limit to the hard limit, so that a learner with thousands of connections needs no `ulimit -n`.
// Returns the new limit.
int64_t RaiseOpenFileLimit();

}  // namespace emplace
