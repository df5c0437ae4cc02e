// Processor time of this process's threads, with the names that the kernel knows them by. Linux alone.
#pragma once

#include <map>
#include <set>
#include <string>

namespace emplace::bench {

using ThreadId = int;

std::set<ThreadId> LiveThreads();
struct ThreadTime {
  std::string name;
  double seconds = 0;  // On a processor, so far.
};
// Of those of `threads` that still live.
std::map<ThreadId, ThreadTime> TimesOf(const std::set<ThreadId>& threads);

}  // namespace emplace::bench
