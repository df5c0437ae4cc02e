// An actor's ZeroMQ sockets behind messages.h, typed. Each belongs to the one thread that made it.
// What arrives malformed is dropped, never thrown.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "common/wire/keys.h"
#include "common/wire/messages.h"

namespace emplace {

// What endpoints of one process can share: a thread for their connections. An actor has its own; a thousand in one
// process would have as many threads. Its end waits until what its closed sockets still have to send has left, or their
// time is over. REQUIRES: it outlives its endpoints, all on one thread.
class SharedNetwork {
 public:
  explicit SharedNetwork(int sockets);  // At most; an ActorEndpoint has two.
  ~SharedNetwork();

 private:
  friend class ActorEndpoint;
  friend class TrajectorySocket;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Why a learner does not talk to an actor.
struct KeyProblem {
  std::string why;     // For people.
  bool final = false;  // Else it may yet: a relay whose learner is away ends handshakes too.
};

// The control and notices side of an actor.
class ActorEndpoint {
 public:
  // Throws BadInput for a bad address, and for one beyond the loopback network without keys.
  explicit ActorEndpoint(const std::string& control_address, std::optional<ActorKeys> keys = {},
                         SharedNetwork* network = nullptr);  // nullptr: a network of its own.
  ~ActorEndpoint();
  // The learner's host is the one that control is at, whatever a Welcome says: it may know itself by another name.
  std::string OnLearnersHost(const std::string& address) const;  // Throws BadInput for what is no address.
  void SubscribeNotices(const std::string& address);  // In place of the address before. Throws BadInput for a bad one.
  // False when the learner cannot be reached now; then nothing is sent, later neither.
  bool Send(const ActorMessage& message);
  // That keys keep this actor out, when that has shown since the last call; with a shared network nobody looks.
  std::optional<KeyProblem> NextKeyProblem();
  // Waits up to `timeout`. nullopt: nothing came.
  std::optional<std::variant<LearnerMessage, Notice>> Receive(std::chrono::milliseconds timeout);
  // Waits up to `timeout` until one of many has something to receive: their indices.
  static std::vector<size_t> WaitForAny(std::span<ActorEndpoint* const> endpoints, std::chrono::milliseconds timeout);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The side of an actor that sends trajectories.
class TrajectorySocket {
 public:
  TrajectorySocket(const std::string& address, int queue, const std::optional<ActorKeys>& keys = {},
                   SharedNetwork* network = nullptr);
  ~TrajectorySocket();
  // False when the queue stayed full for `timeout`.
  bool Send(const Trajectory& trajectory, std::chrono::milliseconds timeout);
  // Waits up to `timeout` for what is queued to leave, then closes. With a shared network, closes at once: that
  // network's end waits.
  void Close(std::chrono::milliseconds timeout);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
