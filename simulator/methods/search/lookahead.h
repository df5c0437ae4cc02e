// How many moves a walk evaluates at a time, in several threads. Once a move is taken, those behind it were evaluated
// in vain, and each thread has to simulate the new placement. So where moves are taken often, one thread alone is
// faster.
#pragma once

#include <algorithm>
#include <cstddef>

namespace emplace {

class Lookahead {
 public:
  explicit Lookahead(size_t threads)
      : least_(threads), most_(threads > 1 ? kMostPerThread * threads : 1), ahead_(threads) {}

  // 1: the first thread works alone.
  size_t count() const { return std::max(mean_run_, static_cast<double>(run_)) < kAlone ? 1 : ahead_; }
  size_t most() const { return most_; }

  // `moves` were evaluated until one was taken, or without one that is.
  void Observe(size_t moves, bool taken) {
    run_ += moves;
    if (taken) {
      mean_run_ += kNews * (static_cast<double>(run_) - mean_run_);
      run_ = 0;
      ahead_ = std::max(ahead_ / 2, least_);
    } else {
      ahead_ = std::min(ahead_ * 2, most_);
    }
  }

 private:
  static constexpr size_t kMostPerThread = 16;
  // Moves from one that is taken to the next, from which on several threads are faster. A simulation takes as long as a
  // few moves.
  static constexpr double kAlone = 8;
  static constexpr double kNews = 0.1;  // The weight of the last run in their mean.

  size_t least_;
  size_t most_;
  size_t ahead_;         // Moves at a time for several threads: more of them after each time that none was taken.
  size_t run_ = 0;       // Moves since the last one that was taken,
  double mean_run_ = 0;  // and their number in the runs before.
};

}  // namespace emplace
