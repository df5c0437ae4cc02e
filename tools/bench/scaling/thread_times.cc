#include "tools/bench/scaling/thread_times.h"

#include <filesystem>
#include <fstream>

#include "common/strings.h"

namespace emplace::bench {
namespace {

const char kTasks[] = "/proc/self/task";

}  // namespace

std::set<ThreadId> LiveThreads() {
  std::set<ThreadId> threads;
  for (const auto& entry : std::filesystem::directory_iterator(kTasks)) {
    threads.insert(std::stoi(entry.path().filename().string()));
  }
  return threads;
}

std::map<ThreadId, ThreadTime> TimesOf(const std::set<ThreadId>& threads) {
  std::map<ThreadId, ThreadTime> times;
  for (const ThreadId thread : threads) {
    const std::string folder = StrCat(kTasks, "/", thread);
    ThreadTime time;
    double nanoseconds = 0;
    std::ifstream comm(folder + "/comm");
    std::ifstream schedstat(folder + "/schedstat");  // Its first number: time spent on a processor.
    if (!std::getline(comm, time.name) || !(schedstat >> nanoseconds)) continue;
    time.seconds = 1e-9 * nanoseconds;
    times[thread] = time;
  }
  return times;
}

}  // namespace emplace::bench
