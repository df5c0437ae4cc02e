#include "common/wire/endpoint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>
#include <vector>
#include <zmq.hpp>

#include "common/error.h"
#include "common/strings.h"
#include "common/wire/codec.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr int kReconnectMs = 100;      // First wait before a lost connection is tried again; doubles up to
constexpr int kMaxReconnectMs = 2000;  // this.
constexpr int kControlQueue = 64;      // Control messages and notices that wait on either side; more are dropped.
constexpr int kFarewellMs = 500;       // How long a closed socket goes on sending what is queued: Stop, Goodbye.
// The kernel's buffers count against no high-water mark, so small ones bound how stale a waiting trajectory gets.
constexpr int kTrajectoryBufferBytes = 1 << 13;

// The IPv4 address that ZeroMQ binds for `host`, or nullopt when it is not of the loopback network 127.0.0.0/8.
std::optional<std::string> LoopbackAddress(const std::string& host) {
  if (host == "localhost") return "127.0.0.1";
  const std::vector<std::string> parts = Split(host, '.');
  if (parts.size() != 4 || parts[0] != "127") return std::nullopt;
  for (const std::string& part : parts) {
    unsigned value = 0;
    const auto end = part.data() + part.size();
    const auto result = std::from_chars(part.data(), end, value);
    if (part.empty() || part.size() > 3 || result.ec != std::errc() || result.ptr != end || value > 255) {
      return std::nullopt;
    }
  }
  return host;
}

// "tcp://host:port" with the host as an address. Throws BadInput.
std::string CheckedAddress(const std::string& address) {
  constexpr std::string_view kScheme = "tcp://";
  const size_t colon = address.rfind(':');
  if (!address.starts_with(kScheme) || colon == std::string::npos || colon < kScheme.size()) {
    throw BadInput(StrCat("address is '", address, "', expected tcp://host:port"));
  }
  const std::string host = address.substr(kScheme.size(), colon - kScheme.size());
  const std::string port = address.substr(colon + 1);
  unsigned value = 0;
  const auto result = std::from_chars(port.data(), port.data() + port.size(), value);
  if (result.ec != std::errc() || result.ptr != port.data() + port.size() || value < 1 || value > 65535) {
    throw BadInput(StrCat("address '", address, "': port is '", port, "', expected 1..65535"));
  }
  const std::optional<std::string> loopback = LoopbackAddress(host);
  if (!loopback) {
    throw BadInput(StrCat("address '", address, "': host is '", host,
                          "', expected localhost or 127.x.x.x (traffic is not encrypted yet)"));
  }
  return StrCat(kScheme, *loopback, ":", value);
}

void SetLimits(zmq::socket_t& socket, int queue, size_t max_frame_bytes) {
  socket.set(zmq::sockopt::sndhwm, queue);
  socket.set(zmq::sockopt::rcvhwm, queue);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<int64_t>(max_frame_bytes));
  socket.set(zmq::sockopt::reconnect_ivl, kReconnectMs);
  socket.set(zmq::sockopt::reconnect_ivl_max, kMaxReconnectMs);
}

void SetTrajectoryBuffers(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::sndbuf, kTrajectoryBufferBytes);
  socket.set(zmq::sockopt::rcvbuf, kTrajectoryBufferBytes);
}

// Binds to `port` of `host`, 0 for any free one, and returns the address with its port.
std::string Bind(zmq::socket_t& socket, const std::string& host, int port) {
  const std::string address = StrCat("tcp://", host, ":", port == 0 ? "*" : StrCat(port));
  try {
    socket.bind(address);
  } catch (const zmq::error_t& error) {
    throw RunFailed(StrCat(address, ": cannot listen: ", error.what()));
  }
  return socket.get(zmq::sockopt::last_endpoint);
}

// The message that is there now; empty when there is none.
std::vector<zmq::message_t> ReceiveFrames(zmq::socket_t& socket) {
  std::vector<zmq::message_t> frames;
  do {
    zmq::message_t frame;
    if (!socket.recv(frame, zmq::recv_flags::dontwait)) return {};
    frames.push_back(std::move(frame));
  } while (socket.get(zmq::sockopt::rcvmore));
  return frames;
}

std::vector<FrameView> Views(std::span<zmq::message_t> frames) {
  std::vector<FrameView> views;
  views.reserve(frames.size());
  for (zmq::message_t& frame : frames) views.emplace_back(static_cast<const uint8_t*>(frame.data()), frame.size());
  return views;
}

