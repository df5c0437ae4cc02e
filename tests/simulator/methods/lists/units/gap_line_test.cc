#include "simulator/methods/lists/units/gap_line.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/rng.h"
#include "tests/support/trials.h"

namespace emplace {
namespace {

// Time in whole us, each of which is busy or not.
class BusyMicros {
 public:
  double EarliestStartUs(double ready_us, double duration_us) const {
    auto start = static_cast<size_t>(ready_us);
    for (size_t us = start; us < start + static_cast<size_t>(duration_us); ++us) {
      if (us < busy_.size() && busy_[us]) start = us + 1;
    }
    return static_cast<double>(start);
  }
  void Add(double start_us, double end_us) {
    if (busy_.size() < static_cast<size_t>(end_us)) busy_.resize(static_cast<size_t>(end_us));
    for (auto us = static_cast<size_t>(start_us); us < static_cast<size_t>(end_us); ++us) busy_[us] = true;
  }

 private:
  std::vector<bool> busy_;
};

TEST(GapLine, FindsTheFirstGapThatIsLongEnough) {
  for (uint64_t seed = 0; seed < Trials(100); ++seed) {
    Rng rng(seed);
    GapLine line;
    BusyMicros micros;
    for (int i = 0; i < 100; ++i) {
      const auto ready_us = static_cast<double>(rng.UniformInt(0, 200));
      const auto duration_us = static_cast<double>(rng.UniformInt(0, 9));
      const double start_us = line.EarliestStartUs(ready_us, duration_us);
      ASSERT_EQ(start_us, micros.EarliestStartUs(ready_us, duration_us)) << "seed " << seed << ", call " << i;
      line.Add(start_us, start_us + duration_us);
      micros.Add(start_us, start_us + duration_us);
    }
  }
}

}  // namespace
}  // namespace emplace
