#include "common/wire/sockets.h"

#include <algorithm>
#include <array>

#include "common/error.h"
#include "common/strings.h"
#include "common/wire/address.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kReconnectMs = 100;      // First wait before a lost connection is tried again; doubles up to
constexpr int kMaxReconnectMs = 2000;  // this.
// A host that has vanished closes no connection. The kernel asks one that says nothing for so long, and so often, and
// then lets the connection be made anew. ZeroMQ's own heartbeats would take processes that are stopped for vanished
// hosts, and with libzmq 4.3 they abort the process where a connection ends whose queue is full (libzmq issues 3937 and
// 4767).
constexpr KeepAlive kKeepAlive = {.idle_s = 5, .every_s = 5, .tries = 3};
// A connection whose handshake takes longer is closed: it may be one of many that are never to say a word.
constexpr int kHandshakeMs = 10'000;
constexpr int kEnforceZapDomain = 93;  // ZMQ_ZAP_ENFORCE_DOMAIN, which the headers of 4.3 keep for draft builds.
constexpr int kTrajectoryBufferBytes = 1 << 13;
// Actors of a whole cluster come at once; past the backlog, each waits a second and more before it tries again.
constexpr int kBacklog = 4096;

}  // namespace

void SetLimits(zmq::socket_t& socket, int queue, size_t max_frame_bytes) {
  socket.set(zmq::sockopt::sndhwm, queue);
  socket.set(zmq::sockopt::rcvhwm, queue);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<int64_t>(max_frame_bytes));
  socket.set(zmq::sockopt::reconnect_ivl, kReconnectMs);
  socket.set(zmq::sockopt::reconnect_ivl_max, kMaxReconnectMs);
  socket.set(zmq::sockopt::handshake_ivl, kHandshakeMs);
  SetKeepAlive(socket, kKeepAlive);
}

void SetKeepAlive(zmq::socket_t& socket, const KeepAlive& keep_alive) {
  socket.set(zmq::sockopt::tcp_keepalive, 1);
  socket.set(zmq::sockopt::tcp_keepalive_idle, keep_alive.idle_s);
  socket.set(zmq::sockopt::tcp_keepalive_intvl, keep_alive.every_s);
  socket.set(zmq::sockopt::tcp_keepalive_cnt, keep_alive.tries);
}

void SetTrajectoryBuffers(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::sndbuf, kTrajectoryBufferBytes);
  socket.set(zmq::sockopt::rcvbuf, kTrajectoryBufferBytes);
}

void SetKeys(zmq::socket_t& socket, const LearnerKeys& keys) {
  socket.set(zmq::sockopt::curve_server, true);
  socket.set(zmq::sockopt::curve_secretkey, keys.secret_key);
  // Where no ZapHandler answers who may come in, ZeroMQ lets in everybody, unless it is told to insist on one.
  socket.set(zmq::sockopt::zap_domain, std::string(kKeyDomain));
  const int enforce = 1;
  if (zmq_setsockopt(socket.handle(), kEnforceZapDomain, &enforce, sizeof(enforce)) != 0) throw zmq::error_t();
}

void SetKeys(zmq::socket_t& socket, const ActorKeys& keys) {
  socket.set(zmq::sockopt::curve_serverkey, keys.learner);
  socket.set(zmq::sockopt::curve_publickey, keys.public_key);
  socket.set(zmq::sockopt::curve_secretkey, keys.secret_key);
}

uint16_t Bind(zmq::socket_t& socket, const std::string& host, int port) {
  const std::string address = StrCat("tcp://", host, ":", port == 0 ? "*" : StrCat(port));
  socket.set(zmq::sockopt::backlog, kBacklog);
  try {
    socket.bind(address);
  } catch (const zmq::error_t& error) {
    throw RunFailed(StrCat(address, ": cannot listen: ", error.what()));
  }
  return ParseAddress(socket.get(zmq::sockopt::last_endpoint), /*encrypted=*/true).port;
}

std::vector<zmq::message_t> ReceiveFrames(zmq::socket_t& socket, size_t max_frames) {
  std::vector<zmq::message_t> frames;
  do {
    zmq::message_t frame;
    if (!socket.recv(frame, zmq::recv_flags::dontwait)) return {};
    if (frames.size() < max_frames) frames.push_back(std::move(frame));
  } while (socket.get(zmq::sockopt::rcvmore));
  return frames;
}

std::vector<FrameView> Views(std::span<zmq::message_t> frames) {
  std::vector<FrameView> views;
  views.reserve(frames.size());
  for (zmq::message_t& frame : frames) views.emplace_back(static_cast<const uint8_t*>(frame.data()), frame.size());
  return views;
}

bool SendFrames(zmq::socket_t& socket, std::span<const Frame> frames, zmq::send_flags wait) {
  return SendShared(socket, frames, {}, wait);
}

bool SendShared(zmq::socket_t& socket, std::span<const Frame> first, std::span<zmq::message_t> shared,
                zmq::send_flags wait) {
  const size_t count = first.size() + shared.size();
  for (size_t i = 0; i < count; ++i) {
    // A socket that has taken the first part takes the others.
    zmq::send_flags flags = i == 0 ? wait : zmq::send_flags::none;
    if (i + 1 < count) flags = flags | zmq::send_flags::sndmore;
    if (i < first.size()) {
      if (!socket.send(zmq::buffer(first[i]), flags)) return false;
    } else {
      zmq::message_t frame;
      frame.copy(shared[i - first.size()]);  // Counts references; small ones are copied.
      if (!socket.send(frame, flags)) return false;
    }
  }
  return true;
}

void PollReadable(std::span<zmq::pollitem_t> items, milliseconds timeout) {
  try {
    zmq::poll(items.data(), items.size(), timeout);
  } catch (const zmq::error_t& error) {
    if (error.num() != EINTR) throw;
    for (zmq::pollitem_t& item : items) item.revents = 0;  // A signal: nothing can be read yet.
  }
}

bool WaitReadable(zmq::socket_t& socket, milliseconds timeout) {
  std::array<zmq::pollitem_t, 1> item = {{{socket.handle(), 0, ZMQ_POLLIN, 0}}};
  PollReadable(item, timeout);
  return (item[0].revents & ZMQ_POLLIN) != 0;
}

std::pair<bool, bool> WaitReadable(zmq::socket_t& first, zmq::socket_t& second, bool second_too, milliseconds timeout) {
  std::array<zmq::pollitem_t, 2> items = {{{first.handle(), 0, ZMQ_POLLIN, 0}, {second.handle(), 0, ZMQ_POLLIN, 0}}};
  PollReadable(std::span(items).first(second_too ? 2 : 1), timeout);
  return {(items[0].revents & ZMQ_POLLIN) != 0, (items[1].revents & ZMQ_POLLIN) != 0};
}

milliseconds TimeLeft(Clock::time_point deadline) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - Clock::now()));
}

}  // namespace emplace
