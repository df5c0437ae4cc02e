// Decides when training stops because the evaluations on the validation graphs certainly gain too little.
//
// It compares the mean of the last `patience` evaluations with the mean of the `patience` evaluations before them
// (means of the logarithm of makespan / one device). The difference has a 95% confidence interval by Welch's t-test
// (Biometrika 34, 1947). Training goes on as long as the interval reaches `min_gain`, so also while the evaluations
// vary widely.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/threads/mutex.h"

namespace emplace {

// Any thread may call any function.
class Plateau {
 public:
  struct Options {
    int64_t patience = 0;  // Evaluations in each of the two means, at least 2; 0: there is never a plateau.
    double min_gain = 0;   // The least gain that is worth going on for, as a share of the ratio: 0.01 is 1%.
    // No plateau before this update: until then the entropy bonus keeps the policy undecided.
    int64_t first_update = 0;
    std::string graphs = "validation";  // Which graphs the evaluations are on, for the sentence.
  };
  // What earlier sittings have evaluated, as history() returns it, and the updates before the last of these
  // evaluations.
  struct Before {
    std::vector<double> history = {};
    int64_t updates = 0;
  };
  // There is a reason at once where the evaluations before show it: a run ends where it did before it was resumed.
  Plateau(const Options& options, Before before);

  // Adds an evaluation of the policy after `updates` updates, if it was not added before, as that of the policy that a
  // resumed run begins with. ratio: geometric mean of makespan / one device; a ratio that is not a positive number is
  // left out.
  void Add(int64_t updates, double ratio);

  // A sentence that says why training should stop; nullopt: it should go on. Does not change once it is set.
  std::optional<std::string> reason() const;
  // The last ratios, oldest first, at most 2 * patience: for checkpoints.
  std::vector<double> history() const;

 private:
  void Judge(int64_t updates) EMPLACE_REQUIRES(mu_);

  const Options options_;
  mutable Mutex mu_;
  std::vector<double> ratios_ EMPLACE_GUARDED_BY(mu_);  // Oldest first, 2 * patience at most.
  int64_t last_ EMPLACE_GUARDED_BY(mu_);                // Updates before the last of them; -1: there is none.
  std::optional<std::string> reason_ EMPLACE_GUARDED_BY(mu_);
};

}  // namespace emplace