// False when the socket's queue is full or nobody is connected; then nothing was sent.
bool SendFrames(zmq::socket_t& socket, std::span<const Frame> frames, zmq::send_flags wait) {
  for (size_t i = 0; i < frames.size(); ++i) {
    // A socket that has taken the first part takes the others.
    zmq::send_flags flags = i == 0 ? wait : zmq::send_flags::none;
    if (i + 1 < frames.size()) flags = flags | zmq::send_flags::sndmore;
    if (!socket.send(zmq::buffer(frames[i]), flags)) return false;
  }
  return true;
}

milliseconds Left(Clock::time_point deadline) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - Clock::now()));
}

// Waits until one of two sockets can be read: {first, second}. Without `second_too`, only for the first.
std::pair<bool, bool> WaitReadable(zmq::socket_t& first, zmq::socket_t& second, bool second_too, milliseconds timeout) {
  std::array<zmq::pollitem_t, 2> items = {{{first.handle(), 0, ZMQ_POLLIN, 0}, {second.handle(), 0, ZMQ_POLLIN, 0}}};
  try {
    zmq::poll(items.data(), second_too ? 2 : 1, timeout);
  } catch (const zmq::error_t& error) {
    if (error.num() != EINTR) throw;  // A signal: nothing can be read yet.
  }
  return {(items[0].revents & ZMQ_POLLIN) != 0, (items[1].revents & ZMQ_POLLIN) != 0};
}

}  // namespace

// --- LearnerEndpoint ---

struct LearnerEndpoint::Impl {
  zmq::context_t context{1};
  zmq::socket_t control{context, zmq::socket_type::router};
  zmq::socket_t trajectories{context, zmq::socket_type::pull};
  zmq::socket_t notices{context, zmq::socket_type::pub};
  std::string control_address;
  std::string trajectories_address;
  std::string notices_address;
  int64_t malformed = 0;

  std::optional<FromActor> ReceiveControl() {
    std::vector<zmq::message_t> frames = ReceiveFrames(control);
    if (frames.empty()) return std::nullopt;
    std::optional<ActorMessage> message = DecodeActorMessage(Views(std::span(frames).subspan(1)));
    if (!message) {
      ++malformed;
      return std::nullopt;
    }
    return FromActor{frames[0].to_string(), *std::move(message)};
  }

  std::optional<Trajectory> ReceiveTrajectory() {
    std::vector<zmq::message_t> frames = ReceiveFrames(trajectories);
    if (frames.empty()) return std::nullopt;
    std::optional<Trajectory> trajectory = DecodeTrajectory(Views(frames));
    if (!trajectory) ++malformed;
    return trajectory;
  }
};

LearnerEndpoint::LearnerEndpoint(const NetworkOptions& options) : impl_(std::make_unique<Impl>()) {
  const std::optional<std::string> host = LoopbackAddress(options.bind);
  if (!host) {
    throw BadInput(
        StrCat("network.bind is '", options.bind, "', expected localhost or 127.x.x.x (traffic is not encrypted yet)"));
  }
  EMPLACE_CHECK(options.trajectory_queue > 0);
  SetLimits(impl_->control, kControlQueue, kMaxActorControlBytes);
  impl_->control.set(zmq::sockopt::linger, kFarewellMs);
  SetLimits(impl_->trajectories, options.trajectory_queue, kMaxTrajectoryBytes);
  SetTrajectoryBuffers(impl_->trajectories);
  impl_->trajectories.set(zmq::sockopt::linger, 0);
  SetLimits(impl_->notices, kControlQueue, kMaxActorControlBytes);
  impl_->notices.set(zmq::sockopt::linger, kFarewellMs);
  impl_->control_address = Bind(impl_->control, *host, options.port);
  impl_->trajectories_address = Bind(impl_->trajectories, *host, 0);
  impl_->notices_address = Bind(impl_->notices, *host, 0);
}

LearnerEndpoint::~LearnerEndpoint() = default;

std::string LearnerEndpoint::control_address() const { return impl_->control_address; }
std::string LearnerEndpoint::trajectories_address() const { return impl_->trajectories_address; }
std::string LearnerEndpoint::notices_address() const { return impl_->notices_address; }
int64_t LearnerEndpoint::malformed() const { return impl_->malformed; }

std::optional<std::variant<FromActor, Trajectory>> LearnerEndpoint::Receive(milliseconds timeout,
                                                                            bool accept_trajectories) {
  const Clock::time_point deadline = Clock::now() + timeout;
  while (true) {
    const auto [control, trajectory] =
        WaitReadable(impl_->control, impl_->trajectories, accept_trajectories, Left(deadline));
    if (control) {
      if (std::optional<FromActor> message = impl_->ReceiveControl()) return *std::move(message);
    }
    if (trajectory) {
      if (std::optional<Trajectory> received = impl_->ReceiveTrajectory()) return *std::move(received);
    }
    if (Clock::now() >= deadline) return std::nullopt;
  }
}

