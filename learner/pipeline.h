// The threads of the learner behind its front end: batch, update and publish, one thread each, so that the three
// overlap.
//
//   episodes ─▶ batch ─▶ [one Batch] ─▶ update ─▶ [one UpdateResult] ─▶ publish ─▶ weights, metrics, checkpoints
//
// Between them are queues of one item, which push back: a batch is begun only when there is room for it, so what waits
// grows old in as few places as possible. What the stages do is in batcher.h, update_stage.h and publisher.h.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "common/mutex.h"
#include "common/queue.h"
#include "learner/intake/batcher.h"
#include "learner/stage_clock.h"
#include "learner/update/update_stage.h"

namespace emplace {

class Pipeline {
 public:
  // Each is called on the thread of its stage. An exception ends the pipeline.
  struct Stages {
    // The next batch. nullopt: there is none any more, or `stop` was requested.
    std::function<std::optional<Batch>(const std::stop_token& stop)> batch;
    std::function<UpdateResult(const Batch&)> update;
    std::function<void(const UpdateResult&)> publish;
    // In the publish stage, every now and then while there is nothing to publish.
    std::function<void()> while_idle;
    // In place of update, for a batch that is made but not begun when the pipeline is stopped. On any thread.
    std::function<void(const Batch&)> drop;
  };

  // Starts at once. REQUIRES: clocks outlive it.
  Pipeline(Stages stages, StageClocks& clocks);
  ~Pipeline();  // Stops, if that has not been done.

  // From one thread:
  // True once no further update comes: the batches are at their end, or a stage has failed. Waits up to `timeout` for
  // it.
  bool WaitUntilOver(std::chrono::milliseconds timeout);
  // Finishes the update under way, publishes what has been updated, drops the batch that waits, and ends the threads.
  // Throws RunFailed with the reason when a stage has failed.
  void Stop();

 private:
  void RunBatches();
  void RunUpdates();
  void RunPublishing();
  // Runs a stage's loop on this thread; what it throws ends the pipeline.
  void RunStage(Stage stage, void (Pipeline::*loop)());
  void Fail(const std::string& reason);
  void Halt();

  const Stages stages_;
  StageClocks& clocks_;
  BoundedQueue<Batch> batches_{1};
  BoundedQueue<UpdateResult> results_{1};
  std::stop_source stop_;

  Mutex mu_;
  CondVar changed_;
  int running_ EMPLACE_GUARDED_BY(mu_) = 3;                     // Stages.
  std::optional<std::string> failure_ EMPLACE_GUARDED_BY(mu_);  // Of the stage that failed first.

  std::thread batch_thread_;  // The threads last: they use everything above.
  std::thread update_thread_;
  std::thread publish_thread_;
};

}  // namespace emplace
