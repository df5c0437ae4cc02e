#include "common/wire/access/handshake_monitor.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "common/wire/access/greeting_probe.h"
#include "common/wire/sockets.h"

namespace emplace {
namespace {

constexpr char kEvents[] = "inproc://handshakes";
// Handshakes that the other side ends without a word, one after the other, until it is worth telling. A learner that
// cannot read what was encrypted for another says nothing; a relay whose learner is away does the same.
constexpr int kMostSilent = 10;
constexpr int kProbeEvery = 3;  // Such handshakes.
constexpr std::chrono::milliseconds kProbeTimeout(500);

// An event has two frames: this, packed, and an address (zmq_socket_monitor(3)).
struct Event {
  uint16_t number = 0;
  uint32_t value = 0;
};

std::optional<Event> NextEvent(zmq::socket_t& events) {
  const std::vector<zmq::message_t> frames = ReceiveFrames(events, 1);
  if (frames.empty()) return std::nullopt;
  Event event;
  if (frames[0].size() == sizeof(event.number) + sizeof(event.value)) {
    std::memcpy(&event.number, frames[0].data(), sizeof(event.number));
    std::memcpy(&event.value, frames[0].data<char>() + sizeof(event.number), sizeof(event.value));
  }
  return event;
}

}  // namespace

HandshakeMonitor::HandshakeMonitor(zmq::context_t& context, zmq::socket_t& watched, TcpAddress peer, bool encrypted)
    : peer_(std::move(peer)), encrypted_(encrypted), events_(context, zmq::socket_type::pair) {
  constexpr int kWanted = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                          ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                          ZMQ_EVENT_DISCONNECTED;
  if (zmq_socket_monitor(watched.handle(), kEvents, kWanted) != 0) throw zmq::error_t();
  events_.set(zmq::sockopt::linger, 0);
  events_.connect(kEvents);
}

std::optional<KeyProblem> HandshakeMonitor::Next() {
  Hear();
  return std::exchange(problem_, std::nullopt);
}

bool HandshakeMonitor::Connected() {
  Hear();
  return connected_;
}

bool HandshakeMonitor::Lost() {
  Hear();
  return lost_;
}

void HandshakeMonitor::Hear() {
  while (!problem_) {
    const std::optional<Event> event = NextEvent(events_);
    if (!event) return;
    problem_ = Consider(event->number, event->value);
  }
}

std::optional<KeyProblem> HandshakeMonitor::Consider(uint16_t event, uint32_t value) {
  if (event == ZMQ_EVENT_DISCONNECTED) {
    lost_ = lost_ || connected_;
    connected_ = false;
    return std::nullopt;
  }
  connected_ = connected_ || event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED;
  const KeyProblem other_mechanism{encrypted_ ? "it has no keys, and this process has"
                                              : "it talks only to processes with keys, and this one has none",
                                   true};
  if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) return KeyProblem{"it does not let in the key of this process", true};
  if (event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL && value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) {
    return other_mechanism;
  }
  silent_ = event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL ? silent_ + 1 : 0;
  // The other side may have closed the connection before ours had read which mechanism it speaks.
  if (silent_ > 0 && silent_ % kProbeEvery == 0) {
    const std::optional<std::string> mechanism = MechanismOf(peer_, kProbeTimeout);
    if (mechanism && *mechanism != (encrypted_ ? "CURVE" : "NULL")) return other_mechanism;
  }
  if (encrypted_ && silent_ == kMostSilent) {
    return KeyProblem{"it ends every handshake, as one does whose keys are of another run", false};
  }
  return std::nullopt;
}

}  // namespace emplace
