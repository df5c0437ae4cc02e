// A bounded queue of trajectories and the thread that sends them to the learner.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "common/mutex.h"
#include "common/queue.h"
#include "common/trajectory.h"
#include "common/wire/actor_endpoint.h"

namespace emplace {

// Offer and Drain are for one thread, the one that makes trajectories; SetAddress is for any.
class TrajectorySender {
 public:
  explicit TrajectorySender(size_t queue, std::optional<ActorKeys> keys = {});  // Trajectories.
  ~TrajectorySender();  // Drops what has not been sent; Drain first.

  // Where the learner takes trajectories from now on, those that wait in the queue included, and the id that it knows
  // this actor by. Until the first call they all wait. REQUIRES: a valid address.
  void SetLearner(const std::string& address, uint32_t actor_id);

  // Puts it into the queue, waiting for room for at most `timeout`. False when there was none; it is then untouched.
  bool Offer(Trajectory&& trajectory, std::chrono::milliseconds timeout);

  // Takes no more and waits until what is queued has left, for at most `timeout`. False when some has not.
  bool Drain(std::chrono::milliseconds timeout);

 private:
  void Run(const std::stop_token& stop);
  uint32_t FollowLearner();

  const std::optional<ActorKeys> keys_;
  BoundedQueue<Trajectory> queue_;
  Mutex mu_;
  std::string address_ EMPLACE_GUARDED_BY(mu_);  // Empty: not known yet.
  uint32_t actor_id_ EMPLACE_GUARDED_BY(mu_) = 0;
  std::chrono::steady_clock::time_point drain_deadline_ EMPLACE_GUARDED_BY(mu_);  // Read once the queue is closed.
  bool all_sent_ EMPLACE_GUARDED_BY(mu_) = false;

  // Of the thread alone.
  std::optional<TrajectorySocket> socket_;
  std::string connected_to_;

  std::jthread thread_;  // Last: stops before what it uses goes.
};

}  // namespace emplace
