#include "actor/trajectory_sender.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// How soon the thread notices a new address or its end.
constexpr milliseconds kSendWait(50);
// Trajectories inside ZeroMQ: what a change of learners can lose, so few. Waiting is the queue's task.
constexpr int kSocketQueue = 4;

}  // namespace

TrajectorySender::TrajectorySender(size_t queue, std::optional<ActorKeys> keys)
    : keys_(std::move(keys)), queue_(queue), thread_([this](const std::stop_token& stop) { Run(stop); }) {}

TrajectorySender::~TrajectorySender() { queue_.Close(); }

void TrajectorySender::SetLearner(const std::string& address, uint32_t actor_id) {
  const MutexLock lock(mu_);
  address_ = address;
  actor_id_ = actor_id;
}

bool TrajectorySender::Offer(Trajectory&& trajectory, milliseconds timeout) {
  if (queue_.TryPush(std::move(trajectory), timeout)) return true;
  const MutexLock lock(mu_);
  if (!failure_.empty()) throw RunFailed(failure_);
  return false;
}

bool TrajectorySender::Drain(milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  {
    const MutexLock lock(mu_);
    drain_deadline_ = deadline;
  }
  queue_.Close();
  thread_.join();
  const MutexLock lock(mu_);
  return all_sent_;
}

// Connects to where the learner is now, and returns the id that it knows this actor by.
uint32_t TrajectorySender::FollowLearner() {
  const auto [address, actor_id] = [this] {
    const MutexLock lock(mu_);
    return std::pair(address_, actor_id_);
  }();
  if (address != connected_to_) {
    socket_.emplace(address, kSocketQueue, keys_);
    connected_to_ = address;
  }
  return actor_id;
}

void TrajectorySender::Run(const std::stop_token& stop) {
  try {
    SendAll(stop);
  } catch (const std::exception& error) {
    const MutexLock lock(mu_);
    failure_ = StrCat("trajectories cannot be sent: ", error.what());
    queue_.Close();  // Whoever waits for room learns at once.
  }
}

void TrajectorySender::SendAll(const std::stop_token& stop) {
  std::optional<Trajectory> next;
  const auto out_of_time = [&] {
    if (stop.stop_requested()) return true;
    if (!queue_.closed()) return false;
    const MutexLock lock(mu_);
    return Clock::now() >= drain_deadline_;
  };
  while (!out_of_time()) {
    if (!next) next = queue_.Pop(kSendWait);
    if (!next) {
      if (!queue_.closed()) continue;
      break;  // Closed and empty.
    }
    next->actor.actor_id = FollowLearner();
    if (!socket_) {
      std::this_thread::sleep_for(kSendWait);
    } else if (socket_->Send(*next, kSendWait)) {
      next.reset();
    }
  }
  const bool handed_over = !next && queue_.size() == 0;
  Clock::time_point deadline;
  {
    const MutexLock lock(mu_);
    deadline = drain_deadline_;
  }
  if (socket_) socket_->Close(std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - Clock::now())));
  const MutexLock lock(mu_);
  all_sent_ = handed_over && Clock::now() < deadline;
}

}  // namespace emplace
