// An actor's ZeroMQ sockets, which send and receive the structs of messages.h. An object belongs to the thread that
// made it. A malformed message is dropped and throws nothing.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/wire/access/keys.h"
#include "common/wire/messages/messages.h"

namespace emplace {

// A network thread that the endpoints of one process share. An endpoint without it has a network thread of its own, so
// a thousand actors in one process would have a thousand. The destructor waits until closed sockets have sent their
// queued messages, or their time is over. REQUIRES: it outlives its endpoints, which are all on one thread.
class SharedNetwork {
 public:
  // `sockets`: the largest number of sockets; an ActorEndpoint has one, and so has a TrajectorySocket.
  explicit SharedNetwork(int sockets);
  ~SharedNetwork();

 private:
  friend class ActorEndpoint;
  friend class TrajectorySocket;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Why a learner does not talk to an actor.
struct KeyProblem {
  std::string why;     // The reason as a sentence for people.
  bool final = false;  // false: trying again may help, since a relay whose learner is away ends handshakes too.
};

// An actor's connection for control messages.
class ActorEndpoint {
 public:
  // Throws BadInput for a bad address, and for an address beyond the loopback network without keys. network: nullptr
  // gives the endpoint a network thread of its own.
  explicit ActorEndpoint(const std::string& control_address, std::optional<ActorKeys> keys = {},
                         SharedNetwork* network = nullptr);
  ~ActorEndpoint();
  // Returns the address with the host of the control address in place of its own: a Welcome may name the learner's host
  // by a name that this machine does not know. Throws BadInput for a bad address.
  std::string OnLearnersHost(const std::string& address) const;
  // Returns false when the learner cannot be reached now; the message is then not sent later either.
  bool Send(const ActorMessage& message);
  // Says why keys keep this actor out, if that was found since the last call. Always nullopt with a shared network.
  std::optional<KeyProblem> NextKeyProblem();
  // Waits up to `timeout` for a message. nullopt: none came.
  std::optional<LearnerMessage> Receive(std::chrono::milliseconds timeout);
  // Waits up to `timeout` until an endpoint has something to receive. Returns the indices of all that have.
  static std::vector<size_t> WaitForAny(std::span<ActorEndpoint* const> endpoints, std::chrono::milliseconds timeout);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// An actor's connection for trajectories.
class TrajectorySocket {
 public:
  // queue: how many trajectories may wait in the socket. The other parameters and errors are as above.
  TrajectorySocket(const std::string& address, int queue, const std::optional<ActorKeys>& keys = {},
                   SharedNetwork* network = nullptr);
  ~TrajectorySocket();
  // Returns false when the queue stayed full for `timeout`; then nothing is sent.
  bool Send(const Trajectory& trajectory, std::chrono::milliseconds timeout);
  // Waits up to `timeout` until the queued trajectories are sent, then closes. With a shared network it closes at once,
  // and the network's destructor waits.
  void Close(std::chrono::milliseconds timeout);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
