// Sees why a socket that connects is not let in, of which ZeroMQ says nothing by itself: it tries again for ever. For
// .cc files of this folder only: ZeroMQ shows in it.
#pragma once

#include <optional>
#include <zmq.hpp>

#include "common/wire/actor_endpoint.h"

namespace emplace {

// Of the thread that has the socket.
class HandshakeMonitor {
 public:
  // `encrypted`: the socket has keys. REQUIRES: `watched` is not connected yet, and no other of its context is
  // monitored; the context outlives the monitor.
  HandshakeMonitor(zmq::context_t& context, zmq::socket_t& watched, bool encrypted);

  // What has been seen since the last call; nullopt: nothing that speaks against it. What is not final comes once,
  // until a handshake has gone well.
  std::optional<KeyProblem> Next();

 private:
  const bool encrypted_;
  zmq::socket_t events_;
  int silent_ = 0;  // Handshakes in a row that ended without a reason.
};

}  // namespace emplace
