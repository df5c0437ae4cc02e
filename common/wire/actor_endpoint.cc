#include "common/wire/actor_endpoint.h"

#include <utility>

#include "common/error.h"
#include "common/wire/access/handshake_monitor.h"
#include "common/wire/address.h"
#include "common/wire/messages/control_codec.h"
#include "common/wire/messages/trajectory_codec.h"
#include "common/wire/sockets.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr size_t kMaxLearnerFrames = kMaxArrays + 2;  // Of a LearnerMessage.

std::optional<zmq::context_t> MakeOwn(const zmq::context_t* shared) {
  if (shared != nullptr) return std::nullopt;
  return std::optional<zmq::context_t>(std::in_place, 1);
}

}  // namespace

struct SharedNetwork::Impl {
  zmq::context_t context{1};
};

SharedNetwork::SharedNetwork(int sockets) : impl_(std::make_unique<Impl>()) {
  EMPLACE_CHECK(sockets > 0);
  impl_->context.set(zmq::ctxopt::max_sockets, sockets);
}

SharedNetwork::~SharedNetwork() = default;

struct ActorEndpoint::Impl {
  explicit Impl(zmq::context_t* shared)
      : own(MakeOwn(shared)), control(shared != nullptr ? *shared : *own, zmq::socket_type::dealer) {}

  std::optional<zmq::context_t> own;  // Without a shared one.
  zmq::socket_t control;
  // Of control, on a network of its own: two more sockets for each of many are too many.
  std::optional<HandshakeMonitor> monitor;
  bool encrypted = false;
  TcpAddress learner;
};

ActorEndpoint::ActorEndpoint(const std::string& control_address, std::optional<ActorKeys> keys, SharedNetwork* network)
    : impl_(std::make_unique<Impl>(network != nullptr ? &network->impl_->context : nullptr)) {
  impl_->encrypted = keys.has_value();
  impl_->learner = ParseAddress(control_address, impl_->encrypted);
  if (keys) SetKeys(impl_->control, *keys);
  SetLimits(impl_->control, kControlQueue, kMaxLearnerControlBytes);
  impl_->control.set(zmq::sockopt::linger, kFarewellMs);
  if (impl_->own) {
    impl_->monitor.emplace(*impl_->own, impl_->control, impl_->learner, impl_->encrypted);
  } else {
    impl_->control.set(zmq::sockopt::immediate, true);
  }
  impl_->control.connect(impl_->learner.text());
}

ActorEndpoint::~ActorEndpoint() = default;

std::string ActorEndpoint::OnLearnersHost(const std::string& address) const {
  return TcpAddress{impl_->learner.host, ParseAddress(address, /*encrypted=*/true).port}.text();
}

// Nothing waits for a learner that is away: by the time it returns, an old heartbeat would say what is not so. The
// monitor tells whether it is there. ZMQ_IMMEDIATE would do, too, but with it libzmq 4.3.4 can drop the rest of a
// message that is being read when the connection ends, and then aborts the process: it is for those who have no
// monitor.
bool ActorEndpoint::Send(const ActorMessage& message) {
  if (impl_->monitor && !impl_->monitor->Connected()) return false;
  return SendFrames(impl_->control, Encode(message), zmq::send_flags::dontwait);
}

std::optional<KeyProblem> ActorEndpoint::NextKeyProblem() {
  return impl_->monitor ? impl_->monitor->Next() : std::nullopt;
}

std::optional<LearnerMessage> ActorEndpoint::Receive(milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  while (true) {
    if (WaitReadable(impl_->control, TimeLeft(deadline))) {
      std::vector<zmq::message_t> frames = ReceiveFrames(impl_->control, kMaxLearnerFrames);
      if (std::optional<LearnerMessage> message = DecodeLearnerMessage(Views(frames))) return message;
    }
    if (Clock::now() >= deadline) return std::nullopt;
  }
}

std::vector<size_t> ActorEndpoint::WaitForAny(std::span<ActorEndpoint* const> endpoints, milliseconds timeout) {
  std::vector<zmq::pollitem_t> items;
  items.reserve(endpoints.size());
  for (ActorEndpoint* const endpoint : endpoints) {
    items.push_back({endpoint->impl_->control.handle(), 0, ZMQ_POLLIN, 0});
  }
  PollReadable(items, timeout);
  std::vector<size_t> readable;
  for (size_t i = 0; i < items.size(); ++i) {
    if ((items[i].revents & ZMQ_POLLIN) != 0) readable.push_back(i);
  }
  return readable;
}

struct TrajectorySocket::Impl {
  explicit Impl(zmq::context_t* shared)
      : own(MakeOwn(shared)), socket(shared != nullptr ? *shared : *own, zmq::socket_type::dealer) {}

  std::optional<zmq::context_t> own;  // Without a shared one.
  zmq::socket_t socket;
};

TrajectorySocket::TrajectorySocket(const std::string& address, int queue, const std::optional<ActorKeys>& keys,
                                   SharedNetwork* network)
    : impl_(std::make_unique<Impl>(network != nullptr ? &network->impl_->context : nullptr)) {
  EMPLACE_CHECK(queue > 0);
  if (keys) SetKeys(impl_->socket, *keys);
  SetLimits(impl_->socket, queue, kMaxActorControlBytes);
  SetTrajectoryBuffers(impl_->socket);
  impl_->socket.set(zmq::sockopt::linger, 0);
  impl_->socket.connect(ParseAddress(address, keys.has_value()).text());
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
  if (impl_->own) impl_->own->close();  // Returns when all is sent or the time is over.
}

}  // namespace emplace
