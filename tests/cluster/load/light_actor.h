// An actor that speaks the whole protocol but plays no episodes. It says Hello until a Welcome comes, sends heartbeats,
// fetches each new version of the weights, sends episodes that were played elsewhere, and says Goodbye. It has no
// thread, so that one thread can run a thousand of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "actor/session.h"
#include "common/trajectory.h"
#include "common/wire/actor_endpoint.h"

namespace emplace::load {

using Clock = std::chrono::steady_clock;

// Is told of the messages that light actors receive.
class ActorObserver {
 public:
  virtual ~ActorObserver() = default;
  virtual void OnNotice(PolicyVersion version) = 0;
  virtual void OnWeights(const std::string& actor, const WeightsReply& weights) = 0;
};

class LightActor {
 public:
  // REQUIRES: networks and observer outlive the actor.
  LightActor(const std::string& learner, std::string name, const std::optional<ActorKeys>& keys, SharedNetwork& control,
             SharedNetwork& trajectories, ActorObserver& observer);

  ActorEndpoint& endpoint() { return endpoint_; }
  const std::string& name() const { return name_; }
  const std::optional<Welcome>& welcome() const { return welcome_; }
  void ForgetGraphs() { welcome_->tasks = {}; }        // Frees the memory of graphs that nobody needs.
  bool ready() const { return version_.has_value(); }  // Has a Welcome and weights.
  bool told_to_stop() const { return told_to_stop_; }
  uint64_t produced() const { return produced_; }

  void SendDue(Clock::time_point now);  // Sends the messages that are due.
  // Receives all messages that have come. Throws RunFailed when the learner refuses the actor or weights are damaged.
  void ReceiveAll();
  // Sends the episode as the actor's next one, as if played with its newest weights. Returns false when its queue is
  // full. REQUIRES: ready().
  bool Send(Trajectory& episode);
  void CloseTrajectories(std::chrono::milliseconds timeout);  // Then their network can be destroyed.
  void SayGoodbye();

 private:
  void Handle(const Notice& notice);
  void Handle(Welcome welcome);
  void Handle(const WeightsReply& reply);
  void Handle(const Work&) {}
  void Handle(const MeasureRequest&) {}
  void Handle(const Refusal& refusal);
  void Handle(const Stop&) { told_to_stop_ = true; }
  void Want(PolicyVersion version);

  const std::string name_;
  const uint64_t nonce_;
  const std::optional<ActorKeys> keys_;
  SharedNetwork& trajectories_network_;
  ActorObserver& observer_;
  ActorEndpoint endpoint_;
  std::optional<Welcome> welcome_;
  std::chrono::milliseconds heartbeat_{0};
  std::optional<TrajectorySocket> trajectories_;
  uint64_t produced_ = 0;
  std::optional<PolicyVersion> version_;
  PolicyVersion wanted_ = 0;
  bool told_to_stop_ = false;
  std::chrono::milliseconds hello_wait_;
  Clock::time_point next_hello_;
  Clock::time_point next_heartbeat_;
  Clock::time_point next_request_;
};

}  // namespace emplace::load
