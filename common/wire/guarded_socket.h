// A router socket of the learner whose peers are told apart and watched: who sends rubbish, or too much, is cut off.
// Of this folder alone, as ZeroMQ shows in it.
#pragma once

#include <vector>
#include <zmq.hpp>

#include "common/wire/peer_guard.h"
#include "common/wire/zap_handler.h"

namespace emplace {

// For the thread that made it.
class GuardedSocket {
 public:
  GuardedSocket(zmq::context_t& context, const PeerGuard::Limits& limits);

  zmq::socket_t& socket() { return socket_; }
  const PeerGuard& guard() const { return guard_; }

  // The frames of the next message that may be heard, the sender's name first; empty when there is none. `zap` takes
  // the keys away from a peer that is cut off; nullptr where nothing is encrypted.
  std::vector<zmq::message_t> Receive(ZapHandler* zap);
  // The message made no sense. frames: as Receive gave them.
  void Blame(std::vector<zmq::message_t>& frames, ZapHandler* zap);

 private:
  zmq::socket_t socket_;
  PeerGuard guard_;
};

}  // namespace emplace
