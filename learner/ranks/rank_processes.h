// The processes of ranks other than 0, where rank 0 starts them itself, on its own machine.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace emplace {

// Every process dies with the thread that has made the object, however that ends. Not thread-safe.
class RankProcesses {
 public:
  // Starts ranks 1 to ranks-1: this program with --rank R --leader ADDRESS --gpu R, and with the key file in
  // EMPLACE_KEYS. What they print goes to `logs`/rank-R.log. Throws RunFailed.
  RankProcesses(int64_t ranks, const std::string& leader, const std::filesystem::path& keys,
                const std::filesystem::path& logs);
  // Kills those that are still there.
  ~RankProcesses();
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  // Which process has ended, and how, as a sentence for people that names its rank; nullopt: none has.
  std::optional<std::string> FirstEnded();
  // Waits until all have ended, for at most `timeout`.
  void Wait(std::chrono::milliseconds timeout);

 private:
  struct Process {
    int64_t rank = 0;
    pid_t pid = 0;  // 0: it has ended and was waited for.
    std::filesystem::path log;
  };

  const int64_t ranks_;
  std::vector<Process> processes_;
};

}  // namespace emplace
