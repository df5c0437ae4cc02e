// Answers ZeroMQ's question, for each new connection, whether its key is let in (ZAP, RFC 27). For .cc files of this
// folder only: ZeroMQ shows in it.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>
#include <zmq.hpp>

#include "common/mutex.h"

namespace emplace {

// On a thread of its own, which ZeroMQ wants. Any thread may call its functions.
class ZapHandler {
 public:
  // Public keys, as Z85. REQUIRES: the context outlives it, has no other, and no socket of it is bound yet.
  ZapHandler(zmq::context_t& context, const std::vector<std::string>& allowed);
  ~ZapHandler();

  // Lets this key in no more; connections that it has stay.
  void Deny(const std::string& public_key);
  int64_t refused() const { return refused_; }  // Handshakes so far.

 private:
  void Run();
  void Answer();
  bool IsAllowed(const std::string& public_key);

  zmq::socket_t socket_;  // Of the thread alone, once that runs.
  Mutex mu_;
  std::set<std::string> allowed_ EMPLACE_GUARDED_BY(mu_);
  std::atomic<int64_t> refused_ = 0;
  std::atomic<bool> done_ = false;
  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace emplace
