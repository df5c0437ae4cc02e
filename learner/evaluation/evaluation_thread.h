// Evaluates policies beside the training, one at a time, on a thread of its own: training never waits for it. The
// thread has a lower priority than the others, so that where cores are few it takes what updates and actors leave.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "common/mutex.h"
#include "common/policy/policy_weights.h"
#include "learner/evaluation/evaluator.h"
#include "learner/stage_clock.h"
#include "learner/workload.h"

namespace emplace {

struct EvaluationReport {
  std::shared_ptr<const PolicyWeights> weights;
  EvaluationResult validation;
  EvaluationResult test;
};

// Submit, Poll and WaitIdle are for one caller's thread at a time.
class EvaluationThread {
 public:
  // REQUIRES: workload and clock outlive it.
  EvaluationThread(const Workload& workload, const PlacerOptions& options, StageClock& clock);
  ~EvaluationThread();

  // Takes the place of a policy that still waits; the one being evaluated is finished first.
  void Submit(std::shared_ptr<const PolicyWeights> weights);
  // A finished report, once. Throws RunFailed when an evaluation has failed.
  std::optional<EvaluationReport> Poll();
  // Until everything submitted is evaluated or replaced, or an evaluation has failed.
  void WaitIdle();

 private:
  void Run();
  void EvaluateAll();

  const Workload& workload_;
  const PlacerOptions options_;
  StageClock& clock_;
  Mutex mu_;
  CondVar changed_;
  std::shared_ptr<const PolicyWeights> waiting_ EMPLACE_GUARDED_BY(mu_);
  std::optional<EvaluationReport> report_ EMPLACE_GUARDED_BY(mu_);
  bool busy_ EMPLACE_GUARDED_BY(mu_) = false;
  bool stop_ EMPLACE_GUARDED_BY(mu_) = false;
  std::string failure_ EMPLACE_GUARDED_BY(mu_);  // Why the thread ended; empty: it has not failed.
  std::thread thread_;                           // Last: it uses everything above.
};

}  // namespace emplace
