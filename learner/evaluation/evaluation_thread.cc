#include "learner/evaluation/evaluation_thread.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/error.h"
#include "common/log.h"
#include "common/strings.h"

namespace emplace {
namespace {

// A tenth of what a thread at nice 0 gets of a core that both want: evaluations come late on a busy machine, but they
// come.
constexpr int kNice = 10;

// Of the calling thread alone: on Linux, threads have priorities of their own.
void LowerPriority() {
  if (setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice) != 0) {
    LogWarning("the evaluation runs at the priority of training: the system lets it have no lower one");
  }
}

}  // namespace

EvaluationThread::EvaluationThread(const Workload& workload, const PlacerOptions& options, StageClock& clock,
                                   const std::atomic<bool>& measuring)
    : workload_(workload), options_(options), clock_(clock), work_(measuring), thread_([this] { Run(); }) {}

EvaluationThread::~EvaluationThread() {
  {
    const MutexLock lock(mu_);
    stop_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void EvaluationThread::Submit(std::shared_ptr<const PolicyWeights> weights) {
  const MutexLock lock(mu_);
  waiting_ = std::move(weights);
  changed_.NotifyAll();
}

std::optional<EvaluationReport> EvaluationThread::Poll() {
  const MutexLock lock(mu_);
  if (!failure_.empty()) throw RunFailed(failure_);
  std::optional<EvaluationReport> report = std::move(report_);
  report_.reset();
  changed_.NotifyAll();
  return report;
}

void EvaluationThread::WaitIdle() {
  const MutexLock lock(mu_);
  while (failure_.empty() && (busy_ || (waiting_ && !report_))) changed_.Wait(mu_);
}

void EvaluationThread::Run() {
  pthread_setname_np(pthread_self(), NameOf(Stage::kEvaluate));  // For profilers and top.
  LowerPriority();
  try {
    EvaluateAll();
  } catch (const std::exception& error) {
    const MutexLock lock(mu_);
    failure_ = StrCat("evaluation: ", error.what());
    changed_.NotifyAll();
  }
  clock_.Waiting();
}

void EvaluationThread::EvaluateAll() {
  while (true) {
    EvaluationReport report;
    {
      const MutexLock lock(mu_);
      // A report that nobody has read yet is not overwritten.
      while (!stop_ && (!waiting_ || report_)) changed_.Wait(mu_);
      if (stop_) return;
      report.weights = std::move(waiting_);
      waiting_ = nullptr;
      busy_ = true;
    }
    report.validation_name = ValidationName(workload_.choice);
    std::optional<PausingWork::Unit> unit;
    const auto before_each = [&] {
      unit.reset();
      unit.emplace(work_);
      clock_.Busy();  // Again for each graph: it gets on.
    };
    report.validation = Evaluate(*report.weights, workload_.validation, options_, before_each);
    report.test = Evaluate(*report.weights, workload_.test, options_, before_each);
    unit.reset();
    clock_.Waiting();
    const MutexLock lock(mu_);
    report_ = std::move(report);
    busy_ = false;
    changed_.NotifyAll();
  }
}

}  // namespace emplace
