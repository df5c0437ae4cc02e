// How many actors the learner's limit of open files (ulimit -n) leaves room for. Past that limit the learner takes no
// connections, so an actor that is one too many is told while it still has one.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "common/threads/warning_limit.h"

namespace emplace {

// The most actors that may be alive at a time.
int64_t ActorCapacity();

// Not thread-safe. It belongs to the thread that has the learner's sockets, since each thread may have a table of open
// files of its own.
class ConnectionLimit {
 public:
  // Returns what to tell an actor that is one too many, and logs a warning the first time. alive: actors that are here.
  // capacity: the most there may be.
  std::string RefuseOneMore(int64_t alive, int64_t capacity);
  // Warns while nearly as many connections are open as may be. Connections need not be actors': a peer that says
  // nothing holds one until its handshake is overdue. Call it often: it looks every few seconds.
  void Check(int64_t alive, std::chrono::steady_clock::time_point now);

 private:
  bool warned_of_room_ = false;
  std::chrono::steady_clock::time_point next_check_;
  WarningLimit connection_warnings_;
};

}  // namespace emplace
