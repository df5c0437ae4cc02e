// Evaluates policies beside the training, one at a time, on a thread of its own: training never waits for it.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "common/mutex.h"
#include "common/policy/policy_weights.h"
#include "learner/evaluator.h"
#include "learner/workload.h"

namespace emplace {

struct EvaluationReport {
  std::shared_ptr<const PolicyWeights> weights;
  EvaluationResult validation;
  EvaluationResult test;
};

// Submit, Poll and WaitIdle are for one caller's thread.
class EvaluationThread {
 public:
  // REQUIRES: workload outlives it.
  EvaluationThread(const Workload& workload, const PlacerOptions& options);
  ~EvaluationThread();

  // Takes the place of a policy that still waits; the one being evaluated is finished first.
  void Submit(std::shared_ptr<const PolicyWeights> weights);
  std::optional<EvaluationReport> Poll();  // A finished report, once.
  void WaitIdle();                         // Until everything submitted is evaluated or replaced.

 private:
  void Run();

  const Workload& workload_;
  const PlacerOptions options_;
  Mutex mu_;
  CondVar changed_;
  std::shared_ptr<const PolicyWeights> waiting_ EMPLACE_GUARDED_BY(mu_);
  std::optional<EvaluationReport> report_ EMPLACE_GUARDED_BY(mu_);
  bool busy_ EMPLACE_GUARDED_BY(mu_) = false;
  bool stop_ EMPLACE_GUARDED_BY(mu_) = false;
  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace emplace
