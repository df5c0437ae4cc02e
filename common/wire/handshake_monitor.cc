#include "common/wire/handshake_monitor.h"

#include <cstdint>
#include <cstring>

namespace emplace {
namespace {

constexpr char kEvents[] = "inproc://handshakes";
// Handshakes that the other side ends without a word, one after the other, until it is no accident. A learner that cannot
// read what was encrypted for another says nothing.
constexpr int kMostSilent = 10;

// The first frame of an event (zmq_socket_monitor(3)), packed; the second is the address.
struct Event {
  uint16_t number = 0;
  uint32_t value = 0;
};

std::optional<Event> NextEvent(zmq::socket_t& events) {
  zmq::message_t frame;
  if (!events.recv(frame, zmq::recv_flags::dontwait)) return std::nullopt;
  Event event;
  if (frame.size() == sizeof(event.number) + sizeof(event.value)) {
    std::memcpy(&event.number, frame.data(), sizeof(event.number));
    std::memcpy(&event.value, frame.data<char>() + sizeof(event.number), sizeof(event.value));
  }
  while (events.get(zmq::sockopt::rcvmore) && events.recv(frame, zmq::recv_flags::dontwait)) {
  }
  return event;
}

}  // namespace

HandshakeMonitor::HandshakeMonitor(zmq::context_t& context, zmq::socket_t& watched, bool encrypted)
    : encrypted_(encrypted), events_(context, zmq::socket_type::pair) {
  constexpr int kWanted = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                          ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
  if (zmq_socket_monitor(watched.handle(), kEvents, kWanted) != 0) throw zmq::error_t();
  events_.set(zmq::sockopt::linger, 0);
  events_.connect(kEvents);
}

std::optional<std::string> HandshakeMonitor::Refusal() {
  while (const std::optional<Event> event = NextEvent(events_)) {
    if (event->number == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) return "it does not let in the key of this actor";
    if (event->number == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL && event->value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) {
      return encrypted_ ? "it has no keys, and this actor has" : "it talks only to actors with keys, and this one has none";
    }
    silent_ = event->number == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL ? silent_ + 1 : 0;
    if (encrypted_ && silent_ == kMostSilent) return "it ends every handshake, as one does whose keys are of another run";
  }
  return std::nullopt;
}

}  // namespace emplace
