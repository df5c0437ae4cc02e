// Decides for each new connection whether its key is let in, by ZeroMQ's protocol for that question (ZAP, RFC 27).
// Include this in .cc files of common/wire only, because it includes ZeroMQ.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <vector>
#include <zmq.hpp>

#include "common/threads/mutex.h"
#include "common/threads/warning_limit.h"

namespace emplace {

// Runs on a thread of its own, as ZeroMQ requires. Any thread may call its functions.
class ZapHandler {
 public:
  // allowed: public keys in Z85. REQUIRES: the context outlives the handler, has no other handler, and none of its
  // sockets is bound yet.
  ZapHandler(zmq::context_t& context, const std::vector<std::string>& allowed);
  ~ZapHandler();

  // Refuses this key in later handshakes; connections that it has already stay open.
  void Deny(const std::string& public_key);
  int64_t refused() const { return refused_; }  // Handshakes refused so far.

 private:
  void Run();
  void Answer();
  bool IsAllowed(const std::string& public_key);

  zmq::socket_t socket_;  // Used by thread_ alone once it runs.
  Mutex mu_;
  std::set<std::string> allowed_ EMPLACE_GUARDED_BY(mu_);
  std::atomic<int64_t> refused_ = 0;
  WarningLimit refusals_;
  std::atomic<bool> done_ = false;
  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace emplace
