#include "learner/evaluation_thread.h"

namespace emplace {

EvaluationThread::EvaluationThread(const Workload& workload, const PlacerOptions& options)
    : workload_(workload), options_(options), thread_([this] { Run(); }) {}

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
  std::optional<EvaluationReport> report = std::move(report_);
  report_.reset();
  changed_.NotifyAll();
  return report;
}

void EvaluationThread::WaitIdle() {
  const MutexLock lock(mu_);
  while (busy_ || (waiting_ && !report_)) changed_.Wait(mu_);
}

void EvaluationThread::Run() {
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
    report.validation = Evaluate(*report.weights, workload_.validation, options_);
    report.test = Evaluate(*report.weights, workload_.test, options_);
    const MutexLock lock(mu_);
    report_ = std::move(report);
    busy_ = false;
    changed_.NotifyAll();
  }
}

}  // namespace emplace
