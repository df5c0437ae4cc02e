// Evaluates policies during the training, one at a time, on a thread of its own, so that training need not wait. The
// thread has a lower priority than the others: where cores are few, it gets the time that updates and actors leave.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "common/threads/mutex.h"
#include "common/threads/pausing_work.h"
#include "learner/evaluation/evaluator.h"
#include "learner/stage_clock.h"
#include "learner/workload.h"
#include "policy/policy_weights.h"

namespace emplace {

struct EvaluationReport {
  std::shared_ptr<const PolicyWeights> weights;
  const char* validation_name = "";  // Which graphs `validation` is about, as ValidationName says.
  EvaluationResult validation;
  EvaluationResult test;
};

// Submit, Poll and WaitIdle are for one thread at a time.
class EvaluationThread {
 public:
  // measuring: whether actors measure on hardware; evaluations then pause for their windows on this computer. REQUIRES:
  // workload, clock and measuring outlive this object.
  EvaluationThread(const Workload& workload, const PlacerOptions& options, StageClock& clock,
                   const std::atomic<bool>& measuring);
  ~EvaluationThread();

  // Has this policy evaluated next. It replaces a policy that still waits; an evaluation that has begun is finished.
  void Submit(std::shared_ptr<const PolicyWeights> weights);
  // Returns each finished report once; nullopt: there is no new one. Throws RunFailed when an evaluation has failed.
  std::optional<EvaluationReport> Poll();
  // Waits until every submitted policy is evaluated or replaced, or an evaluation has failed.
  void WaitIdle();

 private:
  void Run();
  void EvaluateAll();

  const Workload& workload_;
  const PlacerOptions options_;
  StageClock& clock_;
  PausingWork work_;
  Mutex mu_;
  CondVar changed_;
  std::shared_ptr<const PolicyWeights> waiting_ EMPLACE_GUARDED_BY(mu_);
  std::optional<EvaluationReport> report_ EMPLACE_GUARDED_BY(mu_);
  bool busy_ EMPLACE_GUARDED_BY(mu_) = false;
  bool stop_ EMPLACE_GUARDED_BY(mu_) = false;
  std::string failure_ EMPLACE_GUARDED_BY(mu_);  // The error that ended the thread; empty: none.
  std::thread thread_;                           // The last member: it uses everything above.
};

}  // namespace emplace
