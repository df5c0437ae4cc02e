// Processor times of this process's threads, with the names that the kernel has for them. Works on Linux only.
#pragma once

#include <map>
#include <set>
#include <string>

namespace emplace::bench {

using ThreadId = int;

std::set<ThreadId> LiveThreads();

struct ThreadTime {
  std::string name;
  double seconds = 0;  // Processor time so far.
};
// The times of those `threads` that still live.
std::map<ThreadId, ThreadTime> TimesOf(const std::set<ThreadId>& threads);

}  // namespace emplace::bench
