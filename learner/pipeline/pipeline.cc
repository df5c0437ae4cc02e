#include "learner/pipeline/pipeline.h"

#include <pthread.h>

#include <utility>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

constexpr std::chrono::milliseconds kIdle(100);  // Between calls of while_idle.

}  // namespace

Pipeline::Pipeline(Stages stages, StageClocks& clocks)
    : stages_(std::move(stages)),
      clocks_(clocks),
      batch_thread_([this] { RunStage(Stage::kBatch, &Pipeline::RunBatches); }),
      update_thread_([this] { RunStage(Stage::kUpdate, &Pipeline::RunUpdates); }),
      publish_thread_([this] { RunStage(Stage::kPublish, &Pipeline::RunPublishing); }) {}

Pipeline::~Pipeline() { Halt(); }

void Pipeline::RunStage(Stage stage, void (Pipeline::*loop)()) {
  const char* const name = NameOf(stage);
  pthread_setname_np(pthread_self(), name);  // For profilers and top.
  try {
    (this->*loop)();
  } catch (const Error& error) {
    Fail(error.what());
  } catch (const std::exception& error) {
    Fail(StrCat(name, ": ", error.what()));
  }
  clocks_[stage].Waiting();
  const MutexLock lock(mu_);
  --running_;
  changed_.NotifyAll();
}

void Pipeline::Fail(const std::string& reason) {
  {
    const MutexLock lock(mu_);
    if (!failure_) failure_ = reason;
    changed_.NotifyAll();
  }
  stop_.request_stop();
  batches_.Close();
  results_.Close();
}

void Pipeline::RunBatches() {
  StageClock& clock = clocks_[Stage::kBatch];
  while (batches_.WaitForRoom()) {
    clock.Busy();
    std::optional<Batch> batch = stages_.batch(stop_.get_token());
    clock.Waiting();
    if (!batch) break;
    if (!batches_.Push(*std::move(batch))) stages_.drop(*batch);  // NOLINT(bugprone-use-after-move): it is still there.
  }
  batches_.Close();
}

void Pipeline::RunUpdates() {
  StageClock& clock = clocks_[Stage::kUpdate];
  while (const std::optional<Batch> batch = batches_.Pop()) {
    if (stop_.stop_requested()) {
      stages_.drop(*batch);
      continue;
    }
    clock.Busy();
    UpdateResult result = stages_.update(*batch);
    clock.Waiting();
    results_.Push(std::move(result));  // Fails only when publishing has: then the run does.
  }
  results_.Close();
}

void Pipeline::RunPublishing() {
  StageClock& clock = clocks_[Stage::kPublish];
  while (true) {
    const std::optional<UpdateResult> result = results_.Pop(kIdle);
    if (!result && results_.closed() && results_.size() == 0) return;
    clock.Busy();
    if (result) {
      stages_.publish(*result);
    } else {
      stages_.while_idle();
    }
    clock.Waiting();
  }
}

bool Pipeline::WaitUntilOver(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const MutexLock lock(mu_);
  while (running_ > 0 && !failure_ && changed_.WaitUntil(mu_, deadline)) {
  }
  return running_ == 0 || failure_;
}

void Pipeline::Halt() {
  stop_.request_stop();
  batches_.Close();
  for (std::thread* const thread : {&batch_thread_, &update_thread_, &publish_thread_}) {
    if (thread->joinable()) thread->join();
  }
}

void Pipeline::Stop() {
  Halt();
  const MutexLock lock(mu_);
  if (failure_) throw RunFailed(*failure_);
}

}  // namespace emplace
