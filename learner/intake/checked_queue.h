// The queue between the front end and the batch stage. Trajectories whose shape is checked go in. Threads of the queue
// check their rewards (episode_rules.h), and episodes whose claims are true come out, in the same order. So the
// receiving thread does nothing that takes long, and updates are computed while the next episodes are checked.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/threads/mutex.h"
#include "common/threads/warning_limit.h"
#include "common/trajectory.h"
#include "learner/intake/episode.h"
#include "learner/intake/episode_rules.h"
#include "learner/ledger.h"
#include "learner/stage_clock.h"

namespace emplace {

// Any thread may call any function, but Close and the destructor are for one thread.
class CheckedQueue {
 public:
  struct Counts {
    int64_t episodes = 0;  // Episodes that have passed the check.
    int64_t steps = 0;     // Steps of these episodes.
  };
  struct Options {
    size_t capacity = 1;  // The most trajectories in the queue, those being checked included.
    size_t threads = 1;   // Number of checking threads; each has a checker of its own.
    // Whether actors measure on hardware: the checks then pause for their windows on this computer. nullptr: none do.
    const std::atomic<bool>* measuring = nullptr;
  };

  // `clock` counts as busy while all threads check, since others then wait for them. REQUIRES: both options are above
  // 0; rules, ledger and clock outlive the queue.
  CheckedQueue(const EpisodeRules& rules, const Options& options, Ledger& ledger, StageClock& clock);
  ~CheckedQueue();

  // Returns false when there is no room or the queue is closed; the trajectory is then unchanged. REQUIRES: the
  // trajectory's shape has been checked, and the ledger has admitted it. sender: the peer that sent it, for
  // TakeAccused. measured_again: another actor has confirmed its measured rewards.
  bool Push(Trajectory&& trajectory, std::string sender = "", bool measured_again = false);
  // Returns whether there is room; waits for it for at most `timeout`.
  bool HasRoom(std::chrono::milliseconds timeout = std::chrono::milliseconds(0)) const;

  // Returns the oldest episode once it has passed the check; waits for it for at most `timeout`. nullopt: there is none
  // yet, or the queue is closed and empty. Episodes that do not pass are left out, and the ledger counts them as
  // rejected. Throws RunFailed when a checking thread has failed.
  std::optional<Episode> Pop(std::chrono::milliseconds timeout);

  // Counts a trajectory as rejected that the ledger has admitted, and logs the reason, unless much was logged of late.
  void Reject(const Trajectory& trajectory, const std::string& reason);
  // Does the same for one whose claims are false, and accuses its sender.
  void RejectFalse(const Trajectory& trajectory, const std::string& reason, std::string sender);

  // Returns the senders of episodes that have not passed since the last call: a sender once for each of them.
  std::vector<std::string> TakeAccused();

  // Closes the queue and returns when everything in it is checked and can be popped. A second call does nothing.
  void Close();

  Counts counts() const;

 private:
  struct Item {
    std::string sender;
    Episode episode;     // Only its trajectory and proof are set until `sound` is.
    bool sound = false;  // The episode has passed the check.
  };
  using Items = std::list<Item>;  // A list: the item that a thread checks stays valid while others come and go.

  void Run();
  void CheckAll(EpisodeChecker& checker);
  void MarkSound(Item& item, const EpisodeWorth& worth) EMPLACE_REQUIRES(mu_);

  const EpisodeRules& rules_;
  const Options options_;
  Ledger& ledger_;
  WarningLimit rejections_;
  StageClock& clock_;

  mutable Mutex mu_;
  mutable CondVar arrived_;                            // Notified when there is an item to check, or none will come.
  mutable CondVar ready_;                              // Notified when the oldest item is sound, or none will come.
  mutable CondVar room_;                               // Notified when an item leaves.
  Items items_ EMPLACE_GUARDED_BY(mu_);                // Oldest first.
  Items::iterator unchecked_ EMPLACE_GUARDED_BY(mu_);  // The oldest item that no thread has taken; end: none.
  bool closed_ EMPLACE_GUARDED_BY(mu_) = false;        // No item comes in any more.
  bool finished_ EMPLACE_GUARDED_BY(mu_) = false;      // No further item becomes sound.
  Counts counts_ EMPLACE_GUARDED_BY(mu_);
  std::vector<std::string> accused_ EMPLACE_GUARDED_BY(mu_);
  std::string failure_ EMPLACE_GUARDED_BY(mu_);  // The error that ended a thread; empty: none.

  std::vector<std::thread> threads_;  // The last member: they use everything above.
};

}  // namespace emplace
