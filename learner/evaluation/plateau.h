// When training has nothing left to gain: the evaluations on the validation graphs certainly get better no more.
//
// Compared are the last `patience` evaluations with the `patience` before them: the difference of their means (of the
// logarithms of makespan / one device, as geometric means are) has a 95% confidence interval by Welch's t-test
// (Biometrika 34, 1947). As long as it holds a gain worth waiting for, training goes on, and so it does while
// evaluations still swing widely; once all of it lies below, it is over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/mutex.h"

namespace emplace {

// Any thread may call any function.
class Plateau {
 public:
  struct Options {
    int64_t patience = 0;      // Evaluations in each of the two windows; 0: never a plateau, else 2 at least.
    double min_gain = 0;       // What is worth going on for, as a share of the ratio: 0.01 for one percent.
    int64_t first_update = 0;  // No plateau before this: the policy is still kept from settling.
  };
  // history: of earlier sittings, as `history` gives it.
  Plateau(const Options& options, std::vector<double> history);

  // An evaluation of the policy after `updates` updates. ratio: geometric mean of makespan / one device; what is not
  // a positive number is left out.
  void Add(int64_t updates, double ratio);

  // Why training should stop, a sentence for people; nullopt: it should go on. Stays once it is there.
  std::optional<std::string> reason() const;
  // Ratios of the last evaluations, oldest first, as many as matter. For checkpoints.
  std::vector<double> history() const;

 private:
  const Options options_;
  mutable Mutex mu_;
  std::vector<double> ratios_ EMPLACE_GUARDED_BY(mu_);  // Oldest first, 2 * patience at most.
  std::optional<std::string> reason_ EMPLACE_GUARDED_BY(mu_);
};

}  // namespace emplace
