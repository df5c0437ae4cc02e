// The instruction sets that the policy's kernels are built for. One is chosen at run time, so that one binary runs on
// every processor.
#pragma once

#include <string>
#include <vector>

namespace emplace {

enum class KernelPath { kPortable, kAvx2, kAvx512 };
std::string ToString(KernelPath path);

// The paths that this processor runs, slowest first; kPortable is always the first.
std::vector<KernelPath> KernelPaths();
// The fastest path that this processor runs.
KernelPath BestKernelPath();
// Throws BadInput when this processor does not run `path`.
void CheckRuns(KernelPath path);

}  // namespace emplace
