// The ZeroMQ sockets behind messages.h, typed. Each endpoint belongs to the one thread that made it.
// What arrives malformed is counted and dropped, never thrown: a peer cannot end the run.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "common/wire/messages.h"

namespace emplace {

struct NetworkOptions {
  std::string bind = "127.0.0.1";  // Throws BadInput for anything but loopback: keys for the open network come later.
  int port = 0;                    // Control; 0: any free one.
  int trajectory_queue = 8;        // High-water mark of the PULL socket, trajectories of each actor.
};

// Which connection a control message came from; opaque, valid while that actor is connected.
using PeerId = std::string;
struct FromActor {
  PeerId peer;
  ActorMessage message;
};

class LearnerEndpoint {
 public:
  explicit LearnerEndpoint(const NetworkOptions& options);  // Throws RunFailed when a port is taken.
  ~LearnerEndpoint();

  std::string control_address() const;       // "tcp://127.0.0.1:40000"
  std::string trajectories_address() const;
  std::string notices_address() const;

  // Waits up to `timeout` for a message. With accept_trajectories false only control messages are read, so that a full
  // buffer pushes back on the actors. nullopt: nothing came.
  std::optional<std::variant<FromActor, Trajectory>> Receive(std::chrono::milliseconds timeout, bool accept_trajectories);
  // Waits up to `timeout` until there is something to receive.
  void Wait(std::chrono::milliseconds timeout);
  void Send(const PeerId& peer, const LearnerMessage& message);  // Dropped when the peer is gone.
  void Announce(const Notice& notice);
  int64_t malformed() const;  // Messages dropped as undecodable so far.

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The control and notices side of an actor.
class ActorEndpoint {
 public:
  explicit ActorEndpoint(const std::string& control_address);  // Throws BadInput for a bad address.
  ~ActorEndpoint();
  void SubscribeNotices(const std::string& address);  // In place of the address before. Throws BadInput for a bad one.
  // False when the learner cannot be reached now; then nothing is sent, later neither.
  bool Send(const ActorMessage& message);
  // Waits up to `timeout`. nullopt: nothing came.
  std::optional<std::variant<LearnerMessage, Notice>> Receive(std::chrono::milliseconds timeout);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The pushing side of an actor.
class TrajectorySocket {
 public:
  TrajectorySocket(const std::string& address, int queue);
  ~TrajectorySocket();
  // False when the queue stayed full for `timeout`.
  bool Send(const Trajectory& trajectory, std::chrono::milliseconds timeout);
  // Waits up to `timeout` for what is queued to leave, then closes.
  void Close(std::chrono::milliseconds timeout);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
