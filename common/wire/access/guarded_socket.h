// A ROUTER socket of the learner that watches its peers and cuts off a peer that sends too many messages, or too many
// that make no sense. Include this in .cc files of common/wire only, because it includes ZeroMQ.
#pragma once

#include <cstddef>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "common/threads/warning_limit.h"
#include "common/wire/access/peer_guard.h"
#include "common/wire/access/zap_handler.h"

namespace emplace {

// The public key of the sender of a message from Receive, in Z85, by which the ZapHandler has let it in; empty when
// nothing is encrypted.
std::string KeyOf(std::vector<zmq::message_t>& frames);

// Belongs to the thread that made it.
class GuardedSocket {
 public:
  // most_frames: upper limit of the frames of a message, the sender's name included; what is beyond is dropped.
  GuardedSocket(zmq::context_t& context, const PeerGuard::Limits& limits, size_t most_frames);

  zmq::socket_t& socket() { return socket_; }
  const PeerGuard& guard() const { return guard_; }

  // Returns the frames of the next message from a peer that is not cut off, with the sender's name as the first frame;
  // empty when there is none. `zap` locks out the key of a peer that is cut off; nullptr: nothing is encrypted.
  std::vector<zmq::message_t> Receive(ZapHandler* zap);
  // Counts a message that made no sense against its sender. frames: as Receive returned them.
  void Blame(std::vector<zmq::message_t>& frames, ZapHandler* zap);
  // Counts an earlier message of the peer against it.
  void Accuse(const std::string& peer) { guard_.Accuse(peer); }

 private:
  void CutOff(std::vector<zmq::message_t>& frames, ZapHandler* zap);

  const size_t most_frames_;
  zmq::socket_t socket_;
  PeerGuard guard_;
  WarningLimit warnings_;
};

}  // namespace emplace
