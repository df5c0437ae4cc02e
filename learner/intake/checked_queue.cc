#include "learner/intake/checked_queue.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "common/error.h"
#include "common/strings.h"
#include "common/threads/pausing_work.h"

namespace emplace {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

void CheckedQueue::Reject(const Trajectory& trajectory, const std::string& reason) {
  rejections_.Warn(
      StrCat("episode ", trajectory.sequence, " of ", ActorName(trajectory.actor), " is rejected: ", reason));
  ledger_.CountRejected(trajectory.actor);
}

void CheckedQueue::RejectFalse(const Trajectory& trajectory, const std::string& reason, std::string sender) {
  Reject(trajectory, reason);
  const MutexLock lock(mu_);
  if (!sender.empty()) accused_.push_back(std::move(sender));
}

CheckedQueue::CheckedQueue(const EpisodeRules& rules, const Options& options, Ledger& ledger, StageClock& clock)
    : rules_(rules), options_(options), ledger_(ledger), clock_(clock), unchecked_(items_.end()) {
  EMPLACE_CHECK(options.capacity > 0 && options.threads > 0);
  clock_.SetThreads(static_cast<int>(options.threads));
  for (size_t i = 0; i < options.threads; ++i) threads_.emplace_back([this] { Run(); });
}

CheckedQueue::~CheckedQueue() { Close(); }

bool CheckedQueue::Push(Trajectory&& trajectory, std::string sender, bool measured_again) {
  const MutexLock lock(mu_);
  if (closed_ || items_.size() >= options_.capacity) return false;
  const Proof proof = trajectory.claim == Claim::kSimulated ? Proof::kSimulated
                      : measured_again                      ? Proof::kMeasuredAgain
                                                            : Proof::kUnverified;
  items_.push_back({.sender = std::move(sender), .episode = {.trajectory = std::move(trajectory), .proof = proof}});
  if (unchecked_ == items_.end()) --unchecked_;
  arrived_.NotifyOne();
  return true;
}

bool CheckedQueue::HasRoom(std::chrono::milliseconds timeout) const {
  const Clock::time_point deadline = Clock::now() + timeout;
  const MutexLock lock(mu_);
  while (items_.size() >= options_.capacity) {
    if (timeout.count() <= 0 || !room_.WaitUntil(mu_, deadline)) break;
  }
  return items_.size() < options_.capacity;
}

std::optional<Episode> CheckedQueue::Pop(std::chrono::milliseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  const MutexLock lock(mu_);
  while (!finished_ && (items_.empty() || !items_.front().sound)) {
    if (timeout.count() <= 0 || !ready_.WaitUntil(mu_, deadline)) break;
  }
  if (!failure_.empty()) throw RunFailed(failure_);
  if (items_.empty() || !items_.front().sound) return std::nullopt;
  std::optional<Episode> episode(std::move(items_.front().episode));
  items_.pop_front();
  room_.NotifyOne();
  return episode;
}

std::vector<std::string> CheckedQueue::TakeAccused() {
  const MutexLock lock(mu_);
  return std::exchange(accused_, {});
}

void CheckedQueue::Close() {
  {
    const MutexLock lock(mu_);
    closed_ = true;
    arrived_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  const MutexLock lock(mu_);
  finished_ = true;
  ready_.NotifyAll();
}

CheckedQueue::Counts CheckedQueue::counts() const {
  const MutexLock lock(mu_);
  return counts_;
}

void CheckedQueue::Run() {
  pthread_setname_np(pthread_self(), "checks");  // For profilers and top.
  try {
    CheckAll(*rules_.MakeChecker());
  } catch (const std::exception& error) {
    const MutexLock lock(mu_);
    failure_ = StrCat("check of trajectories: ", error.what());
    closed_ = true;
    finished_ = true;
    arrived_.NotifyAll();
    ready_.NotifyAll();  // Whoever waits for an episode learns at once.
  }
}

void CheckedQueue::CheckAll(EpisodeChecker& checker) {
  static const std::atomic<bool> never = false;
  PausingWork pausing(options_.measuring != nullptr ? *options_.measuring : never);
  while (true) {
    Items::iterator item;
    {
      const MutexLock lock(mu_);
      while (!closed_ && unchecked_ == items_.end()) arrived_.Wait(mu_);
      if (unchecked_ == items_.end()) return;
      item = unchecked_++;
    }
    const PausingWork::Unit unit(pausing);
    const StageWork work(clock_);
    // Until it is sound, nobody else touches the item.
    const EpisodeWorth worth = checker.Check(item->episode.trajectory);
    if (worth.reason) Reject(item->episode.trajectory, *worth.reason);
    const MutexLock lock(mu_);
    if (worth.reason) {
      if (!item->sender.empty()) accused_.push_back(std::move(item->sender));
      items_.erase(item);
      room_.NotifyOne();
    } else {
      MarkSound(*item, worth);
    }
    if (!items_.empty() && items_.front().sound) ready_.NotifyOne();
  }
}

void CheckedQueue::MarkSound(Item& item, const EpisodeWorth& worth) {
  Episode& episode = item.episode;
  episode.ratio = worth.ratio;
  episode.feasible = worth.feasible;
  episode.measured_ratio = worth.measured_ratio;
  if (episode.proof != Proof::kSimulated) {
    ledger_.CountMeasured(episode.trajectory.actor, episode.proof == Proof::kMeasuredAgain);
  }
  item.sound = true;
  ++counts_.episodes;
  counts_.steps += std::ssize(episode.trajectory.actions);
}

}  // namespace emplace
