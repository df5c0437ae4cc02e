#include "tools/bench/thread_times.h"

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

std::map<std::string, double> SecondsByName(const std::set<ThreadId>& threads) {
  std::map<std::string, double> seconds;
  for (const ThreadId thread : threads) {
    const std::string folder = StrCat(kTasks, "/", thread);
    std::string name;
    double nanoseconds = 0;
    std::ifstream comm(folder + "/comm");
    std::ifstream schedstat(folder + "/schedstat");  // Its first number: time spent on a processor.
    if (std::getline(comm, name) && schedstat >> nanoseconds) seconds[name] += 1e-9 * nanoseconds;
  }
  return seconds;
}

}  // namespace emplace::bench
