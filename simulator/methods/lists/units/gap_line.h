// When a device, which does one thing at a time, is busy.
#pragma once

#include <vector>

namespace emplace {

// Times in us. Not thread-safe.
class GapLine {
 public:
  // The earliest time from ready_us on at which it is free for so long. What takes no time fits anywhere.
  double EarliestStartUs(double ready_us, double duration_us) const;
  // REQUIRES: it is free from start_us to end_us.
  void Add(double start_us, double end_us);

 private:
  struct Block {
    double start_us;
    double end_us;
  };
  // The first block that ends after this time.
  std::vector<Block>::const_iterator EndingAfter(double us) const;

  std::vector<Block> blocks_;  // Ascending; between any two there is a gap.
};

}  // namespace emplace
