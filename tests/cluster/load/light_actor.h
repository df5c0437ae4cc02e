// An actor that speaks the protocol and plays nothing: Hello until Welcome, heartbeats, weights whenever there are
// newer ones, episodes that somebody else played, Goodbye. It has no thread; a thousand of them fit into one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "actor/control_client.h"
#include "common/trajectory.h"
#include "common/wire/actor_endpoint.h"

namespace emplace::load {

using Clock = std::chrono::steady_clock;

// What an actor shows to whoever keeps the records.
class ActorObserver {
 public:
  virtual ~ActorObserver() = default;
  virtual void OnNotice(PolicyVersion version) = 0;  // A notice.
  virtual void OnWeights(const std::string& actor, const WeightsReply& weights) = 0;
};

class LightActor {
 public:
  // REQUIRES: networks and observer outlive it.
  LightActor(const std::string& learner, std::string name, const std::optional<ActorKeys>& keys, SharedNetwork& control,
             SharedNetwork& trajectories, ActorObserver& observer);

  ActorEndpoint& endpoint() { return endpoint_; }
  const std::string& name() const { return name_; }
  const std::optional<Welcome>& welcome() const { return welcome_; }
  void ForgetGraphs() { welcome_->tasks = {}; }        // When it is not the one that needs them.
  bool ready() const { return version_.has_value(); }  // Welcomed, and with weights.
  bool told_to_stop() const { return told_to_stop_; }
  uint64_t produced() const { return produced_; }

  void SendDue(Clock::time_point now);  // What is due.
  void ReceiveAll();  // All that has come. Throws RunFailed when it is refused, or weights are damaged.
  // Sends it as its next episode, with its newest weights. False: its queue is full. REQUIRES: ready.
  bool Send(Trajectory& episode);
  void CloseTrajectories(std::chrono::milliseconds timeout);  // Their network's end waits for them.
  void SayGoodbye();

 private:
  void Handle(const Notice& notice);
  void Handle(Welcome welcome);
  void Handle(const HeartbeatReply& reply);
  void Handle(const WeightsReply& reply);
  void Handle(const Work&) {}
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