void LearnerEndpoint::Wait(milliseconds timeout) {
  WaitReadable(impl_->control, impl_->trajectories, /*second_too=*/true, timeout);
}

void LearnerEndpoint::Send(const PeerId& peer, const LearnerMessage& message) {
  std::vector<Frame> frames = Encode(message);
  frames.insert(frames.begin(), peer);
  SendFrames(impl_->control, frames, zmq::send_flags::dontwait);
}

void LearnerEndpoint::Announce(const Notice& notice) {
  SendFrames(impl_->notices, Encode(notice), zmq::send_flags::dontwait);
}

// --- ActorEndpoint ---

struct ActorEndpoint::Impl {
  zmq::context_t context{1};
  zmq::socket_t control{context, zmq::socket_type::dealer};
  zmq::socket_t notices{context, zmq::socket_type::sub};
  std::string notices_address;  // Empty: not subscribed yet.
};

ActorEndpoint::ActorEndpoint(const std::string& control_address) : impl_(std::make_unique<Impl>()) {
  const std::string address = CheckedAddress(control_address);
  SetLimits(impl_->control, kControlQueue, kMaxLearnerControlBytes);
  // Nothing waits for a learner that is away: by the time it returns, an old heartbeat would say what is not so.
  impl_->control.set(zmq::sockopt::immediate, true);
  impl_->control.set(zmq::sockopt::linger, kFarewellMs);
  impl_->control.connect(address);
  SetLimits(impl_->notices, kControlQueue, kMaxActorControlBytes);
  impl_->notices.set(zmq::sockopt::linger, 0);
  impl_->notices.set(zmq::sockopt::subscribe, "");
}

ActorEndpoint::~ActorEndpoint() = default;

void ActorEndpoint::SubscribeNotices(const std::string& address) {
  const std::string checked = CheckedAddress(address);
  if (checked == impl_->notices_address) return;
  if (!impl_->notices_address.empty()) impl_->notices.disconnect(impl_->notices_address);
  impl_->notices.connect(checked);
  impl_->notices_address = checked;
}

bool ActorEndpoint::Send(const ActorMessage& message) {
  return SendFrames(impl_->control, Encode(message), zmq::send_flags::dontwait);
}

std::optional<std::variant<LearnerMessage, Notice>> ActorEndpoint::Receive(milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  while (true) {
    const auto [control, notice] = WaitReadable(impl_->control, impl_->notices, true, Left(deadline));
    if (control) {
      std::vector<zmq::message_t> frames = ReceiveFrames(impl_->control);
      if (std::optional<LearnerMessage> message = DecodeLearnerMessage(Views(frames))) return *std::move(message);
    }
    if (notice) {
      std::vector<zmq::message_t> frames = ReceiveFrames(impl_->notices);
      if (std::optional<Notice> received = DecodeNotice(Views(frames))) return *received;
    }
    if (Clock::now() >= deadline) return std::nullopt;
  }
}

// --- TrajectorySocket ---

struct TrajectorySocket::Impl {
  zmq::context_t context{1};
  zmq::socket_t socket{context, zmq::socket_type::push};
};

TrajectorySocket::TrajectorySocket(const std::string& address, int queue) : impl_(std::make_unique<Impl>()) {
  EMPLACE_CHECK(queue > 0);
  SetLimits(impl_->socket, queue, kMaxActorControlBytes);
  SetTrajectoryBuffers(impl_->socket);
  impl_->socket.set(zmq::sockopt::linger, 0);
  impl_->socket.connect(CheckedAddress(address));
}

TrajectorySocket::~TrajectorySocket() = default;

bool TrajectorySocket::Send(const Trajectory& trajectory, milliseconds timeout) {
  impl_->socket.set(zmq::sockopt::sndtimeo, static_cast<int>(timeout.count()));
  try {
    return SendFrames(impl_->socket, Encode(trajectory), zmq::send_flags::none);
  } catch (const zmq::error_t& error) {
    if (error.num() == EINTR) return false;  // A signal came while it waited, before anything was sent.
    throw;
  }
}

void TrajectorySocket::Close(milliseconds timeout) {
  impl_->socket.set(zmq::sockopt::linger, static_cast<int>(timeout.count()));
  impl_->socket.close();
  impl_->context.close();  // Returns when all is sent or the time is over.
}

}  // namespace emplace
