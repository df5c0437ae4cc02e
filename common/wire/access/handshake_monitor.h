// Finds out why a learner refuses a connection, and that one has begun or ended. ZeroMQ itself says nothing and tries
// again for ever. Include this in .cc files of common/wire only, because it includes ZeroMQ.
#pragma once

#include <cstdint>
#include <optional>
#include <zmq.hpp>

#include "common/wire/actor_endpoint.h"
#include "common/wire/address.h"

namespace emplace {

// Belongs to the thread that has the socket.
class HandshakeMonitor {
 public:
  // `peer`: the address that `watched` will be connected to. `encrypted`: the socket has keys. REQUIRES: `watched` is
  // not connected yet, no other socket of the context is monitored, and the context outlives the monitor.
  HandshakeMonitor(zmq::context_t& context, zmq::socket_t& watched, TcpAddress peer, bool encrypted);

  // The problem found since the last call; nullopt: none. A problem that is not final is reported once, and again only
  // after a handshake that succeeded.
  std::optional<KeyProblem> Next();
  // Whether there is a connection, after a handshake that succeeded.
  bool Connected();
  // Whether such a connection has ended, though another one may have begun since.
  bool Lost();

 private:
  // Reads the events so far up to the next problem. Takes up to half a second where handshakes end without a reason: it
  // asks the peer.
  void Hear();
  std::optional<KeyProblem> Consider(uint16_t event, uint32_t value);

  const TcpAddress peer_;
  const bool encrypted_;
  zmq::socket_t events_;
  bool connected_ = false;
  bool lost_ = false;
  std::optional<KeyProblem> problem_;  // That Next has not told yet.
  int silent_ = 0;                     // Handshakes in a row that ended without a reason.
};

}  // namespace emplace
