// Floats that are too small for speed.
#pragma once

#include <cstdint>

namespace emplace {

// While it lives, numbers nearer to 0 than the smallest normal ones (1.2e-38 of a float, 2.2e-308 of a double) count as
// 0, in this thread and in those that it starts meanwhile, which inherit it. Where a policy is sure of what it does,
// its probabilities and gradients get that small, and a processor takes up to a hundred times as long for each. Does
// nothing on processors other than x86-64 and ARM64.
class SubnormalsAsZero {
 public:
  SubnormalsAsZero();
  ~SubnormalsAsZero();  // As before. REQUIRES: the same thread.
  SubnormalsAsZero(const SubnormalsAsZero&) = delete;
  SubnormalsAsZero& operator=(const SubnormalsAsZero&) = delete;

 private:
  const uint64_t before_;
};

}  // namespace emplace
