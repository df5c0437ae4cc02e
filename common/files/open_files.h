// How many files and connections this process may have open at once.
#pragma once

#include <cstdint>
#include <optional>

namespace emplace {

// The limit of this process (ulimit -n).
int64_t OpenFileLimit();

// Raises the soft limit to the hard limit, so that a learner with thousands of connections needs no `ulimit -n`.
// Returns the new limit.
int64_t RaiseOpenFileLimit();

// Gives the calling thread, and those that it starts from now on, a table of open files of their own. It begins with
// all that is open, and has the limit for itself: however many connections it holds, the other threads can open files.
// What one side opens or closes from now on the other does not have or keeps. Returns false where the system cannot
// (Linux before 5.9): then the table stays the common one.
bool UnshareOpenFiles();

// How many files the calling thread's table has open, this look itself not counted; nullopt when it cannot be found
// out, as at the limit.
std::optional<int64_t> CountOpenFiles();

}  // namespace emplace
