// The learner's ZeroMQ sockets, which send and receive the structs of messages.h. An object belongs to the thread that
// made it. A malformed message is counted and dropped, so a peer cannot end the run. A peer that sends too many
// messages, or too many that make no sense, is cut off (peer_guard.h).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "common/wire/messages/messages.h"
#include "common/wire/network_options.h"

namespace emplace {

// Names the connection that a message came from. It is opaque, and valid while that actor is connected.
using PeerId = std::string;
struct FromActor {
  PeerId peer;
  std::string key;  // The sender's public key, in Z85; empty in a run without keys.
  ActorMessage message;
};
struct SentTrajectory {
  PeerId peer;      // On the trajectories socket; on the control socket the actor has another PeerId.
  std::string key;  // As above.
  Trajectory trajectory;
};

// A message to many actors that is encoded once. All connections share its bytes, so weights for a thousand actors take
// the memory of those for one. It belongs to the thread of the endpoint that sends it.
class SharedMessage {
 public:
  explicit SharedMessage(const LearnerMessage& message);
  ~SharedMessage();

 private:
  friend class LearnerEndpoint;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class LearnerEndpoint {
 public:
  // Binds both sockets. Throws BadInput for an address that may not be bound, and RunFailed when a port is taken.
  explicit LearnerEndpoint(const NetworkOptions& options);
  ~LearnerEndpoint();

  std::string control_address() const;  // "tcp://127.0.0.1:40000"
  std::string trajectories_address() const;

  // Waits up to `timeout` for a message. nullopt: none came. accept_trajectories = false reads control messages only,
  // so that actors have to wait while the learner's buffer is full.
  std::optional<std::variant<FromActor, SentTrajectory>> Receive(std::chrono::milliseconds timeout,
                                                                 bool accept_trajectories);
  // Waits up to `timeout` until there is something to receive.
  void Wait(std::chrono::milliseconds timeout);
  // Both drop the message when the peer is gone.
  void Send(const PeerId& peer, const LearnerMessage& message);
  void Send(const PeerId& peer, const SharedMessage& message);
  // Sends a Welcome that names this actor in place of the one that it was encoded with.
  void SendWelcome(const PeerId& peer, const SharedMessage& welcome, const ActorKey& actor);
  // Counts the last trajectory of this peer, which was unsound, as one that could not be decoded.
  void Blame(const SentTrajectory& sent);
  // Counts an earlier trajectory of this peer, which has turned out to be false, like that.
  void Accuse(const PeerId& peer);

  // Counts since the start.
  struct Counts {
    int64_t malformed = 0;  // Messages dropped as undecodable.
    int64_t ignored = 0;    // Messages over the rate, or of peers that were cut off.
    int64_t cut_off = 0;    // Connections that were cut off.
    int64_t refused = 0;    // Handshakes without a key that is let in.
  };
  Counts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
