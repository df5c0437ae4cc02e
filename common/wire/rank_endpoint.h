// The ZeroMQ sockets by which the ranks of a learner talk: one of the leader, rank 0, and one of each other rank.
// Everything is encrypted, also on one machine, so that only ranks of this run are heard. A connection that ends is not
// made again: its rank, or the leader, counts as gone. An object may be handed from thread to thread, but is for one at
// a time.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/wire/access/keys.h"
#include "common/wire/learner_endpoint.h"
#include "common/wire/messages/messages.h"

namespace emplace {

struct FromRank {
  PeerId peer;
  std::optional<RankMessage> message;  // nullopt: it made no sense.
};

class LeaderEndpoint {
 public:
  // Binds the socket. REQUIRES: options.keys; options.trajectory_queue has no meaning here. Throws as LearnerEndpoint
  // does.
  explicit LeaderEndpoint(const NetworkOptions& options);
  ~LeaderEndpoint();

  std::string address() const;  // "tcp://127.0.0.1:40002"

  // Waits up to `timeout` for a message. nullopt: none came.
  std::optional<FromRank> Receive(std::chrono::milliseconds timeout);
  // Sends the message, encoded once, to each of the peers. Returns the index of the first that is gone; nullopt: all
  // are there. A peer without room for it counts as gone after a while, but a RankPing is left out then.
  std::optional<size_t> Send(std::span<const PeerId> peers, const LeaderMessage& message);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class RankEndpoint {
 public:
  // Connects to the leader. Throws BadInput for a bad address.
  RankEndpoint(const std::string& leader, const ActorKeys& keys);
  ~RankEndpoint();

  // Waits up to `timeout` for room. Returns whether the message was taken.
  bool Send(const RankMessage& message, std::chrono::milliseconds timeout);
  // Waits up to `timeout` for a message. nullopt: none came.
  std::optional<LeaderMessage> Receive(std::chrono::milliseconds timeout);

  int64_t malformed() const;  // Messages that made no sense, since the start.
  // Why there is no leader to talk to, as a sentence for people; nullopt: there is one, or it may still answer.
  std::optional<std::string> Problem();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace emplace
