// The learner's threads behind its front end: batch, update and publish have one thread each and run at the same time.
//
//   episodes ─▶ batch ─▶ [one Batch] ─▶ update ─▶ [one UpdateResult] ─▶ publish ─▶ weights, metrics, checkpoints
//
// Each queue between two stages has room for one item. A batch is begun only when there is room for it, so that
// episodes wait, and grow old, in few places. batcher.h, update_stage.h and publisher.h hold the work of the stages.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "common/threads/mutex.h"
#include "common/threads/queue.h"
#include "learner/intake/batcher.h"
#include "learner/stage_clock.h"
#include "learner/update/update_stage.h"

namespace emplace {

class Pipeline {
 public:
  // Each function is called on the thread of its stage. An exception ends the pipeline.
  struct Stages {
    // Returns the next batch. nullopt: there are no more batches, or `stop` was requested.
    std::function<std::optional<Batch>(const std::stop_token& stop)> batch;
    std::function<UpdateResult(const Batch&)> update;
    std::function<void(const UpdateResult&)> publish;
    // Called in the publish stage, ten times a second, while there is nothing to publish.
    std::function<void()> while_idle;
    // Called instead of `update` for a batch that waits when the pipeline is stopped. May be called on any thread.
    std::function<void(const Batch&)> drop;
  };

  // Starts the threads. REQUIRES: clocks outlive the pipeline.
  Pipeline(Stages stages, StageClocks& clocks);
  ~Pipeline();  // Stops the threads if Stop was not called.

  // WaitUntilOver and Stop are for one thread.
  // Waits for at most `timeout`. Returns whether no further update will come: there are no more batches, or a stage has
  // failed.
  bool WaitUntilOver(std::chrono::milliseconds timeout);
  // Finishes the update that is being computed, publishes it, drops the batch that waits, and ends the threads. Throws
  // RunFailed with the reason when a stage has failed.
  void Stop();

 private:
  void RunBatches();
  void RunUpdates();
  void RunPublishing();
  // Runs a stage's loop on this thread; an exception from it ends the pipeline.
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
  int running_ EMPLACE_GUARDED_BY(mu_) = 3;                     // Stages whose loop has not ended.
  std::optional<std::string> failure_ EMPLACE_GUARDED_BY(mu_);  // The error of the stage that failed first.

  std::thread batch_thread_;  // The threads are the last members: they use everything above.
  std::thread update_thread_;
  std::thread publish_thread_;
};

}  // namespace emplace
