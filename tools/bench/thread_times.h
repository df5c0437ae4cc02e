// Processor time of this process's threads, by the names that the kernel knows them by. Linux alone.
#pragma once

#include <map>
#include <set>
#include <string>

namespace emplace::bench {

using ThreadId = int;

std::set<ThreadId> LiveThreads();
// Seconds that these threads have run so far, summed by name; what has ended is left out.
std::map<std::string, double> SecondsByName(const std::set<ThreadId>& threads);

}  // namespace emplace::bench
