#include "common/wire/actor_endpoint.h"

#include <utility>

#include "common/error.h"
#include "common/wire/address.h"
#include "common/wire/codec.h"
#include "common/wire/sockets.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr size_t kMaxFrames = kMaxArrays + 2;  // Of a LearnerMessage.

}  // namespace

struct ActorEndpoint::Impl {
  zmq::context_t context{1};
  zmq::socket_t control{context, zmq::socket_type::dealer};
  zmq::socket_t notices{context, zmq::socket_type::sub};
  bool encrypted = false;
  TcpAddress learner;
  std::string notices_address;  // Empty: not subscribed yet.
};

ActorEndpoint::ActorEndpoint(const std::string& control_address, std::optional<ActorKeys> keys)
    : impl_(std::make_unique<Impl>()) {
  impl_->encrypted = keys.has_value();
  impl_->learner = ParseAddress(control_address, impl_->encrypted);
  if (keys) {
    SetKeys(impl_->control, *keys);
    SetKeys(impl_->notices, *keys);
  }
  SetLimits(impl_->control, kControlQueue, kMaxLearnerControlBytes);
  // Nothing waits for a learner that is away: by the time it returns, an old heartbeat would say what is not so.
  impl_->control.set(zmq::sockopt::immediate, true);
  impl_->control.set(zmq::sockopt::linger, kFarewellMs);
  impl_->control.connect(impl_->learner.text());
  SetLimits(impl_->notices, kControlQueue, kMaxActorControlBytes);
  impl_->notices.set(zmq::sockopt::linger, 0);
  impl_->notices.set(zmq::sockopt::subscribe, "");
}

ActorEndpoint::~ActorEndpoint() = default;

std::string ActorEndpoint::OnLearnersHost(const std::string& address) const {
  return TcpAddress{impl_->learner.host, ParseAddress(address, /*encrypted=*/true).port}.text();
}

void ActorEndpoint::SubscribeNotices(const std::string& address) {
  const std::string checked = ParseAddress(address, impl_->encrypted).text();
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
    const auto [control, notice] = WaitReadable(impl_->control, impl_->notices, true, TimeLeft(deadline));
    if (control) {
      std::vector<zmq::message_t> frames = ReceiveFrames(impl_->control, kMaxFrames);
      if (std::optional<LearnerMessage> message = DecodeLearnerMessage(Views(frames))) return *std::move(message);
    }
    if (notice) {
      std::vector<zmq::message_t> frames = ReceiveFrames(impl_->notices, kMaxFrames);
      if (std::optional<Notice> received = DecodeNotice(Views(frames))) return *received;
    }
    if (Clock::now() >= deadline) return std::nullopt;
  }
}

struct TrajectorySocket::Impl {
  zmq::context_t context{1};
  zmq::socket_t socket{context, zmq::socket_type::dealer};
};

TrajectorySocket::TrajectorySocket(const std::string& address, int queue, const std::optional<ActorKeys>& keys)
    : impl_(std::make_unique<Impl>()) {
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
  impl_->context.close();  // Returns when all is sent or the time is over.
}

}  // namespace emplace
