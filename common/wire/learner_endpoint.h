// The learner's ZeroMQ sockets behind messages.h, typed. An endpoint belongs to the one thread that made it.
// What arrives malformed is counted and dropped, never thrown: a peer cannot end the run. One that sends rubbish, or
// more than it may, is cut off (peer_guard.h).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "common/wire/keys.h"
#include "common/wire/messages.h"

namespace emplace {

struct NetworkOptions {
  std::string bind = "127.0.0.1";   // IPv4; 0.0.0.0: all of this machine's. Beyond loopback only with keys.
  std::string advertise;            // The host that others are told; empty: `bind`, or for 0.0.0.0 this machine's name.
  int port = 0;                     // Control; trajectories and notices have the next two. 0: any free ones.
  int trajectory_queue = 8;         // Of the trajectories socket, for each actor.
  std::optional<LearnerKeys> keys;  // nullopt: nothing is encrypted, and anyone on this machine may come.
};

// Which connection a message came from; opaque, valid while that actor is connected.
using PeerId = std::string;
struct FromActor {
  PeerId peer;
  ActorMessage message;
};
struct SentTrajectory {
  PeerId peer;  // On the trajectories socket: another than on control.
  Trajectory trajectory;
};

// A message for many, encoded once: all that it is sent to share its bytes, so that weights for a thousand actors take
// the memory of one. For the thread of the endpoint that sends it.
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
  // Throws BadInput for an address that may not be bound, RunFailed when a port is taken.
  explicit LearnerEndpoint(const NetworkOptions& options);
  ~LearnerEndpoint();

  std::string control_address() const;  // "tcp://127.0.0.1:40000"
  std::string trajectories_address() const;
  std::string notices_address() const;

  // Waits up to `timeout` for a message. With accept_trajectories false only control messages are read, so that a full
  // buffer pushes back on the actors. nullopt: nothing came.
  std::optional<std::variant<FromActor, SentTrajectory>> Receive(std::chrono::milliseconds timeout,
                                                                 bool accept_trajectories);
  // Waits up to `timeout` until there is something to receive.
  void Wait(std::chrono::milliseconds timeout);
  void Send(const PeerId& peer, const LearnerMessage& message);  // Dropped when the peer is gone.
  void Send(const PeerId& peer, const SharedMessage& message);
  void SendWelcome(const PeerId& peer, const SharedMessage& welcome, const ActorKey& actor);  // With this key in it.
  void Announce(const Notice& notice);
  // The last trajectory of this peer was unsound: as bad as one that cannot be decoded.
  void Blame(const SentTrajectory& sent);

  // Since the start.
  struct Counts {
    int64_t malformed = 0;  // Messages dropped as undecodable.
    int64_t ignored = 0;    // Messages over the rate, or of peers that were cut off.
    int64_t cut_off = 0;    // Connections.
    int64_t refused = 0;    // Handshakes without a key that is let in.
  };
  Counts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
