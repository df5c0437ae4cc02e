#include "common/wire/learner_endpoint.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/wire/access/guarded_socket.h"
#include "common/wire/access/peer_guard.h"
#include "common/wire/access/zap_handler.h"
#include "common/wire/address.h"
#include "common/wire/messages/control_codec.h"
#include "common/wire/messages/trajectory_codec.h"
#include "common/wire/sockets.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Far above what actors of today do: tiny graphs of two steps, on one core.
constexpr PeerGuard::Limits kTrajectoryLimits = {.messages_per_s = 50'000, .burst = 100'000};
constexpr PeerGuard::Limits kControlLimits = {};
// Of a message from an actor, with the one that ZeroMQ puts before it. None has more.
constexpr size_t kMostFrames = 8;

}  // namespace

struct SharedMessage::Impl {
  Frame header;
  std::vector<zmq::message_t> frames;  // After the header. Copies of them share their bytes.
};

SharedMessage::SharedMessage(const LearnerMessage& message) : impl_(std::make_unique<Impl>()) {
  std::vector<Frame> frames = Encode(message);
  impl_->header = std::move(frames[0]);
  for (size_t i = 1; i < frames.size(); ++i) impl_->frames.emplace_back(frames[i].data(), frames[i].size());
}

SharedMessage::~SharedMessage() = default;

struct LearnerEndpoint::Impl {
  zmq::context_t context{1};
  std::optional<ZapHandler> keys;  // Without it: nothing is encrypted.
  GuardedSocket control{context, kControlLimits, kMostFrames};
  GuardedSocket trajectories{context, kTrajectoryLimits, kMostFrames};
  std::string host;  // That others are told.
  uint16_t control_port = 0;
  uint16_t trajectories_port = 0;
  std::vector<zmq::message_t> last_trajectory;  // Its frames.
  int64_t malformed = 0;

  void Send(const PeerId& peer, const Frame& header, std::span<zmq::message_t> shared) {
    const std::array<Frame, 2> first = {peer, header};
    SendShared(control.socket(), first, shared, zmq::send_flags::dontwait);
  }

  ZapHandler* handler() { return keys ? &*keys : nullptr; }

  std::optional<FromActor> ReceiveControl() {
    std::vector<zmq::message_t> frames = control.Receive(handler());
    if (frames.empty()) return std::nullopt;
    std::optional<ActorMessage> message = DecodeActorMessage(Views(std::span(frames).subspan(1)));
    if (message) return FromActor{frames[0].to_string(), KeyOf(frames), *std::move(message)};
    ++malformed;
    control.Blame(frames, handler());
    return std::nullopt;
  }

  std::optional<SentTrajectory> ReceiveTrajectory() {
    std::vector<zmq::message_t> frames = trajectories.Receive(handler());
    if (frames.empty()) return std::nullopt;
    std::optional<Trajectory> trajectory = DecodeTrajectory(Views(std::span(frames).subspan(1)));
    last_trajectory = std::move(frames);
    if (trajectory) {
      return SentTrajectory{last_trajectory[0].to_string(), KeyOf(last_trajectory), *std::move(trajectory)};
    }
    ++malformed;
    trajectories.Blame(last_trajectory, handler());
    return std::nullopt;
  }
};

LearnerEndpoint::LearnerEndpoint(const NetworkOptions& options) : impl_(std::make_unique<Impl>()) {
  const std::string host = CheckedBind(options);
  EMPLACE_CHECK(options.trajectory_queue > 0);
  zmq::socket_t& control = impl_->control.socket();
  zmq::socket_t& trajectories = impl_->trajectories.socket();
  if (options.keys) {
    impl_->keys.emplace(impl_->context, options.keys->actors);
    for (zmq::socket_t* const socket : {&control, &trajectories}) SetKeys(*socket, *options.keys);
  }
  SetLimits(control, kControlQueue, kMaxActorControlBytes);
  control.set(zmq::sockopt::linger, kFarewellMs);
  SetLimits(trajectories, options.trajectory_queue, kMaxTrajectoryBytes);
  SetTrajectoryBuffers(trajectories);
  trajectories.set(zmq::sockopt::linger, 0);
  impl_->host = AdvertisedHost(options, host);
  impl_->control_port = Bind(control, host, options.port);
  impl_->trajectories_port = Bind(trajectories, host, options.port == 0 ? 0 : options.port + 1);
}

LearnerEndpoint::~LearnerEndpoint() = default;

std::string LearnerEndpoint::control_address() const { return TcpAddress{impl_->host, impl_->control_port}.text(); }
std::string LearnerEndpoint::trajectories_address() const {
  return TcpAddress{impl_->host, impl_->trajectories_port}.text();
}

LearnerEndpoint::Counts LearnerEndpoint::counts() const {
  const PeerGuard& control = impl_->control.guard();
  const PeerGuard& trajectories = impl_->trajectories.guard();
  return {.malformed = impl_->malformed,
          .ignored = control.ignored() + trajectories.ignored(),
          .cut_off = control.cut_off() + trajectories.cut_off(),
          .refused = impl_->keys ? impl_->keys->refused() : 0};
}

std::optional<std::variant<FromActor, SentTrajectory>> LearnerEndpoint::Receive(milliseconds timeout,
                                                                                bool accept_trajectories) {
  const Clock::time_point deadline = Clock::now() + timeout;
  while (true) {
    const auto [control, trajectory] =
        WaitReadable(impl_->control.socket(), impl_->trajectories.socket(), accept_trajectories, TimeLeft(deadline));
    if (control) {
      if (std::optional<FromActor> message = impl_->ReceiveControl()) return *std::move(message);
    }
    if (trajectory) {
      if (std::optional<SentTrajectory> received = impl_->ReceiveTrajectory()) return *std::move(received);
    }
    if (Clock::now() >= deadline) return std::nullopt;
  }
}

void LearnerEndpoint::Wait(milliseconds timeout) {
  WaitReadable(impl_->control.socket(), impl_->trajectories.socket(), /*second_too=*/true, timeout);
}

void LearnerEndpoint::Send(const PeerId& peer, const LearnerMessage& message) {
  std::vector<Frame> frames = Encode(message);
  frames.insert(frames.begin(), peer);
  SendFrames(impl_->control.socket(), frames, zmq::send_flags::dontwait);
}

void LearnerEndpoint::Send(const PeerId& peer, const SharedMessage& message) {
  impl_->Send(peer, message.impl_->header, message.impl_->frames);
}

void LearnerEndpoint::SendWelcome(const PeerId& peer, const SharedMessage& welcome, const ActorKey& actor) {
  impl_->Send(peer, WelcomeFor(actor, welcome.impl_->header), welcome.impl_->frames);
}

void LearnerEndpoint::Accuse(const PeerId& peer) { impl_->trajectories.Accuse(peer); }

void LearnerEndpoint::Blame(const SentTrajectory& sent) {
  EMPLACE_CHECK(!impl_->last_trajectory.empty() && impl_->last_trajectory[0].to_string() == sent.peer);
  impl_->trajectories.Blame(impl_->last_trajectory, impl_->handler());
}

}  // namespace emplace
