#include "common/wire/rank_endpoint.h"

#include <array>
#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include "common/error.h"
#include "common/strings.h"
#include "common/wire/access/guarded_socket.h"
#include "common/wire/access/handshake_monitor.h"
#include "common/wire/access/zap_handler.h"
#include "common/wire/address.h"
#include "common/wire/messages/rank_codec.h"
#include "common/wire/sockets.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// Far above the steps of the smallest policy.
constexpr PeerGuard::Limits kRankLimits = {.messages_per_s = 50'000, .burst = 100'000};
constexpr int kRankQueue = 1000;               // Messages that may wait on either side.
constexpr milliseconds kRoomPatience(30'000);  // For a peer whose queue is full.
constexpr milliseconds kLookAgain(1);
constexpr size_t kMaxLeaderFrames = kMaxArrays + 2;  // Of a LeaderMessage.
// A rank that is gone ends the run, so that short holes in the network are waited for. A host that does not answer the
// kernel for so long has vanished.
constexpr KeepAlive kRankKeepAlive = {.idle_s = 30, .every_s = 10, .tries = 6};
constexpr int kUnsentMs = 90'000;

void SetRankLimits(zmq::socket_t& socket) {
  SetLimits(socket, kRankQueue, kMaxRankBytes);
  SetKeepAlive(socket, kRankKeepAlive);
  socket.set(zmq::sockopt::tcp_maxrt, kUnsentMs);
  socket.set(zmq::sockopt::linger, kFarewellMs);
}

enum class Sent { kYes, kNoRoom, kGone };

Sent TrySend(zmq::socket_t& socket, const PeerId& peer, std::span<zmq::message_t> frames) {
  const std::array<Frame, 1> first = {peer};
  try {
    return SendShared(socket, first, frames, zmq::send_flags::dontwait) ? Sent::kYes : Sent::kNoRoom;
  } catch (const zmq::error_t& error) {
    if (error.num() == EHOSTUNREACH) return Sent::kGone;
    throw;
  }
}

}  // namespace

struct LeaderEndpoint::Impl {
  Impl(const NetworkOptions& options, std::string bound)
      : keys(context, options.keys->actors), socket(context, kRankLimits, kMaxRankArrays + 2), host(std::move(bound)) {}

  zmq::context_t context{1};
  ZapHandler keys;
  GuardedSocket socket;
  std::string host;  // That others are told.
  uint16_t port = 0;
};

LeaderEndpoint::LeaderEndpoint(const NetworkOptions& options) {
  EMPLACE_CHECK(options.keys.has_value());
  const std::string host = CheckedBind(options);
  impl_ = std::make_unique<Impl>(options, AdvertisedHost(options, host));
  zmq::socket_t& socket = impl_->socket.socket();
  SetKeys(socket, *options.keys);
  SetRankLimits(socket);
  socket.set(zmq::sockopt::router_mandatory, true);  // A message to one who is gone is an error, and so found out.
  impl_->port = Bind(socket, host, options.port);
}

LeaderEndpoint::~LeaderEndpoint() = default;

std::string LeaderEndpoint::address() const { return TcpAddress{impl_->host, impl_->port}.text(); }

std::optional<FromRank> LeaderEndpoint::Receive(milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  while (true) {
    if (WaitReadable(impl_->socket.socket(), TimeLeft(deadline))) {
      std::vector<zmq::message_t> frames = impl_->socket.Receive(&impl_->keys);
      if (!frames.empty()) {
        FromRank received{frames[0].to_string(), DecodeRankMessage(Views(std::span(frames).subspan(1)))};
        if (!received.message) impl_->socket.Blame(frames, &impl_->keys);
        return received;
      }
    }
    if (Clock::now() >= deadline) return std::nullopt;
  }
}

std::optional<size_t> LeaderEndpoint::Send(std::span<const PeerId> peers, const LeaderMessage& message) {
  const std::vector<Frame> encoded = Encode(message);
  std::vector<zmq::message_t> frames;
  frames.reserve(encoded.size());
  for (const Frame& frame : encoded) frames.emplace_back(frame.data(), frame.size());
  const bool may_be_left_out = std::holds_alternative<RankPing>(message);
  for (size_t i = 0; i < peers.size(); ++i) {
    const Clock::time_point deadline = Clock::now() + kRoomPatience;
    Sent sent = TrySend(impl_->socket.socket(), peers[i], frames);
    while (sent == Sent::kNoRoom && !may_be_left_out && Clock::now() < deadline) {
      std::this_thread::sleep_for(kLookAgain);
      sent = TrySend(impl_->socket.socket(), peers[i], frames);
    }
    if (sent == Sent::kGone || (sent == Sent::kNoRoom && !may_be_left_out)) return i;
  }
  return std::nullopt;
}

struct RankEndpoint::Impl {
  explicit Impl(const std::string& leader)
      : address(ParseAddress(leader, /*encrypted=*/true)), monitor(context, socket, address, /*encrypted=*/true) {}

  TcpAddress address;
  zmq::context_t context{1};
  zmq::socket_t socket{context, zmq::socket_type::dealer};
  HandshakeMonitor monitor;
  int64_t malformed = 0;

  bool Connected() { return monitor.Connected() && !monitor.Lost(); }
};

RankEndpoint::RankEndpoint(const std::string& leader, const ActorKeys& keys) : impl_(std::make_unique<Impl>(leader)) {
  SetKeys(impl_->socket, keys);
  SetRankLimits(impl_->socket);
  impl_->socket.connect(impl_->address.text());
}

RankEndpoint::~RankEndpoint() = default;

bool RankEndpoint::Send(const RankMessage& message, milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  const std::vector<Frame> frames = Encode(message);
  while (!impl_->Connected() || !SendFrames(impl_->socket, frames, zmq::send_flags::dontwait)) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

std::optional<LeaderMessage> RankEndpoint::Receive(milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  while (true) {
    if (WaitReadable(impl_->socket, TimeLeft(deadline))) {
      std::vector<zmq::message_t> frames = ReceiveFrames(impl_->socket, kMaxLeaderFrames);
      if (std::optional<LeaderMessage> message = DecodeLeaderMessage(Views(frames))) return message;
      if (!frames.empty()) ++impl_->malformed;
    }
    if (Clock::now() >= deadline) return std::nullopt;
  }
}

int64_t RankEndpoint::malformed() const { return impl_->malformed; }

std::optional<std::string> RankEndpoint::Problem() {
  if (const std::optional<KeyProblem> problem = impl_->monitor.Next()) {
    return StrCat("the learner at ", impl_->address.text(), " refuses it: ", problem->why);
  }
  if (impl_->monitor.Lost()) return StrCat("the learner at ", impl_->address.text(), " is gone");
  return std::nullopt;
}

}  // namespace emplace
