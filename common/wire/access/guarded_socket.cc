#include "common/wire/access/guarded_socket.h"

#include <sys/socket.h>

#include <chrono>

#include "common/strings.h"
#include "common/wire/sockets.h"

namespace emplace {

std::string KeyOf(std::vector<zmq::message_t>& frames) {
  // The first frame is the socket's own and knows nothing.
  const char* const key = zmq_msg_gets(frames.back().handle(), "User-Id");
  return key != nullptr ? key : "";
}

GuardedSocket::GuardedSocket(zmq::context_t& context, const PeerGuard::Limits& limits, size_t most_frames)
    : most_frames_(most_frames), socket_(context, zmq::socket_type::router), guard_(limits) {}

std::vector<zmq::message_t> GuardedSocket::Receive(ZapHandler* zap) {
  std::vector<zmq::message_t> frames = ReceiveFrames(socket_, most_frames_);
  if (frames.empty()) return {};
  const PeerGuard::Verdict verdict = guard_.Hear(frames[0].to_string(), std::chrono::steady_clock::now());
  if (verdict == PeerGuard::Verdict::kHear) return frames;
  if (verdict == PeerGuard::Verdict::kCutOff) CutOff(frames, zap);
  return {};
}

void GuardedSocket::Blame(std::vector<zmq::message_t>& frames, ZapHandler* zap) {
  if (guard_.Blame(frames[0].to_string()) == PeerGuard::Verdict::kCutOff) CutOff(frames, zap);
}

void GuardedSocket::CutOff(std::vector<zmq::message_t>& frames, ZapHandler* zap) {
  zmq_msg_t* const message = frames.back().handle();  // The first frame is the socket's own and knows nothing.
  const char* const address = zmq_msg_gets(message, "Peer-Address");
  warnings_.Warn(StrCat("a peer at ", address != nullptr ? address : "an unknown address",
                        " is cut off: it sends rubbish, or too much"));
  if (zap != nullptr) zap->Deny(KeyOf(frames));
  // ZeroMQ closes the connection once nothing can be read from it. (Should the number by now be another connection's,
  // that one is merely made anew; what is no socket takes no harm.)
  const int connection = zmq_msg_get(message, ZMQ_SRCFD);
  if (connection >= 0) ::shutdown(connection, SHUT_RDWR);
}

}  // namespace emplace
