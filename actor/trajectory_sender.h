// A bounded queue of trajectories and the thread that sends them to the learner.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "common/threads/mutex.h"
#include "common/threads/queue.h"
#include "common/trajectory.h"
#include "common/wire/actor_endpoint.h"

namespace emplace {

// Offer and Drain are for one thread, the one that makes trajectories. Any thread may call SetLearner.
class TrajectorySender {
 public:
  // `queue` is the most trajectories that wait.
  explicit TrajectorySender(size_t queue, std::optional<ActorKeys> keys = {});
  ~TrajectorySender();  // Drops the trajectories that are not sent yet; call Drain first to keep them.

  // Sets the address to which trajectories go from now on, also those in the queue, and the id by which the learner
  // there knows this actor. Until the first call all trajectories wait. REQUIRES: the address is valid.
  void SetLearner(const std::string& address, uint32_t actor_id);

  // Puts the trajectory into the queue; waits for room for at most `timeout`. Returns false when there was no room; the
  // trajectory is then unchanged. Throws RunFailed when the thread that sends has failed.
  bool Offer(Trajectory&& trajectory, std::chrono::milliseconds timeout);

  // Closes the queue and waits for at most `timeout` until all queued trajectories are sent. Returns false when some
  // are not.
  bool Drain(std::chrono::milliseconds timeout);

 private:
  void Run(const std::stop_token& stop);
  void SendAll(const std::stop_token& stop);
  uint32_t FollowLearner();

  const std::optional<ActorKeys> keys_;
  BoundedQueue<Trajectory> queue_;
  Mutex mu_;
  std::string address_ EMPLACE_GUARDED_BY(mu_);  // Empty: the learner is not known yet.
  uint32_t actor_id_ EMPLACE_GUARDED_BY(mu_) = 0;
  std::chrono::steady_clock::time_point drain_deadline_ EMPLACE_GUARDED_BY(mu_);  // Read once the queue is closed.
  bool all_sent_ EMPLACE_GUARDED_BY(mu_) = false;
  std::string failure_ EMPLACE_GUARDED_BY(mu_);  // Why the thread has ended; empty: it has not failed.

  // Used by the thread alone:
  std::optional<TrajectorySocket> socket_;
  std::string connected_to_;

  std::jthread thread_;  // The last member, so that it stops before the members that it uses are destroyed.
};

}  // namespace emplace
